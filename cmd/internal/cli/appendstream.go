package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// streamOptions apply to a stream of entries.
type streamOptions struct {
	Anchor  string // append only if its phase is open; "": any
	Partial bool   // keep the valid lines, and report the others
}

// maxRejected is how many bad lines are listed; the others are only counted.
const maxRejected = 1000

// stream appends the lines of standard input in one transaction.
type stream struct {
	*stdio.Streams
	streamOptions
	t        *repo.Tape
	lines    *jsonl.Scanner
	first    []byte // the first line, read before the tape was locked
	firstErr error
	rejected []stdio.Object // lines that were left out
	messages []string       // the same for people
	bad      int64
	refused  error // without Partial: the error of the bad line that ended the stream
}

// appendStream appends the entries on standard input in one transaction. Without Partial, a bad line ends it, and
// nothing is appended. The error is ErrInvalid if a line was bad.
func appendStream(ctx context.Context, streams *stdio.Streams, t *repo.Tape, o streamOptions) error {
	s, end := newStream(ctx, streams, t, o)
	defer end()
	// Wait for the first line before the tape is locked.
	s.first, s.firstErr = s.next()
	done, err := t.Update(ctx, func(tx *repo.Tx) error {
		if err := tx.Assert(&repo.AppendOptions{Anchor: o.Anchor}); err != nil {
			return err
		}
		return s.feed(ctx, tx)
	})
	if s.refused != nil {
		return s.refused
	}
	if err != nil {
		return err
	}
	return s.report(done)
}

func newStream(ctx context.Context, streams *stdio.Streams, t *repo.Tape, o streamOptions) (*stream, func()) {
	in, end := stdio.NewInput(ctx, streams.Stdin)
	return &stream{Streams: streams, streamOptions: o, t: t, lines: jsonl.NewScanner(in, maxLine(t))}, end
}

func maxLine(t *repo.Tape) int { return (*workspace.Store)(t.Store()).Config().MaxLine }

func (s *stream) feed(ctx context.Context, tx *repo.Tx) error {
	line, err := s.first, s.firstErr
	for ; ; line, err = s.next() {
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && line != nil {
			err = tx.AppendLine(ctx, line)
		}
		if errors.Is(err, repo.ErrInvalid) {
			err = s.reject(int64(s.lines.Line()), err)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next line, nil if it is empty. After ErrInvalid, reading can go on.
func (s *stream) next() ([]byte, error) {
	line, err := s.lines.Next()
	switch {
	case errors.Is(err, jsonl.ErrTooLong):
		return nil, layout.Invalid("", "the line is longer than max_line allows, which is %d bytes",
			maxLine(s.t)).Try(layout.RaiseMaxLine)
	case errors.Is(err, io.EOF):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	case len(bytes.TrimSpace(line)) == 0:
		return nil, nil
	}
	return line, nil
}

// reject records a bad line; without Partial, it returns the error that ends the stream.
func (s *stream) reject(line int64, err error) error {
	if !s.Partial {
		hint := hints.Of(err)
		if hint == "" {
			hint = "nothing was appended; --partial keeps the good lines"
		}
		s.refused = layout.Invalid(hint, "line %d: %v", line, err)
		return s.refused
	}
	if s.bad++; s.bad <= maxRejected {
		s.rejected = append(s.rejected, stdio.Object{{"line", line}, {"error", err.Error()}})
		s.messages = append(s.messages, fmt.Sprintf("line %d: %v", line, err))
	}
	return nil
}

func (s *stream) report(done repo.TxResult) error {
	result := stdio.Object{{"appended", done.Appended}, {"first_id", done.FirstID}, {"last_id", done.LastID}}.With("rejected", s.rejected)
	text := fmt.Sprintf("appended %s, @%d to @%d", display.Entries(done.Appended), done.FirstID, done.LastID)
	if done.Appended == 0 {
		text = "appended nothing"
	}
	if err := s.Result(result, "%s", text); err != nil || s.bad == 0 {
		return err
	}
	if !s.JSON {
		for _, m := range s.messages {
			s.Message("error", m)
		}
	}
	return layout.Invalid("", "%s rejected", display.Count(s.bad, "line was", "lines were"))
}
