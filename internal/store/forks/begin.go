package forks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Begin makes a fork of a tape. The fork begins after at: an anchor (its name, its phase's number or
// folder, its tag, or Latest), an entry (@17), or the tape's end if at is "". ErrConflict if its name
// is taken.
func Begin(ctx context.Context, t *workspace.Tape, name, at string) (*workspace.Tape, error) {
	f, err := forkNamed(t, name)
	if err != nil {
		return nil, err
	}
	_, _, err = t.Worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		// Only commits: there is nothing to lock, and nothing uncommitted.
		err = forkFrom(ctx, t, f, at, nil)
	} else {
		err = writer.Locked(ctx, t, func(w *writer.Writer) error { return forkFrom(ctx, t, f, at, w) })
	}
	if err != nil {
		return nil, fmt.Errorf("fork tape %q: %w", t.Name(), layout.Classify(err))
	}
	if err := writer.Locked(ctx, f, func(*writer.Writer) error { return nil }); err != nil {
		t.Store().Warn("the fork was made, but its working tree could not be made; the next command that writes to the fork makes it: " + err.Error())
	}
	return f, nil
}

// forkNamed checks the name of a new fork and returns its handle.
func forkNamed(t *workspace.Tape, name string) (*workspace.Tape, error) {
	if err := layout.CheckNewName("a fork", name); err != nil {
		return nil, err
	}
	if strings.Contains(name, "/") {
		return nil, layout.Invalid("", "the name of a fork must not have a slash: %q", name).Try(layout.NameForkedFrom)
	}
	if err := layout.CheckName("a fork, with that of its parent", t.Name()+"/"+name); err != nil {
		return nil, err
	}
	f := t.Store().ForkHandle(t.Name() + "/" + name)
	if _, err := t.Store().Handle(f.Name()).Head(); err == nil {
		return nil, layout.Conflict("choose another name", "there is a tape with the name of this fork: %q", f.Name())
	}
	if _, err := f.Head(); err == nil {
		return nil, alreadyOpen(f)
	}
	orphans, err := t.Store().Git().Refs(layout.ForkPrefix + f.Slug() + "/")
	if err == nil && len(orphans) > 0 {
		err = layout.Conflict("merge or discard it first, or choose another name", "there was a fork %q before, and a fork of it is still open: %s",
			f.Name(), strings.TrimPrefix(orphans[0].Name, "refs/heads/"))
	}
	return f, err
}

func alreadyOpen(t *workspace.Tape) error {
	return layout.Conflict("", "there is a fork %q already", t.Name()).Try(layout.ShowFork, t.Name())
}

// forkFrom makes a fork's first commit and branch; w is nil without a working tree.
func forkFrom(ctx context.Context, t *workspace.Tape, f *workspace.Tape, at string, w *writer.Writer) error {
	id, err := entryAt(ctx, t, at)
	if err != nil {
		return err
	}
	var head gitstore.Hash
	if w != nil {
		if id > w.LastID() {
			return layout.NotFound("", "tape %q has no entry @%d", t.Name(), id).Try(layout.ShowEntryCount)
		}
		if id == 0 || id > w.Committed() {
			if err := w.Checkpoint(ctx); err != nil {
				return err
			}
		}
		head = w.Head
	} else if head, err = t.Head(); err != nil {
		return err
	}
	return writer.LockedUnrepaired(ctx, f, func(fw *writer.Writer) error {
		return writer.WithNewLock(ctx, t.Store(), func() error { return start(ctx, fw, t, head, id) })
	})
}

// entryAt returns the id of the entry after which a fork begins; 0 means the tape's last one.
func entryAt(ctx context.Context, t *workspace.Tape, at string) (int64, error) {
	if at == "" {
		return 0, nil
	}
	if number, ok := strings.CutPrefix(at, "@"); ok {
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 {
			return 0, layout.Invalid("entries are numbered from @1", "%q is not the id of an entry", at)
		}
		return id, nil
	}
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return 0, err
	}
	i, err := snapshot.FindPhase(t, v, strings.TrimPrefix(strings.TrimPrefix(at, "refs/tags/"), "anchor/"+t.Slug()+"/"))
	if err != nil {
		return 0, err
	}
	anchor, err := snapshot.ReadAnchor(v, v.List[i], t.Name())
	return anchor.ID, err
}

// start makes the fork's first commit, after an entry of its parent, and its branch.
func start(ctx context.Context, w *writer.Writer, parent *workspace.Tape, head gitstore.Hash, id int64) error {
	s := w.T.Store()
	if !w.Head.IsZero() {
		return alreadyOpen(w.T)
	}
	batch := s.Git().NewBatch()
	defer batch.Discard()
	c, id, err := commitAt(ctx, s, batch, parent, head, id)
	if err != nil {
		return err
	}
	next, err := putStart(ctx, w.T, batch, c, id, nil)
	if err != nil {
		return err
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	// Tags left by a closed fork of the same name would count as tags of this one.
	if err := commits.PruneTags(ctx, w.T, nil); err != nil {
		return err
	}
	return w.MoveTo(ctx, next, w.Head)
}

// putStart stores the commit that begins a fork, given its tree and parents.
func putStart(ctx context.Context, t *workspace.Tape, batch *gitstore.Batch, c startCommit, id int64, dates *commits.Dates) (commits.Plan, error) {
	subject := "fork: " + layout.OneLine(t.ForkName())
	message := t.Message(subject, c.anchor, c.last+1, id, c.format, layout.Trailer{Key: layout.TrailerBase, Value: strconv.FormatInt(id, 10)},
		layout.Trailer{Key: layout.TrailerBegan, Value: layout.FormatDate(t.Store().Now())})
	h, err := commits.Put(ctx, t, batch, &gitstore.Commit{Tree: c.tree, Parents: []gitstore.Hash{c.parent}, Message: message}, dates)
	return commits.Plan{Hash: h, Subject: subject, Objects: batch}, err
}

// startCommit says what the first commit of a fork has.
type startCommit struct {
	parent gitstore.Hash
	tree   gitstore.Hash
	anchor string // the phase that is open
	last   int64  // the last entry of the parent commit
	format int    // of the tree
}

// commitAt finds the newest commit of a tape that has no entry after the given one (0: the newest
// commit), and makes its tree with the entries up to the given one.
func commitAt(ctx context.Context, s *workspace.Store, batch *gitstore.Batch, parent *workspace.Tape, head gitstore.Hash, id int64) (startCommit, int64, error) {
	at, newer := head, head // newer is the commit after at, with the entries that at lacks
	last, err := snapshot.LastOf(s, at)
	if id == 0 {
		id = last
	}
	if err == nil && id > last {
		err = layout.NotFound("", "tape %q has no entry @%d", parent.Name(), id).Try(layout.ShowEntryCount)
	}
	for err == nil && last > id {
		if err = ctx.Err(); err != nil {
			break
		}
		var c gitstore.Commit
		if c, err = s.Git().Commit(at); err != nil {
			err = layout.CorruptObject(at, err)
			break
		}
		before, ok, previousErr := resolve.Previous(parent, c)
		if err = previousErr; err == nil && !ok {
			err = layout.NotFound("name a later entry", "tape %q had no commit yet when @%d was its last entry", parent.Name(), id)
		}
		if err != nil {
			break
		}
		newer, at = at, before
		last, err = snapshot.LastOf(s, at)
	}
	if err != nil {
		return startCommit{}, 0, err
	}
	out, err := treeAt(s, batch, at, newer, last, id)
	return out, id, err
}

// treeAt makes the tree of a commit, plus the entries up to id from a newer one.
func treeAt(s *workspace.Store, batch *gitstore.Batch, at, newer gitstore.Hash, last, id int64) (startCommit, error) {
	out := startCommit{parent: at, last: last}
	v, err := snapshot.AtCommit(s, at)
	if err != nil {
		return out, err
	}
	p := v.List[len(v.List)-1]
	out.tree = v.RootTree
	if out.format, err = v.Format(); err != nil {
		return out, err
	}
	if last < id {
		if v, err = snapshot.AtCommit(s, newer); err != nil {
			return out, err
		}
		b, open, err := truncate(v, id, batch.Put)
		if err != nil {
			return out, err
		}
		out.tree, p, out.format = b.Tree(), open, b.Format
	}
	anchor, err := snapshot.ReadAnchor(v, p, "")
	out.anchor = anchor.Anchor
	return out, err
}
