package remotes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Remote is another repository that this one shares tapes with.
type Remote = transport.Remote

// Remotes returns the remotes of the workspace, sorted by name, without passwords.
func Remotes(ctx context.Context, s *workspace.Store) ([]Remote, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := transport.Remotes(s.Git())
	for i, r := range all {
		all[i].URL, all[i].PushURL = transport.MaskURL(r.URL), transport.MaskURL(r.PushURL)
	}
	return all, nil
}

// AddRemote gives another repository a name. ErrConflict if the name is taken; ErrInvalid for a name or
// address that cannot be used.
func AddRemote(ctx context.Context, s *workspace.Store, name, url string) error {
	if err := transport.CheckRemoteName(name); err != nil {
		return layout.Invalid("origin is the usual name", "%v", err)
	}
	if err := transport.CheckURL(url); err != nil {
		return layout.Invalid("give a path, user@host:path, or an address that begins with ssh://, https:// or file://", "%v", err)
	}
	err := transport.AddRemote(ctx, s.Git(), name, url)
	if errors.Is(err, transport.ErrExists) {
		return layout.Conflict("", "there is a remote %q already", name).Try(layout.ShowRemote, name)
	}
	if errors.Is(err, transport.ErrNested) {
		return layout.Conflict("give it a name without a slash", "%v", err)
	}
	return layout.Classify(err)
}

// RemoveRemote removes a remote and the refs fetched from it. Tapes stay. ErrNotFound if there is no such remote.
func RemoveRemote(ctx context.Context, s *workspace.Store, name string) error {
	if err := checkRemote(s, name); err != nil {
		return err
	}
	return layout.Classify(transport.RemoveRemote(ctx, s.Git(), name))
}

// checkRemote refuses a name that no remote has.
func checkRemote(s *workspace.Store, name string) error {
	if slices.ContainsFunc(transport.Remotes(s.Git()), func(r transport.Remote) bool { return r.Name == name }) {
		return nil
	}
	return layout.NotFound("", "there is no remote %q", name).Try(layout.AddRemote, name)
}

// KnownRefs returns the refs under layout.FetchedRefs or layout.AcceptedRefs, by their names at the remote.
func KnownRefs(s *workspace.Store, prefix string) (map[string]gitstore.Hash, error) {
	refs, err := s.Git().Refs(prefix)
	if err != nil {
		return nil, layout.Classify(err)
	}
	out := make(map[string]gitstore.Hash, len(refs))
	for _, ref := range refs {
		name := strings.TrimPrefix(ref.Name, prefix)
		full := "refs/tape/" + name
		if !strings.HasPrefix(full, layout.ArchivePrefix) && !strings.HasPrefix(full, layout.ForgottenPrefix) {
			full = "refs/" + name
		}
		out[full] = ref.Hash
	}
	return out, nil
}

// Distance is how far a tape and its branch at a remote have diverged, in entries.
type Distance struct {
	Remote string
	Shared bool  // the remote had the tape when it was last fetched
	Ahead  int64 // entries that the remote lacks; all if it does not have the tape
	Behind int64 // entries of the remote that are not here yet
}

// Distances compares a tape with what was last fetched from each remote. It contacts no remote.
func Distances(ctx context.Context, t *workspace.Tape) ([]Distance, error) {
	remotes := transport.Remotes(t.Store().Git())
	if len(remotes) == 0 {
		return nil, nil
	}
	sum, err := query.SummaryOf(ctx, t)
	if err != nil {
		return nil, err
	}
	out := make([]Distance, 0, len(remotes))
	for _, r := range remotes {
		d, err := distance(t, r.Name, sum.Entries)
		if errors.Is(err, layout.ErrCorrupt) { // the tape is listed all the same
			t.Store().Warn(fmt.Sprintf("how %q compares with %s is not known: %v; tape verify --repair mends what can be mended", t.Name(), r.Name, err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("compare %q with %s: %w", t.Name(), r.Name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

func distance(t *workspace.Tape, remote string, last int64) (Distance, error) {
	d := Distance{Remote: remote, Ahead: last}
	theirs, err := t.Store().Git().Ref(layout.AcceptedRefs(remote) + layout.InnerRef(t.Ref()))
	if errors.Is(err, gitstore.ErrNotFound) {
		// A clone made by git alone stores it under another name.
		theirs, err = t.Store().Git().Ref("refs/remotes/" + remote + strings.TrimPrefix(t.Ref(), "refs/heads"))
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return d, layout.Classify(err)
	}
	head, err := t.Head()
	if err != nil {
		return d, err
	}
	d.Shared = true
	var shared int64
	common, err := lineage.CommonCommit(t.Store(), head, theirs)
	if err == nil {
		shared, err = snapshot.LastOf(t.Store(), common)
	}
	if err != nil && !errors.Is(err, layout.ErrConflict) { // a conflict means that they have nothing in common
		return d, err
	}
	has, err := snapshot.LastOf(t.Store(), theirs)
	d.Ahead, d.Behind = last-shared, has-shared
	return d, err
}
