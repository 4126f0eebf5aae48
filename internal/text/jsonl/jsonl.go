// Package jsonl is the entry codec: one JSON object a line, as
// docs/format.md describes it.
//
// What is stored is never decoded into a tree and encoded again. Payload and
// meta stay the bytes that were written, so that number spellings, key order
// and unknown keys survive. The package therefore works on raw JSON: it
// validates ([Valid], [Parse]), strips whitespace ([Compact]), and finds
// values inside it ([Fields], [Get]) without reflection.
//
// Two kinds of functions are told apart by what they trust. Parse, ParseDraft,
// Compact, Valid and Prefix validate everything: JSON grammar (RFC 8259),
// UTF-8, and nesting of at most [MaxDepth]. Fields, Elements, Get and Unescape
// expect JSON that one of the former has accepted and jump over what they do
// not need; on other input they yield little or nonsense, but they terminate
// and never panic.
package jsonl

import "strconv"

// MaxDepth is the number of objects and arrays that may be nested in each
// other, the entry's own object included. Common readers of the format give up
// somewhat above it, and a recursive reader must not be made to overflow.
const MaxDepth = 512

// DefaultMaxLine is the usual limit of a line, in bytes without its newline.
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
	Date    string // "" when it is to be set at append
	Extra   []byte // unknown top-level members as `,"k":v,"l":w`, compacted; or nil
}

// SyntaxError says why some bytes are not a JSON value, or not an entry.
type SyntaxError struct {
	Offset int    // where in the input, in bytes from 0
	Msg    string // what is wrong there

	// data marks refused input whose grammar may be fine: Msg then is the whole complaint.
	data bool
}

func (e *SyntaxError) Error() string {
	if e.data {
		return e.Msg
	}
	return "invalid JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// dataError is about input that is JSON, but not what was wanted.
func dataError(offset int, msg string) *SyntaxError {
	return &SyntaxError{Offset: offset, Msg: msg, data: true}
}
