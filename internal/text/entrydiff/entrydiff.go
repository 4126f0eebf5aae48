// Package entrydiff compares two versions of an entry: which members changed, and
// within long texts which words.
//
// Its results are recorded text: callers have to make it safe before they print it.
package entrydiff

import "github.com/sergi/go-diff/diffmatchpatch"

// Difference is a value of an entry that differs.
type Difference struct {
	// Path is the place of the value: "kind", "meta.x", "payload.calls[0].name".
	// Ambiguous keys are in quotes: `payload["a.b"]`. It is "" if the values are the
	// whole lines, because one of them is not an entry, or because they differ only in
	// white space, in the order or the escapes of keys, or in an empty meta.
	Path string
	// Old and New are the decoded text of strings, otherwise raw JSON. Both are raw
	// JSON if one is a string and the other is another value, or if two strings
	// differ only in escapes.
	Old, New       string
	HasOld, HasNew bool // false if the value is absent
	// Text has the changes of a long text; it is nil for short texts and other values.
	// Its equal and deleted runs make up Old, its equal and inserted runs New.
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
