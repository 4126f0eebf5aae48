package repo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tape/internal/gitstore"
)

// Fork makes a fork that begins at the tape's end. What is not committed is committed
// first. ErrConflict if there is a fork, or a tape, of that name.
func (t *Tape) Fork(ctx context.Context, name string) (*Tape, error) { return t.ForkAt(ctx, name, "") }

// ForkAt makes a fork that begins behind an anchor (its name, its phase's number or
// folder, its tag, or Latest) or behind an entry (@17). "" means at the tape's end.
func (t *Tape) ForkAt(ctx context.Context, name, at string) (*Tape, error) {
	f, err := t.forkNamed(name)
	if err != nil {
		return nil, err
	}
	_, _, err = t.worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		// Nothing but commits: there is nothing to lock, or to write down before.
		err = t.forkFrom(ctx, f, at, nil)
	} else {
		err = t.locked(ctx, func(w *writer) error { return t.forkFrom(ctx, f, at, w) })
	}
	if err != nil {
		return nil, fmt.Errorf("fork tape %q: %w", t.name, classify(err))
	}
	if err := f.locked(ctx, func(*writer) error { return nil }); err != nil {
		t.store.warn("the fork is made, but not its working tree, which the next command that writes to it makes: " + err.Error())
	}
	return f, nil
}

// forkNamed checks a fork's name, and returns the handle of what may be made.
func (t *Tape) forkNamed(name string) (*Tape, error) {
	if err := checkName("a fork", name); err != nil {
		return nil, err
	}
	if strings.Contains(name, "/") {
		return nil, invalid("a fork of a fork is made by naming that with --tape", "the name of a fork must not have a slash: %q", name)
	}
	if err := checkName("a fork, its parent's before it", t.name+"/"+name); err != nil {
		return nil, err
	}
	f := t.store.forkHandle(t.name + "/" + name)
	if _, err := t.store.handle(f.name).head(); err == nil {
		return nil, conflict("choose another name", "there is a tape %q, and the fork would be called so, too", f.name)
	}
	if _, err := f.head(); err == nil {
		return nil, f.taken()
	}
	orphans, err := t.store.git.Refs(forkPrefix + f.slug + "/")
	if err == nil && len(orphans) > 0 {
		err = conflict("merge or discard it first, or choose another name", "there was a fork %q before, and a fork of that is open: %s",
			f.name, strings.TrimPrefix(orphans[0].Name, "refs/heads/"))
	}
	return f, err
}

func (t *Tape) taken() error {
	return conflict("tape log --tape "+shellWord(t.name)+" shows it; choose another name, or discard it first", "there is a fork %q already", t.name)
}

// forkFrom makes the first commit and the branch of a fork. w is nil where the tape has
// no working tree.
func (t *Tape) forkFrom(ctx context.Context, f *Tape, at string, w *writer) error {
	id, err := t.entryAt(ctx, at)
	if err != nil {
		return err
	}
	var head gitstore.Hash
	if w != nil {
		if id > w.st.LastID {
			return notFound("tape info says how many there are", "tape %q has no entry @%d", t.name, id)
		}
		if (id == 0 || id > w.st.Committed) && w.uncommitted() > 0 {
			if err := w.checkpoint(ctx); err != nil {
				return err
			}
		}
		head = w.head
	} else if head, err = t.head(); err != nil {
		return err
	}
	return f.lockedAsIs(ctx, func(fw *writer) error {
		return t.store.holdingNew(ctx, func() error { return fw.start(ctx, t, head, id) })
	})
}

// entryAt is the last entry that a fork begun there has of the tape; 0 for all.
func (t *Tape) entryAt(ctx context.Context, at string) (int64, error) {
	if at == "" {
		return 0, nil
	}
	if number, ok := strings.CutPrefix(at, "@"); ok {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 {
			return 0, invalid("entries are numbered from @1", "%q is not the id of an entry", at)
		}
		return id, nil
	}
	v, err := t.snapshot(ctx)
	if err != nil {
		return 0, err
	}
	i, err := t.findPhase(v, strings.TrimPrefix(strings.TrimPrefix(at, "refs/tags/"), "anchor/"+t.slug+"/"))
	if err != nil {
		return 0, err
	}
	anchor, err := readAnchor(v, v.list[i], t.name)
	return anchor.ID, err
}

// start makes the fork's first commit behind an entry of its parent, and its branch.
func (w *writer) start(ctx context.Context, parent *Tape, head gitstore.Hash, id int64) error {
	s := w.t.store
	if _, err := s.git.Ref(w.t.branch); err == nil {
		return w.t.taken()
	} else if !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	batch := s.git.NewBatch()
	defer batch.Discard()
	c, id, err := s.commitAt(ctx, batch, parent, head, id)
	if err != nil {
		return err
	}
	next, err := w.t.putStart(ctx, batch, c, id)
	if err != nil {
		return err
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	// What a fork of that name has left when it was closed would be taken for this one's.
	if err := w.t.pruneTags(ctx, nil); err != nil {
		return err
	}
	return w.replace(ctx, next, gitstore.ZeroHash, gitstore.Worktree{}, false)
}

// putStart stores the commit that begins a fork, given its tree and parents.
func (t *Tape) putStart(ctx context.Context, batch *gitstore.Batch, c startCommit, id int64) (plannedCommit, error) {
	subject := "fork: " + oneLine(t.fork)
	message := t.message(subject, c.anchor, c.last+1, id, trailer{trailerBase, strconv.FormatInt(id, 10)},
		trailer{trailerBegan, FormatDate(t.store.now())})
	h, err := t.putCommit(ctx, batch, &gitstore.Commit{Tree: c.tree, Parents: []gitstore.Hash{c.parent}, Message: message})
	return plannedCommit{hash: h, subject: subject}, err
}

// startCommit is what the first commit of a fork is made of.
type startCommit struct {
	parent gitstore.Hash
	tree   gitstore.Hash
	anchor string // the phase that is open
	last   int64  // the parent's last entry
}

// commitAt finds the newest commit of a tape that has nothing behind an entry (0: the
// newest of all), and makes the tree of it with the entries up to that one.
func (s *Store) commitAt(ctx context.Context, batch *gitstore.Batch, parent *Tape, head gitstore.Hash, id int64) (startCommit, int64, error) {
	at, newer := head, head // newer is the commit behind at, and has the entries that at lacks
	last, err := s.lastOf(at)
	if id == 0 {
		id = last
	}
	if err == nil && id > last {
		err = notFound("tape info says how many there are", "tape %q has no entry @%d", parent.name, id)
	}
	for err == nil && last > id {
		if err = ctx.Err(); err != nil {
			break
		}
		var c gitstore.Commit
		if c, err = s.git.Commit(at); err != nil {
			err = corruptObject(at, err)
			break
		}
		before, ok, previousErr := parent.previous(c)
		if err = previousErr; err == nil && !ok {
			err = notFound("name a later entry", "tape %q had no commit yet when @%d was its last entry", parent.name, id)
		}
		if err != nil {
			break
		}
		newer, at = at, before
		last, err = s.lastOf(at)
	}
	if err != nil {
		return startCommit{}, 0, err
	}
	out, err := s.treeAt(batch, at, newer, last, id)
	return out, id, err
}

// treeAt makes the tree of a commit with the entries behind its last one, up to id, that
// a newer commit has.
func (s *Store) treeAt(batch *gitstore.Batch, at, newer gitstore.Hash, last, id int64) (startCommit, error) {
	out := startCommit{parent: at, last: last}
	v, err := s.commitView(at)
	if err != nil {
		return out, err
	}
	p := v.list[len(v.list)-1]
	out.tree = v.rootTree
	if last < id {
		if v, err = s.commitView(newer); err != nil {
			return out, err
		}
		if out.tree, p, err = v.cut(id, batch.Put); err != nil {
			return out, err
		}
	}
	anchor, err := readAnchor(v, p, "")
	out.anchor = anchor.Anchor
	return out, err
}
