package models

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// serverEvent is a server-sent event: https://html.spec.whatwg.org/multipage/server-sent-events.html
type serverEvent struct {
	name  string // "" if the server gives none
	data  []byte // valid until the next event
	stray bool   // the data are a line that is of no event
}

// serverEvents reads the events of a stream. It is lenient: the last one needs no blank line after it, nor do those
// whose data are complete; a line of JSON without a field is taken for data; and llama.cpp's field "error" is an event
// of that name. The end of the input ends the sequence without an error.
func serverEvents(body io.Reader) iter.Seq2[serverEvent, error] {
	return func(yield func(serverEvent, error) bool) {
		lines := lineReader{r: bufio.NewReaderSize(body, 32<<10)}
		var e serverEvent
		send := func() bool {
			ok := len(e.data) == 0 || yield(e, nil)
			e = serverEvent{data: e.data[:0]}
			return ok
		}
		var rest []byte
		next := func() (line []byte, err error) {
			if len(rest) == 0 {
				if rest, err = lines.next(); err != nil {
					return nil, err
				}
			}
			line, rest, _ = bytes.Cut(rest, []byte("\r")) // a line may end with it, and JSON has none
			return line, nil
		}
		for {
			line, err := next()
			if err != nil {
				if send() && !errors.Is(err, io.EOF) {
					yield(serverEvent{}, err)
				}
				return
			}
			if len(line) == 0 {
				if !send() {
					return
				}
				continue
			}
			field, value, found := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch {
			case line[0] == '{':
				field, value = []byte("data"), line
			case !found:
				value = nil
			}
			switch string(field) {
			case "event":
				if len(e.data) > 0 && !send() {
					return
				}
				e.name = string(value)
			case "data", "error":
				if len(e.data) > 0 && (json.Valid(e.data) || bytes.Equal(value, []byte(streamEnd))) {
					name := e.name
					if !send() {
						return
					}
					e.name = name
				}
				if len(e.data) > 0 {
					e.data = append(e.data, '\n')
				}
				if e.data = append(e.data, value...); len(e.data) > maxAnswer {
					yield(serverEvent{}, fmt.Errorf("an event of the answer is longer than %d MiB", maxAnswer>>20))
					return
				}
				if string(field) == "error" {
					e.name = "error"
				}
			case "", "id", "retry":
			default:
				if !yield(serverEvent{data: line, stray: true}, nil) {
					return
				}
			}
		}
	}
}

// streamEnd is the data of the last event of chat completions.
const streamEnd = "[DONE]"

// lineReader reads lines that end with \n or \r\n.
type lineReader struct {
	r    *bufio.Reader
	line []byte
}

// next returns a line without its end, valid until the next call. The error is io.EOF after the last one.
func (l *lineReader) next() ([]byte, error) {
	l.line = l.line[:0]
	for {
		piece, err := l.r.ReadSlice('\n')
		l.line = append(l.line, piece...)
		switch {
		case len(l.line) > maxAnswer:
			return nil, fmt.Errorf("a line of the answer is longer than %d MiB", maxAnswer>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && len(l.line) == 0:
			return nil, err
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		return bytes.TrimRight(l.line, "\r\n"), nil
	}
}
