package jsonl

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

// ErrTooLong is what every [TooLongError] is, for errors.Is.
var ErrTooLong = errors.New("line too long")

// TooLongError is returned for a line that is over the limit.
type TooLongError struct {
	Line  int // its number, from 1
	Limit int // in bytes, without the newline
}

func (e *TooLongError) Error() string {
	return "line " + strconv.Itoa(e.Line) + " is longer than " + strconv.Itoa(e.Limit) + " bytes"
}

// Unwrap returns ErrTooLong.
func (e *TooLongError) Unwrap() error { return ErrTooLong }

// Scanner reads lines with one buffer that grows with the longest, up to the limit.
type Scanner struct {
	r    io.Reader
	max  int
	buf  []byte
	pos  int   // start of what has not been returned yet
	end  int   // end of what has been read
	base int64 // offset in the input of buf[0]
	err  error // of r, returned once the buffer is used up

	line   int
	offset int64
}

// Sizes of the buffer, in bytes, and reads without data before giving up.
const (
	firstBuffer   = 64 << 10
	maxEmptyReads = 100
)

// NewScanner returns a Scanner for r. maxLine is the limit of a line in bytes,
// without its terminator; 0 or less means DefaultMaxLine.
func NewScanner(r io.Reader, maxLine int) *Scanner {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &Scanner{r: r, max: maxLine}
}

// Next returns the next line without its '\n' and without a '\r' in front of
// it. The line is valid until the following call. A last line may lack its
// newline; see [Scanner.Terminated].
//
// Next returns io.EOF at the end, a *TooLongError for a line over the limit,
// behind which the following call continues, or the reader's error. What was
// read of a line before the reader failed is dropped.
func (s *Scanner) Next() ([]byte, error) {
	searched := 0 // bytes from pos on that have no newline
	for {
		if n := bytes.IndexByte(s.buf[s.pos+searched:s.end], '\n'); n >= 0 {
			return s.take(searched+n, true)
		}
		searched = s.end - s.pos
		// A line at the limit may still be followed by "\r".
		if searched-1 > s.max {
			return s.skip()
		}
		if s.err != nil {
			if errors.Is(s.err, io.EOF) && searched > 0 {
				return s.take(searched, false)
			}
			return nil, s.err
		}
		s.fill()
	}
}

// Waiting reports whether all of the next line has been read already.
func (s *Scanner) Waiting() bool { return bytes.IndexByte(s.buf[s.pos:s.end], '\n') >= 0 }

// Line returns the number of the line last returned, from 1.
func (s *Scanner) Line() int { return s.line }

// Offset returns where in the input that line starts, in bytes from 0.
func (s *Scanner) Offset() int64 { return s.offset }

// take returns the line of n bytes at pos and moves behind it.
func (s *Scanner) take(n int, terminated bool) ([]byte, error) {
	s.begin()
	line := s.buf[s.pos : s.pos+n : s.pos+n]
	s.pos += n
	if terminated {
		s.pos++
	}
	if n > 0 && line[n-1] == '\r' {
		line = line[: n-1 : n-1]
	}
	if len(line) > s.max {
		return nil, &TooLongError{Line: s.line, Limit: s.max}
	}
	return line, nil
}

// begin notes that the line at pos is the current one.
func (s *Scanner) begin() {
	s.line++
	s.offset = s.base + int64(s.pos)
}

// skip drops the line at pos, which is too long, without keeping it.
func (s *Scanner) skip() ([]byte, error) {
	s.begin()
	for {
		if n := bytes.IndexByte(s.buf[s.pos:s.end], '\n'); n >= 0 {
			s.pos += n + 1
			break
		}
		s.pos = s.end
		if s.err != nil {
			break
		}
		s.fill()
	}
	return nil, &TooLongError{Line: s.line, Limit: s.max}
}

// fill reads more input, or sets err. A full buffer is moved or grows.
func (s *Scanner) fill() {
	if s.pos == s.end {
		s.base += int64(s.pos)
		s.pos, s.end = 0, 0
	}
	if s.end == len(s.buf) {
		kept := s.buf[s.pos:s.end]
		if size := s.size(len(kept)); size > len(s.buf) {
			s.buf = make([]byte, size)
		}
		copy(s.buf, kept)
		s.base += int64(s.pos)
		s.pos, s.end = 0, len(kept)
	}
	for range maxEmptyReads {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		s.err = err
		if n > 0 || err != nil {
			return
		}
	}
	s.err = io.ErrNoProgress
}

// size returns how large the buffer should be to hold kept bytes and more.
func (s *Scanner) size(kept int) int {
	size := len(s.buf)
	if size > 0 && kept <= size/2 {
		return size
	}
	size = max(firstBuffer, 2*size)
	// No line needs more than its terminator beyond the limit.
	if size-2 > s.max {
		size = max(firstBuffer, s.max+2)
	}
	return size
}
