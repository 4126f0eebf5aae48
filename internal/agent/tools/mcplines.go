package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"tape/internal/text/jsonl"
)

// messageLines passes on the lines of a server that are messages of the protocol. Servers also print banners and logs on
// their standard output, which is none (modelcontextprotocol/rust-sdk#938). A message over several lines is put
// together.
type messageLines struct {
	io.Closer
	r       *bufio.Reader
	open    []byte // the beginning of a message
	rest    []byte // to be read
	skipped int    // bytes since the last message
}

// maxSkipped is how many bytes a server may write that are no messages, one after the other.
const maxSkipped = 1 << 20

func (m *messageLines) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if len(line) == 0 && err != nil {
			return 0, err
		}
		m.add(bytes.TrimPrefix(line, []byte("\uFEFF")))
		if m.skipped > maxSkipped {
			return 0, errors.New("it writes what is no message of the protocol")
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// line returns the next line with its end.
func (m *messageLines) line() (line []byte, err error) {
	for {
		piece, err := m.r.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxMessage {
			return nil, fmt.Errorf("it writes a line of more than %d MiB", maxMessage>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (m *messageLines) add(line []byte) {
	whole := append(m.open, line...)
	if batch := bytes.TrimSpace(whole); len(batch) > 0 && batch[0] == '[' && json.Valid(batch) { // of protocol 2025-03-26
		for el := range jsonl.Elements(batch) {
			if el = mended(el); isMessage(el) {
				m.rest = append(append(m.rest, el...), '\n')
			}
		}
		if len(m.rest) > 0 {
			m.open, m.skipped = nil, 0
			return
		}
	}
	for _, text := range [][]byte{line, whole} {
		if text = mended(bytes.TrimSpace(text)); isMessage(text) {
			m.rest, m.open, m.skipped = append(bytes.Clone(text), '\n'), nil, 0
			return
		}
	}
	m.skipped += len(line)
	if m.open = nil; bytes.HasPrefix(bytes.TrimSpace(whole), []byte("{")) {
		m.open = whole
	}
}

func isMessage(text []byte) bool {
	_, err := jsonrpc.DecodeMessage(text)
	return err == nil
}
