package layout

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"tape/internal/git/gitstore"
)

// Phase is one folder under anchors/.
type Phase struct {
	Seq    int
	Folder string
	Tree   gitstore.Hash // in a commit; zero in a working tree
}

// Segment is one file of a phase.
type Segment struct {
	Class Class
	N     int   // 1, 2, 3 …
	Size  int64 // bytes that belong to the snapshot; -1: the whole file
	Hash  gitstore.Hash
}

// AnchorSegment is anchor.json, which belongs to no class.
var AnchorSegment = Segment{Class: -1, Size: -1}

// Name returns the file's name in the folder of its phase.
func (s Segment) Name() string {
	if s.Class < 0 {
		return AnchorFile
	}
	return SegmentName(s.Class, s.N)
}

// SortPhases sorts phases by their number.
func SortPhases(ps []Phase) {
	slices.SortFunc(ps, func(a, b Phase) int { return cmp.Compare(a.Seq, b.Seq) })
}

// GroupSegments sorts the files of a phase by class and number, and refuses gaps.
func GroupSegments(found []Segment, where string) ([ClassCount][]Segment, error) {
	var out [ClassCount][]Segment
	slices.SortFunc(found, func(a, b Segment) int { return cmp.Compare(a.N, b.N) })
	for _, s := range found {
		out[s.Class] = append(out[s.Class], s)
		if len(out[s.Class]) != s.N {
			return out, &CorruptError{File: where, Msg: fmt.Sprintf("%s is missing", SegmentName(s.Class, len(out[s.Class])))}
		}
	}
	return out, nil
}

// LastSegments returns the number of each class's last file in a phase's tree; 0: none.
func LastSegments(phase []gitstore.TreeEntry) (out [ClassCount]int) {
	for _, e := range phase {
		if c, n, ok := ParseSegment(e.Name); ok {
			out[c] = max(out[c], n)
		}
	}
	return out
}

// FirstDifference returns the number of the first line in which two files differ.
func FirstDifference(a, b []byte) int {
	return bytes.Count(a[:SamePrefix(a, b)], []byte("\n")) + 1
}

// SamePrefix returns the number of bytes that two files share at their beginning.
func SamePrefix(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// SetEntry puts an entry into a tree. It replaces one with the same name.
func SetEntry(entries *[]gitstore.TreeEntry, e gitstore.TreeEntry) {
	if i := slices.IndexFunc(*entries, func(old gitstore.TreeEntry) bool { return old.Name == e.Name }); i >= 0 {
		(*entries)[i] = e
		return
	}
	*entries = append(*entries, e)
}
