package hooks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Repository is where git runs a hook.
type Repository struct {
	Dir       string // the folder around .git, absolute; "" in a bare repository
	GitDir    string // of the worktree in which git works
	CommonDir string // of the repository; the same as GitDir but in a linked worktree
}

// Locate finds the repository in which git runs the hook that is this process: GIT_DIR,
// or the working folder and its parents. An error is fs.ErrNotExist where there is none.
//
// The workspace that the environment names for other commands does not count: a commit
// is checked where it is made.
func Locate() (Repository, error) {
	gitDir := os.Getenv("GIT_DIR")
	if gitDir == "" {
		found, err := findGitDir()
		if err != nil {
			return Repository{}, err
		}
		gitDir = found
	}
	gitDir, err := filepath.Abs(gitDir)
	if err != nil {
		return Repository{}, err
	}
	r := Repository{GitDir: gitDir, CommonDir: gitDir}
	if raw, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		r.CommonDir = filepath.FromSlash(strings.TrimSpace(string(raw)))
		if !filepath.IsAbs(r.CommonDir) {
			r.CommonDir = filepath.Join(gitDir, r.CommonDir)
		}
	}
	if filepath.Base(r.CommonDir) == ".git" {
		r.Dir = filepath.Dir(r.CommonDir)
	}
	return r, nil
}

// findGitDir looks for .git, a folder or the file of a linked worktree.
func findGitDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		name := filepath.Join(dir, ".git")
		st, err := os.Stat(name)
		switch {
		case err == nil && st.IsDir():
			return name, nil
		case err == nil:
			return readLink(dir, name)
		}
		if dir == filepath.Dir(dir) {
			return "", fs.ErrNotExist
		}
		dir = filepath.Dir(dir)
	}
}

func readLink(dir, name string) (string, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir: ")
	if !ok {
		return "", fs.ErrNotExist
	}
	if target = filepath.FromSlash(target); !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return target, nil
}

// Branch is the full ref that is checked out, "" when HEAD is detached.
func (r Repository) Branch() (string, error) {
	raw, err := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	if err != nil {
		return "", err
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(raw)), "ref: ")
	if !strings.HasPrefix(branch, "refs/") {
		return "", nil
	}
	return branch, nil
}

// IsMerging reports whether the commit that is about to be made concludes a merge.
func (r Repository) IsMerging() bool {
	_, err := os.Lstat(filepath.Join(r.GitDir, "MERGE_HEAD"))
	return !errors.Is(err, fs.ErrNotExist)
}

// The refs that the hooks look at.
const (
	tapeBranches = "refs/heads/tape/"
	forkBranches = "refs/heads/fork/"
	anchorTags   = "refs/tags/anchor/"
	archives     = "refs/tape/archive/"
)

// IsTapeBranch reports whether a full ref is the branch of a tape or of a fork.
func IsTapeBranch(ref string) bool {
	return strings.HasPrefix(ref, tapeBranches) || strings.HasPrefix(ref, forkBranches)
}

// isGuarded reports whether a push of a full ref is looked at.
func isGuarded(ref string) bool {
	return IsTapeBranch(ref) || strings.HasPrefix(ref, anchorTags) || strings.HasPrefix(ref, archives)
}
