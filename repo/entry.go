package repo

import (
	"encoding/json"
	"time"

	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
)

// Kinds of entries. Any other non-empty string is a kind, too.
const (
	KindSystem     = layout.KindSystem
	KindMessage    = layout.KindMessage
	KindToolCall   = layout.KindToolCall
	KindToolResult = layout.KindToolResult
	KindAnchor     = layout.KindAnchor
	KindEvent      = layout.KindEvent
	KindError      = layout.KindError
)

// FirstAnchor is the name of the anchor that opens every tape.
const FirstAnchor = layout.FirstAnchor

// Latest names a tape's last anchor, wherever the name of one is asked for.
const Latest = snapshot.Latest

type (
	// Entry is one immutable record of a tape.
	Entry = layout.Entry
	// Draft is an entry that is still to be written.
	Draft = layout.Draft
	// Anchor is what a handoff writes: a name and what the next one needs to know.
	Anchor = layout.Anchor
	// Handoff tells what a handoff has written.
	Handoff = writer.Handoff
	// Phase is everything from one anchor up to the next.
	Phase = query.Phase
	// Query selects entries. The zero Query selects all of a tape.
	Query = snapshot.Query
)

// The classes of errors. Every error that a caller can do something about is one of
// them, as errors.Is tells; the program's exit codes follow from them.
var (
	// ErrNotFound: a workspace, tape, anchor, entry, tag or archive does not exist.
	ErrNotFound = layout.ErrNotFound
	// ErrInvalid: the caller's input cannot be used, and nothing was written.
	ErrInvalid = layout.ErrInvalid
	// ErrConflict: the tape is not in the state that the caller asserted.
	ErrConflict = layout.ErrConflict
	// ErrBusy: another process held a lock for longer than Options.LockWait.
	ErrBusy = layout.ErrBusy
	// ErrCorrupt: stored data does not keep the promises of the format.
	ErrCorrupt = layout.ErrCorrupt
)

// CorruptError says which file, and where it can be told which line, does not keep the
// promises of the format. It is an ErrCorrupt.
type CorruptError = layout.CorruptError

// Message is a draft of a chat message.
func Message(role, text string) Draft { return layout.Message(role, text) }

// System is a draft of a system prompt.
func System(text string) Draft { return layout.System(text) }

// Event is a draft of an event; data may be nil.
func Event(name string, data json.RawMessage) Draft { return layout.Event(name, data) }

// ParseDraft reads a draft from a line of JSON: kind, payload, and if they are there meta
// and date. An id is ignored. ErrInvalid if it is none.
func ParseDraft(line []byte) (Draft, error) { return layout.ParseDraft(line) }

// N is for the fields of a Query that are pointers to numbers.
func N(n int) *int { return snapshot.N(n) }

// FormatDate writes a date as entries have it.
func FormatDate(t time.Time) string { return layout.FormatDate(t) }

// ParseSince reads the beginning of a span of time: a date, a time, or an age such as 2h.
func ParseSince(s string, now time.Time) (time.Time, error) { return layout.ParseSince(s, now) }

// ParseUntil reads the end of a span of time, which belongs to it: a bare date lasts until
// its last microsecond.
func ParseUntil(s string, now time.Time) (time.Time, error) { return layout.ParseUntil(s, now) }
