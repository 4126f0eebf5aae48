package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/gitstore/gitrun"
	"tape/internal/gitstore/transport"
)

// DefaultRemote is the remote that commands mean by default.
const DefaultRemote = "origin"

// What talking to a remote can fail with, besides the classes of errors of this package.
var (
	// ErrNoGit: there is no git program, which remotes and GC need.
	ErrNoGit = gitrun.ErrNoGit
	// ErrAuth: credentials were refused, or are missing.
	ErrAuth = transport.ErrAuth
	// ErrRemote: the remote cannot be reached, is no repository, or hung up.
	ErrRemote = transport.ErrRemote
	// ErrHostile: what the remote sent is damaged, or beyond what is allowed.
	ErrHostile = transport.ErrHostile
)

// Remote is another repository that this one shares tapes with.
type Remote struct {
	Name    string
	URL     string // a password in it is hidden
	PushURL string // where pushes go, if that is another address
}

// RemoteOptions say how a remote is talked to.
type RemoteOptions struct {
	Progress io.Writer // gets git's own progress, for a terminal; nil: quiet, and nothing is asked
}

func (o RemoteOptions) transport() transport.Options {
	return transport.Options{Progress: o.Progress}
}

// What a fetch, pull or push did with a branch, or archive.
const (
	RefUpToDate    = "up_to_date"
	RefFastForward = "fast_forward"
	RefMerged      = "merged"
	RefNew         = "new"
	RefDeleted     = "deleted" // a fork that was merged
	RefRejected    = "rejected"
)

// RefStatus tells what a fetch, pull or push did with a branch or archive.
type RefStatus struct {
	Tape    string // the tape, or PARENT/FORK
	Ref     string // in full, as the remote has it
	Status  string // one of the Ref constants
	Entries int64  // that went over
	Err     error  // why it was rejected
}

// Remotes returns the remotes of the workspace, sorted by name.
func (s *Store) Remotes(ctx context.Context) ([]Remote, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all, err := transport.Remotes(s.git)
	if err != nil {
		return nil, classify(err)
	}
	out := make([]Remote, len(all))
	for i, r := range all {
		out[i] = Remote{Name: r.Name, URL: transport.MaskURL(r.URL), PushURL: transport.MaskURL(r.PushURL)}
	}
	return out, nil
}

// AddRemote gives another repository a name. ErrConflict if the name is taken.
func (s *Store) AddRemote(ctx context.Context, name, url string) error {
	if err := transport.CheckRemoteName(name); err != nil {
		return invalid("origin is the usual name", "%v", err)
	}
	if err := transport.CheckURL(url); err != nil {
		return invalid("give a path, user@host:path, or an address that begins with ssh://, https:// or file://", "%v", err)
	}
	err := transport.AddRemote(ctx, s.git, name, url)
	if errors.Is(err, transport.ErrExists) {
		return conflict("tape remote list shows its address; give the new one another name, or take that one away: tape remote remove "+shellWord(name), "there is a remote %q already", name)
	}
	if errors.Is(err, transport.ErrNested) {
		return conflict("give it a name without a slash", "%v", err)
	}
	return classify(err)
}

// RemoveRemote forgets a remote and what is known of it. Tapes stay.
func (s *Store) RemoveRemote(ctx context.Context, name string) error {
	if _, err := s.findRemote(name); err != nil {
		return err
	}
	return classify(transport.RemoveRemote(ctx, s.git, name))
}

func (s *Store) findRemote(name string) (transport.Remote, error) {
	all, err := transport.Remotes(s.git)
	if err != nil {
		return transport.Remote{}, classify(err)
	}
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	return transport.Remote{}, notFound("tape remote add "+shellWord(name)+" URL names one; tape remote list lists them", "there is no remote %q", name)
}

// Refs that hold what a remote has: first as it was fetched, then what of it was looked
// at and found good. Only the latter is used. What both differ in is still to be checked,
// however a fetch ended.
func fetchedRefs(remote string) string { return gitstore.FetchedRefs(remote) }

func acceptedRefs(remote string) string { return gitstore.RemoteRefs(remote) }

// Within both a ref is called like at the remote, without refs/ or refs/tape/.
const (
	headsDir   = "heads/"
	archiveDir = "archive/"
)

// innerRef is what a remote's ref is called in fetchedRefs and acceptedRefs.
func innerRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "tape/")
}

// fullRef is the inverse of innerRef.
func fullRef(short string) string {
	if strings.HasPrefix(short, archiveDir) {
		return "refs/tape/" + short
	}
	return "refs/" + short
}

// knownRefs returns what refs of one of the two kinds hold, by the names that the remote has for them.
func (s *Store) knownRefs(prefix string) (map[string]gitstore.Hash, error) {
	refs, err := s.git.Refs(prefix)
	if err != nil {
		return nil, classify(err)
	}
	out := make(map[string]gitstore.Hash, len(refs))
	for _, ref := range refs {
		out[fullRef(strings.TrimPrefix(ref.Name, prefix))] = ref.Hash
	}
	return out, nil
}

// Distance is how far a tape and a remote have gone from what both have, in entries.
type Distance struct {
	Remote string
	Shared bool  // the remote has the tape, as far as is known
	Ahead  int64 // entries that the remote lacks, all of them if it does not have the tape
	Behind int64 // entries of the remote that are not here yet
}

// Distances compares a tape with what was last heard of each remote. It asks none.
func (t *Tape) Distances(ctx context.Context) ([]Distance, error) {
	remotes, err := transport.Remotes(t.store.git)
	if err != nil || len(remotes) == 0 {
		return nil, classify(err)
	}
	sum, err := t.Summary(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Distance, 0, len(remotes))
	for _, r := range remotes {
		d, err := t.distance(r.Name, sum.Entries)
		if err != nil {
			return nil, fmt.Errorf("compare %q with %s: %w", t.name, r.Name, err)
		}
		out = append(out, d)
	}
	return out, nil
}

func (t *Tape) distance(remote string, last int64) (Distance, error) {
	d := Distance{Remote: remote, Ahead: last}
	theirs, err := t.store.git.Ref(acceptedRefs(remote) + innerRef(t.branch))
	if errors.Is(err, gitstore.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return d, classify(err)
	}
	head, err := t.head()
	if err != nil {
		return d, err
	}
	d.Shared = true
	common := theirs
	if head != theirs {
		if common, err = t.store.commonCommit(head, theirs); errors.Is(err, ErrConflict) {
			common, err = gitstore.ZeroHash, nil
		}
		if err != nil {
			return d, err
		}
	}
	var shared, has int64
	if !common.IsZero() {
		if shared, err = t.store.lastOf(common); err != nil {
			return d, err
		}
	}
	if has, err = t.store.lastOf(theirs); err != nil {
		return d, err
	}
	d.Ahead, d.Behind = last-shared, has-shared
	return d, nil
}

// sortRefs puts tapes before their forks, and branches before tags and archives.
func sortRefs(refs []string) {
	rank := func(ref string) int {
		for i, prefix := range []string{branchPrefix, forkPrefix, tagPrefix} {
			if strings.HasPrefix(ref, prefix) {
				return i
			}
		}
		return 3
	}
	slices.SortFunc(refs, func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra - rb
		}
		return strings.Compare(a, b)
	})
}

// gitRemotes is where git has remote-tracking refs.
const gitRemotes = "refs/remotes/"

// remoteRefs are where refs of remotes are kept: by git, and by this program.
func remoteRefs() []string {
	return []string{gitRemotes, strings.TrimSuffix(acceptedRefs(""), "/"), strings.TrimSuffix(fetchedRefs(""), "/")}
}
