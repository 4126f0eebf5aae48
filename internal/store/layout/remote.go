package layout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
)

// DefaultRemote is the remote that commands mean by default.
const DefaultRemote = "origin"

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

// FetchedRefs is the prefix of refs that hold what a remote has: first as it was fetched, then what of it was looked
// at and found good. Only the latter is used. What both differ in is still to be checked,
// however a fetch ended.
func FetchedRefs(remote string) string { return gitstore.FetchedRefs(remote) }

// AcceptedRefs is the prefix of refs that hold what of a remote was found good.
func AcceptedRefs(remote string) string { return gitstore.RemoteRefs(remote) }

// InnerRef is what a remote's ref is called within both: without refs/ or refs/tape/.
func InnerRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/"), "tape/")
}

// CompareRefs puts tapes before their forks, and branches before tags and archives.
func CompareRefs(a, b string) int {
	rank := func(ref string) int {
		return slices.IndexFunc([]string{BranchPrefix, ForkPrefix, TagPrefix, ""}, func(prefix string) bool { return strings.HasPrefix(ref, prefix) })
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

// RemoteRefs are where refs of remotes are kept: by git, and by this program.
func RemoteRefs() []string {
	return []string{"refs/remotes/", strings.TrimSuffix(AcceptedRefs(""), "/"), strings.TrimSuffix(FetchedRefs(""), "/")}
}

// What a remote has is not trusted. Its refs come into a namespace of their own, and are
// looked at there before anything of them becomes a tape: names, trees, sizes, history,
// and every new line. Nothing here needs more than memory for a few files, whatever the
// remote made up.

// ErrRefused is the class of errors that say why something of a remote may not be used.
// Nothing of the workspace was changed.
var ErrRefused = errors.New("refused")

// Refused makes an ErrRefused with a hint in plain words, or "".
func Refused(hint, format string, args ...any) *Error {
	return &Error{Class: ErrRefused, Msg: fmt.Sprintf(format, args...), Way: Words(hint)}
}

// Incoming is a ref that a remote has, or will have.
type Incoming struct {
	Ref string        // its name there: refs/heads/tape/x, refs/tags/anchor/x/001_y …
	Old gitstore.Hash // what was accepted from there before; zero: nothing
	New gitstore.Hash // what it holds now; zero: it is gone
}

// ParseIncoming reads what git tells a hook of a ref.
func ParseIncoming(ref, old, next string) (Incoming, error) {
	from, err := gitstore.ParseHash(old)
	if err != nil {
		return Incoming{}, err
	}
	to, err := gitstore.ParseHash(next)
	return Incoming{Ref: ref, Old: from, New: to}, err
}

// StashRef is git's stash.
const StashRef = "refs/stash"

// IsTracking reports whether a ref only says what a remote has.
func IsTracking(ref string) bool {
	return slices.ContainsFunc(RemoteRefs(), func(prefix string) bool { return strings.HasPrefix(ref, prefix) })
}
