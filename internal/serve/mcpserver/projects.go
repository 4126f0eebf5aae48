package mcpserver

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// everyProject is the value of the parameter project that stands for all of the user's workspaces.
const everyProject = "*"

// stores opens the workspace of the current directory, or, if project names others of the user's, these: all for *, else
// the one whose project has this path or name. In a workspace that is somebody else's, an agent gets no other ones: what it
// reads there may tell it to fetch what is private.
func (s *server) stores(ctx context.Context, project string) ([]*repo.Store, error) {
	here, err := s.Open(ctx)
	if err != nil || project == "" {
		return []*repo.Store{here}, err
	}
	if !workspace.IsOwn(here.Dir()) {
		return nil, layout.Invalid("leave out project", "the workspace of this directory is somebody else's: sessions of the user's other projects cannot be read here")
	}
	dirs, _, err := workspace.OwnWorkspaces()
	if err != nil {
		return nil, err
	}
	if project != everyProject {
		dir, err := workspaceNamed(dirs, project)
		if err != nil {
			return nil, err
		}
		store, err := s.openDir(ctx, dir)
		return []*repo.Store{store}, err
	}
	all := []*repo.Store{here}
	for _, dir := range dirs {
		if dir == here.Dir() {
			continue
		}
		if store, err := s.openDir(ctx, dir); err == nil { // else whoever opens it learns why
			all = append(all, store)
		}
	}
	return all, nil
}

// openDir opens a workspace of the user's.
func (s *server) openDir(ctx context.Context, dir string) (*repo.Store, error) {
	if s.OpenDir == nil {
		return repo.Open(ctx, dir, nil)
	}
	return s.OpenDir(ctx, dir)
}

// workspaceNamed finds a workspace by the path or the name of its project.
func workspaceNamed(dirs []string, project string) (string, error) {
	var names, found []string
	for _, dir := range dirs {
		path := workspace.ProjectOf(dir).Dir
		if path == project || dir == project {
			return dir, nil
		}
		name := projectOf(dir)
		if names = append(names, name); strings.EqualFold(name, project) {
			found = append(found, dir)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 20
	names = names[:min(most, len(names))]
	switch len(found) {
	case 0:
		return "", layout.NotFound("the projects are: "+strings.Join(names, ", "), "none of the user's projects is called %q", project)
	case 1:
		return found[0], nil
	}
	var paths []string
	for _, dir := range found {
		paths = append(paths, workspace.ProjectOf(dir).Dir)
	}
	return "", layout.Invalid("give the path: "+strings.Join(paths, ", "), "several projects are called %q", project)
}

// projectOf returns the name of a workspace's project.
func projectOf(dir string) string {
	if path := workspace.ProjectOf(dir).Dir; path != "" {
		return filepath.Base(path)
	}
	return filepath.Base(dir)
}

// searchRuns are searches in several workspaces, whose results become one.
type searchRuns []*searchRun

// find searches all of them.
func (runs searchRuns) find(ctx context.Context, search index.Search) (*index.Result, error) {
	if len(runs) == 1 {
		return runs[0].find(ctx, search)
	}
	return catalog.SearchAll(search, func(search index.Search, only func(string) bool) ([]*index.Result, error) {
		var all []*index.Result
		for _, f := range runs {
			if !only(f.store.Dir()) || f.tapes != nil && len(f.tapes) == 0 {
				continue
			}
			res, err := f.find(ctx, search)
			if errors.Is(err, repo.ErrCorrupt) {
				f.notes = append(f.notes, "damaged, and left out: "+line(projectOf(f.store.Dir()), titleChars))
				continue
			}
			if err != nil {
				return nil, err
			}
			catalog.Mark(res, f.store.Dir())
			all = append(all, res)
		}
		return all, nil
	})
}

// of returns the run that a hit is from.
func (runs searchRuns) of(h index.Hit) *searchRun {
	for _, f := range runs {
		if f.store.Dir() == h.Workspace {
			return f
		}
	}
	return runs[0]
}

func (runs searchRuns) close() {
	for _, f := range runs {
		_ = f.x.Close()
	}
}
