package record

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"

	"tape/internal/text/jsonl"
)

// Span is the place of a record, or of a damaged line, in the source.
type Span struct {
	Off  int64
	Size int64
	Line int // from 1
}

// Visitor gets every record of a source.
type Visitor interface {
	// Record gets a valid JSON object. raw is valid during the call.
	Record(at Span, raw []byte)
	// Damaged gets a line on which not everything is a record. Record got its records before.
	Damaged(at Span, reason string)
	// Unfinished gets a last line that is incomplete and has no newline: somebody may be writing it.
	// Record got its complete records before.
	Unfinished(at Span)
	// Enough reports whether the rest of the source need not be read.
	Enough() bool
}

// Each visits the records of a source. They are lines, or, if field is not nil, perhaps the messages of
// a document, whose other members go to field. isRecord reports whether an object at the end of a
// damaged line is a record, not a part of one.
func Each(ctx context.Context, src Source, isRecord func(raw []byte) bool, field func(name string, raw []byte), v Visitor) error {
	if field != nil {
		doc, err := isDocument(src)
		if err != nil {
			return err
		}
		if doc {
			return eachElement(ctx, src, v, field)
		}
	}
	return eachLine(ctx, src, isRecord, v)
}

// Scan calls see with the records that [Each] would visit, until see returns false. It skips what is
// damaged.
func Scan(ctx context.Context, src Source, isRecord func(raw []byte) bool, field func(name string, raw []byte), see func(at Span, raw []byte) bool) error {
	return Each(ctx, src, isRecord, field, &scanner{see: see})
}

type scanner struct {
	see    func(Span, []byte) bool
	enough bool
}

func (l *scanner) Record(at Span, raw []byte) { l.enough = l.enough || !l.see(at, raw) }
func (l *scanner) Damaged(Span, string)       {}
func (l *scanner) Unfinished(Span)            {}
func (l *scanner) Enough() bool               { return l.enough }

// OpeningLines and openingBytes bound the start of a session, which says what the session is.
const (
	OpeningLines = 64
	openingBytes = 1 << 20
)

// Opens reports whether a record is within the start of a session.
func (at Span) Opens() bool { return at.Line <= OpeningLines && at.Off <= openingBytes }

func eachLine(ctx context.Context, src Source, isRecord func(raw []byte) bool, v Visitor) error {
	sc := jsonl.NewScanner(src.reader(), MaxRecord)
	var long Span // a line that was too long; its size is known when the next one begins
	for n := 0; !v.Enough(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := sc.Next()
		at := Span{Off: src.Start.Off + sc.Offset(), Size: int64(len(line)), Line: max(src.Start.Line-1, 0) + sc.Line()}
		end, tooLong := errors.Is(err, io.EOF), errors.Is(err, jsonl.ErrTooLong)
		switch {
		case end:
			at.Off = src.Size
		case err != nil && !tooLong:
			return err
		}
		if long.Line > 0 {
			visitLong(src, long, at.Off, v)
			long = Span{}
		}
		switch {
		case end:
			return nil
		case tooLong:
			long = at
		default:
			visitLine(line, at, at.Off+at.Size == src.Size, isRecord, v)
		}
	}
	return nil
}

// visitLong visits a line that is too long; end is its end, with the newline.
func visitLong(src Source, long Span, end int64, v Visitor) {
	long.Size = end - long.Off
	var last [1]byte
	ended := false
	if _, err := src.R.ReadAt(last[:], end-1); err == nil && last[0] == '\n' {
		long.Size--
		ended = true
	}
	if src.Open && !ended {
		v.Unfinished(long)
	} else {
		v.Damaged(long, "line is "+tooLarge)
	}
}

// visitLine visits the records on a line: several if a write was cut off before its newline. open says
// that the line has no newline.
func visitLine(line []byte, at Span, open bool, isRecord func([]byte) bool, v Visitor) {
	if n, err := jsonl.Prefix(line); err == nil && jsonl.IsObject(line) && isBlank(line[n:]) {
		at.Size = int64(n)
		v.Record(at, line[:n])
		return
	}
	reason, tries := "", 0
	blame := func(what string) { reason = cmp.Or(reason, what) }
	rest := bytes.TrimPrefix(line, []byte(ByteOrderMark))
	for {
		rest = bytes.TrimLeft(rest, blanks)
		if len(rest) == 0 {
			break
		}
		n, err := jsonl.Prefix(rest)
		switch {
		case rest[0] == 0:
			blame("NUL bytes")
			rest = bytes.TrimLeft(rest, "\x00")
			continue
		case err == nil && rest[0] == '{':
			sub := Span{Off: at.Off + int64(len(line)-len(rest)), Size: int64(n), Line: at.Line}
			v.Record(sub, rest[:n])
			rest = rest[n:]
			continue
		case err == nil:
			blame("not an object")
		default:
			blame(err.Error())
		}
		rest = nextRecord(rest, isRecord, &tries)
	}
	switch {
	case reason == "":
	case open:
		v.Unfinished(at)
	default:
		v.Damaged(at, reason)
	}
}

// ByteOrderMark begins some files that were edited on Windows.
const ByteOrderMark = "\xef\xbb\xbf"

const blanks = " \t\r\n"

func isBlank(b []byte) bool { return len(bytes.TrimLeft(b, blanks)) == 0 }

// maxResync bounds how many incomplete objects are tried in a damaged line.
const maxResync = 16

// nextRecord returns the last record of a damaged line, or nil. It must end with the line: a complete
// write may follow one that was cut off.
func nextRecord(line []byte, isRecord func([]byte) bool, tries *int) []byte {
	line = line[1:]
	for {
		next := bytes.Index(line, []byte(`{"`))
		if next < 0 || *tries == maxResync {
			return nil
		}
		line = line[next:]
		n, err := jsonl.Prefix(line)
		switch {
		case err != nil:
			*tries++
			n = 1
		case isBlank(line[n:]) && isRecord(line[:n]):
			return line
		}
		line = line[n:]
	}
}

// windowSize is how many bytes a Window reads at once: most records are close together.
const windowSize = 1 << 20

// Window reads records of a source by their place.
type Window struct {
	Source
	buf []byte
	off int64 // of buf[0]
}

// At returns the bytes of a span, valid until the next call.
func (w *Window) At(s Span) ([]byte, error) {
	if s.Off < w.off || s.Off+s.Size > w.off+int64(len(w.buf)) {
		size := max(min(windowSize, w.Size), s.Size)
		// One long record must not stay in memory for the rest of the file.
		if int64(cap(w.buf)) < size || cap(w.buf) > 4*windowSize {
			w.buf = make([]byte, size)
		}
		w.buf = w.buf[:min(size, w.Size-s.Off)]
		n, err := w.R.ReadAt(w.buf, s.Off)
		w.buf, w.off = w.buf[:n], s.Off
		if int64(n) < s.Size {
			w.buf = w.buf[:0]
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	from := s.Off - w.off
	return w.buf[from : from+s.Size : from+s.Size], nil
}
