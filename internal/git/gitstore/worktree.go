package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/git/gitconfig"
	"tape/internal/git/gitlock"
)

// Worktree is a folder in which a branch is checked out.
type Worktree struct {
	Dir    string // the working tree's root, absolute
	GitDir string // .git for the main one, else .git/worktrees/<id>
	Branch string // the full ref that its HEAD names; "" when detached
}

// IndexPath returns the path of the worktree's index.
func (w Worktree) IndexPath() string { return filepath.Join(w.GitDir, "index") }

// IndexGuard returns the lock that we hold to change the index.
func (w Worktree) IndexGuard() string { return filepath.Join(w.GitDir, gitlock.OwnDir, "index.lock") }

// WorktreesDir returns the folder of the admin folders of linked worktrees.
func (r *Repo) WorktreesDir() string { return filepath.Join(r.gitDir, "worktrees") }

// HeadDirs returns the folders that have a HEAD: .git first, then those of linked worktrees.
func (r *Repo) HeadDirs() []string {
	admins, _ := r.admins()
	return append([]string{r.gitDir}, admins...)
}

// HasTree reports whether a folder is one of the repository's working trees, whatever is checked out there.
func (r *Repo) HasTree(dir string) bool {
	trees, err := r.Worktrees()
	return err != nil || slices.ContainsFunc(trees, func(w Worktree) bool { return disk.SameFile(w.Dir, dir) })
}

// HasBranch reports whether dir is a worktree with a branch checked out.
func (r *Repo) HasBranch(dir, branch string) bool {
	trees, _ := r.Worktrees()
	return slices.ContainsFunc(trees, func(w Worktree) bool { return w.Branch == branch && disk.SameFile(w.Dir, dir) })
}

// Dirs returns the repository's folder, and those of its worktrees that exist.
func (r *Repo) Dirs() []string {
	dirs := []string{r.gitDir}
	trees, _ := r.Worktrees()
	for _, w := range trees {
		dirs = append(dirs, w.Dir)
	}
	return dirs
}

func (r *Repo) admins() (dirs []string, err error) {
	entries, err := os.ReadDir(r.WorktreesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(r.WorktreesDir(), e.Name()))
	}
	return dirs, nil
}

// CheckedOut returns the branches that HEADs name, whether the worktrees' folders exist or not; "" is one of
// them if a HEAD is detached or missing.
func (r *Repo) CheckedOut() (map[string]bool, error) {
	admins, err := r.admins()
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, dir := range append(admins, r.gitDir) {
		branch, err := r.checkedOutIn(dir)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("read HEAD of %s: %w", dir, err)
		}
		out[branch] = true
	}
	return out, nil
}

// checkedOutIn returns the branch that is named by HEAD in .git or in an admin folder; "" if HEAD is detached. Errors:
// ErrNotFound if there is no HEAD, or if git was killed while it added the worktree.
func (r *Repo) checkedOutIn(dir string) (string, error) {
	_, branch, err := readHead(dir)
	if dir != r.gitDir && errors.Is(err, ErrDamagedRef) {
		_, err = ReadAdmin(dir)
	}
	return branch, err
}

// WorktreeOf returns the worktree in which a branch is checked out. Errors: ErrNotFound; a linked
// worktree whose folder is gone does not count.
func (r *Repo) WorktreeOf(branch string) (Worktree, error) {
	if w, err := r.mainWorktree(); err != nil || w.Branch == branch {
		return w, err
	}
	guess := filepath.Join(r.WorktreesDir(), WorktreeID(branch))
	if w, err := readWorktree(guess); err == nil && w.Branch == branch {
		return w, nil
	}
	admins, err := r.AdminsOf(branch)
	if err != nil {
		return Worktree{}, err
	}
	for _, admin := range admins {
		w, err := readWorktree(admin)
		if err == nil && w.Branch == branch {
			return w, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Worktree{}, fmt.Errorf("worktree of %s: %w", branch, err)
		}
	}
	return Worktree{}, fmt.Errorf("worktree of %s: %w", branch, ErrNotFound)
}

// Worktrees returns all worktrees whose folder exists, the main one first.
func (r *Repo) Worktrees() (out []Worktree, err error) {
	main, err := r.mainWorktree()
	if err != nil {
		return nil, err
	}
	if main.Dir != "" {
		out = append(out, main)
	}
	admins, err := r.admins()
	for _, admin := range admins {
		w, err := readWorktree(admin)
		if err == nil {
			out = append(out, w)
		} else if !errors.Is(err, ErrNotFound) {
			return nil, fmt.Errorf("list worktrees: %w", err)
		}
	}
	return out, err
}

// DetachedWorktrees returns the worktrees with a detached HEAD. While git rebases or bisects a branch, HEAD is detached.
func (r *Repo) DetachedWorktrees() (out []Worktree, err error) {
	main, err := r.mainWorktree()
	if err == nil && main.Dir != "" && main.Branch == "" {
		out = append(out, main)
	}
	admins, listErr := r.AdminsOf("")
	for _, admin := range admins {
		if w, err := readWorktree(admin); err == nil {
			out = append(out, w)
		}
	}
	return out, errors.Join(err, listErr)
}

// MainDir returns the main working tree, the folder around .git. A bare repository has none.
func (r *Repo) MainDir() (dir string, ok bool) {
	if filepath.Base(r.gitDir) != ".git" || r.bare && r.config.Bool("core", "", "bare") {
		return "", false
	}
	return filepath.Dir(r.gitDir), true
}

// NotBare has to be called when core.bare was removed from the configuration, which was read when the repository was opened.
func (r *Repo) NotBare() { r.bare = false }

// mainWorktree returns the main worktree; Dir is "" in a bare repository. An unreadable HEAD is an
// error: otherwise the tape there would seem to have no files.
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

// readWorktree reads an admin folder and checks that its worktree names it back. Errors: ErrNotFound if
// it does not, if its creation was cut off, or if its folder is gone.
func readWorktree(admin string) (Worktree, error) {
	w, err := ReadAdmin(admin)
	if err != nil {
		return w, err
	}
	back, err := ReadPath(filepath.Join(w.Dir, ".git")) // the admin folder that it names
	if err != nil {
		return w, err
	}
	// The admin folders of a copied repository name the original's worktrees, which name the original.
	if !disk.SameFile(back, admin) {
		return w, ErrNotFound
	}
	return w, nil
}

// ReadPath reads the path in a file like .git, perhaps after "gitdir:". We and git before 2.48 write
// absolute paths; a relative one starts at the file's folder. Errors: ErrNotFound.
func ReadPath(name string) (string, error) {
	raw, err := gitconfig.ReadFile(name)
	if st, statErr := os.Lstat(name); IsAbsent(err) || err != nil && statErr == nil && st.IsDir() {
		err = ErrNotFound
	}
	target := filepath.FromSlash(strings.TrimSpace(strings.TrimPrefix(string(raw), "gitdir:")))
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return target, err
}

// ReadAdmin reads the admin folder of a linked worktree without looking at its working tree.
func ReadAdmin(admin string) (Worktree, error) {
	if isLink(admin) {
		return Worktree{}, ErrNotFound // it may lead to an admin folder of another repository
	}
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

func isLink(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&os.ModeSymlink != 0
}

// WorktreeGuard returns the lock that we hold to add or remove linked worktrees.
func (r *Repo) WorktreeGuard() string {
	return filepath.Join(r.gitDir, gitlock.OwnDir, "worktrees.lock")
}
