// Package transport fetches from and pushes to other repositories, with the git program. Remotes are
// not trusted: what they send is limited, and checked before a ref points to it.
package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
)

// Why a remote could not be used. The message has what the remote, or git, said.
var (
	// ErrAuth says that credentials were refused, or are missing.
	ErrAuth = errors.New("access denied")
	// ErrRemote says that a remote cannot be reached, is not a repository, or hung up.
	ErrRemote = errors.New("the remote cannot be used")
	// ErrHostile says that what a remote sent was refused: damaged objects, or sizes and names
	// beyond the limits.
	ErrHostile = errors.New("refused what the remote sent")
)

// Options change how git talks to a remote; the zero value means the defaults.
type Options struct {
	Progress io.Writer // a terminal for git's progress; nil: git shows none, and does not ask for passwords
	// Without has patterns of refs that a fetch leaves out: full names, or prefixes that end in "/*". Needs git 2.29.
	Without []string
	// NoHook skips the pre-push hook: a person has decided what is pushed.
	NoHook bool
	// Idle is how long a remote may be silent; ssh and HTTP get whole seconds, at least 1. 0: DefaultIdle.
	Idle time.Duration
}

// RefSpec maps refs of one side to names on the other. Both may end in "/*".
type RefSpec struct{ Src, Dst string }

// prefix returns the common beginning of the names that Dst stands for.
func (s RefSpec) prefix() string { return strings.TrimSuffix(s.Dst, "*") }

// check refuses sides that are not full ref names. Git itself refuses a pair of which only one ends in /*.
func (s RefSpec) check() error {
	return errors.Join(gitstore.CheckRefName(strings.TrimSuffix(s.Src, "/*")+"/x"), gitstore.CheckRefName(strings.TrimSuffix(s.Dst, "/*")+"/x"))
}

// RefChange is a ref that changed. Old is zero if the ref is new, New is zero if it is gone.
type RefChange struct {
	Name     string
	Old, New gitstore.Hash
}

// LsRemote returns the refs of a remote (a name, or an address) that begin with one of prefixes,
// sorted by name, and the branch that its HEAD names, or "".
func LsRemote(ctx context.Context, r *gitstore.Repo, remote string, prefixes []string, o Options) (refs []gitstore.Ref, head string, err error) {
	m, err := resolveRemote(ctx, r, remote, false)
	if err != nil {
		return nil, "", err
	}
	if refs, head, err = gitLsRemote(ctx, r, m, o, "--symref"); err != nil {
		return nil, "", fmt.Errorf("list refs of %s: %w", m.label(), err)
	}
	refs = below(refs, prefixes)
	slices.SortFunc(refs, func(a, b gitstore.Ref) int { return strings.Compare(a.Name, b.Name) })
	return refs, head, nil
}

// below returns the refs that begin with one of prefixes.
func below(refs []gitstore.Ref, prefixes []string) []gitstore.Ref {
	return slices.DeleteFunc(refs, func(ref gitstore.Ref) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(ref.Name, p) })
	})
}

// LeaveHead prepares the deletion of a branch at a remote that is a path: a repository refuses to delete
// the branch that its HEAD names. If HEAD names this branch, LeaveHead sets it to next, which need not
// exist. Other remotes, and repositories with a working tree, are not touched. back undoes it if the
// branch was not deleted.
func LeaveHead(ctx context.Context, r *gitstore.Repo, remote, branch, next string) (back func() error, err error) {
	other, named, _, err := headOf(r, remote)
	if err != nil || other == nil || named != branch {
		return func() error { return nil }, err
	}
	back = func() error {
		if _, err := other.Ref(branch); err != nil {
			return nil //nolint:nilerr // it is gone
		}
		return other.SetHead(context.WithoutCancel(ctx), other.GitDir(), branch)
	}
	return back, other.SetHead(ctx, other.GitDir(), next)
}

// headOf opens the repository of a remote that is a path, and reads its HEAD. The repository is nil for
// other remotes, and if it has a working tree: with another HEAD, git would show the files there as deleted.
func headOf(r *gitstore.Repo, remote string) (other *gitstore.Repo, branch string, h gitstore.Hash, err error) {
	m, err := findRemote(r, remote)
	if err != nil {
		return nil, "", h, err
	}
	dir, ok := localDir(r, pushAddress(r, m))
	if !ok {
		return nil, "", h, nil
	}
	if other, err = openLocal(dir); err != nil {
		return nil, "", h, fmt.Errorf("read HEAD of %s: %w", m.label(), err)
	}
	if _, checkedOut := other.MainDir(); checkedOut {
		return nil, "", h, nil
	}
	branch, h, err = other.Head(other.GitDir())
	return other, branch, h, err
}

// label returns the name of a remote for messages.
func (m Remote) label() string { return cmp.Or(m.Name, MaskURL(m.URL)) }

// openLocal opens the repository at a path, bare or with a working tree.
func openLocal(dir string) (*gitstore.Repo, error) {
	for _, gitDir := range []string{filepath.Join(dir, ".git"), dir, dir + ".git"} {
		if st, err := os.Stat(filepath.Join(gitDir, "objects")); err != nil || !st.IsDir() {
			continue
		}
		r, err := gitstore.Open(gitDir, &gitstore.Options{FS: disk.WithPermissionsOf(filepath.Join(gitDir, "objects"))})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRemote, err)
		}
		return r, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRemote, err)
	}
	return nil, fmt.Errorf("%w: %s is not a git repository", ErrRemote, dir)
}

// SetRemoteHead sets the HEAD of a remote that is a path to a branch, so that a plain git clone checks
// that branch out. It does so only if HEAD names a branch that does not exist. Other remotes, and
// repositories with a working tree, are not touched. The error is gitstore.ErrNotFound if the remote
// lacks the branch.
func SetRemoteHead(ctx context.Context, r *gitstore.Repo, remote, branch string) error {
	other, named, h, err := headOf(r, remote)
	if err != nil || other == nil || named == branch || !h.IsZero() {
		return err
	}
	if _, err := other.Ref(branch); err != nil {
		return fmt.Errorf("set HEAD of %s: %w", MaskURL(remote), err)
	}
	return other.SetHead(ctx, other.GitDir(), branch)
}
