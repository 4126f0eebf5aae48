// Package entrydiff compares two versions of an entry: which members changed, and
// within long texts which words.
//
// Its results are recorded text: callers have to make it safe before they print it.
package entrydiff

import "github.com/sergi/go-diff/diffmatchpatch"

// Difference is a value of an entry that differs.
type Difference struct {
	// Path is the place of the value: "kind", "meta.x", "payload.calls[0].name".
	// Ambiguous keys are in quotes: `payload["a.b"]`. It is "" when the lines differ
	// only in spelling (white space, the order of keys, escapes), or one of them is
	// not an entry: the values then are the whole lines.
	Path string
	// Old and New are the decoded text of strings, otherwise raw JSON. Both are raw
	// JSON if only one is a string, or two strings differ only in escapes.
	Old, New       string
	HasOld, HasNew bool // false if the value is absent
	// Text has the changes of a long text; nil for short texts and other values. Old
	// is its equal and deleted runs, New its equal and inserted ones.
	Text []Span
}

// Op is what happened to a run of text.
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
