package gitstore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"tape/internal/gitstore/gitlock"
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

// maxWorktreeID bounds an id in bytes: it is a folder name.
const maxWorktreeID = 100

func (r *Repo) worktreesDir() string { return filepath.Join(r.gitDir, "worktrees") }

// HeadDirs returns the folders that have a HEAD: .git and those of linked worktrees.
func (r *Repo) HeadDirs() []string {
	dirs := []string{r.gitDir}
	entries, _ := os.ReadDir(r.worktreesDir())
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(r.worktreesDir(), e.Name()))
	}
	return dirs
}

// WorktreeOf returns where git says that a branch is checked out. ErrNotFound when
// nowhere; a linked worktree whose folder is gone does not count.
func (r *Repo) WorktreeOf(branch string) (Worktree, error) {
	if w, err := r.mainWorktree(); err != nil || w.Branch == branch {
		return w, err
	}
	hint := filepath.Join(r.worktreesDir(), worktreeID(branch))
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
	path := filepath.Join(r.gitDir, "HEAD")
	_, branch, err := readLoose(path)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%w: %s is missing", ErrDamagedRef, path)
	}
	if err != nil {
		return Worktree{}, fmt.Errorf("read HEAD of %s: %w", r.gitDir, err)
	}
	return Worktree{Dir: dir, GitDir: r.gitDir, Branch: branch}, nil
}

func (r *Repo) linkedWorktrees() ([]Worktree, error) {
	entries, err := os.ReadDir(r.worktreesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var out []Worktree
	for _, e := range entries {
		w, err := readWorktree(filepath.Join(r.worktreesDir(), e.Name()))
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
	w, err := readAdmin(admin)
	if err != nil {
		return w, err
	}
	back, err := readPath(filepath.Join(w.Dir, ".git")) // the admin folder that it names
	if err != nil {
		if IsAbsent(err) {
			err = ErrNotFound
		}
		return w, err
	}
	// A copy of the repository names the original's folders, which name the original.
	if !sameFile(back, admin) {
		return w, ErrNotFound
	}
	return w, nil
}

// readPath reads a file that says, perhaps after "gitdir:", where something is. Git before
// 2.48 writes absolute paths, as we do; those of later ones may begin at the file's folder.
func readPath(name string) (string, error) {
	raw, err := os.ReadFile(name)
	target := filepath.FromSlash(strings.TrimSpace(strings.TrimPrefix(string(raw), "gitdir:")))
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return target, err
}

// readAdmin is readWorktree without a look at the working tree.
func readAdmin(admin string) (Worktree, error) {
	file, err := readPath(filepath.Join(admin, "gitdir"))
	if err != nil {
		if IsAbsent(err) {
			err = ErrNotFound
		}
		return Worktree{}, err
	}
	_, branch, err := readLoose(filepath.Join(admin, "HEAD"))
	if err != nil {
		return Worktree{}, err
	}
	return Worktree{Dir: filepath.Dir(file), GitDir: admin, Branch: branch}, nil
}

// worktreeID proposes the name of the admin folder for a branch. It is a valid part of
// a ref name, since git builds refs like worktrees/<id>/HEAD with it.
func worktreeID(branch string) string {
	name := strings.TrimPrefix(branch, "refs/heads/")
	id := strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' || c == '-' || c == '.' {
			return c
		}
		return '-'
	}, name)
	for strings.Contains(id, "..") {
		id = strings.ReplaceAll(id, "..", "-")
	}
	id = strings.Trim(strings.TrimSuffix(id, ".lock"), ".")
	if id == "" || len(id) > maxWorktreeID {
		id = strings.ToValidUTF8(id[:min(len(id), maxWorktreeID-9)], "") + "-" + shortHash(branch)
	}
	return id
}

func shortHash(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:4])
}

func (r *Repo) freeWorktreeID(branch string) (string, error) {
	base := worktreeID(branch)
	for i := range 100 {
		id := base
		if i > 0 {
			id += "-" + shortHash(branch) + "-" + strconv.Itoa(i)
		}
		if _, err := os.Lstat(filepath.Join(r.worktreesDir(), id)); errors.Is(err, fs.ErrNotExist) {
			return id, nil
		}
	}
	return "", fmt.Errorf("no free name for a worktree of %s", branch)
}

// AddWorktree makes dir a linked worktree of a branch, without checking out files, and
// returns the one that is there already. It writes what `git worktree add` writes, and
// paths that are absolute, as git before 2.48 does: then older gits understand them, and
// moving a workspace takes a `git worktree repair`, as with git.
//
// The admin folder is put together elsewhere and appears under .git/worktrees by one
// rename, after dir/.git was written. So a `git worktree prune` by somebody else never
// meets a half-made one, and after a crash at any point the next call finishes the job.
func (r *Repo) AddWorktree(ctx context.Context, branch, dir string) (w Worktree, err error) {
	if err := CheckRefName(branch); err != nil {
		return w, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return w, err
	}
	err = r.locks.Guarded(ctx, r.worktreeGuard(), func() error {
		w, err = r.addWorktree(branch, dir)
		return err
	})
	if err != nil {
		return Worktree{}, fmt.Errorf("add worktree %s of %s: %w", dir, branch, err)
	}
	return w, nil
}

func (r *Repo) worktreeGuard() string {
	return filepath.Join(r.gitDir, gitlock.OwnDir, "worktrees.lock")
}

func (r *Repo) addWorktree(branch, dir string) (Worktree, error) {
	if err := r.fs.MkdirAll(dir); err != nil {
		return Worktree{}, err
	}
	dir, err := filepath.EvalSymlinks(dir) // git records real paths
	if err != nil {
		return Worktree{}, err
	}
	there, err := r.WorktreeOf(branch)
	if err == nil {
		if real, err := filepath.EvalSymlinks(there.Dir); err == nil && real == dir {
			return there, nil
		}
		return Worktree{}, fmt.Errorf("the branch is checked out in %s", there.Dir)
	}
	if !errors.Is(err, ErrNotFound) {
		return Worktree{}, err
	}
	if err := r.checkWorktreeDir(dir); err != nil {
		return Worktree{}, err
	}
	if err := r.pruneFor(branch, dir); err != nil {
		return Worktree{}, err
	}
	id, err := r.freeWorktreeID(branch)
	if err != nil {
		return Worktree{}, err
	}
	w := Worktree{Dir: dir, GitDir: filepath.Join(r.worktreesDir(), id), Branch: branch}
	return w, r.writeWorktree(w)
}

// checkWorktreeDir refuses a folder that is part of another repository or worktree. A
// .git file that leads nowhere is what a crash of ours left.
func (r *Repo) checkWorktreeDir(dir string) error {
	link := filepath.Join(dir, ".git")
	st, err := os.Lstat(link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is a repository of its own", dir)
	}
	raw, err := os.ReadFile(link)
	if err != nil {
		return err
	}
	ok := strings.HasPrefix(string(raw), "gitdir: ")
	if !ok && len(raw) > 0 {
		return fmt.Errorf("%s is not one of git's", link)
	}
	target, err := readPath(link)
	if err != nil {
		return err
	}
	if w, err := readAdmin(target); err == nil && w.Dir == dir {
		return fmt.Errorf("%s is a worktree already, of %q", dir, w.Branch)
	}
	if _, err := os.Stat(filepath.Join(target, "HEAD")); ok && err == nil && !sameFile(filepath.Dir(target), r.worktreesDir()) {
		return fmt.Errorf("%s belongs to the repository %s", dir, target)
	}
	return nil
}

func sameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}

// pruneFor removes admin folders in the way of a worktree whose own trees are gone.
func (r *Repo) pruneFor(branch, dir string) error {
	for _, admin := range r.HeadDirs()[1:] {
		old, err := readAdmin(admin)
		if err != nil || old.Branch != branch && old.Dir != dir {
			continue
		}
		if _, err := os.Lstat(filepath.Join(admin, "locked")); err == nil {
			return fmt.Errorf("its worktree %s is missing, but locked: git worktree unlock it first", old.Dir)
		}
		if err := r.removeAdmin(admin); err != nil {
			return err
		}
	}
	return nil
}

// emptyStaging returns the path, free now, where admin folders are put together and
// taken apart. The guard makes it ours alone; what is there is left from a crash.
func (r *Repo) emptyStaging() (string, error) {
	path := filepath.Join(r.gitDir, gitlock.OwnDir, "worktree.new")
	return path, r.fs.RemoveAll(path)
}

func (r *Repo) writeWorktree(w Worktree) error {
	if err := r.fs.MkdirAll(r.worktreesDir()); err != nil {
		return err
	}
	worktrees, err := filepath.EvalSymlinks(r.worktreesDir())
	if err != nil {
		return err
	}
	staging, err := r.emptyStaging()
	if err != nil {
		return err
	}
	if err := r.fs.MkdirAll(staging); err != nil {
		return err
	}
	files := []struct{ path, content string }{
		{filepath.Join(staging, "HEAD"), "ref: " + w.Branch},
		{filepath.Join(staging, "commondir"), "../.."},
		{filepath.Join(staging, "gitdir"), filepath.ToSlash(filepath.Join(w.Dir, ".git"))},
		{filepath.Join(w.Dir, ".git"), "gitdir: " + filepath.ToSlash(filepath.Join(worktrees, filepath.Base(w.GitDir)))},
	}
	for _, f := range files {
		if err := r.fs.WriteFile(f.path, []byte(f.content+"\n")); err != nil {
			return err
		}
	}
	if err := r.fs.Rename(staging, w.GitDir); err != nil {
		return err
	}
	return r.fs.SyncDir(r.worktreesDir())
}
