package export

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// example is the beginning of a line; see writeTraining.
type example struct {
	Tape      string `json:"tape"`
	Anchor    string `json:"anchor"`
	AnchorSeq int    `json:"anchor_seq"`
	Entries   struct {
		First int64 `json:"first_id"`
		Last  int64 `json:"last_id"`
	} `json:"entries"`
	Commit  *string         `json:"commit"`
	State   json.RawMessage `json:"state"`
	Outcome *outcome        `json:"outcome"`
}

type outcome struct {
	Anchor    string          `json:"anchor"`
	AnchorSeq int             `json:"anchor_seq"`
	Summary   *string         `json:"summary"`
	State     json.RawMessage `json:"state"`
}

// trainingWriter writes a line for each selected phase, its messages while they are read.
type trainingWriter struct {
	w    *output
	src  Source
	todo []repo.Phase // the phases without a line yet

	messages *messageWriter // of the open line; nil if there is none
	ids      []int64        // of the entries that the messages are made of
	seq      int
}

// writeTraining writes a line for each phase, in this shape:
//
//	{"tape":"main","anchor":"implement","anchor_seq":2,
//	 "entries":{"first_id":17,"last_id":45},
//	 "commit":"…",
//	 "state":{…},
//	 "outcome":{"anchor":"review","anchor_seq":3,"summary":"…","state":{…}},
//	 "messages":[{"role":"user","content":"…"},…],
//	 "ids":[18,19,21]}
//
// state comes from the anchor that opens the phase, outcome describes the anchor that
// closes it, and commit contains the closed phase. If the phase is open, outcome and commit
// are null. entries has the ids of the first and the last entry of the phase, ids has the
// entries that the messages were made of. Each phase is exported by itself, as in tape context:
// a call whose result is in the next phase gets a placeholder for it.
func writeTraining(ctx context.Context, w *output, src Source) error {
	t := &trainingWriter{w: w, src: src, todo: src.selected()}
	if err := each(ctx, src.Entries, t.add); err != nil {
		return err
	}
	return t.upTo(0)
}

func (t *trainingWriter) add(e repo.Entry) error {
	if e.AnchorSeq != t.seq {
		if err := t.upTo(e.AnchorSeq); err != nil {
			return err
		}
		t.seq = e.AnchorSeq
	}
	switch e.Kind {
	case repo.KindMessage, repo.KindToolCall, repo.KindToolResult:
		if t.messages != nil && !e.Hidden() {
			t.ids = append(t.ids, e.ID)
			return t.messages.Add(e)
		}
	}
	return nil
}

// upTo writes the lines of the phases before number seq, and begins the line of that phase; 0: it writes all lines.
func (t *trainingWriter) upTo(seq int) error {
	if err := t.end(); err != nil {
		return err
	}
	for len(t.todo) > 0 && (seq == 0 || t.todo[0].Seq <= seq) {
		ph := t.todo[0]
		t.todo = t.todo[1:]
		err := t.begin(ph)
		if err == nil && ph.Seq != seq {
			err = t.end()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *trainingWriter) begin(ph repo.Phase) error {
	x := example{Tape: t.src.Tape, Anchor: ph.Name, AnchorSeq: ph.Seq, State: ph.State}
	x.Entries.First, x.Entries.Last = ph.FirstID, ph.LastID
	if ph.Seq < len(t.src.Phases) {
		next := t.src.Phases[ph.Seq]
		x.Outcome = &outcome{Anchor: next.Name, AnchorSeq: next.Seq, State: next.State}
		if text, ok := jsonl.String(jsonl.Get(next.State, "summary")); ok {
			x.Outcome.Summary = &text
		}
		if next.Commit != "" {
			x.Commit = &next.Commit
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("phase %03d: %w", ph.Seq, err)
	}
	t.w.bytes(bytes.TrimSuffix(b.Bytes(), []byte("}\n")))
	t.w.text(`,"messages":[`)
	t.messages = newMessageWriter(t.w.w, stretchBytes, "", view.Options{NoAnchor: true})
	return t.w.failed()
}

func (t *trainingWriter) end() error {
	if t.messages == nil {
		return nil
	}
	err := t.messages.Flush()
	t.w.text(`],"ids":[`)
	for i, id := range t.ids {
		if i > 0 {
			t.w.text(",")
		}
		t.w.text(strconv.FormatInt(id, 10))
	}
	t.w.text("]}\n")
	t.messages, t.ids = nil, t.ids[:0]
	return err
}
