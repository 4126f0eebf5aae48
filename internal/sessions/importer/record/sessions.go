package record

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"tape/internal/text/jsonl"
)

// MaxSession is the greatest size of a session that is one JSON value, in bytes. It is held in memory.
const MaxSession = 64 << 20

// IsList reports whether the beginning of a file is that of a JSON array.
func IsList(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(ByteOrderMark)), blanks)
	return len(head) > 0 && head[0] == '['
}

// Sessions finds the sessions in a source that is a JSON array of sessions. For each it calls use with its place, and
// with a problem if the session cannot be read. The memory that it needs does not grow with the source. It returns an
// error if the source is not an array, or ctx ends.
func Sessions(ctx context.Context, src Source, use func(at Span, problem error)) error {
	d := &document{br: bufio.NewReaderSize(src.reader(), 1<<16), line: 1}
	if !d.accept('[') {
		return errNoJSON
	}
	for n := 0; !d.accept(']'); n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if n > 0 && !d.accept(',') {
			use(Span{Off: d.off, Line: d.line}, fmt.Errorf("%w after session %d: the rest of the file is left out", errNoJSON, n))
			return nil
		}
		raw, at, err := d.value()
		switch {
		case errors.Is(err, errCutOff) || errors.Is(err, errNoJSON):
			use(at, fmt.Errorf("session %d is incomplete: %w", n+1, err))
			return nil // it is not known where the next one begins
		case at.Size > MaxSession:
			use(at, fmt.Errorf("session %d is larger than %d MiB", n+1, MaxSession>>20))
		case err != nil && !errors.Is(err, errLongValue):
			use(at, fmt.Errorf("session %d: %w", n+1, err))
		case raw != nil && raw[0] != '{':
			use(at, fmt.Errorf("session %d is not an object", n+1))
		default:
			use(at, nil)
		}
	}
	return nil
}

// EachSession visits the object that a source consists of, or else the objects on its lines. One object may be longer
// than a line of a transcript may be.
func EachSession(ctx context.Context, src Source, isRecord func(raw []byte) bool, v Visitor) error {
	if src.Size <= MaxSession {
		raw := make([]byte, src.Size)
		if _, err := src.R.ReadAt(raw, 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		raw = bytes.Trim(bytes.TrimPrefix(raw, []byte(ByteOrderMark)), blanks)
		if jsonl.IsObject(raw) && jsonl.Valid(raw) == nil {
			v.Record(Span{Size: src.Size, Line: 1}, raw)
			return nil
		}
	}
	return Each(ctx, src, isRecord, nil, v)
}

// ScanSession calls see with the objects that [EachSession] would visit, until see returns false. It skips what is
// damaged.
func ScanSession(ctx context.Context, src Source, isRecord func(raw []byte) bool, see func(raw []byte) bool) error {
	return EachSession(ctx, src, isRecord, &scanner{see: func(_ Span, raw []byte) bool { return see(raw) }})
}
