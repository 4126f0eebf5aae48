package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/serve/team/config"
	"tape/internal/store/layout"
	"tape/internal/store/remotes"
	"tape/internal/store/workspace"
)

// mirror is the copy of a remote in the cache: a repository without working trees. It may be deleted at any time.
type mirror struct {
	dir   string
	url   string
	o     *workspace.Options
	store *workspace.Store
	fresh bool // nothing was fetched into it yet
}

// openMirror opens the copy. If it is missing, damaged, or of another address, it starts a new one.
func openMirror(ctx context.Context, cache string, r config.Remote, o *workspace.Options) (*mirror, error) {
	m := &mirror{dir: filepath.Join(cache, r.Name), url: r.URL, o: o}
	s, err := workspace.Open(ctx, m.dir, o)
	if err == nil {
		if all, err := remotes.Remotes(ctx, s); err == nil && len(all) == 1 && m.isSame() {
			m.store = s
			return m, s.Hide()
		}
	}
	return m, m.recreate(ctx)
}

// note is a file beside the copy with the remote's address. The copy's own settings do not show it: git may rewrite
// addresses by the user's insteadOf.
func (m *mirror) note() string { return m.dir + ".url" }

// isSame reports whether the copy is of the remote's present address.
func (m *mirror) isSame() bool {
	url, err := os.ReadFile(m.note())
	return err == nil && string(url) == m.url
}

// recreate removes the copy, which may have what was purged, and starts a new one.
func (m *mirror) recreate(ctx context.Context) error {
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("clear the cache: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	s, err := workspace.Create(m.dir, workspace.DefaultTape, m.o)
	if err == nil {
		err = s.Hide()
	}
	if err == nil {
		err = remotes.AddRemote(ctx, s, layout.DefaultRemote, m.url)
	}
	if err == nil {
		err = os.WriteFile(m.note(), []byte(m.url), 0o600)
	}
	m.store, m.fresh = s, true
	return err
}

// fetch brings the copy up to date, and returns the branches that were refused. If a history was rewritten, everything
// is fetched into a new copy.
func (m *mirror) fetch(ctx context.Context) (refused []layout.RefStatus, err error) {
	if m.unchanged(ctx) {
		return nil, nil
	}
	for {
		all, err := remotes.Fetch(ctx, m.store, layout.DefaultRemote, nil)
		if err != nil {
			return nil, err
		}
		refused = slices.DeleteFunc(all, func(s layout.RefStatus) bool { return s.Err == nil })
		rewritten := slices.ContainsFunc(refused, func(s layout.RefStatus) bool { return errors.Is(s.Err, layout.ErrConflict) })
		if !rewritten || m.fresh {
			return refused, nil
		}
		if err := m.recreate(ctx); err != nil {
			return nil, err
		}
	}
}

// unchanged reports whether the remote still has exactly the refs that were fetched and accepted last. With thousands of
// tapes, listing them is much faster than a fetch that finds nothing new.
func (m *mirror) unchanged(ctx context.Context) bool {
	fetched, err1 := remotes.KnownRefs(m.store, layout.FetchedRefs(layout.DefaultRemote))
	accepted, err2 := remotes.KnownRefs(m.store, layout.AcceptedRefs(layout.DefaultRemote))
	if errors.Join(err1, err2) != nil || len(fetched) == 0 || !maps.Equal(fetched, accepted) {
		return false
	}
	refs, _, err := transport.LsRemote(ctx, m.store.Git(), layout.DefaultRemote,
		[]string{layout.BranchPrefix, layout.ForkPrefix, layout.TagPrefix, layout.ArchivePrefix, layout.ForgottenPrefix}, transport.Options{})
	there := map[string]gitstore.Hash{}
	for _, ref := range refs {
		there[ref.Name] = ref.Hash
	}
	return err == nil && maps.Equal(there, fetched) // after an error, the fetch says what is wrong
}

// heads returns the branches of the accepted tapes and forks, tapes first, and their commits.
func (m *mirror) heads() (names []string, heads map[string]gitstore.Hash, err error) {
	heads, err = remotes.KnownRefs(m.store, layout.AcceptedRefs(layout.DefaultRemote))
	if err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(heads, func(ref string, _ gitstore.Hash) bool {
		return !strings.HasPrefix(ref, layout.BranchPrefix) && !strings.HasPrefix(ref, layout.ForkPrefix)
	})
	return slices.SortedFunc(maps.Keys(heads), layout.CompareRefs), heads, nil
}

// CheckRemote counts the tapes of a remote, as a sync finds them, and fetches nothing. It returns an error if git cannot
// read the remote.
func CheckRemote(ctx context.Context, url string) (tapes int, err error) {
	dir, err := os.MkdirTemp("", "tape-team-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	git, err := gitstore.Init(filepath.Join(dir, layout.GitDirName), gitstore.InitOptions{Branch: "refs/heads/main"})
	if err == nil {
		var refs []gitstore.Ref
		refs, _, err = transport.LsRemote(ctx, git, url, []string{layout.BranchPrefix}, transport.Options{})
		tapes = len(refs)
	}
	if err != nil && strings.Contains(err.Error(), "dubious ownership") {
		return 0, layout.Invalid("git config --global --add safe.directory "+url+", as the user that runs this", "%s belongs to another user, so git does not read it", url)
	}
	return tapes, layout.Classify(err)
}
