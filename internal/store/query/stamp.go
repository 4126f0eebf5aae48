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

// StampOf returns a text that does not change while nothing is written to the tape, with a few file
// system calls. It also returns the id of the last entry that tape wrote; other programs may have
// appended more. They are "" and 0 while a change is under way, if git has moved the branch, and if
// the last writer left no record of the tape's files.
func StampOf(t *workspace.Tape) (stamp string, last int64, err error) {
	rec, err := journal.PeekOf(t)
	if err != nil {
		return "", 0, err
	}
	head, err := t.Head()
	if err != nil {
		return "", 0, err
	}
	if rec.Home == "" || rec.Undo != nil || rec.UnsyncedClear || rec.Head != head.String() || rec.LastID == 0 {
		return "", 0, nil
	}
	anchors := filepath.Join(t.Store().AbsDir(rec.Home), layout.AnchorsDir)
	phase := filepath.Join(anchors, rec.Folder)
	paths := []string{anchors, phase}
	for c, tail := range rec.Tails {
		if tail.Seg > 0 {
			paths = append(paths, filepath.Join(phase, layout.SegmentName(layout.Class(c), tail.Seg)))
		}
	}
	out := fmt.Appendf(nil, "%+v", rec)
	for _, path := range paths {
		st, err := os.Lstat(path)
		if err != nil {
			return "", 0, nil //nolint:nilerr // whoever reads the tape reports what is wrong
		}
		out = strconv.AppendInt(append(out, ' '), st.Size(), 10)
		out = strconv.AppendInt(append(out, ' '), st.ModTime().UnixNano(), 10)
	}
	return string(out), rec.LastID, nil
}
