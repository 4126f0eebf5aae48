package repo

import (
	"errors"
	"fmt"
	"io/fs"

	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/gitstore/gitrun"
)

// The classes of errors. Every error that a caller can do something about is one of
// them, as errors.Is tells; the program's exit codes follow from them.
var (
	// ErrNotFound: a workspace, tape, anchor, entry, tag or archive does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the caller's input cannot be used, and nothing was written.
	ErrInvalid = errors.New("invalid input")
	// ErrConflict: the tape is not in the state that the caller asserted.
	ErrConflict = errors.New("conflict")
	// ErrBusy: another process held a lock for longer than Options.LockWait.
	ErrBusy = errors.New("busy")
	// ErrCorrupt: stored data does not keep the promises of the format.
	ErrCorrupt = errors.New("corrupt")
)

// problem is an error of a known class, with a way out where there is one.
type problem struct {
	class error
	msg   string
	hint  string
	cause error
}

func (p *problem) Error() string {
	if p.cause != nil {
		return p.msg + ": " + p.cause.Error()
	}
	return p.msg
}

func (p *problem) Unwrap() []error {
	if p.cause != nil {
		return []error{p.class, p.cause}
	}
	return []error{p.class}
}

func (p *problem) Hint() string { return p.hint }

func notFound(hint, format string, args ...any) error {
	return &problem{class: ErrNotFound, msg: fmt.Sprintf(format, args...), hint: hint}
}

func invalid(hint, format string, args ...any) error {
	return &problem{class: ErrInvalid, msg: fmt.Sprintf(format, args...), hint: hint}
}

func conflict(hint, format string, args ...any) error {
	return &problem{class: ErrConflict, msg: fmt.Sprintf(format, args...), hint: hint}
}

// CorruptError says which stored file breaks the format, and where.
type CorruptError struct {
	File string // path, relative to the workspace or tape where possible
	Line int    // 1-based; 0: the file as a whole
	Msg  string
	Fix  string // how to repair it; may be empty
}

func (e *CorruptError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Msg)
}

// Is makes every CorruptError an ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Hint is the way out.
func (e *CorruptError) Hint() string {
	if e.Fix != "" {
		return e.Fix
	}
	return "tape verify lists everything that is damaged"
}

// Hint returns the advice that an error carries, or "".
func Hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	var unsupported *gitstore.UnsupportedError
	if errors.As(err, &unsupported) {
		return unsupported.Hint
	}
	return ""
}

// classify gives errors from below their class.
func classify(err error) error {
	if err == nil {
		return nil
	}
	for _, class := range []error{ErrNotFound, ErrInvalid, ErrConflict, ErrBusy, ErrCorrupt} {
		if errors.Is(err, class) {
			return err
		}
	}
	switch {
	case errors.Is(err, gitstore.ErrBusy), errors.Is(err, disk.ErrLocked):
		return &problem{class: ErrBusy, msg: "the tape is in use by another process", cause: err,
			hint: "try again; if it goes on, look for a tape or git process that hangs"}
	case errors.Is(err, gitstore.ErrConflict):
		return &problem{class: ErrConflict, msg: "the tape's branch was moved by another program meanwhile", cause: err, hint: "try again"}
	case errors.Is(err, gitstore.ErrDamagedRef):
		return &problem{class: ErrCorrupt, msg: "a ref is damaged", cause: err,
			hint: "the last line of the file of that name under .git/logs tells what it held; write it back with: git update-ref"}
	case errors.Is(err, gitrun.ErrNoGit):
		return &hinted{err, "install git and try again; all but push, pull, fetch, clone, gc and purge work without it"}
	case errors.Is(err, fs.ErrPermission):
		return &hinted{err, "check who owns the workspace: its folders are 0700, its files 0600"}
	}
	return err
}

// hinted adds advice to an error without a class.
type hinted struct {
	error
	hint string
}

func (h *hinted) Hint() string  { return h.hint }
func (h *hinted) Unwrap() error { return h.error }
