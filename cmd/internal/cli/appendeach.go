package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

// each appends the lines of standard input one by one, and reports the result of each.
type each struct {
	*stream
	assert  *repo.AppendOptions
	answers []answer // for lines that are stored together, until they are durable
	failed  int64
	class   error // of the first error
}

type answer struct {
	line int // its number
	id   int64
	err  error
}

// appendEach appends the lines of standard input one by one, for as long as it is open, and answers each. If lines
// were not appended, it returns an error at the end, of the class of the first.
func appendEach(ctx context.Context, streams *stdio.Streams, t *repo.Tape, o streamOptions) error {
	s, end := newStream(ctx, streams, t, o)
	defer end()
	e := &each{stream: s, assert: &repo.AppendOptions{Anchor: o.Anchor}}
	for {
		line, err := e.next() // nothing is locked while the stream is idle
		if err == nil && line != nil || errors.Is(err, repo.ErrInvalid) {
			err = e.append(ctx, line, err)
		}
		switch {
		case errors.Is(err, io.EOF) && e.failed > 0:
			return &layout.Error{Class: e.class, Msg: display.Count(e.failed, "line was", "lines were") + " not appended"}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if e.lines.Waiting() {
			time.Sleep(othersTurn)
		}
	}
}

// othersTurn is how long a stream without pauses leaves the tape to other writers, which try to
// lock it every few milliseconds.
const othersTurn = time.Millisecond

// append appends a line and those that have already arrived after it, and reports the results.
// bad is the error of reading the line.
func (e *each) append(ctx context.Context, line []byte, bad error) error {
	e.answers = e.answers[:0]
	var err error
	if e.lines.Waiting() {
		_, err = e.t.Update(ctx, func(tx *repo.Tx) error { return e.together(ctx, tx, line, bad) })
	} else {
		err = e.alone(ctx, line, bad)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	if len(e.answers) == 0 {
		e.answers = append(e.answers, answer{line: e.lines.Line()})
	}
	for _, a := range e.answers {
		if err := e.answer(a.line, a.id, cmp.Or(a.err, err)); err != nil {
			return err
		}
	}
	return e.Flush()
}

// alone appends one line: one write, one sync.
func (e *each) alone(ctx context.Context, line []byte, bad error) error {
	if bad != nil {
		return bad
	}
	d, err := repo.ParseDraft(line)
	if err != nil {
		return err
	}
	done, err := e.t.Append(ctx, e.assert, d)
	if err == nil {
		e.answers = append(e.answers, answer{line: e.lines.Line(), id: done[0].ID})
	}
	return err
}

// together appends a line and those that have already arrived after it.
func (e *each) together(ctx context.Context, tx *repo.Tx, line []byte, err error) error {
	if err := tx.Assert(e.assert); err != nil {
		return err
	}
	for ; ; line, err = e.next() {
		if err == nil && line != nil {
			err = tx.AppendAlone(ctx, line)
		}
		if err != nil || line != nil {
			e.answers = append(e.answers, answer{e.lines.Line(), tx.LastID(), err})
		}
		if err != nil && !errors.Is(err, repo.ErrInvalid) || !e.lines.Waiting() {
			break
		}
	}
	if errors.Is(err, repo.ErrInvalid) {
		return nil
	}
	return err
}

// answer reports the result of a line.
func (e *each) answer(line int, id int64, err error) error {
	switch {
	case err == nil && e.JSON:
		return e.Emit(stdio.Object{{"id", id}})
	case err == nil:
		e.PrintUnlessQuiet("@%d", id)
		return e.Written()
	}
	err = fmt.Errorf("line %d: %w", line, err)
	if e.failed++; e.failed == 1 {
		e.class = codeOf(err).class
	}
	if e.JSON {
		return e.Emit(stdio.Object{{"error", describeError(err)}})
	}
	e.Message("error", err.Error())
	if hint := hints.Of(err); hint != "" {
		e.Message("hint", hint)
	}
	return nil
}
