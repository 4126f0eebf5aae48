package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tape/internal/text/jsonl"
)

// maxLine is the longest line that a client may send, in bytes.
const maxLine = 16 << 20

// clientLines passes on the lines of a client that are messages of the protocol. Others are answered with an error, as
// JSON-RPC wants it, and do not end the session (modelcontextprotocol/go-sdk#179). A batch is taken apart.
type clientLines struct {
	r    *bufio.Reader
	out  io.Writer
	rest []byte // to be read
	open *unanswered
	done <-chan struct{} // closed when the server has to end
}

// unanswered counts the requests that have no answer yet.
type unanswered struct {
	mu      sync.Mutex
	n       int
	changed chan struct{} // has an element after each change
}

func (u *unanswered) add(n int) {
	u.mu.Lock()
	u.n += n
	u.mu.Unlock()
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

// lastAnswers is how long answers are waited for when the client has ended its input: then the SDK gives up what runs, and
// echo … | tape mcp would get no answer (modelcontextprotocol/go-sdk#1061).
const lastAnswers = 30 * time.Second

// wait waits until every request is answered, or done is closed.
func (u *unanswered) wait(done <-chan struct{}) {
	late := time.After(lastAnswers)
	for {
		u.mu.Lock()
		n := u.n
		u.mu.Unlock()
		if n <= 0 {
			return
		}
		select {
		case <-u.changed:
		case <-done:
			return
		case <-late:
			return
		}
	}
}

// nobody, taken from the number of requests, says that the client does not read the answers any more.
const nobody = 1 << 30

func (u *unanswered) gone() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n < -nobody/2
}

// answers writes the server's messages, and counts those that are answers.
type answers struct {
	*oneWriter
	open *unanswered
}

func (a *answers) Write(p []byte) (int, error) {
	n, err := a.oneWriter.Write(p)
	switch {
	case err != nil: // nobody reads them any more
		a.open.add(-nobody)
	case jsonl.Get(p, "method") == nil && jsonl.Get(p, "id") != nil:
		a.open.add(-1)
	}
	return n, err
}

func (c *clientLines) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		line, err := c.line()
		if err != nil && len(line) == 0 {
			if errors.Is(err, io.EOF) {
				c.open.wait(c.done)
			}
			return 0, err
		}
		if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\uFEFF"))); len(line) == 0 {
			continue
		}
		if err := c.add(line); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// line returns the next line. Of one that is too long only the beginning is kept.
func (c *clientLines) line() (line []byte, err error) {
	for {
		piece, err := c.r.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// add passes on the messages of a line, or answers it.
func (c *clientLines) add(line []byte) error {
	switch {
	case len(line) > maxLine:
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is longer than %d MiB", maxLine>>20))
	case !json.Valid(line):
		return c.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON: a message is one JSON object on a line")
	case line[0] == '[':
		for message := range jsonl.Elements(line) {
			if err := c.add(bytes.Clone(message)); err != nil {
				return err
			}
		}
		return nil
	}
	id := jsonl.Get(line, "id")
	if n, err := strconv.ParseFloat(string(id), 64); err == nil && (n != math.Trunc(n) || math.Abs(n) >= 1<<53) {
		return c.refuse(id, jsonrpc.CodeInvalidRequest, "an id is a text, or a whole number below 2^53") // it would be answered with another one
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return c.refuse(id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the line is not a message of JSON-RPC 2.0: %v", err))
	}
	var message bytes.Buffer
	if err := json.Compact(&message, line); err != nil {
		return err
	}
	if jsonl.Get(line, "method") != nil && len(id) > 0 && string(id) != "null" {
		c.open.add(1)
	}
	c.rest = append(append(c.rest, message.Bytes()...), '\n')
	return nil
}

// refuse answers a line that is no message.
func (c *clientLines) refuse(id json.RawMessage, code int, why string) error {
	if len(id) == 0 || id[0] == '{' || id[0] == '[' {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err == nil {
		_, err = c.out.Write(append(answer, '\n'))
	}
	return err
}

// oneWriter lets several write whole messages.
type oneWriter struct {
	mu sync.Mutex
	io.Writer
}

func (w *oneWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writer.Write(p)
}

func (*oneWriter) Close() error { return nil }
