package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"tape/repo"
)

// How forks are stored. A fork has rows and words for its own entries; what it has of its
// parent are the parent's, up to the base. That holds for as long as the parent has the
// number that it had then: a tape whose history changed gets another one, and then its
// forks are stored anew. A fork whose parent is gone, or no longer begins with the base,
// is stored whole.

// target is a tape that the index is to have, and of a fork its parent, nil if that is
// gone.
type target struct {
	tape   *repo.Tape
	parent *target
}

// withParents lists tapes for the index to have: those given, and what they are forks of.
// A parent comes before its forks.
func (x *Index) withParents(ctx context.Context, tapes []*repo.Tape) ([]*target, error) {
	var out []*target
	listed := map[string]*target{}
	var list func(t *repo.Tape) (*target, error)
	list = func(t *repo.Tape) (*target, error) {
		if one := listed[t.Branch()]; one != nil {
			return one, nil
		}
		one := &target{tape: t}
		if t.IsFork() {
			parent, err := x.store.Tape(ctx, t.Parent())
			if err == nil {
				one.parent, err = list(parent)
			}
			if err != nil && !isNotFound(err) {
				return nil, err
			}
		}
		listed[t.Branch()] = one
		out = append(out, one)
		return one, nil
	}
	for _, t := range tapes {
		if _, err := list(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// all lists the tapes and open forks of the workspace.
func (x *Index) all(ctx context.Context) ([]*target, error) {
	tapes, err := x.store.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	forks, err := x.store.Forks(ctx)
	if err != nil {
		return nil, err
	}
	return x.withParents(ctx, append(tapes, forks...))
}

// origin is where the own entries of a fork begin; zero for a tape, and for a fork that
// is stored whole.
type origin struct {
	parent    int64 // its number
	base      int64 // the last entry that is not the fork's own
	baseBytes int64 // of the lines up to that

	// These are known of a fork that is to be stored.
	newest sql.NullInt64 // of the dates up to the base
	mark   repo.Mark     // of the base
	open   phaseRow      // the phase that is open there
}

// fits reports whether what the index has of a fork still fits what it has of the parent.
func (d *db) fits(ctx context.Context, t *target, k known) (bool, error) {
	switch {
	case !t.tape.IsFork():
		return true, nil
	case k.parent == 0:
		_, _, ok, err := begins(ctx, t.tape)
		return !ok, err
	case t.parent == nil:
		return false, nil
	}
	parent, err := d.known(t.parent.tape)
	return parent.no == k.parent, err
}

// begins is Tape.Begins. A branch that has nothing in common with a parent is no fork of
// it, whatever it is called.
func begins(ctx context.Context, t *repo.Tape) (parent *repo.Tape, m repo.Mark, ok bool, err error) {
	parent, m, ok, err = t.Begins(ctx)
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrConflict) {
		return nil, repo.Mark{}, false, nil
	}
	return parent, m, ok, err
}

// originOf finds where a fork begins, in its parent and in what the index has of that.
func (d *db) originOf(ctx context.Context, t *target) (origin, error) {
	const tries = 3 // others may change the parent meanwhile
	for range tries {
		parent, m, ok, err := begins(ctx, t.tape)
		if err != nil || !ok || t.parent == nil {
			return origin{}, err
		}
		has, err := d.known(parent)
		if err != nil {
			return origin{}, err
		}
		// Before it was asked whether it begins with the base, and after it, the parent has
		// to begin with what the index has.
		if has.no != 0 && has.entries >= m.LastID {
			s, err := parent.Since(ctx, has.mark)
			if err != nil {
				return origin{}, err
			}
			if !s.Whole() {
				return d.originAt(has.no, m)
			}
		}
		if _, err := d.addTape(ctx, t.parent, func(int64) {}); err != nil {
			return origin{}, err
		}
	}
	return origin{}, nil
}

// originAt describes the place behind an entry of a tape.
func (d *db) originAt(no int64, m repo.Mark) (origin, error) {
	o := origin{parent: no, base: m.LastID, mark: m}
	for hi := m.LastID; no != 0; {
		r, err := d.chained(no)
		if err != nil {
			return o, err
		}
		if hi > r.base {
			bytes, newest, err := d.sumUpTo(no, hi)
			if err != nil {
				return o, err
			}
			o.baseBytes += bytes
			o.newest = later(o.newest, newest)
		}
		if o.open.name == "" {
			if _, err := d.row("SELECT name, folder, first_id FROM phases WHERE tape = ? AND seq = ?", []any{no, m.Seq},
				&o.open.name, &o.open.folder, &o.open.first); err != nil {
				return o, err
			}
		}
		no, hi = r.parent, min(hi, r.base)
	}
	if o.open.folder != m.Folder {
		return o, fmt.Errorf("%w: phase %d is %s, not %s", errStrange, m.Seq, o.open.folder, m.Folder)
	}
	return o, nil
}

// sumUpTo adds up the bytes of a tape's own lines up to an entry, and finds the latest of
// their dates.
func (d *db) sumUpTo(no, id int64) (bytes int64, newest sql.NullInt64, err error) {
	last := docOf(no, id)
	block := last >> blockShift
	var rest int64
	var date sql.NullInt64
	_, err1 := d.row("SELECT coalesce(sum(bytes), 0), max(high) FROM dates WHERE block >= ? AND block < ?",
		[]any{docOf(no, 0) >> blockShift, block}, &bytes, &newest)
	_, err2 := d.row("SELECT coalesce(sum(length), 0), max(created) FROM lines WHERE doc BETWEEN ? AND ?",
		[]any{block << blockShift, last}, &rest, &date)
	return bytes + rest, later(newest, date), errors.Join(err1, err2)
}

// link is what a chain of forks is made of.
type link struct {
	branch        string
	parent        int64
	base, entries int64
}

// chained reads the link of a tape by its number.
func (d *db) chained(no int64) (link, error) {
	var l link
	ok, err := d.row("SELECT branch, parent, base, entries FROM tapes WHERE no = ?", []any{no}, &l.branch, &l.parent, &l.base, &l.entries)
	if err == nil && (!ok || l.parent >= no) {
		err = fmt.Errorf("%w: there is no tape %d, or it is its own fork", errStrange, no)
	}
	return l, err
}
