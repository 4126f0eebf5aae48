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

// Latest stands for a tape's last anchor wherever the name of an anchor is expected.
const Latest = snapshot.Latest

type (
	// Entry is one immutable record of a tape.
	Entry = layout.Entry
	// Draft is an entry that is not written yet.
	Draft = layout.Draft
	// Anchor is what a handoff writes: a name and what the next agent needs to know.
	Anchor = layout.Anchor
	// Handoff is what a handoff wrote.
	Handoff = writer.Handoff
	// Phase is everything from one anchor up to the next.
	Phase = query.Phase
	// Query selects entries. The zero Query selects all of a tape.
	Query = snapshot.Query
)

// Classes of errors. Every error that a caller can act upon matches one in errors.Is. The program's exit
// codes depend on them.
var (
	// ErrNotFound: a workspace, tape, anchor, entry, tag or archive does not exist.
	ErrNotFound = layout.ErrNotFound
	// ErrInvalid: the caller's input cannot be used, and nothing was written.
	ErrInvalid = layout.ErrInvalid
	// ErrConflict: the tape is not in the state that the caller expected.
	ErrConflict = layout.ErrConflict
	// ErrBusy: another process held a lock for longer than Options.LockWait.
	ErrBusy = layout.ErrBusy
	// ErrCorrupt: stored data does not keep the promises of the format.
	ErrCorrupt = layout.ErrCorrupt
)

// CorruptError says which file, and if possible which line, breaks a promise of the format. It is an
// ErrCorrupt.
type CorruptError = layout.CorruptError

// Message is a draft of a chat message.
func Message(role, text string) Draft { return layout.Message(role, text) }

// System is a draft of a system prompt.
func System(text string) Draft { return layout.System(text) }

// Event is a draft of an event; data may be nil.
func Event(name string, data json.RawMessage) Draft { return layout.Event(name, data) }

// ParseDraft reads a draft from a line of JSON: kind, payload, and optionally meta and date. An id is
// ignored. ErrInvalid if the line is not a draft.
func ParseDraft(line []byte) (Draft, error) { return layout.ParseDraft(line) }

// N returns a pointer to a number, for fields of a Query.
func N(n int) *int { return snapshot.N(n) }

// FormatDate formats a date as in entries.
func FormatDate(t time.Time) string { return layout.FormatDate(t) }

// ParseSince parses the beginning of a time span: a date, a time, an age such as 2h, or words such as
// yesterday. ErrInvalid for anything else.
func ParseSince(s string, now time.Time) (time.Time, error) { return layout.ParseSince(s, now) }

// ParseUntil parses the end of a time span, as ParseSince does. A bare date, week, month or year lasts to
// its last microsecond.
func ParseUntil(s string, now time.Time) (time.Time, error) { return layout.ParseUntil(s, now) }
