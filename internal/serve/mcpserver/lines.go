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
}

func (c *clientLines) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		line, err := c.line()
		if err != nil && len(line) == 0 {
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
