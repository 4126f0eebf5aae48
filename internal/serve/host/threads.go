package host

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/serve/host/lanes"
	"tape/internal/text/jsonl"
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

// handoffs are the entries in which the thread that is seen handed off.
func (c *call) handoffs(t sees) (ids []int64, err error) {
	l := c.s.lanes.Of(t.Tape)
	err = l.Hold(c.ctx(), t.Tape, func() error {
		ids = l.Handoffs(t.thread)
		return nil
	})
	return ids, err
}

// threadAnchors are the newest anchors of one thread.
func (c *call) threadAnchors(t sees) (out api.AnchorList, err error) {
	out.Items = []api.AnchorItem{}
	ids, err := c.handoffs(t)
	if err != nil {
		return out, err
	}
	rev, err := c.s.Store.Revision(c.ctx(), t.Tape, "")
	if err != nil {
		return out, err
	}
	size := 0
	for i, id := range slices.Backward(ids) {
		e, err := entryAt(c.ctx(), rev, id)
		if err == nil {
			e, err = lanes.AsAnchor(c.show(t, e).Entry)
		}
		if err != nil {
			return out, err
		}
		if size += len(e.Payload); size > maxPage && len(out.Items) > 0 {
			out.HasMore = true
			break
		}
		out.Items = append(out.Items, api.AnchorItem{Name: jsonl.GetString(e.Payload, "name"), Seq: id, Phase: i + 1, State: jsonl.Get(e.Payload, "state")})
	}
	slices.Reverse(out.Items)
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
func (c *call) keptFor(t sees, id string) (kept lanes.ArtifactFact, err error) {
	ok := false
	for tape, first := t.Tape, true; ; first = false {
		l := c.s.lanes.Of(tape)
		err = l.Hold(c.ctx(), tape, func() error {
			k, found := l.Artifact(id, t.thread)
			kept.Expires = lanes.Earlier(kept.Expires, k.Expires)
			if first {
				kept.Name, kept.MIMEType, kept.Run, ok = k.Name, k.MIMEType, k.Run, found
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
