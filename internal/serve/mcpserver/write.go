package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
)

type appendArgs struct {
	Tape    string          `json:"tape"`
	Kind    string          `json:"kind"`
	Role    string          `json:"role"`
	Text    string          `json:"text"`
	Payload json.RawMessage `json:"payload"`
	Key     string          `json:"idempotency_key"`
}

// keyMember is the member of meta with the key of the request that wrote the entry.
const keyMember = "idempotency_key"

// repeatsWithin is how many entries at the end of a tape are searched for a key.
const repeatsWithin = 2_000

// draft returns the entry that the arguments ask for.
func (a appendArgs) draft() (d repo.Draft, err error) {
	switch {
	case len(a.Payload) > 0 && a.Text != "":
		return d, layout.Invalid("text is for messages; other kinds have a payload", "text and payload exclude each other")
	case len(a.Payload) > 0:
		d = repo.Draft{Kind: cmp.Or(a.Kind, repo.KindMessage), Payload: a.Payload}
	case a.Text == "":
		return d, layout.Invalid("give text, or a payload", "there is nothing to append")
	case a.Kind == repo.KindSystem:
		d = repo.System(a.Text)
	case a.Kind == "" || a.Kind == repo.KindMessage:
		d = repo.Message(cmp.Or(a.Role, "assistant"), a.Text)
	default:
		return d, layout.Invalid("give a payload; text is for messages", "an entry of kind %q is not made of text", a.Kind)
	}
	d.Meta = keyMeta(a.Key)
	return d, nil
}

// keyMeta returns meta with an idempotency key, nil without one.
func keyMeta(key string) json.RawMessage {
	if key == "" {
		return nil
	}
	return append(jsonl.AppendString([]byte(`{"`+keyMember+`":`), key), '}')
}

// append appends an entry.
func (s *server) append(ctx context.Context, _ call, a appendArgs) (string, error) {
	d, err := a.draft()
	if err != nil {
		return "", err
	}
	_, t, err := s.openToWrite(ctx, a.Tape)
	if err != nil {
		return "", err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	done, ok, err := repeated(ctx, t, a.Key)
	if err != nil {
		return "", err
	}
	if ok {
		if done.Kind != d.Kind || !same(done.Payload, d.Payload) {
			return "", layout.Conflict("use another key for another entry", "the key %q belongs to @%d, which is a different entry", a.Key, done.ID)
		}
		return fmt.Sprintf("@%d on tape %s, appended before", done.ID, line(t.Name(), 100)), nil
	}
	entries, err := t.Append(ctx, nil, d)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("@%d on tape %s", entries[0].ID, line(t.Name(), 100)), nil
}

// repeated finds the entry that an earlier request with the same key wrote.
func repeated(ctx context.Context, t *repo.Tape, key string) (repo.Entry, bool, error) {
	if key == "" {
		return repo.Entry{}, false, nil
	}
	for e, err := range t.Entries(ctx, repo.Query{Reverse: true, Limit: repo.N(repeatsWithin)}) {
		if err != nil {
			return e, false, err
		}
		if len(e.Meta) > 2 && jsonl.GetString(e.Meta, keyMember) == key {
			return e, true, nil
		}
	}
	return repo.Entry{}, false, nil
}

// same compares JSON, ignoring white space.
func same(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

type handoffArgs struct {
	Tape    string          `json:"tape"`
	Name    string          `json:"name"`
	Summary string          `json:"summary"`
	State   json.RawMessage `json:"state"`
	Key     string          `json:"idempotency_key"`
}

// handoff writes an anchor.
func (s *server) handoff(ctx context.Context, _ call, a handoffArgs) (string, error) {
	_, t, err := s.openToWrite(ctx, a.Tape)
	if err != nil {
		return "", err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	done, ok, err := repeated(ctx, t, a.Key)
	if err != nil {
		return "", err
	}
	if ok {
		if done.Kind != repo.KindAnchor || done.Anchor != a.Name {
			return "", layout.Conflict("use another key for another anchor", "the key %q belongs to @%d, which is not this anchor", a.Key, done.ID)
		}
		return fmt.Sprintf("anchor %03d %s at @%d on tape %s, written before", done.AnchorSeq, line(done.Anchor, 100), done.ID, line(t.Name(), 100)), nil
	}
	h, err := t.Handoff(ctx, repo.Anchor{Name: a.Name, Summary: a.Summary, State: a.State, Meta: keyMeta(a.Key)})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("anchor %03d %s at @%d on tape %s; commit %.12s", h.Seq, line(h.Anchor, 100), h.Entry, line(t.Name(), 100), h.Commit), nil
}

type forkArgs struct {
	Tape string `json:"tape"`
	Name string `json:"name"`
	At   string `json:"at"`
}

// fork begins a fork.
func (s *server) fork(ctx context.Context, _ call, a forkArgs) (string, error) {
	_, t, err := s.openToWrite(ctx, a.Tape)
	if err != nil {
		return "", err
	}
	f, err := t.ForkAt(ctx, a.Name, a.At)
	if err != nil {
		return "", err
	}
	base, err := f.Base(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("fork %s begins after @%d; append to it with tape", line(f.Name(), 200), base.Entry), nil
}
