// Package entrydiff tells what differs between two versions of an entry: which members
// changed, and within long texts which words.
//
// What it reports is recorded text, as it is: whoever prints it has to make it
// safe for a terminal.
package entrydiff

import "github.com/sergi/go-diff/diffmatchpatch"

// Part is one value within an entry that differs.
type Part struct {
	// Path is where it stands: "kind", "meta.x", "payload.calls[0].name". Keys
	// that would be ambiguous are in quotes: `payload["a.b"]`. It is "" when the
	// lines differ only in spelling (white space, the order of keys, escapes), and
	// when one of them is no entry: the values then are the lines.
	Path string
	// Old and New are the decoded text of strings, else raw JSON; both are raw
	// JSON when only one is a string, or when two strings differ in escapes only.
	Old, New       string
	HasOld, HasNew bool // false where the value is absent
	// Text is how one long text became the other; nil for short ones and for
	// what is no text. Old is its equal and deleted runs, New its equal and
	// inserted ones.
	Text []Span
}

// Op says what happened to a run of text.
type Op diffmatchpatch.Operation

// The operations on text.
const (
	Equal  = Op(diffmatchpatch.DiffEqual)
	Delete = Op(diffmatchpatch.DiffDelete)
	Insert = Op(diffmatchpatch.DiffInsert)
)

// Span is a run of text.
type Span struct {
	Op   Op
	Text string
}
