package record

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"tape/internal/text/jsonl"
)

// document walks over a file that is one JSON value, an array or an object
// with an array of messages, without holding more than one element of it.
type document struct {
	br   *bufio.Reader
	off  int64
	line int
	buf  []byte
}

var (
	errLongValue = errors.New("larger than an entry may be")
	errCutOff    = errors.New("the file ends inside of it")
	errNoJSON    = errors.New("not JSON")
	errBehind    = errors.New("text behind the end of the document")
)

// next takes a byte, and keeps it with those of the value that is being read.
func (d *document) next() (byte, error) {
	c, err := d.br.ReadByte()
	if err != nil {
		return 0, err
	}
	d.off++
	if c == '\n' {
		d.line++
	}
	if len(d.buf) < jsonl.DefaultMaxLine {
		d.buf = append(d.buf, c)
	}
	return c, nil
}

// peek returns the next byte that is not blank, without taking it.
func (d *document) peek() (byte, error) {
	for {
		b, err := d.br.Peek(1)
		if err != nil {
			return 0, err
		}
		c := b[0]
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' && (d.off > 2 || !isMark(c)) {
			return c, nil
		}
		if _, err := d.next(); err != nil {
			return 0, err
		}
	}
}

func isMark(c byte) bool { return bytes.IndexByte([]byte(ByteOrderMark), c) >= 0 }

func (d *document) take(c byte) bool {
	got, err := d.peek()
	if err != nil || got != c {
		return false
	}
	_, err = d.next()
	return err == nil
}

// value reads one value. The bytes are valid until the next call.
func (d *document) value() (raw []byte, at Span, err error) {
	c, err := d.peek()
	if err != nil {
		return nil, Span{Off: d.off, Line: d.line}, errCutOff
	}
	at = Span{Off: d.off, Line: d.line}
	d.buf = d.buf[:0]
	depth, quoted := 0, false
	scalar := c != '{' && c != '[' && c != '"'
	for whole := false; !whole; whole = !scalar && depth == 0 && !quoted {
		if b, err := d.br.Peek(1); scalar && (err != nil || bytes.IndexByte([]byte(",]} \t\r\n"), b[0]) >= 0) {
			break
		}
		c, err := d.next()
		if err != nil {
			at.Size = d.off - at.Off
			return nil, at, errCutOff
		}
		switch {
		case quoted && c == '\\':
			_, _ = d.next() // at the end of the file, the next byte tells
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	at.Size = d.off - at.Off
	switch {
	case at.Size > jsonl.DefaultMaxLine:
		return nil, at, errLongValue
	case at.Size == 0:
		return nil, at, errNoJSON
	}
	return d.buf, at, jsonl.Valid(d.buf)
}

// eachElement goes through the messages of a document: the elements of the
// array that it is, or of the one that its member "messages" is. Other members
// of the object go to field, whose arguments it may keep.
func eachElement(ctx context.Context, src Source, v Visitor, field func(name string, raw []byte)) error {
	d := &document{br: bufio.NewReaderSize(src.reader(), 1<<16), line: 1}
	var err error
	switch c, _ := d.peek(); c {
	case '[':
		err = d.elements(ctx, v)
	case '{':
		err = d.members(ctx, v, field)
	case 0:
		return nil
	default:
		err = &badValue{Span{Line: 1}, errNoJSON}
	}
	if _, more := d.peek(); err == nil && !v.Enough() && !errors.Is(more, io.EOF) {
		err = &badValue{Span{Off: d.off, Line: d.line}, errBehind}
	}
	var bad *badValue
	if !errors.As(err, &bad) {
		return err
	}
	// Where the next value begins cannot be known any more.
	bad.at.Size = src.Size - bad.at.Off
	v.Damaged(bad.at, bad.Error())
	return nil
}

// badValue is where a document cannot be read any further.
type badValue struct {
	at Span
	error
}

// items takes an array or an object with the items in it, up to the bracket that ends it.
func (d *document) items(ctx context.Context, v Visitor, end byte, item func() error) error {
	if _, err := d.next(); err != nil {
		return err
	}
	if d.take(end) {
		return nil
	}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := item(); err != nil || v.Enough() || d.take(end) {
			return err
		}
		if !d.take(',') {
			return &badValue{Span{Off: d.off, Line: d.line}, errNoJSON}
		}
	}
}

// readable gives a value to use, unless it is damaged.
func (d *document) readable(v Visitor, use func(at Span, raw []byte)) error {
	raw, at, err := d.value()
	switch {
	case errors.Is(err, errCutOff) || errors.Is(err, errNoJSON):
		return &badValue{at, err}
	case err != nil:
		v.Damaged(at, err.Error())
	default:
		use(at, raw)
	}
	return nil
}

func (d *document) elements(ctx context.Context, v Visitor) error {
	return d.items(ctx, v, ']', func() error {
		return d.readable(v, func(at Span, raw []byte) {
			if raw[0] != '{' {
				v.Damaged(at, "not an object")
			} else {
				v.Record(at, raw)
			}
		})
	})
}

func (d *document) members(ctx context.Context, v Visitor, field func(string, []byte)) error {
	return d.items(ctx, v, '}', func() error {
		raw, at, err := d.value()
		if err != nil || raw[0] != '"' {
			return &badValue{at, errNoJSON}
		}
		name := Text(raw)
		if !d.take(':') {
			return &badValue{Span{Off: d.off, Line: d.line}, errNoJSON}
		}
		if c, _ := d.peek(); c == '[' && name == "messages" {
			return d.elements(ctx, v)
		}
		return d.readable(v, func(_ Span, raw []byte) { field(name, Compact(raw)) })
	})
}

// isDocument reports whether a source is one JSON value with messages, not lines.
func isDocument(src Source) (bool, error) {
	sc := jsonl.NewScanner(src.reader(), jsonl.DefaultMaxLine)
	for first := true; ; {
		line, err := sc.Next()
		switch {
		case errors.Is(err, io.EOF):
			return !first, nil
		case errors.Is(err, jsonl.ErrTooLong):
			return first, nil
		case err != nil:
			return false, err
		}
		line = bytes.TrimPrefix(line, []byte(ByteOrderMark))
		if isBlank(line) {
			continue
		}
		if !first {
			return false, nil // a second value
		}
		if bytes.TrimLeft(line, blanks)[0] == '[' {
			return true, nil
		}
		n, err := jsonl.Prefix(line)
		switch {
		case err != nil:
			// It goes on on the next line, or is a damaged one of many.
			return isBlank(bytes.TrimLeft(line, "{ \t")) || !lineAfter(sc), nil
		case jsonl.Get(line[:n], "messages") == nil:
			return false, nil
		}
		first = false
	}
}

// lineAfter reports whether one of the next lines is a record by itself.
func lineAfter(sc *jsonl.Scanner) bool {
	for range 8 {
		line, err := sc.Next()
		if err != nil {
			return false
		}
		if n, err := jsonl.Prefix(line); err == nil && jsonl.IsObject(line) && isBlank(line[n:]) {
			return true
		}
	}
	return false
}
