package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
)

// ErrTooLong is what a [TooLongError] wraps.
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

// Scanner reads lines. It keeps only one line in memory, and of a longer line no more
// than the limit.
type Scanner struct {
	r    *bufio.Reader
	max  int
	long []byte // a line that is longer than the buffer of r
	err  error  // the first error of r

	line         int
	offset, next int64
}

const bufferSize = 64 << 10

// NewScanner returns a Scanner for r. maxLine is the limit of a line in bytes,
// without its terminator; 0 or less means DefaultMaxLine.
func NewScanner(r io.Reader, maxLine int) *Scanner {
	if maxLine <= 0 {
		maxLine = DefaultMaxLine
	}
	return &Scanner{r: bufio.NewReaderSize(r, bufferSize), max: maxLine}
}

// Next returns the next line without its '\n' and without a '\r' before it; the
// last line may lack its newline. The line is valid until the following call.
//
// Next returns io.EOF at the end, or the reader's error, which drops a line that was
// read only in part. For a line over the limit it returns a *TooLongError; the
// following call continues with the next line.
func (s *Scanner) Next() ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	line, size, err := s.read()
	tooLong := size-2 > int64(s.max) // a line at the limit may have two bytes of terminator
	if err != nil {
		s.err = err
		if size == 0 || !tooLong && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	s.line++
	s.offset = s.next
	s.next += size
	if line = trimEnd(line); tooLong || len(line) > s.max {
		return nil, &TooLongError{Line: s.line, Limit: s.max}
	}
	return line[:len(line):len(line)], nil
}

// read reads up to the next newline. If the line is over the limit, size still counts all
// of it, but line has only its beginning.
func (s *Scanner) read() (line []byte, size int64, err error) {
	line, err = s.r.ReadSlice('\n')
	size = int64(len(line))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, size, err
	}
	s.long = append(s.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = s.r.ReadSlice('\n')
		if size += int64(len(line)); size-2 <= int64(s.max) {
			if len(s.long)+len(line) > cap(s.long) { // twice the size: append alone leaves many copies of a long line
				s.long = slices.Grow(s.long, len(s.long))
			}
			s.long = append(s.long, line...)
		}
	}
	return s.long, size, err
}

// Waiting reports whether all of the next line has been read already.
func (s *Scanner) Waiting() bool {
	buffered, _ := s.r.Peek(s.r.Buffered()) // cannot fail
	return bytes.IndexByte(buffered, '\n') >= 0
}

// Line returns the number of the line last returned, from 1.
func (s *Scanner) Line() int { return s.line }

// Offset returns where in the input that line starts, in bytes from 0.
func (s *Scanner) Offset() int64 { return s.offset }
