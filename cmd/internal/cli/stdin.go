package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"tape/internal/store/layout"
)

// input is standard input that gives up when a context ends: a read of a terminal or a
// pipe cannot be interrupted otherwise.
type input func(p []byte) (int, error)

// Read implements io.Reader. After the context has ended the buffer must not be used.
func (in input) Read(p []byte) (int, error) { return in(p) }

// newInput returns an input, and what ends its goroutine unless that still waits.
func newInput(ctx context.Context, r io.Reader) (in input, end func()) {
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

// readAll reads standard input to its end, refusing more than limit bytes; 0 is no limit.
func (a *App) readAll(ctx context.Context, limit int) ([]byte, error) {
	in, end := newInput(ctx, a.Stdin)
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
		return nil, layout.Invalid("", "standard input has more than %d bytes, which is too long for max_line", limit).Try(layout.RaiseMaxLine)
	}
	return data, nil
}

// readText reads a text from standard input, as $(…) does: without line ends at its end.
func (a *App) readText(ctx context.Context, limit int) (string, error) {
	data, err := a.readAll(ctx, limit)
	return strings.TrimRight(string(data), "\r\n"), err
}

func (a *App) canAsk() bool { return isTerminal(a.Stdin) && isTerminal(a.Stderr) }

// confirm asks on the terminal, and returns an error unless the answer is yes.
func (a *App) confirm(ctx context.Context, format string, args ...any) error {
	fmt.Fprintf(a.Stderr, format+" [y/N] ", args...)
	in, end := newInput(ctx, a.Stdin)
	defer end()
	answer, err := bufio.NewReader(in).ReadString('\n')
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	if err != nil {
		fmt.Fprintln(a.Stderr)
	}
	return &cliError{msg: "nothing was changed"}
}
