package tools

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// keptEach is how much is kept of the beginning and of the end of what a command writes.
const keptEach = 4 << 20

// output keeps the beginning and the end of what is written to it.
type output struct {
	mu   sync.Mutex
	head []byte
	tail []byte // of what comes after head
	lost int64  // bytes between head and tail
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(len(p), keptEach-len(o.head))
	o.head = append(o.head, p[:n]...)
	o.tail = append(o.tail, p[n:]...)
	if over := len(o.tail) - keptEach; over > keptEach {
		o.tail = append(o.tail[:0], o.tail[over:]...)
		o.lost += int64(over)
	}
	return len(p), nil
}

// from returns what was written from an offset on, at most so many bytes and no more than the
// kept piece has, and the offset behind it.
func (o *output) from(offset int64, most int) (text string, next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	piece, begin := o.head, int64(0)
	if offset >= int64(len(o.head)) {
		piece, begin = o.tail, int64(len(o.head))+o.lost
	}
	note := ""
	if offset < begin {
		note, offset = gap(begin-offset), begin
	}
	offset = min(offset, begin+int64(len(piece)))
	piece = piece[offset-begin:]
	piece = wholeRunes(piece[:min(most, len(piece))])
	return note + toText(piece), offset + int64(len(piece))
}

// all is the whole of it, with a note where something is missing.
func (o *output) all() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	note := ""
	if o.lost > 0 {
		note = gap(o.lost)
	}
	return toText(slices.Concat(o.head, []byte(note), o.tail))
}

func gap(n int64) string { return fmt.Sprintf("\n[… %d bytes were not kept …]\n", n) }

// wholeRunes drops a character at the end that is not all there.
func wholeRunes(b []byte) []byte {
	for n := 1; n <= min(len(b), utf8.UTFMax); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if n < len(b) && !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

func toText(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
