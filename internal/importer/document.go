package importer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"tape/internal/jsonl"
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
)

func newDocument(src Source) *document {
	return &document{br: bufio.NewReaderSize(src.reader(), 1<<16), line: 1}
}

func (d *document) next() (byte, error) {
	c, err := d.br.ReadByte()
	if err != nil {
		return 0, err
	}
	d.off++
	if c == '\n' {
		d.line++
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

func isMark(c byte) bool { return bytes.IndexByte([]byte(byteOrderMark), c) >= 0 }

// take takes the next byte if it is c.
func (d *document) take(c byte) bool {
	got, err := d.peek()
	if err != nil || got != c {
		return false
	}
	_, err = d.next()
	return err == nil
}

// value reads one value. The bytes are valid until the next call.
func (d *document) value() (raw []byte, at span, err error) {
	c, err := d.peek()
	if err != nil {
		return nil, span{off: d.off, line: d.line}, errCutOff
	}
	at = span{off: d.off, line: d.line}
	d.buf = d.buf[:0]
	depth, quoted, long := 0, false, false
	scalar := c != '{' && c != '[' && c != '"'
	for {
		if scalar {
			b, err := d.br.Peek(1)
			if err != nil || bytes.IndexByte([]byte(",]} \t\r\n"), b[0]) >= 0 {
				break
			}
		}
		c, err := d.next()
		if err != nil {
			at.size = d.off - at.off
			return nil, at, errCutOff
		}
		d.keep(c, &long)
		switch {
		case quoted && c == '\\':
			if c, err = d.next(); err == nil {
				d.keep(c, &long)
			}
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if !scalar && depth == 0 && !quoted {
			break
		}
	}
	at.size = d.off - at.off
	switch {
	case long:
		return nil, at, errLongValue
	case at.size == 0:
		return nil, at, errNoJSON
	}
	return d.buf, at, jsonl.Valid(d.buf)
}

func (d *document) keep(c byte, long *bool) {
	if len(d.buf) < jsonl.DefaultMaxLine {
		d.buf = append(d.buf, c)
	} else {
		*long = true
	}
}

// eachElement goes through the messages of a document: the elements of the
// array that it is, or of the one that its member "messages" is. Other members
// of the object go to field, whose arguments it may keep.
func eachElement(ctx context.Context, src Source, v lineVisitor, field func(name string, raw []byte) error) error {
	d := newDocument(src)
	var err error
	switch c, _ := d.peek(); c {
	case '[':
		err = d.elements(ctx, v)
	case '{':
		d.take('{')
		err = d.members(ctx, v, field)
	case 0:
		return nil
	default:
		return v.damaged(span{size: src.Size, line: 1}, errNoJSON.Error())
	}
	var bad *badValue
	if errors.As(err, &bad) {
		// Where the next value begins cannot be known any more.
		bad.at.size = src.Size - bad.at.off
		return v.damaged(bad.at, bad.err.Error())
	}
	if err != nil {
		return err
	}
	if _, err := d.peek(); !errors.Is(err, io.EOF) {
		return v.damaged(span{off: d.off, size: src.Size - d.off, line: d.line}, "text behind the end of the document")
	}
	return nil
}

// badValue is where a document cannot be read any further.
type badValue struct {
	at  span
	err error
}

func (b *badValue) Error() string { return b.err.Error() }

func (d *document) bad(err error) error {
	return &badValue{span{off: d.off, line: d.line}, err}
}

func (d *document) elements(ctx context.Context, v lineVisitor) error {
	d.take('[')
	if d.take(']') {
		return nil
	}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		raw, at, err := d.value()
		switch {
		case errors.Is(err, errCutOff) || errors.Is(err, errNoJSON):
			return &badValue{at, err}
		case err != nil:
			err = v.damaged(at, err.Error())
		case raw[0] == '{':
			err = v.record(at, raw)
		default:
			err = v.damaged(at, "not an object")
		}
		if err != nil {
			return err
		}
		if d.take(']') {
			return nil
		}
		if !d.take(',') {
			return d.bad(errNoJSON)
		}
	}
}

func (d *document) members(ctx context.Context, v lineVisitor, field func(string, []byte) error) error {
	if d.take('}') {
		return nil
	}
	for {
		raw, at, err := d.value()
		if err != nil || raw[0] != '"' {
			return &badValue{at, errNoJSON}
		}
		name := text(raw)
		if !d.take(':') {
			return d.bad(errNoJSON)
		}
		if c, _ := d.peek(); c == '[' && name == "messages" {
			err = d.elements(ctx, v)
		} else {
			var at span
			raw, at, err = d.value()
			switch {
			case errors.Is(err, errCutOff) || errors.Is(err, errNoJSON):
				return &badValue{at, err}
			case err != nil:
				err = v.damaged(at, err.Error())
			default:
				err = field(name, compact(raw))
			}
		}
		if err != nil {
			return err
		}
		if d.take('}') {
			return nil
		}
		if !d.take(',') {
			return d.bad(errNoJSON)
		}
	}
}

// isDocument reports whether a source is one JSON value with messages in it,
// and not lines of values.
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
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		if isBlank(line) {
			continue
		}
		if !first {
			return false, nil // a second value
		}
		if line[skipBlank(line, 0)] == '[' {
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
