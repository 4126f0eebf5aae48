package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"tape/internal/host/api"
	"tape/internal/host/lanes"
	"tape/internal/jsonl"
	"tape/repo"
)

// What belongs to a thread is known by what the server itself has written: the thread in the meta
// of entries, an event for each artifact that was given to it, and one for each fork.

// mayChange reports whether the caller may write to a conversation that it sees.
func (c *call) mayChange(t sees) bool {
	return c.run == nil || t.Name() == c.run.Tape || c.run.Owns(t.Name()) && t.IsFork()
}

// ownFork refuses a fork that the thread of a run did not begin, or that is below such a one.
func (c *call) ownFork(name string) error {
	parent, rest := c.run.Tape, strings.TrimPrefix(name, c.run.Tape+"/")
	for rest != "" {
		fork, more, _ := strings.Cut(rest, "/")
		began, ok, err := c.began(parent, fork)
		if err != nil {
			return err
		}
		parent, rest = parent+"/"+fork, more
		f, err := c.s.Store.Tape(c.ctx(), parent)
		if err != nil {
			return err
		}
		base, err := f.Base(c.ctx())
		if err != nil {
			return err
		}
		if !ok || began.Thread != c.run.Thread || began.Start != base.Start {
			return api.NotFound("conversation")
		}
	}
	return nil
}

// began is who began the last fork of a name.
func (c *call) began(parent, fork string) (f lanes.ForkFact, ok bool, err error) {
	t, err := c.s.Store.Tape(c.ctx(), parent)
	if err != nil {
		return f, false, err
	}
	l := c.s.lanes.Of(t)
	err = l.Hold(c.ctx(), t, func() error {
		f, ok = l.Fork(fork)
		return nil
	})
	return f, ok, err
}

// noteFork writes that the run's thread began a fork.
func (c *call) noteFork(t sees, fork, start string) error {
	d, err := lanes.ForkDraft(fork, start)
	if err == nil {
		d.Meta, err = lanes.Stamp(nil, c.runID(), t.thread, "", "", nil)
	}
	if err != nil {
		return err
	}
	return c.s.lanes.Append(c.ctx(), t.Tape, &lanes.Job{Drafts: []repo.Draft{d}})
}

// threadHandoff writes the anchor of a thread: an event, which begins no phase of the tape.
func threadHandoff(q *api.HandoffRequest) (repo.Draft, error) {
	if strings.TrimSpace(q.Name) == "" {
		return repo.Draft{}, api.Invalid("name is missing")
	}
	if q.State != nil && jsonl.Get(q.State, "summary") == nil && (len(q.State) == 0 || q.State[0] != '{') {
		return repo.Draft{}, api.Invalid("state is not a JSON object")
	}
	data, err := json.Marshal(map[string]any{"name": q.Name, "summary": q.Summary, "state": orEmpty(q.State)})
	return repo.Event(lanes.EventHandoff, data), err
}

func orEmpty(state json.RawMessage) json.RawMessage {
	if len(state) == 0 {
		return json.RawMessage("{}")
	}
	return state
}

// asAnchor is the event of a thread's handoff as the anchor that it is for the thread.
func asAnchor(e repo.Entry) (repo.Entry, error) {
	data := jsonl.Get(e.Payload, "data")
	var state map[string]json.RawMessage
	if err := json.Unmarshal(jsonl.Get(data, "state"), &state); err != nil {
		return e, err
	}
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	if summary := jsonl.GetString(data, "summary"); summary != "" {
		state["summary"] = jsonl.Get(data, "summary")
	}
	payload, err := json.Marshal(map[string]any{"name": jsonl.GetString(data, "name"), "state": state})
	e.Kind, e.Payload = repo.KindAnchor, payload
	return e, err
}

// handoffs are the entries in which the thread that is seen handed off.
func (c *call) handoffs(t sees) (ids []int64, err error) {
	l := c.s.lanes.Of(t.Tape)
	err = l.Hold(c.ctx(), t.Tape, func() error {
		ids = l.Handoffs(t.thread)
		return nil
	})
	return ids, err
}

// threadAnchors are the anchors of one thread.
func (c *call) threadAnchors(t sees) ([]api.AnchorItem, error) {
	ids, err := c.handoffs(t)
	if err != nil {
		return nil, err
	}
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return nil, err
	}
	out := []api.AnchorItem{}
	for i, id := range ids {
		e, err := entryAt(c.ctx(), rev, id)
		if err == nil {
			e, err = asAnchor(e)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, api.AnchorItem{Name: jsonl.GetString(e.Payload, "name"), Seq: id, Phase: i + 1, State: c.s.masked(t, jsonl.Get(e.Payload, "state"))})
	}
	return out, nil
}

func entryAt(ctx context.Context, rev *repo.Revision, id int64) (repo.Entry, error) {
	for e, err := range rev.Entries(ctx, id) {
		return e, err
	}
	return repo.Entry{}, api.NotFound("entry")
}

// keptFor is what the tape says of an artifact to the caller: a run sees one that was given to its
// thread, as long as that has not expired under any name, also not in what a fork was begun from.
func (c *call) keptFor(t sees, id string) (kept lanes.Kept, err error) {
	ok := false
	for tape, first := t.Tape, true; ; first = false {
		l := c.s.lanes.Of(tape)
		err = l.Hold(c.ctx(), tape, func() error {
			k, found := l.Artifact(id, t.thread)
			kept.Expires = lanes.Earlier(kept.Expires, k.Expires)
			if first {
				kept.Name, kept.MIMEType, ok = k.Name, k.MIMEType, found
			}
			return nil
		})
		if err != nil || !tape.IsFork() {
			break
		}
		if tape, err = c.s.Store.Tape(c.ctx(), tape.Parent()); errors.Is(err, repo.ErrNotFound) {
			err = nil
			break
		} else if err != nil {
			return kept, err
		}
	}
	if err == nil && c.run != nil && (!ok || !kept.Expires.IsZero() && !c.s.Now().Before(kept.Expires)) {
		err = api.NotFound("artifact")
	}
	return kept, err
}
