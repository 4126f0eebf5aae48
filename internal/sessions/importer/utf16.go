package importer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// orderOf returns the order of the bytes of a text in UTF-16, which its first two show; nil for any other file. What Windows
// PowerShell writes with ">" is such a text (jqlang/jq#2351, anchore/grype#3505).
func orderOf(r io.ReaderAt) binary.ByteOrder {
	var mark [2]byte
	if _, err := r.ReadAt(mark[:], 0); err != nil {
		return nil
	}
	switch mark {
	case [2]byte{0xff, 0xfe}:
		return binary.LittleEndian
	case [2]byte{0xfe, 0xff}:
		return binary.BigEndian
	}
	return nil
}

// wideReader reads a text in UTF-16 as UTF-8.
type wideReader struct {
	in     *bufio.Reader
	order  binary.ByteOrder
	buffer [utf8.UTFMax]byte
	rest   []byte // of buffer, what did not fit
	next   rune   // the unit after half a character, if it belongs to the next one; else 0
}

func newWideReader(in io.Reader, order binary.ByteOrder) *wideReader {
	return &wideReader{in: bufio.NewReader(in), order: order}
}

// unit reads two bytes. A single one at the end, of a file that is being written, is left out.
func (w *wideReader) unit() (rune, error) {
	if r := w.next; r != 0 {
		w.next = 0
		return r, nil
	}
	var b [2]byte
	if _, err := io.ReadFull(w.in, b[:]); errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, io.EOF
	} else if err != nil {
		return 0, err
	}
	return rune(w.order.Uint16(b[:])), nil
}

// Read implements [io.Reader].
func (w *wideReader) Read(p []byte) (n int, err error) {
	for {
		m := copy(p[n:], w.rest)
		n, w.rest = n+m, w.rest[m:]
		if n == len(p) {
			return n, nil
		}
		r, err := w.unit()
		if err != nil {
			if n > 0 {
				return n, nil
			}
			return 0, err
		}
		if utf16.IsSurrogate(r) {
			low, err := w.unit()
			both := utf16.DecodeRune(r, low)
			if err == nil && both == utf8.RuneError { // half a character
				w.next = low
			}
			r = both
		}
		w.rest = utf8.AppendRune(w.buffer[:0], r)
	}
}
