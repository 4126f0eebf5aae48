// Package jsonl is the entry codec: one JSON object a line, as
// docs/format.md describes it.
//
// Entries are never decoded into a tree and encoded again. Payload and meta
// keep the bytes that were written, so number spellings, key order and unknown
// keys survive. The package therefore works on raw JSON: it validates ([Valid],
// [Parse]), strips whitespace ([Compact]), and finds values ([Fields], [Get])
// without reflection.
//
// Parse, ParseDraft, Compact, Valid and Prefix validate everything: JSON grammar
// (RFC 8259), UTF-8, and nesting of at most [MaxDepth]. Fields, Elements, Get and
// Unescape expect JSON that one of those has accepted. On other input their
// results mean nothing, but they terminate and never panic.
package jsonl

import "strconv"

// MaxDepth is how deep objects and arrays may be nested, the entry's own object
// included. Common JSON readers refuse somewhat deeper nesting, and much deeper
// input could overflow the stack of a recursive reader.
const MaxDepth = 512

// DefaultMaxLine is the default limit of a line, in bytes without its newline.
const DefaultMaxLine = 16 << 20

// Entry is one stored line, decoded. Payload, Meta and Raw alias the parsed line.
type Entry struct {
	ID      int64
	Kind    string
	Payload []byte // raw JSON object, as stored
	Meta    []byte // raw JSON object, as stored; "{}" when absent
	Date    string // as stored; "" when absent
	Raw     []byte // the whole line without its newline
}

// Draft is an entry that has no id yet.
type Draft struct {
	Kind    string
	Payload []byte // raw JSON object
	Meta    []byte // raw JSON object, or nil for an empty one
	Date    string // "": set at append
	Extra   []byte // unknown top-level members as `,"k":v,"l":w`, compacted; or nil
}

// SyntaxError says why some bytes are not a JSON value, or not an entry.
type SyntaxError struct {
	Offset int    // where in the input, in bytes from 0
	Msg    string // what is wrong there

	data bool // the JSON is valid; Msg is the whole message
}

func (e *SyntaxError) Error() string {
	if e.data {
		return e.Msg
	}
	return "invalid JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// dataError is an error about JSON that is valid but not what was expected.
func dataError(offset int, msg string) *SyntaxError {
	return &SyntaxError{Offset: offset, Msg: msg, data: true}
}
