// Package transport brings tapes to other repositories, and from there, by the git program.
// Remotes are strangers: what they send is bounded and checked before a ref names it.
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

// Why a remote was not to be talked to. The message has what the remote, or git, said.
var (
	// ErrAuth says that credentials were refused, or are missing.
	ErrAuth = errors.New("access denied")
	// ErrRemote says that a remote cannot be reached, is no repository, or hung up.
	ErrRemote = errors.New("the remote cannot be used")
	// ErrHostile says that what a remote sent is not to be let in: damaged objects, or
	// sizes and names beyond what is allowed.
	ErrHostile = errors.New("refused what the remote sent")
)

// Options change how a remote is talked to; the zero value means the defaults.
type Options struct {
	Progress io.Writer // gets git's own progress, for a terminal; nil: quiet, and nothing is asked
	// Idle is for how long a remote may say nothing, in whole seconds; 0: DefaultIdle.
	Idle time.Duration
}

// RefSpec maps refs of one side to names on the other. Both may end in "/*".
type RefSpec struct{ Src, Dst string }

// matches reports whether a ref of the other side is one of them.
func (s RefSpec) matches(name string) bool {
	prefix, glob := strings.CutSuffix(s.Src, "*")
	return name == s.Src || glob && len(name) > len(prefix) && strings.HasPrefix(name, prefix)
}

// prefix is what all names here begin with.
func (s RefSpec) prefix() string { return strings.TrimSuffix(s.Dst, "*") }

// check refuses what are no full ref names; that both end in /*, or none, git checks.
func (s RefSpec) check() error {
	return errors.Join(gitstore.CheckRefName(strings.TrimSuffix(s.Src, "/*")+"/x"), gitstore.CheckRefName(strings.TrimSuffix(s.Dst, "/*")+"/x"))
}

// RefChange is a ref that moved. New zero: it is gone.
type RefChange struct {
	Name     string
	Old, New gitstore.Hash
}

// LsRemote returns the refs of a remote (a name, or an address) that begin with one of
// prefixes, sorted by name, and the branch that its HEAD names, "" if it does not tell.
func LsRemote(ctx context.Context, r *gitstore.Repo, remote string, prefixes []string, o Options) (refs []gitstore.Ref, head string, err error) {
	m, err := approach(ctx, r, remote, false)
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

// label names a remote in a message.
func (m Remote) label() string { return cmp.Or(m.Name, MaskURL(m.URL)) }

// openLocal opens the repository at a path that is a remote: bare, or with a working tree.
func openLocal(dir string) (*gitstore.Repo, error) {
	for _, gitDir := range []string{filepath.Join(dir, ".git"), dir, dir + ".git"} {
		if st, err := os.Stat(filepath.Join(gitDir, "objects")); err != nil || !st.IsDir() {
			continue
		}
		r, err := gitstore.Open(gitDir, &gitstore.Options{FS: disk.Like(filepath.Join(gitDir, "objects"))})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRemote, err)
		}
		return r, nil
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRemote, err)
	}
	return nil, fmt.Errorf("%w: %s is no git repository", ErrRemote, dir)
}

// SetRemoteHead makes the HEAD of a remote that is a path name a branch, so that a plain
// git clone checks it out. It does so only where HEAD names a branch that does not exist,
// and branch does; for other remotes it does nothing: they have their own ways.
func SetRemoteHead(ctx context.Context, r *gitstore.Repo, remote, branch string) error {
	m, err := findRemote(r, remote)
	if err != nil {
		return err
	}
	dir, ok := localDir(r, m.pushTo())
	if !ok {
		return nil
	}
	other, err := openLocal(dir)
	if err != nil {
		return fmt.Errorf("set HEAD of %s: %w", m.label(), err)
	}
	if _, checkedOut := other.MainDir(); checkedOut {
		return nil // its files would seem deleted
	}
	named, h, err := other.Head(other.GitDir())
	if err != nil || named == branch || !h.IsZero() {
		return err
	}
	if _, err := other.Ref(branch); err != nil {
		return fmt.Errorf("set HEAD of %s: %w", m.label(), err)
	}
	return other.SetHead(ctx, other.GitDir(), branch)
}
