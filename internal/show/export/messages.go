package export

import (
	"bufio"
	"bytes"
	"slices"

	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// A long tape is written in stretches, so that memory stays bounded. A stretch that has reached its size ends before
// the next anchor or message at which no call waits for its result. Once it has grown to many times its size, it
// waits only for the results of the latest calls; a result that comes later is written as one without a call.
const (
	stretchBytes = 8 << 20
	maxStretch   = 8 // times the size
)

// stretch is a part of a tape whose messages are made together.
type stretch struct {
	entries []repo.Entry
	bytes   int
	open    map[string]bool // ids of calls without a result
	latest  []string        // ids of the latest calls without a result
}

func newStretch() stretch { return stretch{open: map[string]bool{}} }

// ends reports whether e begins the next stretch.
func (s *stretch) ends(e repo.Entry, size int) bool {
	switch {
	case s.bytes < size:
		return false
	case e.Kind != repo.KindAnchor && e.Kind != repo.KindMessage || e.Role() == "tool":
		return false
	}
	return len(s.latest) == 0 && (len(s.open) == 0 || s.bytes > maxStretch*size)
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
		return // not part of any message
	}
	if e.Hidden() {
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
	for range jsonl.Elements(jsonl.Get(e.Payload, "results")) { // they answer the latest calls, in order
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

// messageWriter writes the messages of entries as the elements of a JSON array, without the brackets.
type messageWriter struct {
	Any bool // a message was written

	w       *bufio.Writer
	size    int // of a stretch, in bytes
	options view.Options
	between string // text before each message, after the comma

	stretch stretch
	system  map[string]bool // contents of the system messages that were written; each is written once
}

// newMessageWriter returns a Writer that writes the text between before each message. Stretches have at least size bytes of
// entries, except for the last one.
func newMessageWriter(w *bufio.Writer, size int, between string, o view.Options) *messageWriter {
	return &messageWriter{w: w, size: size, options: o, between: between, stretch: newStretch(), system: map[string]bool{}}
}

// Add adds the next entry of the tape.
func (m *messageWriter) Add(e repo.Entry) error {
	if m.stretch.ends(e, m.size) {
		if err := m.Flush(); err != nil {
			return err
		}
	}
	m.stretch.add(e)
	return nil
}

// Flush writes the messages of the current stretch.
func (m *messageWriter) Flush() error {
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
	_, err = m.w.Write(nil) // the error of an earlier write
	return err
}
