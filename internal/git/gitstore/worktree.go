package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/gitconfig"
	"tape/internal/git/gitlock"
)

// Worktree is a folder in which a branch is checked out.
type Worktree struct {
	Dir    string // the working tree's root, absolute
	GitDir string // the repository's for the main one, else .git/worktrees/<id>
	Branch string // the full ref that its HEAD names; "" when detached
}

// IndexPath is the worktree's index.
func (w Worktree) IndexPath() string { return filepath.Join(w.GitDir, "index") }

// IndexGuard is held by whoever of us changes the index.
func (w Worktree) IndexGuard() string { return filepath.Join(w.GitDir, gitlock.OwnDir, "index.lock") }

// WorktreesDir is where git keeps what it knows of linked worktrees, a folder for each.
func (r *Repo) WorktreesDir() string { return filepath.Join(r.gitDir, "worktrees") }

// HeadDirs returns the folders that have a HEAD: .git and those of linked worktrees.
func (r *Repo) HeadDirs() []string {
	dirs := []string{r.gitDir}
	entries, _ := os.ReadDir(r.WorktreesDir())
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(r.WorktreesDir(), e.Name()))
	}
	return dirs
}

// CheckedOut tells of which branches a HEAD says that they are checked out, be the folder
// there or not.
func (r *Repo) CheckedOut() (map[string]bool, error) {
	out := map[string]bool{}
	for _, dir := range r.HeadDirs() {
		_, branch, err := readHead(dir)
		if dir != r.gitDir && errors.Is(err, ErrDamagedRef) {
			_, err = ReadAdmin(dir) // ErrNotFound: it was never completed
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("read HEAD of %s: %w", dir, err)
		}
		out[branch] = true
	}
	return out, nil
}

// WorktreeOf returns where git says that a branch is checked out. ErrNotFound when
// nowhere; a linked worktree whose folder is gone does not count.
func (r *Repo) WorktreeOf(branch string) (Worktree, error) {
	if w, err := r.mainWorktree(); err != nil || w.Branch == branch {
		return w, err
	}
	hint := filepath.Join(r.WorktreesDir(), WorktreeID(branch))
	if w, err := readWorktree(hint); err == nil && w.Branch == branch {
		return w, nil
	}
	all, err := r.knownWorktrees()
	if err != nil {
		return Worktree{}, err
	}
	if known, ok := all[branch]; ok {
		if w, err := readWorktree(known.GitDir); err == nil && w.Branch == branch {
			return w, nil
		}
	}
	return Worktree{}, fmt.Errorf("worktree of %s: %w", branch, ErrNotFound)
}

// Worktrees returns all worktrees whose folder is there, the main one first.
func (r *Repo) Worktrees() ([]Worktree, error) {
	main, err := r.mainWorktree()
	if err != nil {
		return nil, err
	}
	linked, err := r.linkedWorktrees()
	if err == nil && main.Dir != "" {
		linked = append([]Worktree{main}, linked...)
	}
	return linked, err
}

// MainDir is the folder around .git, the main working tree. A bare repository has none.
func (r *Repo) MainDir() (dir string, ok bool) {
	if filepath.Base(r.gitDir) != ".git" || r.bare && r.config.Bool("core", "", "bare") {
		return "", false
	}
	return filepath.Dir(r.gitDir), true
}

// mainWorktree is what is checked out in MainDir; Dir is "" in a bare repository. A HEAD that
// cannot be read is an error: the tape there would seem to have no files.
func (r *Repo) mainWorktree() (Worktree, error) {
	dir, ok := r.MainDir()
	if !ok {
		return Worktree{}, nil
	}
	_, branch, err := readHead(r.gitDir)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %s is missing", ErrDamagedHead, filepath.Join(r.gitDir, "HEAD"))
	}
	if err != nil {
		return Worktree{}, fmt.Errorf("read HEAD of %s: %w", r.gitDir, err)
	}
	return Worktree{Dir: dir, GitDir: r.gitDir, Branch: branch}, nil
}

func (r *Repo) linkedWorktrees() ([]Worktree, error) {
	entries, err := os.ReadDir(r.WorktreesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var out []Worktree
	for _, e := range entries {
		w, err := readWorktree(filepath.Join(r.WorktreesDir(), e.Name()))
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("list worktrees: %w", err)
		default:
			out = append(out, w)
		}
	}
	return out, nil
}

// readWorktree reads what git keeps about a linked worktree. ErrNotFound when it was
// never completed or its folder is gone.
func readWorktree(admin string) (Worktree, error) {
	w, err := ReadAdmin(admin)
	if err != nil {
		return w, err
	}
	back, err := ReadPath(filepath.Join(w.Dir, ".git")) // the admin folder that it names
	if err != nil {
		return w, err
	}
	// A copy of the repository names the original's folders, which name the original.
	if !SameFile(back, admin) {
		return w, ErrNotFound
	}
	return w, nil
}

// ReadPath reads a file that says, perhaps after "gitdir:", where something is. Git before
// 2.48 writes absolute paths, as we do; those of later ones may begin at the file's folder.
// ErrNotFound without the file.
func ReadPath(name string) (string, error) {
	raw, err := gitconfig.ReadFile(name)
	if IsAbsent(err) {
		err = ErrNotFound
	}
	target := filepath.FromSlash(strings.TrimSpace(strings.TrimPrefix(string(raw), "gitdir:")))
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return target, err
}

// ReadAdmin is readWorktree without a look at the working tree.
func ReadAdmin(admin string) (Worktree, error) {
	file, err := ReadPath(filepath.Join(admin, "gitdir"))
	if err != nil {
		return Worktree{}, err
	}
	_, branch, err := readHead(admin)
	if err != nil {
		return Worktree{}, err
	}
	return Worktree{Dir: filepath.Dir(file), GitDir: admin, Branch: branch}, nil
}

// WorktreeGuard is held by who makes or removes linked worktrees.
func (r *Repo) WorktreeGuard() string {
	return filepath.Join(r.gitDir, gitlock.OwnDir, "worktrees.lock")
}

// SameFile reports whether two paths lead to one file or folder.
func SameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}
