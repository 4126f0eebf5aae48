package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/importing"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

func newWorkspacesCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workspaces [list] | link WORKSPACE [DIR] | trust [DIR]",
		Short: "List the workspaces of all projects",
		Long: `List the workspaces below $TAPE_HOME (~/.tape), those with the newest entries first, each with
the project directory that it belongs to, its tapes and its size.

If a project was moved, tape recognizes it by the address of its git remote (origin): the next
command there says so, and moves its workspace along. If there is no remote, use link:
WORKSPACE is the workspace's folder, or the project's previous directory.

The list marks a workspace that came from an archive or by git clone as not trusted: its own
git settings do not count until you run tape workspaces trust.`,
		Example: `  tape workspaces
  tape workspaces link ~/src/shop .   # the project was moved from ~/src/shop to here
  tape workspaces trust ./copy        # its git settings and hooks count from now on`,
		RunE: a.runWorkspaces,
	}
	addSubcommands(cmd, &cobra.Command{
		Use:     "list",
		Short:   "List the workspaces of all projects",
		Long:    `List the workspaces of all projects, those with the newest entries first.`,
		Example: `  tape workspaces list --json`,
		RunE:    a.runWorkspaces,
	}, &cobra.Command{
		Use:   "link WORKSPACE [DIR]",
		Short: "Tell tape where a project was moved to",
		Long: `Link a workspace to the directory DIR, or the current one, where its project is now. The
workspace is renamed, and nothing in it changes. A directory that has a workspace is refused.`,
		Example: `  tape workspaces link ~/src/shop .`,
		Args:    takes(1, "WORKSPACE", "DIR"),
		RunE:    a.linkWorkspace,
	}, newTrustCmd(a))
	return cmd
}

// listedWorkspace is a workspace in the list.
type listedWorkspace struct {
	dir     string
	project workspace.Project
	tapes   int
	empty   int // 1 if main is empty, since lists of sessions then leave it out; else 0
	updated time.Time
	bytes   int64
	own     bool
}

func (a *App) runWorkspaces(cmd *cobra.Command, _ []string) error {
	dirs, err := workspace.Workspaces()
	if err != nil {
		return err
	}
	list := make([]listedWorkspace, 0, len(dirs))
	for _, dir := range dirs {
		w, err := a.describeWorkspace(cmd.Context(), dir)
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		if err != nil {
			a.Warn(err.Error()) // the others are still listed
		}
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(x, y listedWorkspace) int { return y.updated.Compare(x.updated) })
	return listing[listedWorkspace]{
		None: "there are no workspaces; tape init creates one", Paged: true,
		Head: []string{"~PROJECT", ">SESSIONS", "UPDATED", ">SIZE"},
		Object: func(w listedWorkspace) object {
			return object{{"workspace", w.dir}, {"project", orNull(w.project.Dir)}, {"gone", w.project.Gone()}, {"tapes", w.tapes},
				{"updated", dateOrNull(w.updated)}, {"bytes", w.bytes}, {"trusted", w.own}}
		},
		Row: func(w listedWorkspace, add func(cells ...any)) {
			name := importing.ShortPath(&a.Streams, w.project.Dir, a.Width())
			switch {
			case name == "":
				name = filepath.Base(w.dir)
			case w.project.Gone():
				name += " (gone)"
			}
			if !w.own {
				name += " (not trusted)"
			}
			add(name, w.tapes-w.empty, a.briefly(w.updated), display.Bytes(w.bytes))
		},
	}.Show(&a.Streams, list, nil)
}

// describeWorkspace reads only files, refs and the tape main: there may be many tapes.
func (a *App) describeWorkspace(ctx context.Context, dir string) (listedWorkspace, error) {
	w := listedWorkspace{dir: dir, project: workspace.ProjectOf(dir), own: workspace.IsOwn(dir)}
	store, err := repo.Open(ctx, dir, a.storeOptions())
	if err != nil {
		return w, err
	}
	refs, err := (*workspace.Store)(store).Git().Refs(layout.BranchPrefix)
	if err != nil {
		return w, err
	}
	w.tapes = len(refs)
	if t, err := store.Tape(ctx, repo.DefaultTape); err == nil {
		if sum, err := t.Summary(ctx); err == nil && sum.Entries <= 1 {
			w.empty = 1
		}
	}
	git := filepath.Join(dir, layout.GitDirName)
	return w, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return nil // it was removed meanwhile
		}
		w.bytes += st.Size()
		// Entries are in files of working trees, or in git, where refs name them.
		inTree := !strings.HasPrefix(path, git) && strings.Contains(path, layout.AnchorsDir)
		if inTree || strings.HasPrefix(path, filepath.Join(git, "refs", "heads")) || path == filepath.Join(git, "packed-refs") {
			if at := st.ModTime().UTC().Truncate(time.Microsecond); at.After(w.updated) {
				w.updated = at
			}
		}
		return nil
	})
}

func (a *App) linkWorkspace(_ *cobra.Command, args []string) error {
	dir := cmp.Or(first(args[1:]), ".")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return layout.NotFound("", "there is no directory %s", quoted(dir))
	}
	from, err := findWorkspace(args[0])
	if err != nil {
		return err
	}
	to, err := workspace.Link(from, dir)
	if err != nil {
		return err
	}
	return a.Result(object{{"workspace", to}, {"project", workspace.ProjectOf(to).Dir}}, "the workspace of %s is now %s",
		display.Line(workspace.ProjectOf(to).Dir), display.Line(to))
}

// findWorkspace finds a workspace by its folder, that folder's name, or its project's present or former folder.
func findWorkspace(name string) (string, error) {
	all, err := workspace.Workspaces()
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	project, err := repo.WorkspaceFor(name)
	if err != nil {
		return "", err
	}
	for _, dir := range all {
		if dir == abs || dir == project || filepath.Base(dir) == name || workspace.ProjectOf(dir).Dir == abs {
			return dir, nil
		}
	}
	return "", layout.NotFound("tape workspaces lists them", "there is no workspace %s", quoted(name))
}

// takeAlong finds a workspace for a directory that has none. It links that of a project that was moved here,
// if the git remote proves that. Otherwise it returns that of another clone with the same remote. If there is
// none, it returns cause, with a hint if a project may have been moved.
func (a *App) takeAlong(cause error) (string, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return "", cause
	}
	for at := here; ; at = filepath.Dir(at) {
		found, sure, err := workspace.MovedHere(at)
		if err != nil {
			return "", cause
		}
		if sure {
			was := workspace.ProjectOf(found[0]).Dir
			dir, err := workspace.Link(found[0], at)
			if err == nil {
				a.Warn("the project was in " + was + " before, and its git remote is the same: its workspace is now " + dir)
			}
			return dir, err
		}
		if len(found) > 0 && at == here {
			cause = &cliError{class: repo.ErrNotFound, cause: cause, msg: cause.Error(),
				hint: "if the project was moved here: tape workspaces link " + shellWord(workspace.ProjectOf(found[0]).Dir) + " .\n" + hints.Of(cause)}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if dir := projects.WithSameRemote(here); dir != "" {
		a.StderrIfVerbose("this clone is of the project in %s, which has the same git remote", workspace.ProjectOf(dir).Dir)
		return dir, nil
	}
	return "", cause
}

// noteProject records the project of the current directory as the workspace's, if the workspace belongs to it.
func (a *App) noteProject(store *repo.Store) {
	if err := (*workspace.Store)(store).NoteProject("."); err != nil {
		a.Warn("could not record the project of the workspace: " + err.Error())
	}
}
