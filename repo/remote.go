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

// DefaultRemote is the remote that commands use by default.
const DefaultRemote = layout.DefaultRemote

// Errors of remotes, in addition to the classes of errors of this package.
var (
	// ErrAuth: credentials were refused, or are missing.
	ErrAuth = transport.ErrAuth
	// ErrRemote: the remote cannot be reached, is not a repository, or hung up.
	ErrRemote = transport.ErrRemote
	// ErrHostile: what the remote sent is damaged, or over a limit.
	ErrHostile = transport.ErrHostile
	// ErrNoGit: the git program is not installed.
	ErrNoGit = gitrun.ErrNoGit
	// ErrRefused, in the RefStatus of a branch: the remote's branch was not accepted.
	ErrRefused = layout.ErrRefused
)

// What a fetch, pull or push did with a branch or archive.
const (
	RefUpToDate    = layout.RefUpToDate
	RefFastForward = layout.RefFastForward
	RefMerged      = layout.RefMerged
	RefNew         = layout.RefNew
	RefDeleted     = layout.RefDeleted // a fork that was closed
	RefRejected    = layout.RefRejected
)

type (
	// CloneOptions say how a workspace is cloned. Nil means the defaults.
	CloneOptions = remotes.CloneOptions
	// Remote is another repository that this one shares tapes with.
	Remote = remotes.Remote
	// RefStatus is what a fetch, pull or push did with a branch or archive.
	RefStatus = layout.RefStatus
	// FetchOptions say what to fetch. Nil means everything, quietly.
	FetchOptions = remotes.FetchOptions
	// PurgeThere is a purge that was made at a remote.
	PurgeThere = remotes.PurgeThere
	// PushOptions say what to push. Nil means every tape that has something new.
	PushOptions = remotes.PushOptions
	// Distance is how far a tape and a remote have diverged.
	Distance = remotes.Distance
	// PurgeOptions say what to purge.
	PurgeOptions = purge.PurgeOptions
	// Purged is what a purge did.
	Purged = purge.Purged
	// HookError says that a hook of git on this machine stopped a push.
	HookError = transport.HookError
	// SecretsError stops a push that would have sent secrets.
	SecretsError = outgoing.SecretsError
	// RewrittenError says that one side of a merge does not begin with what both sides began with: its
	// history was changed.
	RewrittenError = resolve.RewrittenError
)

// Clone makes the workspace dir from the tapes of a remote. One is checked out; the others get a working
// tree when they are first written to. dir must be empty or not exist. It appears when the clone is
// complete; if Clone fails, nothing is left.
//
// Errors: ErrConflict if dir is in use; ErrNotFound for a tape that the remote does not
// have; ErrAuth, ErrRemote and ErrHostile.
func Clone(ctx context.Context, url, dir string, o *CloneOptions) (*Store, remotes.Cloned, error) {
	s, out, err := remotes.Clone(ctx, url, dir, o)
	return (*Store)(s), out, err
}

// Remotes returns the remotes of the workspace, sorted by name. Passwords in addresses are hidden.
func (s *Store) Remotes(ctx context.Context) ([]Remote, error) { return remotes.Remotes(ctx, s.in()) }

// AddRemote gives another repository a name. ErrConflict if the name is used already.
func (s *Store) AddRemote(ctx context.Context, name, url string) error {
	return remotes.AddRemote(ctx, s.in(), name, url)
}

// RemoveRemote removes a remote and what was fetched from it. Tapes stay.
func (s *Store) RemoveRemote(ctx context.Context, name string) error {
	return remotes.RemoveRemote(ctx, s.in(), name)
}

// Fetch fetches what a remote has into refs of their own (refs/tape/remotes/NAME/), and returns the
// status of each branch that moved. It does not change tapes. A branch that cannot be accepted is
// rejected, and its ref stays.
//
// Errors: ErrNotFound if there is no such remote; ErrAuth, ErrRemote and ErrHostile.
func (s *Store) Fetch(ctx context.Context, remote string, o *FetchOptions) ([]RefStatus, error) {
	return withMergesCompleted(ctx, func() ([]RefStatus, error) { return remotes.Fetch(ctx, s.in(), remote, o) })
}

// Push sends the history of tapes to a remote, with the tags of their anchors. Uncommitted entries are
// committed first. Branches are only fast-forwarded; a tape is sent completely or not at all. Everything
// is searched for secrets before anything is sent. There is a status for each chosen branch and archive.
//
// Errors: a *SecretsError; ErrNotFound if there is no such remote or tape. The error of a single tape is in
// its status.
func (s *Store) Push(ctx context.Context, remote string, o *PushOptions) ([]RefStatus, error) {
	return withMergesCompleted(ctx, func() ([]RefStatus, error) { return remotes.Push(ctx, s.in(), remote, o) })
}

// Distances returns how far the tape and each remote have diverged, as the remotes were last fetched.
func (t *Tape) Distances(ctx context.Context) ([]Distance, error) {
	return withMergesCompleted(ctx, func() ([]Distance, error) { return remotes.Distances(ctx, t.in()) })
}

// Purge takes secrets or named texts out of the history of a tape and its forks for good, and records
// that it did.
func (t *Tape) Purge(ctx context.Context, o PurgeOptions) (Purged, error) {
	return withMergesCompleted(ctx, func() (Purged, error) { return purge.Purge(ctx, t.in(), o) })
}
