package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"tape/merge"
	"tape/repo"
)

const maxEntries = 1_000 // of a request

// NewEntry is an entry to append.
type NewEntry struct {
	Kind    string          `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Meta    json.RawMessage `json:"meta,omitempty"`
	Date    string          `json:"date,omitempty"`
}

// AppendRequest are entries, all or none of which are appended.
type AppendRequest struct {
	Entries []NewEntry `json:"entries"`
}

// Appended is what a request has written.
type Appended struct {
	FirstSeq int64 `json:"first_seq"`
	LastSeq  int64 `json:"last_seq"`
	Repeated bool  `json:"repeated" jsonschema:"it was written by an earlier request with the same key"`
}

// writable is the tape of the path, which a run may change if it is its own or a fork of it.
func (c *call) writable() (sees, error) {
	name := c.r.PathValue("tape")
	if c.run != nil && name != c.run.Tape && !strings.HasPrefix(name, c.run.Tape+"/") || name == hostTape || name == auditTape {
		return sees{}, notFound("tape")
	}
	t, err := c.tape(name)
	return t, err
}

func appendEntries(c *call) (any, error) {
	t, err := c.writable()
	if err != nil {
		return nil, err
	}
	var q AppendRequest
	data, err := c.body(&q)
	if err != nil {
		return nil, err
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	if len(q.Entries) == 0 || len(q.Entries) > maxEntries {
		return nil, invalid("entries has %d; a request has 1 to %d", len(q.Entries), maxEntries)
	}
	j := &job{key: keyOf(c.runID(), key), request: requestHash(data)}
	for _, e := range q.Entries {
		if e.Kind == kindState {
			return nil, invalid("state is written with PUT /v1/state")
		}
		meta, err := stamp(e.Meta, c.runID(), t.thread, key, j.request, nil)
		if err != nil {
			return nil, err
		}
		j.drafts = append(j.drafts, repo.Draft{Kind: e.Kind, Payload: e.Payload, Meta: meta, Date: e.Date})
	}
	if err := c.s.lanes.append(c.ctx(), t.Tape, j); err != nil {
		return nil, err
	}
	return Appended{j.out.First, j.out.Last, j.again}, nil
}

// HandoffRequest writes an anchor.
type HandoffRequest struct {
	Name    string          `json:"name"`
	Summary string          `json:"summary,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
}

// HandoffAnswer is the anchor.
type HandoffAnswer struct {
	Name     string `json:"name"`
	Seq      int64  `json:"seq"`
	Repeated bool   `json:"repeated"`
}

func handoff(c *call) (any, error) {
	t, err := c.writable()
	if err != nil {
		return nil, err
	}
	var q HandoffRequest
	data, err := c.body(&q)
	if err != nil {
		return nil, err
	}
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	l, request := c.s.lanes.of(t.Tape), requestHash(data)
	var out HandoffAnswer
	err = l.hold(c.ctx(), t.Tape, func() error {
		if before, ok := l.known(keyOf(c.runID(), key)); ok {
			if before.Request != request {
				return conflict("the Idempotency-Key was used for another request")
			}
			out = HandoffAnswer{q.Name, before.First, true}
			return nil
		}
		meta, err := stamp(nil, c.runID(), t.thread, key, request, nil)
		if err != nil {
			return err
		}
		h, err := t.Handoff(c.ctx(), repo.Anchor{Name: q.Name, Summary: q.Summary, State: q.State, Meta: meta})
		out = HandoffAnswer{Name: h.Anchor, Seq: h.Entry}
		return err
	})
	return out, err
}

// ForkRequest begins a fork.
type ForkRequest struct {
	Name string `json:"name"`
	At   string `json:"at,omitempty" jsonschema:"an anchor or an entry (@17); missing: the tape's end"`
}

// ForkAnswer is a fork that is open.
type ForkAnswer struct {
	Tape     string `json:"tape" jsonschema:"its name as a conversation"`
	Base     int64  `json:"base_seq"`
	Repeated bool   `json:"repeated"`
}

// CloseRequest closes a fork.
type CloseRequest struct {
	Fork string `json:"fork" jsonschema:"its name without that of its tape"`
}

// CloseAnswer says that a fork is closed.
type CloseAnswer struct {
	Fork     string `json:"fork"`
	Status   string `json:"status"`
	Merged   int    `json:"merged" jsonschema:"how many entries the tape got"`
	Repeated bool   `json:"repeated"`
}

// keyed notes a request in the tape of the server before it is done, so that it is known when it
// comes again, whatever happens meanwhile. It reports whether it came before.
func (c *call) keyed(t sees, op string, body []byte) (again bool, err error) {
	key, err := c.key()
	if err != nil || key == "" {
		return false, err
	}
	host, err := c.s.ensureTape(c.ctx(), hostTape)
	if err != nil {
		return false, err
	}
	j := &job{key: keyOf(c.runID(), key), request: requestHash([]byte(op), []byte(t.Branch()), body)}
	data, err := json.Marshal(map[string]string{"tape": t.Name(), "operation": op})
	if err != nil {
		return false, err
	}
	d := repo.Event("host.request", data)
	if d.Meta, err = stamp(nil, c.runID(), "", key, j.request, nil); err != nil {
		return false, err
	}
	j.drafts = []repo.Draft{d}
	err = c.s.lanes.append(c.ctx(), host, j)
	return j.again, err
}

func fork(c *call) (any, error) {
	t, err := c.writable()
	if err != nil {
		return nil, err
	}
	var q ForkRequest
	data, err := c.body(&q)
	if err != nil {
		return nil, err
	}
	again, err := c.keyed(t, "fork", data)
	if err != nil {
		return nil, err
	}
	f, err := t.ForkAt(c.ctx(), q.Name, q.At)
	if again && errors.Is(err, repo.ErrConflict) {
		f, err = c.s.Store.Tape(c.ctx(), t.Name()+"/"+q.Name)
	} else {
		again = false
	}
	if err != nil {
		return nil, err
	}
	base, err := f.Base(c.ctx())
	return ForkAnswer{f.Name(), base.Entry, again}, err
}

func mergeFork(c *call) (any, error) {
	return c.closeFork("merge", func(f *repo.Tape) (int, error) {
		r, err := merge.Back(c.ctx(), f)
		return r.Merged, err
	})
}

func discardFork(c *call) (any, error) {
	return c.closeFork("discard", func(f *repo.Tape) (int, error) { return 0, f.Discard(c.ctx()) })
}

// closeFork closes a fork. One that an earlier request with the same key has closed is closed.
func (c *call) closeFork(op string, do func(f *repo.Tape) (int, error)) (any, error) {
	t, err := c.writable()
	if err != nil {
		return nil, err
	}
	var q CloseRequest
	data, err := c.body(&q)
	if err != nil {
		return nil, err
	}
	again, err := c.keyed(t, op, data)
	if err != nil {
		return nil, err
	}
	status := map[string]string{"merge": repo.ForkMerged, "discard": repo.ForkDiscarded}[op]
	f, err := c.s.Store.Tape(c.ctx(), t.Name()+"/"+q.Fork)
	if again && errors.Is(err, repo.ErrNotFound) {
		closed, err := t.ClosedForks(c.ctx())
		i := slices.IndexFunc(closed, func(i repo.ForkInfo) bool { return i.Fork == q.Fork })
		if err == nil && i >= 0 {
			return CloseAnswer{Fork: q.Fork, Status: closed[i].Status, Merged: int(closed[i].Entries), Repeated: true}, nil
		}
		return nil, cmp.Or(err, error(notFound("fork")))
	}
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrInvalid) {
		return nil, notFound("fork")
	}
	if err != nil {
		return nil, err
	}
	n, err := do(f)
	return CloseAnswer{Fork: q.Fork, Status: status, Merged: n}, err
}
