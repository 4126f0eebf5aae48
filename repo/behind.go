package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"tape/internal/gitstore"
)

// end returns where a commit's last phase ends: its files, and the last entry.
func (v *commitView) end() (ends [classCount]End, last int64, err error) {
	files, err := v.segments(v.list[len(v.list)-1])
	if err != nil {
		return ends, 0, err
	}
	for c, list := range files {
		if n := len(list); n > 0 {
			size, err := v.git.BlobSize(list[n-1].hash)
			if err != nil {
				return ends, 0, corruptObject(v.commit, err)
			}
			ends[c] = End{File: n, Size: size}
		}
	}
	last, err = v.lastID()
	return ends, last, err
}

// behind yields the entries that a view has behind those of a commit which it continues
// (nil: all). It reads no more of either than where the commit ends.
func behind(ctx context.Context, v view, base *commitView, tape string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := readBehind(ctx, v, base, tape, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, err)
		}
	}
}

func (v *commitView) behind(ctx context.Context, base *commitView, tape string) iter.Seq2[Entry, error] {
	return behind(ctx, v, base, tape)
}

func readBehind(ctx context.Context, v view, base *commitView, tape string, yield func(Entry) bool) error {
	var ends [classCount]End
	var last int64
	closed := 0 // phases that are not looked at
	if base != nil {
		closed = len(base.list) - 1
		var err error
		if ends, last, err = base.end(); err != nil {
			return err
		}
	}
	list := v.phases()
	w := &walk{ctx: ctx, v: v, tape: tape}
	for i := closed; i < len(list); i++ {
		var r *phaseReader
		var err error
		if base != nil && i == closed {
			r, err = readPhaseBehind(v, list[i], tape, last, ends)
		} else {
			r, err = readPhase(v, list[i], tape)
		}
		if err != nil {
			return err
		}
		if more, err := w.rest(i, r, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// continues reports whether a commit has everything that a base has, byte for byte, and
// maybe more behind it. It looks at what differs only.
func (v *commitView) continues(base *commitView) (bool, error) {
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

func (v *commitView) continuesPhase(base *commitView, was, is phase) (bool, error) {
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

// mark makes a mark of a commit's end.
func (v *commitView) mark() (Mark, error) {
	ends, last, err := v.end()
	if err != nil {
		return Mark{}, err
	}
	p := v.list[len(v.list)-1]
	files, err := v.segments(p)
	if err != nil {
		return Mark{}, err
	}
	for c, list := range files {
		if n := len(list); n > 0 {
			data, err := v.content(p, list[n-1])
			if err != nil {
				return Mark{}, err
			}
			ends[c].Lines, ends[c].Sum = bytes.Count(data, []byte("\n")), sumOf(data)
		}
	}
	return Mark{Head: v.commit.String(), LastID: last, Seq: p.seq, Folder: p.folder, Ends: ends}, nil
}
