package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"tape/internal/jsonl"
	"tape/repo"
)

// rejectedLine is a line of a stream that was left out.
type rejectedLine struct {
	Line  int64  `json:"line"`
	Error string `json:"error"`
}

// maxRejected bounds what a stream of nothing but bad lines can make us remember.
const maxRejected = 1000

// stream appends the lines of standard input in one change.
type stream struct {
	o        *appendOptions
	lines    *jsonl.Scanner
	first    []byte // the first line, read before the tape was locked
	firstErr error
	rejected []rejectedLine
	bad      int64
	refused  error // the line that ended a stream of all or none
}

func (o *appendOptions) runStream(ctx context.Context) error {
	a := o.app
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	in := newInput(ctx, a.Stdin)
	defer in.close()
	s := &stream{o: o, lines: jsonl.NewScanner(in, t.Store().Config().MaxLine)}
	// The tape is locked from here on only once there is something to append.
	s.first, s.firstErr = s.lines.Next()
	done, err := t.Update(ctx, func(tx *repo.Tx) error {
		if err := tx.Assert(o.asserted()); err != nil {
			return err
		}
		return s.feed(tx)
	})
	if s.refused != nil {
		return s.refused
	}
	if err != nil {
		return err
	}
	return s.report(done)
}

// firstOf returns the first entry that a query selects.
func firstOf(ctx context.Context, t *repo.Tape, q repo.Query) (repo.Entry, error) {
	for e, err := range t.Entries(ctx, q) {
		return e, err
	}
	return repo.Entry{}, nil
}

func (s *stream) feed(tx *repo.Tx) error {
	line, err := s.first, s.firstErr
	for ; ; line, err = s.lines.Next() {
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			if err = tx.AppendLine(line); err == nil {
				continue
			}
			if !errors.Is(err, repo.ErrInvalid) {
				return err
			}
		case errors.Is(err, jsonl.ErrTooLong):
			err = invalidf("raise the limit with: tape config max_line N", "the line is longer than %d bytes",
				s.o.app.store.Config().MaxLine)
		default:
			return fmt.Errorf("read standard input: %w", err)
		}
		if err := s.reject(int64(s.lines.Line()), err); err != nil {
			return err
		}
	}
}

// reject notes a bad line, or makes it the end of a stream of all or none.
func (s *stream) reject(line int64, err error) error {
	if !s.o.partial {
		hint := repo.Hint(err)
		if hint == "" {
			hint = "nothing was appended; --partial keeps the good lines"
		}
		s.refused = invalidf(hint, "line %d: %v", line, err)
		return s.refused
	}
	s.bad++
	if len(s.rejected) < maxRejected {
		s.rejected = append(s.rejected, rejectedLine{line, err.Error()})
	}
	return nil
}

func (s *stream) report(done repo.TxResult) error {
	a := s.o.app
	result := struct {
		Appended int            `json:"appended"`
		FirstID  int64          `json:"first_id"`
		LastID   int64          `json:"last_id"`
		Rejected []rejectedLine `json:"rejected,omitempty"`
	}{done.Appended, done.FirstID, done.LastID, s.rejected}
	text := fmt.Sprintf("appended %s, @%d to @%d", entries(done.Appended), done.FirstID, done.LastID)
	if done.Appended == 0 {
		text = "appended nothing"
	}
	if err := a.result(result, "%s", text); err != nil || s.bad == 0 {
		return err
	}
	if !a.json {
		for _, r := range s.rejected {
			a.message("error", fmt.Sprintf("line %d: %s", r.Line, r.Error))
		}
	}
	return invalidf("", "%s rejected", count(s.bad, "line was", "lines were"))
}
