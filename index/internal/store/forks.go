package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/repo"
)

// How forks are stored. A fork has rows and words for its own entries; up to its base it shares those of its
// parent. That holds while the parent keeps its number: a tape whose history changed gets a new number, and
// its forks are stored again. A fork whose parent is gone, or no longer begins with the base, is stored in
// full.

// Target is a tape that the index should have. Its parent is nil if the tape is not a fork, or if the parent
// is gone.
type Target struct {
	Tape   *repo.Tape
	parent *Target
	Commit gitstore.Hash // the tape's commit if it is known to have nothing uncommitted, else zero
}

// hasAll reports whether the index is known to have all of the tape, without opening the tape.
func (t *Target) hasAll(k TapeRow) bool {
	return !t.Commit.IsZero() && t.Commit.String() == k.head && k.inTree == 0
}

// WithParents returns targets for the given tapes and their ancestors, parents before forks.
func WithParents(ctx context.Context, workspace *repo.Store, tapes []*repo.Tape) ([]*Target, error) {
	out := make([]*Target, 0, len(tapes))
	listed, byName := make(map[string]*Target, len(tapes)), map[string]*repo.Tape{}
	if slices.ContainsFunc(tapes, (*repo.Tape).IsFork) {
		for _, t := range slices.Backward(tapes) {
			byName[t.Name()] = t
		}
	}
	var list func(t *repo.Tape) (*Target, error)
	list = func(t *repo.Tape) (*Target, error) {
		if one := listed[t.Branch()]; one != nil {
			return one, nil
		}
		one := &Target{Tape: t}
		if t.IsFork() {
			var err error
			parent := byName[t.Parent()]
			if parent == nil {
				parent, err = workspace.Tape(ctx, t.Parent())
			}
			if err == nil {
				one.parent, err = list(parent)
			}
			if err != nil && !errors.Is(err, repo.ErrNotFound) {
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

// tapePrefix is the prefix of tapes' branches as git shows it.
var tapePrefix = strings.TrimPrefix(layout.BranchPrefix, "refs/heads/")

// All returns targets for the tapes and open forks of the workspace. If the index has a tape's commit, the name
// comes from the index, and the commit is not read.
func All(ctx context.Context, in *repo.Store, has Has) ([]*Target, error) {
	ws := (*workspace.Store)(in)
	committedOnly, err := journal.CommittedOnly(ws)
	if err != nil {
		return nil, err
	}
	list, err := ws.List(ctx, func(branch string, h gitstore.Hash) string {
		k := has[branch]
		if k.head != h.String() {
			return ""
		}
		if branch == tapePrefix+k.Name || layout.BranchOf(k.Name, "refs/heads/"+branch) == "refs/heads/"+branch {
			return k.Name
		}
		return "" // damage
	})
	if err != nil {
		return nil, err
	}
	tapes := make([]*repo.Tape, len(list))
	for i, t := range list {
		tapes[i] = (*repo.Tape)(t.Tape)
	}
	targets, err := WithParents(ctx, in, tapes)
	if err != nil {
		return nil, err
	}
	commits := make(map[string]gitstore.Hash, len(list))
	for _, t := range list {
		if committedOnly(t.Tape, t.Head) {
			commits[t.Branch()] = t.Head
		}
	}
	for _, t := range targets {
		t.Commit = commits[t.Tape.Branch()]
	}
	return targets, nil
}

// origin is where a fork's own entries begin, as the row of a fork that has none yet. It is zero for a tape,
// and for a fork that is stored in full.
type origin struct {
	TapeRow
	mark snapshot.ReadMark
	open Phase // at the base
}

// fits reports whether the row of a fork still fits that of its parent.
func (d *DB) fits(ctx context.Context, t *Target, k TapeRow) (bool, error) {
	switch {
	case !t.Tape.IsFork():
		return true, nil
	case k.Parent == 0:
		_, _, ok, err := Begins(ctx, t.Tape)
		return !ok, err
	case t.parent == nil:
		return false, nil
	}
	parent, err := d.TapeRow(t.parent.Tape)
	return parent.No == k.Parent, err
}

// Begins is like [snapshot.Begins], but if the branch is gone or has nothing in common with its parent, ok is
// false without an error.
func Begins(ctx context.Context, t *repo.Tape) (parent *repo.Tape, m snapshot.ReadMark, ok bool, err error) {
	from, m, ok, err := snapshot.Begins(ctx, (*workspace.Tape)(t))
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrConflict) {
		return nil, snapshot.ReadMark{}, false, nil
	}
	return (*repo.Tape)(from), m, ok, err
}

// originOf finds where a fork begins in what the index has of its parent. It may add the parent to the index first.
// The zero value means that the fork is to be stored in full.
func (d *DB) originOf(ctx context.Context, t *Target, a *addition) (origin, error) {
	const tries = 3 // others may change the parent meanwhile
	for range tries {
		parent, m, ok, err := Begins(ctx, t.Tape)
		if err != nil || !ok || t.parent == nil {
			return origin{}, err
		}
		has, err := d.TapeRow(parent)
		if err != nil {
			return origin{}, err
		}
		// The parent must begin with what the index has of it, before and after Begins was asked.
		if has.No != 0 && has.Entries >= m.LastID {
			mark, err := d.markOf(has)
			if err != nil {
				return origin{}, err
			}
			s, err := query.Since(ctx, (*workspace.Tape)(parent), mark)
			if err != nil {
				return origin{}, err
			}
			if !s.Whole() {
				return d.originAt(has.No, m)
			}
		}
		if err := d.addTape(ctx, t.parent, a); err != nil {
			return origin{}, err
		}
	}
	return origin{}, nil
}

// originAt describes the place after an entry of a tape.
func (d *DB) originAt(no int64, m snapshot.ReadMark) (origin, error) {
	o := origin{TapeRow: TapeRow{Parent: no, Base: m.LastID, Entries: m.LastID}, mark: m}
	for hi := m.LastID; no != 0; {
		var parent, base int64
		ok, err := d.row("SELECT parent, base FROM tapes WHERE no = ?", []any{no}, &parent, &base)
		if err == nil && (!ok || parent >= no) {
			err = fmt.Errorf("%w: there is no tape %d, or it is its own fork", ErrInconsistent, no)
		}
		if err != nil {
			return o, err
		}
		if hi > base {
			bytes, newest, err := d.sumUpTo(no, hi)
			if err != nil {
				return o, err
			}
			o.BaseBytes += bytes
			o.Newest = later(o.Newest, newest)
		}
		if o.open.Name == "" {
			if o.open, err = d.Phase(no, m.Seq); err != nil {
				return o, err
			}
		}
		no, hi = parent, min(hi, base)
	}
	o.Bytes = o.BaseBytes
	if o.open.Folder != m.Folder {
		return o, fmt.Errorf("%w: phase %d is %s, not %s", ErrInconsistent, m.Seq, o.open.Folder, m.Folder)
	}
	return o, nil
}

// sumUpTo sums the lengths of a tape's own lines up to an entry; newest is their latest date.
func (d *DB) sumUpTo(no, id int64) (bytes int64, newest sql.NullInt64, err error) {
	last := DocOf(no, id)
	block := last >> BlockShift
	var rest int64
	var date sql.NullInt64
	_, err1 := d.row("SELECT coalesce(sum(bytes), 0), max(high) FROM dates WHERE block >= ? AND block < ?",
		[]any{DocOf(no, 0) >> BlockShift, block}, &bytes, &newest)
	_, err2 := d.row("SELECT coalesce(sum(length), 0), max(created) FROM lines WHERE doc BETWEEN ? AND ?",
		[]any{block << BlockShift, last}, &rest, &date)
	return bytes + rest, later(newest, date), errors.Join(err1, err2)
}
