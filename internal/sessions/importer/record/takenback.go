package record

import (
	"bytes"
	"io"
	"slices"
)

// TakenBack are the parts of a file that a person took back: they are on the tape, but not in the context.
type TakenBack []Part

// Part is a part of a file, as offsets.
type Part struct{ From, To int64 }

// Has reports whether the record at an offset was taken back.
func (t TakenBack) Has(off int64) bool {
	return slices.ContainsFunc(t, func(p Part) bool { return p.From <= off && off < p.To })
}

// Mentions reports whether a source has a text, which is short.
func (s Source) Mentions(text string) (bool, error) {
	const block = 1 << 20
	buf := make([]byte, block+len(text))
	for off := s.Start.Off; off < s.Size; off += block {
		n, err := s.R.ReadAt(buf[:min(int64(len(buf)), s.Size-off)], off)
		if err != nil && err != io.EOF {
			return false, err
		}
		if bytes.Contains(buf[:n], []byte(text)) {
			return true, nil
		}
	}
	return false, nil
}

// NotTyped returns the extra fields of a user's message that no person wrote: a notice, the text of a skill, a message of
// another agent. It is no prompt.
func NotTyped(extra []byte) []byte { return With(extra, "isMeta", []byte("true")) }
