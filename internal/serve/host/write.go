package host

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/serve/host/api"

	"tape/merge"
	"tape/repo"
)

const (
	maxEntries = api.MaxElements // of a request
	maxMeta    = 256 << 10
	maxHandoff = 256 << 10 // state and summary together; lists of anchors contain them
)

// writableTape returns the tape of the path, if the caller may change it.
func (c *request) writableTape() (access, error) {
	name := c.r.PathValue("tape")
	if c.run != nil && !c.run.Owns(name) || c.s.own.IsOwn(name) {
		return access{}, api.NotFound("tape")
	}
	t, err := c.tape(name)
	if err == nil && !c.mayChange(t) {
		return access{}, api.NotFound("tape")
	}
	return t, err
}

// author returns the members of meta which say that a run wrote an entry; nil for the admin.
func (c *request) author() map[string]any {
	if c.run == nil {
		return nil
	}
	return map[string]any{"author": c.run.Runner}
}

// writeRequest reads a request that writes: its tape, its body and its key.
func (c *request) writeRequest(q any) (t access, data []byte, key string, err error) {
	if t, err = c.writableTape(); err == nil {
		data, err = c.body(q)
	}
	if err == nil {
		key, err = c.key()
	}
	return t, data, key, err
}

// beginConversation makes the tape of a conversation, so that the admin can write to it before any run.
func beginConversation(c *request) (any, error) {
	name := c.r.PathValue("tape")
	c.resource = name
	if c.s.own.IsOwn(name) {
		return nil, api.NotFound("tape")
	}
	_, err := c.s.Store.Tape(c.ctx(), name)
	isNew := errors.Is(err, repo.ErrNotFound)
	if err == nil || isNew {
		err = c.s.own.EnsureConversation(c.ctx(), name)
	}
	if err != nil {
		return nil, err
	}
	return api.Begun{ConversationID: name, Created: isNew}, nil
}

func appendEntries(c *request) (any, error) {
	var q api.AppendRequest
	t, data, key, err := c.writeRequest(&q)
	if err != nil {
		return nil, err
	}
	if len(q.Entries) == 0 || len(q.Entries) > maxEntries {
		return nil, api.Invalid("a request must have 1 to %d entries, not %d", maxEntries, len(q.Entries))
	}
	j := &writeJob{Key: keyOf(c.runID(), key), Request: requestHash(data)}
	for _, e := range q.Entries {
		if e.Kind == kindState {
			return nil, api.Invalid("state is written with PUT /v1/state")
		}
		if len(e.Meta) > maxMeta {
			return nil, api.TooLarge("meta", maxMeta)
		}
		if c.run != nil {
			if err := checkAuthorship(e.Kind, e.Payload, e.Meta); err != nil {
				return nil, err
			}
		}
		if e.Payload, err = c.resolveArtifacts(t, e.Payload); err != nil {
			return nil, err
		}
		meta, err := stampMeta(e.Meta, c.runID(), t.thread, key, j.Request, c.author())
		if err != nil {
			return nil, err
		}
		j.Drafts = append(j.Drafts, repo.Draft{Kind: e.Kind, Payload: e.Payload, Meta: meta, Date: e.Date})
	}
	if err := c.s.queues.Append(c.ctx(), t.Tape, j); err != nil {
		return nil, err
	}
	return api.Appended{FirstSeq: j.Out.First, LastSeq: j.Out.Last, Repeated: j.Again}, nil
}

func handoff(c *request) (any, error) {
	var q api.HandoffRequest
	t, data, key, err := c.writeRequest(&q)
	if err != nil {
		return nil, err
	}
	if len(q.State)+len(q.Summary) > maxHandoff {
		return nil, api.TooLarge("the handoff", maxHandoff)
	}
	if c.run != nil {
		if err := checkStateOwner(q.State); err != nil {
			return nil, err
		}
	}
	if q.State, err = c.resolveArtifacts(t, q.State); err != nil {
		return nil, err
	}
	request := requestHash(data)
	var out api.HandoffAnswer
	if t.thread != "" {
		if err := c.checkFacts(t, key); err != nil {
			return nil, err
		}
		d, err := handoffDraft(&q)
		if err == nil {
			d.Meta, err = stampMeta(nil, c.runID(), t.thread, key, request, c.author())
		}
		if err != nil {
			return nil, err
		}
		j := &writeJob{Key: keyOf(c.runID(), key), Request: request, Drafts: []repo.Draft{d}}
		err = c.s.queues.Append(c.ctx(), t.Tape, j)
		return api.HandoffAnswer{Name: q.Name, Seq: j.Out.First, Repeated: j.Again}, err
	}
	err = c.s.queues.Hold(c.ctx(), t.Tape, func(l *tapeQueue) error {
		if before, ok := l.Lookup(keyOf(c.runID(), key)); ok {
			out = api.HandoffAnswer{Name: q.Name, Seq: before.First, Repeated: true}
			return sameRequest(before.Request, request)
		}
		meta, err := stampMeta(nil, c.runID(), t.thread, key, request, c.author())
		if err != nil {
			return err
		}
		h, err := t.Handoff(c.ctx(), repo.Anchor{Name: q.Name, Summary: q.Summary, State: q.State, Meta: meta})
		out = api.HandoffAnswer{Name: h.Anchor, Seq: h.Entry}
		return err
	})
	return out, err
}

// recordKey records a request on the server's own tape before it is carried out, so that a repetition is
// recognised whatever happens in between. It reports whether the request is a repetition.
func (c *request) recordKey(t access, op, key string, body []byte) (again bool, err error) {
	if key == "" {
		return false, nil
	}
	if c.run != nil { // a failed request uses disk space, too
		if err := c.run.Failed.Allow(c.s.Now()); err != nil {
			return false, err
		}
		c.keyed = true
	}
	host, err := c.s.own.Make(c.ctx(), hostTape)
	if err != nil {
		return false, err
	}
	j := &writeJob{Key: keyOf(c.runID(), key), Request: requestHash([]byte(op), []byte(t.Branch()), body)}
	data, err := json.Marshal(map[string]string{"tape": t.Name(), "operation": op})
	if err != nil {
		return false, err
	}
	d := repo.Event("host.request", data)
	if d.Meta, err = stampMeta(nil, c.runID(), "", key, j.Request, nil); err != nil {
		return false, err
	}
	j.Drafts = []repo.Draft{d}
	err = c.s.queues.Append(c.ctx(), host, j)
	return j.Again, err
}

func fork(c *request) (any, error) {
	var q api.ForkRequest
	t, data, key, err := c.writeRequest(&q)
	if err != nil {
		return nil, err
	}
	if err := c.resolveAnchor(t, &q.At); err != nil {
		return nil, err
	}
	if t.thread != "" {
		if err := c.checkFacts(t, ""); err != nil {
			return nil, err
		}
	}
	again, err := c.recordKey(t, "fork", key, data)
	if err != nil {
		return nil, err
	}
	f, err := t.ForkAt(c.ctx(), q.Name, q.At)
	made := err == nil
	if again = again && errors.Is(err, repo.ErrConflict); again {
		s, hidden := c.tape(t.Name() + "/" + q.Name)
		if p, ok := errors.AsType[*api.Problem](hidden); ok && p.Code == "not_found" {
			return nil, api.Conflict("there is a fork %q that this run did not begin, or whose beginning was cut off: choose another name", q.Name)
		}
		f, err = s.Tape, hidden
	}
	if err != nil {
		return nil, err
	}
	base, err := f.Base(c.ctx())
	if err == nil && made && t.thread != "" {
		err = c.recordFork(t, q.Name, base.Start)
	}
	return api.ForkAnswer{Tape: f.Name(), Base: base.Entry, Repeated: again}, err
}

// resolveAnchor replaces an anchor's name as the caller sees it, masked, with its name on the tape, or a name in
// a thread with its entry (@17). An unknown name gets no hint about similar ones, which the caller may not see.
func (c *request) resolveAnchor(t access, at *string) error {
	if *at == "" || strings.HasPrefix(*at, "@") {
		return nil
	}
	if t.thread != "" { // a thread's anchors are not anchors of the tape
		for a, err := range c.threadAnchors(t) {
			if err != nil || a.Name == *at {
				*at = fmt.Sprint("@", a.Seq)
				return err
			}
		}
		return noAnchor()
	}
	if t.unmasked {
		return nil
	}
	phases, err := t.Phases(c.ctx())
	if err != nil {
		return err
	}
	view, err := c.anchorView(t)
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(phases) {
		name, _, err := view(p)
		if err != nil {
			return err
		}
		if name == *at {
			*at = p.Name
			return nil
		}
	}
	return noAnchor()
}

func noAnchor() *api.Problem {
	return api.NotFound("anchor: GET /v1/tapes/{tape}/anchors lists them; an entry is written as @17")
}

func mergeFork(c *request) (any, error) {
	return c.closeFork("merge", repo.ForkMerged, func(f *repo.Tape) (int, error) {
		r, err := merge.Back(c.ctx(), f)
		return r.Merged, err
	})
}

func discardFork(c *request) (any, error) {
	return c.closeFork("discard", repo.ForkDiscarded, func(f *repo.Tape) (int, error) { return 0, f.Discard(c.ctx()) })
}

// closeFork closes a fork, unless an earlier request with the same key has done so.
func (c *request) closeFork(op, status string, do func(f *repo.Tape) (int, error)) (any, error) {
	var q api.CloseRequest
	t, data, key, err := c.writeRequest(&q)
	if err != nil {
		return nil, err
	}
	again, err := c.recordKey(t, op, key, data)
	if err != nil {
		return nil, err
	}
	if c.run != nil && t.thread != "" {
		if fact, ok, err := c.forkFact(t.Name(), q.Fork); err != nil || !ok || fact.Thread != t.thread {
			return nil, cmp.Or(err, error(api.NotFound("fork")))
		}
	}
	f, err := c.s.Store.Tape(c.ctx(), t.Name()+"/"+q.Fork)
	if err == nil && c.run != nil {
		if s, err := c.tape(f.Name()); err != nil || !c.mayChange(s) {
			return nil, cmp.Or(err, error(api.NotFound("fork")))
		}
	}
	if again && errors.Is(err, repo.ErrNotFound) {
		closed, err := t.ClosedForks(c.ctx())
		i := slices.IndexFunc(closed, func(i repo.ForkInfo) bool { return i.Fork == q.Fork })
		if err == nil && i >= 0 {
			out := api.CloseAnswer{Fork: q.Fork, Status: closed[i].Status, Repeated: true}
			if out.Status == repo.ForkMerged {
				out.Merged = int(closed[i].Entries)
			}
			return out, nil
		}
		return nil, cmp.Or(err, error(api.NotFound("fork")))
	}
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrInvalid) {
		return nil, api.NotFound("fork")
	}
	if err != nil {
		return nil, err
	}
	n, err := do(f)
	return api.CloseAnswer{Fork: q.Fork, Status: status, Merged: n}, err
}
