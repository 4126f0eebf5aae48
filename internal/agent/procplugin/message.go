package procplugin

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tape/internal/show/display"
)

// message is a request, a notification or an answer, to be sent.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// received is a message from the plugin.
type received struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`

	size    int            // bytes of the line
	request *pluginRequest // if it is a request within a call
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error codes of JSON-RPC. codeCancelled is from the Language Server Protocol.
const (
	codeUnknown   = -32601
	codeParams    = -32602
	codeFailed    = -32000
	codeCancelled = -32800
)

func (e *rpcError) Error() string { return cut(display.Text(e.Message), 4096) }

// cut shortens a text to n bytes.
func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// encode returns a message as a line.
func encode(m message, limit int) ([]byte, error) {
	m.Version = "2.0"
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return nil, err
	}
	if b.Len()-1 > limit {
		return nil, fmt.Errorf("the message has %d bytes; a line has at most %d", b.Len()-1, limit)
	}
	return b.Bytes(), nil
}

// parse reads a message; nil if the line is not one.
func parse(line []byte) *received {
	m := &received{size: len(line)}
	if json.Unmarshal(line, m) != nil || m.Version != "2.0" || m.Method == "" && len(m.ID) == 0 {
		return nil
	}
	if m.Method == "" { // an answer with a repeated or unknown member is ambiguous
		if _, err := strictObject(line, "jsonrpc", "id", "method", "params", "result", "error"); err != nil {
			return nil
		}
	}
	return m
}
