package record

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"

	"tape/internal/text/jsonl"
)

// Span is where a record, or a damaged line, stands in the source.
type Span struct {
	Off  int64
	Size int64
	Line int // from 1
}

// Visitor is told of every record of a source.
type Visitor interface {
	// Record gets a valid JSON object. raw is valid during the call.
	Record(at Span, raw []byte)
	// Damaged gets a line that is not only records, after the records that were had from it.
	Damaged(at Span, reason string)
	// Unfinished is told of a last line without its end that is no record yet: somebody is
	// writing it, and the next import finds it whole. Records before it on the line were told.
	Unfinished(at Span)
	// Enough reports whether the rest of the source need not be read.
	Enough() bool
}

// Each goes through the records of a source, which are lines, or, where field is not
// nil, perhaps messages of a document, whose other members go to field. whole tells
// whether an object that stands at the end of a damaged line is a record, and not a
// part of one.
func Each(ctx context.Context, src Source, whole func(raw []byte) bool, field func(name string, raw []byte), v Visitor) error {
	if field != nil {
		doc, err := isDocument(src)
		if err != nil {
			return err
		}
		if doc {
			return eachElement(ctx, src, v, field)
		}
	}
	return eachLine(ctx, src, whole, v)
}

// Look is Each without what is damaged, until see has seen enough and says false.
func Look(ctx context.Context, src Source, whole func(raw []byte) bool, field func(name string, raw []byte), see func(at Span, raw []byte) bool) error {
	return Each(ctx, src, whole, field, &looker{see: see})
}

type looker struct {
	see    func(Span, []byte) bool
	enough bool
}

func (l *looker) Record(at Span, raw []byte) { l.enough = l.enough || !l.see(at, raw) }
func (l *looker) Damaged(Span, string)       {}
func (l *looker) Unfinished(Span)            {}
func (l *looker) Enough() bool               { return l.enough }

// OpeningLines and openingBytes bound how far a session's opening is looked for.
const (
	OpeningLines = 64
	openingBytes = 1 << 20
)

// Opens reports whether a record is within the start of a session.
func (at Span) Opens() bool { return at.Line <= OpeningLines && at.Off <= openingBytes }

func eachLine(ctx context.Context, src Source, whole func(raw []byte) bool, v Visitor) error {
	sc := jsonl.NewScanner(src.reader(), jsonl.DefaultMaxLine)
	var long Span // a line that was too long; how long is known when the next begins
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
			visitLine(line, at, at.Off+at.Size == src.Size, whole, v)
		}
	}
	return nil
}

// visitLong tells of a line that is too long; end is where it ends, its newline included.
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
		v.Damaged(long, "line is larger than an entry may be")
	}
}

// visitLine tells of the records on a line: there are several where what was to end the first
// is missing. open: so is what is to end the line.
func visitLine(line []byte, at Span, open bool, whole func([]byte) bool, v Visitor) {
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
		rest = nextWhole(rest, whole, &tries)
	}
	switch {
	case reason == "":
	case open:
		v.Unfinished(at)
	default:
		v.Damaged(at, reason)
	}
}

// ByteOrderMark may stand at the start of a file that passed through Windows.
const ByteOrderMark = "\xef\xbb\xbf"

const blanks = " \t\r\n"

func isBlank(b []byte) bool { return len(bytes.TrimLeft(b, blanks)) == 0 }

// maxResync bounds how often a damaged line is searched for another record.
const maxResync = 16

// nextWhole is what of a line begins with another record, which must end with the line:
// a write that was cut off may have one behind it.
func nextWhole(line []byte, whole func([]byte) bool, tries *int) []byte {
	for {
		next := -1
		for _, start := range []string{`{"parentUuid":`, `{"type":`, `{"timestamp":`, `{"id":`} {
			if j := bytes.Index(line[1:], []byte(start)); j >= 0 && (next < 0 || j < next) {
				next = j
			}
		}
		if *tries++; next < 0 || *tries > maxResync {
			return nil
		}
		line = line[1+next:]
		if n, err := jsonl.Prefix(line); err == nil && isBlank(line[n:]) && whole(line[:n]) {
			return line
		}
	}
}

// windowSize is how much is held at once to read records by place; most are close together.
const windowSize = 1 << 20

// Window reads parts of a source by their place.
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
