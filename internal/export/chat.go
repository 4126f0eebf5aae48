package export

import (
	"bytes"
	"context"
	"slices"

	"tape/internal/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// Messages of a long tape are made a stretch at a time, so that memory does not grow
// with it. A stretch ends in front of an anchor or a message, where no call waits for
// its result; one that has grown to many times its size ends where the latest calls
// have theirs. A result that comes later still is told as one without a call.
const (
	stretchBytes = 8 << 20
	stretchMost  = 8 // times that
)

// writeOpenAI writes the messages of all phases as one array, a message a line.
func writeOpenAI(ctx context.Context, w *output, src Source) error {
	return writeStretches(ctx, w, src, stretchBytes)
}

func writeStretches(ctx context.Context, w *output, src Source, size int) error {
	m := newMessageWriter(w, size, view.Options{})
	m.between = "\n"
	w.text("[")
	err := src.each(ctx, m.add)
	if err == nil {
		err = m.flush()
	}
	if err != nil {
		return err
	}
	if m.any {
		w.text("\n")
	}
	w.text("]\n")
	return nil
}

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
	if hidden(e) {
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

// messageWriter writes the messages of entries, the brackets around them excepted.
type messageWriter struct {
	w       *output
	size    int // of a stretch
	options view.Options
	between string // in front of each message, behind the comma

	stretch stretch
	any     bool
	system  map[string]bool // contents of system messages that are there already
}

func newMessageWriter(w *output, size int, o view.Options) *messageWriter {
	return &messageWriter{w: w, size: size, options: o, stretch: newStretch(), system: map[string]bool{}}
}

func (m *messageWriter) add(e repo.Entry) error {
	if m.stretch.ends(e, m.size) {
		if err := m.flush(); err != nil {
			return err
		}
	}
	m.stretch.add(e)
	return nil
}

func (m *messageWriter) flush() error {
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
		if m.any {
			m.w.text(",")
		}
		m.any = true
		m.w.text(m.between)
		m.w.bytes(msg)
	}
	return m.w.err()
}
