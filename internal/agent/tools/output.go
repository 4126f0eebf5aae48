package tools

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// keptEach is how many bytes of a command's output are kept at the beginning. At the end it is at least as many, and at
// most twice as many.
const keptEach = 4 << 20

// output keeps the beginning and the end of what a command writes.
type output struct {
	mu   sync.Mutex
	head []byte
	tail []byte // the end of what comes after head
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

// from returns at most limit bytes of the output, from an offset on, and the offset after them. It
// returns less at the end of the head or the tail.
func (o *output) from(offset int64, limit int) (text string, next int64) {
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
	piece = wholeRunes(piece[:min(limit, len(piece))])
	return note + toText(piece), offset + int64(len(piece))
}

// all returns the whole output, with a note where something is missing.
func (o *output) all() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	note := ""
	if o.lost > 0 {
		note = gap(o.lost)
	}
	return toText(slices.Concat(o.head, []byte(note), o.tail))
}

// end returns the last bytes, at most limit, and how many there were in all.
func (o *output) end(limit int) (text string, size int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.tail[max(0, len(o.tail)-limit):]
	if missing := limit - len(last); missing > 0 && o.lost == 0 {
		last = slices.Concat(o.head[max(0, len(o.head)-missing):], last)
	}
	for len(last) > 0 && !utf8.RuneStart(last[0]) {
		last = last[1:]
	}
	return toText(wholeRunes(last)), int64(len(o.head)+len(o.tail)) + o.lost
}

func gap(n int64) string { return fmt.Sprintf("\n[… %d bytes were not kept …]\n", n) }

// wholeRunes drops an incomplete character at the end, unless there is nothing else.
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
