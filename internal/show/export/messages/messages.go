// Package messages writes the messages of a tape of any length as they come.
package messages

import (
	"bufio"
	"bytes"
	"slices"

	"tape/internal/show/conversation"
	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// Messages of a long tape are made a stretch at a time, so that memory does not grow
// with it. A stretch ends in front of an anchor or a message, where no call waits for
// its result; one that has grown to many times its size ends where the latest calls
// have theirs. A result that comes later still is told as one without a call.
const (
	StretchBytes = 8 << 20
	stretchMost  = 8 // times that
)

// stretch is a part of a tape that is turned into messages by itself.
type stretch struct {
	entries []repo.Entry
	bytes   int
	open    map[string]bool // ids of calls without a result
	latest  []string        // of the latest calls, the ids of those that have none
}

func newStretch() stretch { return stretch{open: map[string]bool{}} }

// ends reports whether the next stretch may begin with e.
func (s *stretch) ends(e repo.Entry, size int) bool {
	switch {
	case s.bytes < size:
		return false
	case e.Kind != repo.KindAnchor && e.Kind != repo.KindMessage || jsonl.GetString(e.Payload, "role") == "tool":
		return false
	}
	return len(s.latest) == 0 && (len(s.open) == 0 || s.bytes > stretchMost*size)
}

func (s *stretch) add(e repo.Entry) {
	var calls []byte
	switch e.Kind {
	case repo.KindAnchor:
	case repo.KindToolCall:
		calls = jsonl.Get(e.Payload, "calls")
	case repo.KindMessage:
		calls = jsonl.Get(e.Payload, "tool_calls")
		if id := jsonl.GetString(e.Payload, "tool_call_id"); id != "" {
			s.answer(id)
		}
	case repo.KindToolResult:
		s.results(e)
	default:
		return // nothing that becomes a message
	}
	if conversation.Hidden(e) {
		return
	}
	s.entries = append(s.entries, e)
	s.bytes += len(e.Raw)
	var ids []string
	for c := range jsonl.Elements(calls) {
		id := jsonl.GetString(c, "id")
		if ids = append(ids, id); id != "" {
			s.open[id] = true
		}
	}
	if ids != nil {
		s.latest = ids
	}
}

func (s *stretch) results(e repo.Entry) {
	if ids := jsonl.Strings(jsonl.Get(e.Meta, "call_ids")); len(ids) > 0 {
		for _, id := range ids {
			s.answer(id)
		}
		return
	}
	for range jsonl.Elements(jsonl.Get(e.Payload, "results")) {
		if len(s.latest) > 0 {
			delete(s.open, s.latest[0])
			s.latest = s.latest[1:]
		}
	}
}

func (s *stretch) answer(id string) {
	delete(s.open, id)
	if i := slices.Index(s.latest, id); i >= 0 {
		s.latest = slices.Delete(s.latest, i, i+1)
	}
}

// Writer writes the messages of entries, the brackets around them excepted.
type Writer struct {
	Any bool // there is a message

	w       *bufio.Writer
	size    int // of a stretch
	options view.Options
	between string // in front of each message, behind the comma

	stretch stretch
	system  map[string]bool // contents of system messages that are there already
}

// NewWriter returns a Writer of messages with a text in front of each. A stretch has size bytes.
func NewWriter(w *bufio.Writer, size int, between string, o view.Options) *Writer {
	return &Writer{w: w, size: size, options: o, between: between, stretch: newStretch(), system: map[string]bool{}}
}

// Add takes the next entry of the tape.
func (m *Writer) Add(e repo.Entry) error {
	if m.stretch.ends(e, m.size) {
		if err := m.Flush(); err != nil {
			return err
		}
	}
	m.stretch.add(e)
	return nil
}

// Flush writes what is held back.
func (m *Writer) Flush() error {
	c, err := view.Messages(m.stretch.entries, m.options)
	if err != nil {
		return err
	}
	m.stretch = newStretch()
	for _, msg := range c.Messages {
		if bytes.HasPrefix(msg, []byte(`{"role":"system"`)) || bytes.HasPrefix(msg, []byte(`{"role":"developer"`)) {
			text := string(jsonl.Get(msg, "content"))
			if m.system[text] {
				continue
			}
			m.system[text] = true
		}
		if m.Any {
			_ = m.w.WriteByte(',')
		}
		m.Any = true
		_, _ = m.w.WriteString(m.between)
		_, _ = m.w.Write(msg)
	}
	_, err = m.w.Write(nil) // what failed before
	return err
}
