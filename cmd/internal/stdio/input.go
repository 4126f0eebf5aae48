package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// input is standard input whose reads end with a context. A read of a terminal or a pipe
// cannot be interrupted.
type input func(p []byte) (int, error)

// Read implements io.Reader. After the context has ended, the buffer must not be used.
func (in input) Read(p []byte) (int, error) { return in(p) }

// NewInput returns an input, and a function that ends its goroutine once a pending read has
// returned.
func NewInput(ctx context.Context, r io.Reader) (in input, end func()) {
	type result struct {
		n   int
		err error
	}
	ask, done := make(chan []byte), make(chan result, 1)
	go func() {
		for buf := range ask {
			n, err := r.Read(buf)
			done <- result{n, err}
		}
	}()
	return func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		ask <- p
		select {
		case r := <-done:
			return r.n, r.err
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}, func() { close(ask) }
}

// ReadAll reads standard input to its end. If there are more than limit bytes, it returns tooLong; 0 is no limit.
func (s *Streams) ReadAll(ctx context.Context, limit int, tooLong error) ([]byte, error) {
	in, end := NewInput(ctx, s.Stdin)
	defer end()
	var from io.Reader = in
	if limit > 0 {
		from = io.LimitReader(in, int64(limit)+1)
	}
	data, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if limit > 0 && len(data) > limit {
		return nil, tooLong
	}
	return data, nil
}

// ReadText reads a text from standard input and, as $(…) does, drops newlines at its end.
func (s *Streams) ReadText(ctx context.Context, limit int, tooLong error) (string, error) {
	data, err := s.ReadAll(ctx, limit, tooLong)
	return strings.TrimRight(string(data), "\r\n"), err
}

// CanAsk reports whether there is a terminal for questions.
func (s *Streams) CanAsk() bool { return IsTerminal(s.Stdin) && IsTerminal(s.Stderr) }

// Confirm asks on the terminal, and returns an error unless the answer is yes.
func (s *Streams) Confirm(ctx context.Context, format string, args ...any) error {
	answer, err := s.Ask(ctx, format+" [y/N] ", args...)
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed")
}

// Tell writes a line to standard error, also with --quiet: what a question is about.
func (s *Streams) Tell(format string, args ...any) { fmt.Fprintf(s.Stderr, format+"\n", args...) }

// Ask asks on the terminal, and returns the line that is typed; "" at the end of the input.
func (s *Streams) Ask(ctx context.Context, format string, args ...any) (string, error) {
	answer, _, err := s.AskEnter(ctx, format, args...)
	return answer, err
}

// AskEnter is Ask for a question to which Enter alone is an answer. entered is false at the end of the input.
func (s *Streams) AskEnter(ctx context.Context, format string, args ...any) (answer string, entered bool, err error) {
	fmt.Fprintf(s.Stderr, format, args...)
	in, end := NewInput(ctx, s.Stdin)
	defer end()
	answer, err = bufio.NewReader(in).ReadString('\n')
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	if err != nil {
		fmt.Fprintln(s.Stderr)
	}
	return strings.TrimSpace(answer), err == nil, nil
}
