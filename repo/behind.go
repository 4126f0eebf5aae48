package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"tape/internal/gitstore"
)

// behind yields the entries that a snapshot has behind those of a commit which it continues
// (nil: all). It reads no more of either than where the commit ends.
func behind(ctx context.Context, v, base *snapshot, tape string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &walk{v: v, tape: tape, last: len(v.list) - 1}
		if base != nil {
			end, err := base.mark()
			if err != nil {
				yield(Entry{}, err)
				return
			}
			w.first, w.from = end.Seq-1, end.place()
		}
		if err := w.read(ctx, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, err)
		}
	}
}

func (v *snapshot) behind(ctx context.Context, base *snapshot, tape string) iter.Seq2[Entry, error] {
	return behind(ctx, v, base, tape)
}

// continues reports whether a commit has everything that a base has, byte for byte, and
// maybe more behind it. It looks at what differs only.
func (v *snapshot) continues(base *snapshot) (bool, error) {
	if len(v.list) < len(base.list) {
		return false, nil
	}
	for i, was := range base.list {
		is := v.list[i]
		if is.folder != was.folder {
			return false, nil
		}
		if is.tree == was.tree {
			continue
		}
		if i < len(base.list)-1 {
			return false, nil // it was closed
		}
		if ok, err := v.continuesPhase(base, was, is); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (v *snapshot) continuesPhase(base *snapshot, was, is phase) (bool, error) {
	old, err := base.tree(was)
	if err != nil {
		return false, err
	}
	entries, err := v.tree(is)
	if err != nil {
		return false, err
	}
	have := make(map[string]gitstore.Hash, len(entries))
	for _, e := range entries {
		have[e.Name] = e.Hash
	}
	for _, e := range old {
		h, ok := have[e.Name]
		if !ok {
			return false, nil
		}
		if h == e.Hash {
			continue
		}
		data, err1 := v.git.Blob(h)
		prefix, err2 := v.git.Blob(e.Hash)
		if err := errors.Join(err1, err2); err != nil {
			return false, corruptObject(v.commit, err)
		}
		if !bytes.HasPrefix(data, prefix) {
			return false, nil
		}
	}
	return true, nil
}

// Begins returns the parent of a fork, and, as a mark of the fork, where the entries end
// that both have. ok is false for a tape, and for a fork whose parent is gone or does not
// begin with that any more: then all entries are the fork's own.
func (t *Tape) Begins(ctx context.Context) (parent *Tape, m Mark, ok bool, err error) {
	if !t.IsFork() {
		return nil, Mark{}, false, nil
	}
	parent, m, ok, err = t.begins(ctx)
	if err != nil {
		return nil, Mark{}, false, fmt.Errorf("read fork %q: %w", t.name, err)
	}
	return parent, m, ok, nil
}

func (t *Tape) begins(ctx context.Context) (*Tape, Mark, bool, error) {
	var none Mark
	head, err := t.head()
	if err != nil {
		return nil, none, false, err
	}
	b, err := t.base(head)
	if err != nil {
		return nil, none, false, err
	}
	parent, err := t.store.Tape(ctx, t.Parent())
	if errors.Is(err, ErrNotFound) {
		return nil, none, false, nil
	}
	if err != nil {
		return nil, none, false, err
	}
	at, err := parent.head()
	if err != nil {
		return nil, none, false, err
	}
	base, err := t.store.commitView(b.start)
	if err != nil {
		return nil, none, false, err
	}
	has, err := t.store.commitView(at)
	if err != nil {
		return nil, none, false, err
	}
	if ok, err := has.continues(base); err != nil || !ok {
		return nil, none, false, err
	}
	m, err := base.mark()
	return parent, m, err == nil, err
}

// mark makes a mark of a snapshot's end.
func (v *snapshot) mark() (Mark, error) {
	m, _, err := endOf(v, v.lastPhase())
	return m, err
}
