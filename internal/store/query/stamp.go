package query

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// StampOf returns what stays the same while nothing is written to a tape, for the price of a few
// looks at the disk, and the id of the last entry that tape wrote; others may have added lines
// behind it. It is "" while a change is under way, and where the last writer has left no note of
// the tape's files.
func StampOf(t *workspace.Tape) (stamp string, last int64, err error) {
	note, err := journal.PeekOf(t)
	if err != nil {
		return "", 0, err
	}
	head, err := t.Head()
	if err != nil {
		return "", 0, err
	}
	if note.Home == "" || note.Undo != nil || note.Doubtful || note.Head != head.String() || note.LastID == 0 {
		return "", 0, nil
	}
	anchors := filepath.Join(t.Store().Folder(note.Home), layout.AnchorsDir)
	phase := filepath.Join(anchors, note.Folder)
	paths := []string{anchors, phase}
	for c, tail := range note.Tails {
		if tail.Seg > 0 {
			paths = append(paths, filepath.Join(phase, layout.SegmentName(layout.Class(c), tail.Seg)))
		}
	}
	out := fmt.Appendf(nil, "%+v", note)
	for _, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			return "", 0, nil //nolint:nilerr // who reads the tape will tell what is wrong
		}
		out = strconv.AppendInt(append(out, ' '), st.Size(), 10)
		out = strconv.AppendInt(append(out, ' '), st.ModTime().UnixNano(), 10)
	}
	return string(out), note.LastID, nil
}
