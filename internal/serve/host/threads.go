package host

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// What belongs to a thread is decided by what the server itself has written: the thread in the meta
// of entries, and an event for each artifact and each fork.

// mayChange reports whether the caller may write to a conversation that it sees.
func (c *request) mayChange(t access) bool {
	return c.run == nil || t.Name() == c.run.Tape || c.run.Owns(t.Name()) && t.IsFork()
}

// checkFork accepts the run's own conversation, and forks that its thread began, each below such a one.
func (c *request) checkFork(name string) error {
	parent, rest := c.run.Tape, strings.TrimPrefix(strings.TrimPrefix(name, c.run.Tape), "/")
	for rest != "" {
		fork, more, _ := strings.Cut(rest, "/")
		fact, ok, err := c.forkFact(parent, fork)
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
		if !ok || fact.Thread != c.run.Thread || fact.Start != base.Start {
			return api.NotFound("conversation")
		}
	}
	return nil
}

// forkFact returns which thread began the newest fork with a name.
func (c *request) forkFact(parent, fork string) (f forkFact, ok bool, err error) {
	t, err := c.s.Store.Tape(c.ctx(), parent)
	if err != nil {
		return f, false, err
	}
	err = c.s.queues.Hold(c.ctx(), t, func(l *tapeQueue) error {
		f, ok = l.Fork(fork)
		return nil
	})
	return f, ok, err
}

// recordFork records that the run's thread began a fork.
func (c *request) recordFork(t access, fork, start string) error {
	d, err := forkDraft(fork, start)
	if err == nil {
		_, err = c.s.record(c.ctx(), t.Tape, c.runID(), t.thread, d)
	}
	return err
}

// checkFacts refuses another artifact, fork or handoff of a run where the conversation has too many, unless the tape
// has the one that was asked for with this key.
func (c *request) checkFacts(t access, key string) error {
	if c.run == nil {
		return nil
	}
	return c.s.queues.Hold(c.ctx(), t.Tape, func(l *tapeQueue) error {
		if _, made := l.Lookup(keyOf(c.runID(), key)); made {
			return nil
		}
		return l.CheckFacts()
	})
}

// handoffs returns the ids of the entries of a thread's handoffs, the oldest first.
func (c *request) handoffs(t access) (ids []int64, err error) {
	err = c.s.queues.Hold(c.ctx(), t.Tape, func(l *tapeQueue) error {
		ids = l.Handoffs(t.thread)
		return nil
	})
	return ids, err
}

// threadAnchors returns the anchors of one thread, the newest first.
func (c *request) threadAnchors(t access) iter.Seq2[api.AnchorItem, error] {
	return func(yield func(api.AnchorItem, error) bool) {
		ids, err := c.handoffs(t)
		if err != nil {
			yield(api.AnchorItem{}, err)
			return
		}
		rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
		if err != nil {
			yield(api.AnchorItem{}, err)
			return
		}
		for i, id := range slices.Backward(ids) {
			e, err := entryAt(c.ctx(), rev, id)
			if err == nil {
				e, err = asAnchor(c.view(t, e).Entry)
			}
			if !yield(api.AnchorItem{Name: jsonl.GetString(e.Payload, "name"), Seq: id, Phase: i + 1, State: jsonl.Get(e.Payload, "state")}, err) {
				return
			}
		}
	}
}

func entryAt(ctx context.Context, rev *repo.Revision, id int64) (repo.Entry, error) {
	for e, err := range rev.Entries(ctx, id) {
		return e, err
	}
	return repo.Entry{}, api.NotFound("entry")
}

// artifactFact returns what the tape records about an artifact. The artifact must have been given to the thread
// that the access is limited to, and must not have expired under any name, neither on this tape nor on those
// that it is a fork of. Otherwise a run gets api.NotFound.
func (c *request) artifactFact(t access, id string) (fact artifactFact, err error) {
	ok := false
	for tape, first := t.Tape, true; ; first = false {
		err = c.s.queues.Hold(c.ctx(), tape, func(l *tapeQueue) error {
			k, found := l.Artifact(id, t.thread)
			fact.Expires = earlier(fact.Expires, k.Expires)
			if first {
				fact.Name, fact.MIMEType, fact.Run, ok = k.Name, k.MIMEType, k.Run, found
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
			return fact, err
		}
	}
	if err == nil && c.run != nil && (!ok || !fact.Expires.IsZero() && !c.s.Now().Before(fact.Expires)) {
		err = api.NotFound("artifact")
	}
	return fact, err
}
