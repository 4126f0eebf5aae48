package githooks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Repository is the repository in which git runs a hook.
type Repository struct {
	Dir       string // the folder around .git, absolute; "" in a bare repository
	GitDir    string // git's folder for the worktree: in a linked worktree, its admin folder
	CommonDir string // the .git that all worktrees share; the same as GitDir in the main worktree
}

// Locate finds the repository in which git runs this process as a hook: GIT_DIR, or the current
// folder and its parents. The error is fs.ErrNotExist if there is none.
//
// It ignores a workspace that is named in the environment: a commit is checked in its own repository.
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
	if common, err := gitstore.ReadPath(filepath.Join(gitDir, "commondir")); err == nil {
		r.CommonDir = common
	}
	if filepath.Base(r.CommonDir) == ".git" {
		r.Dir = filepath.Dir(r.CommonDir)
	}
	return r, nil
}

// findGitDir looks for .git in the current folder and its parents: a folder, or the file of a linked worktree.
func findGitDir() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		name := filepath.Join(dir, ".git")
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			return name, nil
		} else if err == nil {
			return gitstore.ReadPath(name)
		}
		if dir == filepath.Dir(dir) {
			return "", fs.ErrNotExist
		}
	}
	return "", err
}

// Branch returns the full ref that is checked out, or "" when HEAD is detached.
func (r Repository) Branch() (string, error) {
	head := filepath.Join(r.GitDir, "HEAD")
	if target, err := os.Readlink(head); err == nil && strings.HasPrefix(target, "refs/") { // core.preferSymlinkRefs
		return target, nil
	}
	raw, err := os.ReadFile(head)
	if err != nil {
		return "", err
	}
	branch, _ := strings.CutPrefix(strings.TrimSpace(string(raw)), "ref: ")
	if !strings.HasPrefix(branch, "refs/") {
		return "", nil
	}
	return branch, nil
}

// IsMerge reports whether git merge or pull runs this merge driver, and not a command that
// replays changes: rebase, cherry-pick, revert, am, stash, checkout -m.
//
// Only git merge names the merged commits in the environment, as GITHEAD_<commit>. A stash that
// --autostash applies after the merge inherits these variables; by then, HEAD has moved.
func (r Repository) IsMerge() (bool, error) {
	if !slices.ContainsFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GITHEAD_") }) {
		return false, nil
	}
	_, head, _, err := r.head()
	if err != nil {
		return false, err
	}
	origHead, err := os.ReadFile(filepath.Join(r.GitDir, "ORIG_HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if strings.TrimSpace(string(origHead)) != head.String() {
		return false, nil
	}
	// After git merge --squash, HEAD has not moved, so an autostash that is then applied must be recognised
	// in another way.
	return !r.has("MERGE_AUTOSTASH") || !r.has("SQUASH_MSG"), nil
}

func (r Repository) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.GitDir, name))
	return !errors.Is(err, fs.ErrNotExist)
}

// IsTapeBranch reports whether a full ref is the branch of a tape or of a fork.
func IsTapeBranch(ref string) bool {
	return strings.HasPrefix(ref, layout.BranchPrefix) || strings.HasPrefix(ref, layout.ForkPrefix)
}

// isGuarded reports whether a push of a full ref is checked.
func isGuarded(ref string) bool {
	return IsTapeBranch(ref) || strings.HasPrefix(ref, layout.TagPrefix) || strings.HasPrefix(ref, layout.ArchivePrefix)
}
