package record

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"tape/internal/text/jsonl"
)

// document reads a file that is one JSON value, an array or an object with an array of messages. It
// holds one element at a time.
type document struct {
	br   *bufio.Reader
	off  int64
	line int
	buf  []byte
}

var (
	errLongValue = errors.New("larger than an entry may be")
	errCutOff    = errors.New("the file ends too early")
	errNoJSON    = errors.New("not JSON")
	errTrailing  = errors.New("text after the end of the document")
)

// next reads a byte, and adds it to the value that is being read.
func (d *document) next() (byte, error) {
	c, err := d.br.ReadByte()
	if err != nil {
		return 0, err
	}
	d.off++
	if c == '\n' {
		d.line++
	}
	if len(d.buf) < MaxRecord {
		d.buf = append(d.buf, c)
	}
	return c, nil
}

// text reads the buffered bytes up to the next quote or backslash: they cannot end a string.
func (d *document) text() {
	b, _ := d.br.Peek(d.br.Buffered())
	if end := bytes.IndexAny(b, `"\`); end >= 0 {
		b = b[:end]
	}
	d.off += int64(len(b))
	d.line += bytes.Count(b, []byte{'\n'})
	d.buf = append(d.buf, b[:min(len(b), MaxRecord-len(d.buf))]...)
	_, _ = d.br.Discard(len(b)) // cannot fail: they are buffered
}

// peek skips blanks, at the beginning also a byte order mark, and returns the next byte without reading it.
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

// accept reads the next byte if it is c.
func (d *document) accept(c byte) bool {
	got, err := d.peek()
	if err != nil || got != c {
		return false
	}
	_, err = d.next()
	return err == nil
}

// value reads one value. The bytes are valid until the next call. After errCutOff and errNoJSON, it is not
// known where the next value begins; after other errors, reading can go on.
func (d *document) value() (raw []byte, at Span, err error) {
	c, err := d.peek()
	if err != nil {
		return nil, Span{Off: d.off, Line: d.line}, errCutOff
	}
	at = Span{Off: d.off, Line: d.line}
	d.buf = d.buf[:0]
	depth, quoted := 0, false
	scalar := c != '{' && c != '[' && c != '"'
	for done := false; !done; done = !scalar && depth == 0 && !quoted {
		if b, err := d.br.Peek(1); scalar && (err != nil || bytes.IndexByte([]byte(",]} \t\r\n"), b[0]) >= 0) {
			break
		}
		if quoted {
			d.text()
		}
		c, err := d.next()
		if err != nil {
			at.Size = d.off - at.Off
			return nil, at, errCutOff
		}
		switch {
		case quoted && c == '\\':
			_, _ = d.next() // at the end of the file, the next call fails, too
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
	case at.Size > MaxRecord:
		return nil, at, errLongValue
	case at.Size == 0:
		return nil, at, errNoJSON
	}
	return d.buf, at, jsonl.Valid(d.buf)
}

// eachElement visits the messages of a document: the elements of the array, or of the object's member
// "messages". Other members go to field, which may keep its arguments.
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
		err = &badValue{Span{Off: d.off, Line: d.line}, errTrailing}
	}
	var bad *badValue
	if !errors.As(err, &bad) {
		return err
	}
	// Where the next value begins is unknown.
	bad.at.Size = src.Size - bad.at.Off
	v.Damaged(bad.at, bad.Error())
	return nil
}

// badValue is an error after which a document cannot be read any further.
type badValue struct {
	at Span
	error
}

// items reads an array or object up to the bracket that ends it.
func (d *document) items(ctx context.Context, v Visitor, end byte, item func() error) error {
	if _, err := d.next(); err != nil {
		return err
	}
	if d.accept(end) {
		return nil
	}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := item(); err != nil || v.Enough() || d.accept(end) {
			return err
		}
		if !d.accept(',') {
			return &badValue{Span{Off: d.off, Line: d.line}, errNoJSON}
		}
	}
}

// readable reads a value, and calls use unless the value is damaged.
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
		if !d.accept(':') {
			return &badValue{Span{Off: d.off, Line: d.line}, errNoJSON}
		}
		if c, _ := d.peek(); c == '[' && name == "messages" {
			return d.elements(ctx, v)
		}
		return d.readable(v, func(_ Span, raw []byte) { field(name, Compact(raw)) })
	})
}

// isDocument reports whether a source is one JSON value with messages, and not lines.
func isDocument(src Source) (bool, error) {
	sc := jsonl.NewScanner(src.reader(), MaxRecord)
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
			// The value continues on the next line, or the line is damaged.
			return isBlank(bytes.TrimLeft(line, "{ \t")) || !lineAfter(sc), nil
		case jsonl.Get(line[:n], "messages") == nil:
			return false, nil
		}
		first = false
	}
}

// lineAfter reports whether one of the next lines is a complete record.
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
