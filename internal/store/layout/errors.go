package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"syscall"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
)

// The classes of errors. Every error that a caller can handle is one of them, by errors.Is; exit codes
// follow from them.
var (
	// ErrNotFound: a workspace, tape, anchor, entry, tag or archive does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the caller's input cannot be used, and nothing was written.
	ErrInvalid = errors.New("invalid input")
	// ErrConflict: the tape is not in the state that the caller assumed.
	ErrConflict = errors.New("conflict")
	// ErrBusy: another process held a lock for longer than Options.LockWait.
	ErrBusy = errors.New("busy")
	// ErrCorrupt: stored data breaks the format.
	ErrCorrupt = errors.New("corrupt")
)

// Error is an error of a known class, with hints at what to do about it.
type Error struct {
	Class error // one of the classes above, ErrRefused, or the cause itself
	Msg   string
	Way   []Hint
	Cause error // nil if there is none
}

func (p *Error) Error() string {
	if p.Cause != nil {
		return p.Msg + ": " + p.Cause.Error()
	}
	return p.Msg
}

func (p *Error) Unwrap() []error { return []error{p.Class, p.Cause} }

// Hints returns what to do about the error.
func (p *Error) Hints() []Hint { return p.Way }

// Try adds a hint, and returns the error.
func (p *Error) Try(kind HintKind, args ...string) *Error {
	p.Way = append(p.Way, Hint{Kind: kind, Args: args})
	return p
}

// NotFound makes an ErrNotFound with a hint in plain words, or "".
func NotFound(hint, format string, args ...any) *Error {
	return &Error{Class: ErrNotFound, Msg: fmt.Sprintf(format, args...), Way: Words(hint)}
}

// Invalid makes an ErrInvalid with a hint in plain words, or "".
func Invalid(hint, format string, args ...any) *Error {
	return &Error{Class: ErrInvalid, Msg: fmt.Sprintf(format, args...), Way: Words(hint)}
}

// Conflict makes an ErrConflict with a hint in plain words, or "".
func Conflict(hint, format string, args ...any) *Error {
	return &Error{Class: ErrConflict, Msg: fmt.Sprintf(format, args...), Way: Words(hint)}
}

// CorruptError says which stored file breaks the format, and where.
type CorruptError struct {
	File string // path, relative to the workspace or tape where possible
	Line int    // from 1; 0: the whole file
	Msg  string
	Fix  string // how to repair it; empty: by tape verify
}

func (e *CorruptError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Msg)
}

// Is makes every CorruptError an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Hints returns what to do about the error.
func (e *CorruptError) Hints() []Hint {
	switch {
	case e.Fix != "":
		return Words(e.Fix)
	case filepath.IsAbs(e.File): // in a working tree, not in git
		return []Hint{{Kind: RepairTape}}
	}
	return []Hint{{Kind: VerifyAll}}
}

// Classify adds the class to an error from a lower room.
func Classify(err error) error {
	if err == nil {
		return nil
	}
	classes := []error{ErrNotFound, ErrInvalid, ErrConflict, ErrBusy, ErrCorrupt}
	if slices.ContainsFunc(classes, func(class error) bool { return errors.Is(err, class) }) {
		return err
	}
	switch {
	case errors.Is(err, gitlock.ErrStale):
		return &Error{Class: ErrBusy, Msg: "the tape is in use by another process", Cause: err, Way: []Hint{{Kind: CollectLocks}}}
	case errors.Is(err, gitstore.ErrBusy), errors.Is(err, disk.ErrLocked):
		return &Error{Class: ErrBusy, Msg: "the tape is in use by another process", Cause: err,
			Way: Words("try again; if it happens again, look for a tape or git process that hangs")}
	case errors.Is(err, gitstore.ErrConflict):
		return &Error{Class: ErrConflict, Msg: "the tape's branch was moved by another program meanwhile", Cause: err, Way: Words("try again")}
	case errors.Is(err, gitstore.ErrDamagedHead): // git symbolic-ref refuses such a repository
		return &Error{Class: ErrCorrupt, Msg: "a HEAD is damaged", Cause: err,
			Way: []Hint{{Kind: RepairTape}}}
	case errors.Is(err, gitstore.ErrDamagedRef):
		return &Error{Class: ErrCorrupt, Msg: "a ref is damaged", Cause: err,
			Way: []Hint{{Kind: RepairTape}}}
	case errors.Is(err, gitrun.ErrDamaged):
		return &Error{Class: ErrCorrupt, Msg: "git cannot read part of the workspace", Cause: err, Way: []Hint{{Kind: RepairTape}}}
	case errors.Is(err, gitrun.ErrNoGit):
		return &Error{Class: err, Msg: err.Error(), Way: []Hint{{Kind: InstallGit}}}
	case errors.Is(err, fs.ErrPermission):
		return &Error{Class: err, Msg: err.Error(), Way: Words("check who owns the workspace: its folders are 0700, its files 0600")}
	}
	return err
}

// Unwritable reports whether an error says that a file or folder must not be written to.
func Unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// Wrap adds what was being done and the class to an error; nil stays nil.
func Wrap(err error, doing string, args ...any) error {
	return gitstore.Wrap(Classify(err), doing, args...)
}

// Seq makes an iterator from run: it yields the values of run, then its error, if any.
func Seq[T any](run func(yield func(T) bool) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err := run(func(v T) bool { return yield(v, nil) }); err != nil {
			yield(*new(T), err)
		}
	}
}

// CorruptObject turns the error of reading an object into ErrCorrupt: what a commit or tree names must exist.
func CorruptObject(h gitstore.Hash, err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return &CorruptError{File: "commit " + h.String(), Msg: err.Error(),
		Fix: FromCopy}
}

// NotPlain returns the error for a folder or a link in the place of a file.
func NotPlain(path string) error {
	return &CorruptError{File: path, Msg: "not a plain file", Fix: "put the file itself there, or move away what is there, and try again"}
}

// NoTape is the hint for a branch that git has made from another tape's.
const NoTape = "a tape's branch is named after it; if git has copied a branch, tape rm takes the copy away and keeps it as an archive, and tape fork makes one"

// FromCopy is the hint for a damaged or missing git object.
const FromCopy = "tape verify --repair brings back what files, logs and remotes have of it; otherwise only a backup of .git/objects does"
