package cli

import (
	"context"
	"fmt"
	"io"
)

// input is standard input that gives up when the context ends: a read of a terminal
// or a pipe cannot be interrupted otherwise.
type input struct {
	ctx  context.Context
	ask  chan []byte
	done chan readResult
}

type readResult struct {
	n   int
	err error
}

func newInput(ctx context.Context, r io.Reader) *input {
	in := &input{ctx: ctx, ask: make(chan []byte), done: make(chan readResult, 1)}
	go func() {
		for buf := range in.ask {
			n, err := r.Read(buf)
			in.done <- readResult{n, err}
		}
	}()
	return in
}

// Read implements io.Reader. After the context has ended the buffer must not be used.
func (in *input) Read(p []byte) (int, error) {
	if err := in.ctx.Err(); err != nil {
		return 0, err
	}
	in.ask <- p
	select {
	case r := <-in.done:
		return r.n, r.err
	case <-in.ctx.Done():
		return 0, in.ctx.Err()
	}
}

// close ends the reading goroutine, unless it still waits for input.
func (in *input) close() { close(in.ask) }

// readAll reads standard input to its end, refusing more than limit bytes.
func (a *App) readAll(ctx context.Context, limit int) ([]byte, error) {
	in := newInput(ctx, a.Stdin)
	defer in.close()
	data, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > limit {
		return nil, invalidf("", "standard input has more than %d bytes", limit)
	}
	return data, nil
}
