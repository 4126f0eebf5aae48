package trace

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitrun"
	"tape/internal/git/projectgit"
	"tape/internal/store/workspace"
)

// File is a file, or a folder with its files. It need not exist.
type File struct {
	Name  string   // in the project, with slashes; absolute without a project; "." is the project itself
	Names []string // Name, and former names of the file

	folder  bool
	any     bool            // every file of that name, in any folder
	top     string          // the project's directory, "" without one
	main    string          // the directory of the repository's main working tree
	called  []string        // what clones of the project are called: as main, or as origin
	trees   []string        // the directories of all its working trees
	project map[string]bool // the results of isProject
}

// FileNamed returns the file that a path from a person means. Outside a repository, or without git, it has only its
// absolute name.
func FileNamed(ctx context.Context, name string) (*File, error) {
	full, err := workspace.Absolute(name)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(full)
	f := &File{folder: err == nil && st.IsDir() || strings.HasSuffix(name, string(filepath.Separator)), project: map[string]bool{}}
	dir := existing(full)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	inside, err := filepath.Rel(dir, full)
	if err != nil {
		return nil, err
	}
	full = filepath.Join(real, inside)
	f.Name = filepath.ToSlash(full)
	repo, err := projectgit.Open(ctx, real)
	switch {
	case errors.Is(err, projectgit.ErrNoRepository), errors.Is(err, gitrun.ErrNoGit):
		f.Names = []string{f.Name}
		return f, nil
	case err != nil:
		return nil, err
	}
	return f, f.inProject(ctx, repo, full)
}

// existing returns a folder, or the nearest one above it that exists.
func existing(dir string) string {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err == nil && st.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func (f *File) inProject(ctx context.Context, repo projectgit.Repo, full string) error {
	name, err := filepath.Rel(filepath.FromSlash(repo.Top), full)
	if err != nil {
		return err
	}
	f.top, f.Name = repo.Top, filepath.ToSlash(name)
	f.Names = []string{f.Name}
	if f.trees, err = repo.WorkTrees(ctx); err != nil {
		return err
	}
	f.main = f.trees[0]
	f.called = []string{filepath.Base(f.main)}
	if origin, _, ok := strings.Cut(workspace.RemoteOf(f.main), "#"); ok {
		origin = strings.TrimSuffix(strings.TrimRight(origin, "/"), ".git")
		if name := origin[strings.LastIndexAny(origin, "/:")+1:]; name != "" {
			f.called = append(f.called, name)
		}
	}
	if f.folder {
		return nil
	}
	former, err := repo.FormerNames(ctx, f.Name)
	f.Names = append(f.Names, former...)
	return err
}

// Bases returns the last elements of Names, each once; nil for a folder.
func (f *File) Bases() (out []string) {
	for _, name := range f.Names {
		if base := path.Base(name); !f.folder && !slices.Contains(out, base) {
			out = append(out, base)
		}
	}
	return out
}

// In returns another file of the same project, under the names that it had, with slashes. It is for many files of one
// project, whose git is then asked once.
func (f *File) In(names ...string) *File {
	out := *f
	out.folder, out.Name, out.Names = false, names[0], names
	return &out
}

// Namesakes returns a file that stands for all files of that name, in any folder and project.
func (f *File) Namesakes() *File {
	base := path.Base(f.Name)
	return &File{Name: base, Names: []string{base}, any: true}
}

// Is reports whether a recorded path is the file, or in the folder.
func (f *File) Is(recorded string) bool {
	recorded = strings.ReplaceAll(recorded, `\`, "/")
	if f.any {
		return path.Base(recorded) == f.Name
	}
	if f.top == "" {
		return recorded == f.Name || f.folder && strings.HasPrefix(recorded, strings.TrimSuffix(f.Name, "/")+"/")
	}
	if f.folder {
		return f.inFolder(recorded)
	}
	for _, name := range f.Names {
		// A relative path comes from a session whose directory is not known.
		if dir, ok := strings.CutSuffix(recorded, "/"+name); recorded == name || ok && f.isProject(dir) {
			return true
		}
	}
	return false
}

func (f *File) inFolder(recorded string) bool {
	for dir := path.Dir(recorded); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if f.isProject(dir) {
			return f.Name == "." || strings.HasPrefix(recorded, dir+"/"+f.Name+"/")
		}
	}
	return false
}

// isProject reports whether a directory is the project or a worktree of it. Whether one that
// does not exist here was one of them is guessed from its path.
func (f *File) isProject(dir string) bool {
	is, known := f.project[dir]
	if known {
		return is
	}
	real, err := filepath.EvalSymlinks(filepath.FromSlash(dir))
	if err == nil {
		is = slices.Contains(f.trees, real)
	} else {
		parts := strings.Split(dir, "/")
		is = slices.Contains(f.trees, filepath.FromSlash(dir)) || slices.ContainsFunc(f.called, func(name string) bool { return f.wasProject(name, parts) })
	}
	f.project[dir] = is
	return is
}

// wasProject reports whether the parts of a path end with a name of the project, or have a folder of worktrees after it.
// The project may have a folder of its own name, such as cmd/shop in shop.
func (f *File) wasProject(name string, parts []string) bool {
	at := slices.Index(parts, name)
	if at < 0 || at == len(parts)-1 {
		return at >= 0
	}
	if parts[len(parts)-1] == name {
		_, err := os.Stat(filepath.Join(f.main, filepath.Join(parts[at+1:]...)))
		return err != nil
	}
	return slices.ContainsFunc(parts[at+1:len(parts)-1], func(p string) bool {
		return strings.HasPrefix(p, ".") || strings.Contains(p, "worktree")
	})
}
