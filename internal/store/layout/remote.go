package layout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// DefaultRemote is the remote that commands use by default.
const DefaultRemote = "origin"

// What a fetch, pull or push did with a branch or archive.
const (
	RefUpToDate    = "up_to_date"
	RefFastForward = "fast_forward"
	RefMerged      = "merged"
	RefNew         = "new"
	RefDeleted     = "deleted" // a fork that a fetch no longer found, or that was closed because it was merged
	RefRejected    = "rejected"
)

// RefStatus says what a fetch, pull or push did with a branch or archive.
type RefStatus struct {
	Tape    string // the tape, or PARENT/FORK
	Ref     string // in full, as the remote has it
	Status  string // one of the Ref constants
	Entries int64  // entries that were transferred
	Err     error  // why it was rejected
}

// FetchedRefs returns the prefix of refs that hold what was fetched from a remote. Only what was checked
// moves on to AcceptedRefs and is used. So the difference between the two is what has to be checked,
// even after an interrupted fetch.
func FetchedRefs(remote string) string { return gitstore.FetchedRefs(remote) }

// AcceptedRefs returns the prefix of refs that hold what was fetched, checked and accepted.
func AcceptedRefs(remote string) string { return gitstore.RemoteRefs(remote) }

// InnerRef returns the name of a remote's ref below both prefixes: without refs/ or refs/tape/.
func InnerRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "tape/")
}

// CompareRefs orders tapes before forks, and branches before tags and archives.
func CompareRefs(a, b string) int {
	rank := func(ref string) int {
		return slices.IndexFunc([]string{BranchPrefix, ForkPrefix, TagPrefix, ""}, func(prefix string) bool { return strings.HasPrefix(ref, prefix) })
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// RemoteRefs returns the prefixes of refs that say what remotes have: git's and ours.
func RemoteRefs() []string {
	return []string{"refs/remotes/", strings.TrimSuffix(AcceptedRefs(""), "/"), strings.TrimSuffix(FetchedRefs(""), "/")}
}

// Remotes are not trusted. Their refs are fetched into a namespace of their own, and checked before they
// become tapes: names, trees, sizes, history, and every new line. Whatever a remote sends, the check
// needs memory for a few files only.

// ErrRefused is the class of errors that say why something from a remote is not used. The workspace was
// not changed.
var ErrRefused = errors.New("refused")

// Refused makes an ErrRefused with a hint in plain words, or "".
func Refused(hint, format string, args ...any) *Error {
	return &Error{Class: ErrRefused, Msg: fmt.Sprintf(format, args...), Way: Words(hint)}
}

// Incoming is a ref that a remote has, or will have after a push.
type Incoming struct {
	Ref string        // its name there: refs/heads/tape/x, refs/tags/anchor/x/001_y …
	Old gitstore.Hash // what was accepted before; zero: nothing
	New gitstore.Hash // its value now; zero: it is gone
}

// ParseIncoming parses what git tells a hook about a ref.
func ParseIncoming(ref, old, next string) (Incoming, error) {
	from, err := gitstore.ParseHash(old)
	if err != nil {
		return Incoming{}, err
	}
	to, err := gitstore.ParseHash(next)
	return Incoming{Ref: ref, Old: from, New: to}, err
}

// StashRef is the ref of git's stash.
const StashRef = "refs/stash"

// IsTracking reports whether a ref only says what a remote has.
func IsTracking(ref string) bool {
	return slices.ContainsFunc(RemoteRefs(), func(prefix string) bool { return strings.HasPrefix(ref, prefix) })
}
