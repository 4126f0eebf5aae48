package importer

import (
	"bytes"
	"context"
	"errors"
	"io"

	"tape/internal/jsonl"
)

// span is where a record, or a damaged line, stands in the source.
type span struct {
	off  int64
	size int64
	line int // from 1
}

// lineVisitor is told of every record of a source of lines.
type lineVisitor interface {
	// record gets a valid JSON object. raw is valid during the call.
	record(at span, raw []byte) error
	// damaged gets a line that is not one record, after the records that
	// could be had from it.
	damaged(at span, reason string) error
}

// eachLine goes through a source of lines. whole tells whether an object that
// stands at the end of a damaged line is a record, and not a part of one.
func eachLine(ctx context.Context, src Source, whole func(raw []byte) bool, v lineVisitor) error {
	sc := jsonl.NewScanner(src.reader(), jsonl.DefaultMaxLine)
	var long *span // a line that was too long; how long is known afterwards
	var reason string
	finish := func(end int64) error {
		if long == nil {
			return nil
		}
		at := *long
		long = nil
		at.size = end - at.off
		var last [1]byte
		if _, err := src.R.ReadAt(last[:], end-1); err == nil && last[0] == '\n' {
			at.size--
		}
		return v.damaged(at, reason)
	}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := sc.Next()
		if errors.Is(err, io.EOF) {
			return finish(src.Size)
		}
		if err == nil || errors.Is(err, jsonl.ErrTooLong) {
			if err := finish(sc.Offset()); err != nil {
				return err
			}
		}
		at := span{off: sc.Offset(), size: int64(len(line)), line: sc.Line()}
		switch {
		case errors.Is(err, jsonl.ErrTooLong):
			long, reason = &at, "line is larger than an entry may be"
			continue
		case err != nil:
			return err
		}
		if err := visitLine(line, at, whole, v); err != nil {
			return err
		}
	}
}

func visitLine(line []byte, at span, whole func([]byte) bool, v lineVisitor) error {
	if n, err := jsonl.Prefix(line); err == nil && jsonl.IsObject(line) && isBlank(line[n:]) {
		at.size = int64(n)
		return v.record(at, line[:n])
	}
	if isBlank(line) {
		return nil
	}
	parts, reason := splitLine(line, whole)
	for _, p := range parts {
		sub := span{off: at.off + int64(p.from), size: int64(p.to - p.from), line: at.line}
		if err := v.record(sub, line[p.from:p.to]); err != nil {
			return err
		}
	}
	if reason == "" {
		return nil
	}
	return v.damaged(at, reason)
}

// byteOrderMark may stand at the start of a file that passed through Windows.
const byteOrderMark = "\xef\xbb\xbf"

// maxResync bounds how often a damaged line is searched for another record.
const maxResync = 16

type region struct{ from, to int }

// splitLine finds the records of a line that is not just one, and says what is
// wrong with the line; "" when nothing is.
func splitLine(line []byte, whole func([]byte) bool) (parts []region, reason string) {
	i := 0
	if bytes.HasPrefix(line, []byte(byteOrderMark)) {
		i = len(byteOrderMark)
	}
	for tries := 0; ; {
		i = skipBlank(line, i)
		if i == len(line) {
			return parts, reason
		}
		if line[i] == 0 {
			if reason == "" {
				reason = "NUL bytes"
			}
			for i < len(line) && line[i] == 0 {
				i++
			}
			continue
		}
		n, err := jsonl.Prefix(line[i:])
		if err == nil && line[i] == '{' {
			if len(parts) > 0 && reason == "" {
				reason = "more than one record on the line"
			}
			parts = append(parts, region{i, i + n})
			i += n
			continue
		}
		switch {
		case reason != "":
		case err == nil:
			reason = "not an object"
		default:
			reason = err.Error()
		}
		// A write that was cut off may have a whole record behind it.
		for {
			tries++
			j := nextObject(line, i+1)
			if j < 0 || tries > maxResync {
				return parts, reason
			}
			i = j
			if n, err := jsonl.Prefix(line[i:]); err == nil && isBlank(line[i+n:]) && whole(line[i:i+n]) {
				break
			}
		}
	}
}

// nextObject returns where, at or behind i, the next record could start.
func nextObject(line []byte, i int) int {
	best := -1
	for _, start := range []string{`{"parentUuid":`, `{"type":`, `{"timestamp":`, `{"id":`} {
		if i >= len(line) {
			return -1
		}
		if j := bytes.Index(line[i:], []byte(start)); j >= 0 && (best < 0 || i+j < best) {
			best = i + j
		}
	}
	return best
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

func isBlank(b []byte) bool { return skipBlank(b, 0) == len(b) }

// windowSize is how much of a source is held at once to read records by their
// place; most are close to the one before.
const windowSize = 1 << 20

// window reads parts of a source by their place.
type window struct {
	src Source
	buf []byte
	off int64 // of buf[0]
}

// at returns the bytes of a span, valid until the next call.
func (w *window) at(s span) ([]byte, error) {
	if s.off < w.off || s.off+s.size > w.off+int64(len(w.buf)) {
		size := max(min(windowSize, w.src.Size), s.size)
		// One long record must not stay in memory for the rest of the file.
		if int64(cap(w.buf)) < size || cap(w.buf) > 4*windowSize {
			w.buf = make([]byte, size)
		}
		w.buf = w.buf[:min(size, w.src.Size-s.off)]
		n, err := w.src.R.ReadAt(w.buf, s.off)
		w.buf, w.off = w.buf[:n], s.off
		if int64(n) < s.size {
			w.buf = w.buf[:0]
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	from := s.off - w.off
	return w.buf[from : from+s.size : from+s.size], nil
}

// putDamaged emits the event that keeps a damaged line. n says which of the
// identical ones it is, from 1.
func (r *reading) putDamaged(fork string, at span, reason string, counts *counter) error {
	r.stats.Damaged++
	r.stats.problem(at.line, reason)
	section := func() *io.SectionReader { return io.NewSectionReader(r.src.R, at.off, at.size) }
	sum, err := hashOf(section())
	if err != nil {
		return err
	}
	key := "damaged:" + hashKey(sum, counts.next(sum))
	if r.out.seen(fork, key) {
		return nil
	}
	data := damagedData(reason, at.size, section())
	return r.out.put(part{fork: fork, kind: kindEvent, payload: eventPayload(eventDamaged, data), keys: []string{key}})
}
