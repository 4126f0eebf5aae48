package repo

import (
	"context"

	"tape/internal/git/gitrun"
	"tape/internal/git/transport"
	"tape/internal/store/layout"
	"tape/internal/store/outgoing"
	"tape/internal/store/purge"
	"tape/internal/store/remotes"
	"tape/internal/store/resolve"
)

// DefaultRemote is the remote that commands mean by default.
const DefaultRemote = layout.DefaultRemote

// Errors of talking to a remote, besides the classes of errors of this package.
var (
	// ErrAuth: credentials were refused, or are missing.
	ErrAuth = transport.ErrAuth
	// ErrRemote: the remote cannot be reached, is no repository, or hung up.
	ErrRemote = transport.ErrRemote
	// ErrHostile: what the remote sent is damaged, or beyond what is allowed.
	ErrHostile = transport.ErrHostile
	// ErrNoGit: the git program is not installed.
	ErrNoGit = gitrun.ErrNoGit
	// ErrRefused, in the RefStatus of a branch: what the remote has is not accepted.
	ErrRefused = layout.ErrRefused
)

// What a fetch, pull or push did with a branch, or archive.
const (
	RefUpToDate    = layout.RefUpToDate
	RefFastForward = layout.RefFastForward
	RefMerged      = layout.RefMerged
	RefNew         = layout.RefNew
	RefDeleted     = layout.RefDeleted // a fork that was merged
	RefRejected    = layout.RefRejected
)

type (
	// CloneOptions say how a workspace is made from a remote. Nil means the defaults.
	CloneOptions = remotes.CloneOptions
	// Remote is another repository that this one shares tapes with.
	Remote = remotes.Remote
	// RefStatus tells what a fetch, pull or push did with a branch or archive.
	RefStatus = layout.RefStatus
	// FetchOptions say what is fetched. Nil means everything, quietly.
	FetchOptions = remotes.FetchOptions
	// PushOptions say what is pushed. Nil means every tape that has something new.
	PushOptions = remotes.PushOptions
	// Distance is how far a tape and what a remote has of it have gone apart.
	Distance = remotes.Distance
	// PurgeOptions say what is purged.
	PurgeOptions = purge.PurgeOptions
	// Purged tells what a purge did.
	Purged = purge.Purged
	// SecretsError names what looks like a secret and kept something from being pushed.
	SecretsError = outgoing.SecretsError
	// RewrittenError says that one side of a merge does not begin with what both began with:
	// somebody changed its history.
	RewrittenError = resolve.RewrittenError
)

// Clone makes the workspace dir with the tapes of a remote. One is checked out; the others
// get a working tree when they are first written to. dir must not exist, or be empty. It is
// there when it is whole: if it fails, nothing is left of it.
//
// Errors: ErrConflict if dir is in use; ErrNotFound for a tape that the remote does not
// have; ErrAuth, ErrRemote and ErrHostile.
func Clone(ctx context.Context, url, dir string, o *CloneOptions) (*Store, remotes.Cloned, error) {
	s, out, err := remotes.Clone(ctx, url, dir, o)
	return (*Store)(s), out, err
}

// Remotes returns the remotes of the workspace, sorted by name. Passwords in addresses are hidden.
func (s *Store) Remotes(ctx context.Context) ([]Remote, error) { return remotes.Remotes(ctx, s.in()) }

// AddRemote gives another repository a name. ErrConflict if the name is taken.
func (s *Store) AddRemote(ctx context.Context, name, url string) error {
	return remotes.AddRemote(ctx, s.in(), name, url)
}

// RemoveRemote forgets a remote and what is known of it. Tapes stay.
func (s *Store) RemoveRemote(ctx context.Context, name string) error {
	return remotes.RemoveRemote(ctx, s.in(), name)
}

// Fetch downloads what a remote has into refs of their own (refs/tape/remotes/NAME/), and
// returns the status of each branch that moved. No tape changes. What cannot be accepted is
// rejected, and the refs say what they said before.
//
// Errors: ErrNotFound without such a remote; ErrAuth, ErrRemote and ErrHostile.
func (s *Store) Fetch(ctx context.Context, remote string, o *FetchOptions) ([]RefStatus, error) {
	return settled(ctx, func() ([]RefStatus, error) { return remotes.Fetch(ctx, s.in(), remote, o) })
}

// Push sends the history of tapes to a remote, with the tags of their anchors. What is not
// committed is committed first. Branches only move forward; a tape goes whole or not at
// all. Nothing leaves this machine before all of it was looked through for secrets. There is
// a status for each branch and archive that was chosen.
//
// Errors: a *SecretsError, ErrNotFound without such a remote or tape; what concerns one
// tape is in its status.
func (s *Store) Push(ctx context.Context, remote string, o *PushOptions) ([]RefStatus, error) {
	return settled(ctx, func() ([]RefStatus, error) { return remotes.Push(ctx, s.in(), remote, o) })
}

// Distances tells how far the tape and what each remote has of it, as it was last fetched,
// have gone apart.
func (t *Tape) Distances(ctx context.Context) ([]Distance, error) {
	return settled(ctx, func() ([]Distance, error) { return remotes.Distances(ctx, t.in()) })
}

// Purge takes texts out of a tape's history, and out of its forks, for good: what looks like
// a secret, or what is named. What it takes out is recorded.
func (t *Tape) Purge(ctx context.Context, o PurgeOptions) (Purged, error) {
	return settled(ctx, func() (Purged, error) { return purge.Purge(ctx, t.in(), o) })
}
