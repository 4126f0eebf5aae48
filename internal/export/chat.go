package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"

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
func writeOpenAI(ctx context.Context, w *bufio.Writer, src Source) error {
	return writeStretches(ctx, w, src, stretchBytes)
}

func writeStretches(ctx context.Context, w *bufio.Writer, src Source, size int) error {
	m := &messageWriter{w: w, system: map[string]bool{}}
	s := stretch{open: map[string]bool{}}
	w.WriteByte('[')
	for e, err := range src.Entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && s.ends(e, size) {
			err = m.write(s.entries)
			s = stretch{open: map[string]bool{}}
		}
		if err != nil {
			return err
		}
		s.add(e)
	}
	if err := m.write(s.entries); err != nil {
		return err
	}
	if m.any {
		w.WriteByte('\n')
	}
	w.WriteString("]\n")
	return nil
}

// stretch is a part of a tape that is turned into messages by itself.
type stretch struct {
	entries []repo.Entry
	bytes   int
	open    map[string]bool // ids of calls without a result
	latest  int             // how many of the latest calls have none
}

// ends reports whether the next stretch may begin with e.
func (s *stretch) ends(e repo.Entry, size int) bool {
	switch {
	case s.bytes < size:
		return false
	case e.Kind != repo.KindAnchor && e.Kind != repo.KindMessage || jsonl.GetString(e.Payload, "role") == "tool":
		return false
	}
	return s.latest == 0 && (len(s.open) == 0 || s.bytes > stretchMost*size)
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
	n := 0
	for c := range jsonl.Elements(calls) {
		n++
		if id := jsonl.GetString(c, "id"); id != "" {
			s.open[id] = true
		}
	}
	if n > 0 {
		s.latest = n
	}
}

func (s *stretch) results(e repo.Entry) {
	if ids := stringsOf(jsonl.Get(e.Meta, "call_ids")); len(ids) > 0 {
		for _, id := range ids {
			s.answer(id)
		}
		return
	}
	for range jsonl.Elements(jsonl.Get(e.Payload, "results")) {
		s.latest = max(0, s.latest-1)
	}
	if s.latest == 0 {
		clear(s.open) // by position: whose they are does not matter here
	}
}

func (s *stretch) answer(id string) {
	if s.open[id] {
		delete(s.open, id)
		s.latest = max(0, s.latest-1)
	}
}

// messageWriter writes the messages of one stretch after the other.
type messageWriter struct {
	w      *bufio.Writer
	any    bool
	system map[string]bool // contents of system messages that are there already
}

func (m *messageWriter) write(entries []repo.Entry) error {
	c, err := view.Messages(entries, view.Options{})
	if err != nil {
		return err
	}
	for _, msg := range c.Messages {
		if bytes.HasPrefix(msg, []byte(`{"role":"system"`)) || bytes.HasPrefix(msg, []byte(`{"role":"developer"`)) {
			text := string(jsonl.Get(msg, "content"))
			if m.system[text] {
				continue
			}
			m.system[text] = true
		}
		if m.any {
			m.w.WriteByte(',')
		}
		m.any = true
		m.w.WriteByte('\n')
		m.w.Write(msg)
	}
	return failed(m.w)
}

// example is a line of Training; see [Write].
type example struct {
	Tape      string          `json:"tape"`
	Anchor    string          `json:"anchor"`
	AnchorSeq int             `json:"anchor_seq"`
	Entries   entryRange      `json:"entries"`
	IDs       []int64         `json:"ids"`
	Commit    *string         `json:"commit"`
	State     json.RawMessage `json:"state"`
	Messages  json.RawMessage `json:"messages"`
	Outcome   *outcome        `json:"outcome"`
}

type entryRange struct {
	First int64 `json:"first_id"`
	Last  int64 `json:"last_id"`
}

type outcome struct {
	Anchor    string          `json:"anchor"`
	AnchorSeq int             `json:"anchor_seq"`
	Summary   *string         `json:"summary"`
	State     json.RawMessage `json:"state"`
}

// writeTraining writes a line for each selected phase.
func writeTraining(ctx context.Context, w *bufio.Writer, src Source) error {
	todo := src.selected()
	var entries []repo.Entry
	// upTo writes the phases in front of the one of that number.
	upTo := func(seq int) error {
		for len(todo) > 0 && todo[0].Seq < seq {
			var own []repo.Entry
			if len(entries) > 0 && entries[0].AnchorSeq == todo[0].Seq {
				own, entries = entries, nil
			}
			if err := writeExample(w, src, todo[0], own); err != nil {
				return err
			}
			todo = todo[1:]
		}
		return nil
	}
	for e, err := range src.Entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && len(entries) > 0 && entries[0].AnchorSeq != e.AnchorSeq {
			err = upTo(e.AnchorSeq)
		}
		if err != nil {
			return err
		}
		switch e.Kind {
		case repo.KindMessage, repo.KindToolCall, repo.KindToolResult:
			if !hidden(e) {
				entries = append(entries, e)
			}
		}
	}
	if n := len(todo); n > 0 {
		return upTo(todo[n-1].Seq + 1)
	}
	return nil
}

func writeExample(w *bufio.Writer, src Source, ph repo.Phase, entries []repo.Entry) error {
	c, err := view.Messages(entries, view.Options{NoAnchor: true})
	if err != nil {
		return fmt.Errorf("phase %03d: %w", ph.Seq, err)
	}
	x := example{Tape: src.Tape, Anchor: ph.Name, AnchorSeq: ph.Seq, Entries: entryRange{ph.FirstID, ph.LastID},
		IDs: make([]int64, 0, len(entries)), State: orNull(ph.State), Messages: c.JSON()}
	for _, e := range entries {
		x.IDs = append(x.IDs, e.ID)
	}
	for _, next := range src.Phases {
		if next.Seq != ph.Seq+1 {
			continue
		}
		x.Outcome = &outcome{Anchor: next.Name, AnchorSeq: next.Seq, State: orNull(next.State)}
		if text, ok := jsonl.String(jsonl.Get(next.State, "summary")); ok {
			x.Outcome.Summary = &text
		}
		if next.Commit != "" {
			x.Commit = &next.Commit
		}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("phase %03d: %w", ph.Seq, err)
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}
