package repo

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/threeway"
)

// side is our side of a merge: a commit, and what that comes to.
type side struct {
	head gitstore.Hash
	view *snapshot // it, or one before it
	more [][]byte    // what follows the view
}

// sidesOf finds what a commit has that is to be merged, of a fork whose name may be known.
func (t *Tape) sidesOf(ours side, theirs gitstore.Hash, name string) (*sides, error) {
	if name == "" {
		var err error
		if name, err = t.store.nameAt(theirs); err != nil {
			return nil, err
		}
	}
	if f := t.store.forkHandle(name); f != nil && name != t.name && f.isForkOf(t.name) {
		return t.sides(ours, f, theirs)
	}
	// The same tape, what a fork is of, another fork, or a branch that somebody made.
	base, err := t.store.commonCommit(ours.head, theirs)
	if err != nil {
		return nil, err
	}
	m := &sides{t: t, f: t, ours: ours.view, more: ours.more}
	if name != "" && name != t.name {
		m.f = t.store.named(name, theirs)
	}
	var errs [2]error
	m.base, errs[0] = t.store.commitView(base)
	m.them, errs[1] = t.store.commitView(theirs)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.done = m.base
	return m, errors.Join(m.check(t.name, m.ours, m.base), m.check(m.f.name, m.them, m.base))
}

// sides is what a merge is made of.
type sides struct {
	t, f *Tape       // the tape that gets entries, and what is merged into it
	base *snapshot // what ours begins with
	ours *snapshot
	done *snapshot // what theirs begins with, or had when it was merged before
	them *snapshot

	more [][]byte // what follows ours
}

// sides finds what is to be merged of a fork's commit into a tape's.
func (t *Tape) sides(ours side, f *Tape, theirs gitstore.Hash) (*sides, error) {
	b, ok, err := f.madeBase(theirs)
	if err == nil && !ok {
		var common gitstore.Hash
		if common, err = t.store.commonCommit(ours.head, theirs); err == nil {
			b, err = f.baseAt(common)
		}
	}
	if err != nil {
		return nil, err
	}
	m := &sides{t: t, f: f, ours: ours.view, more: ours.more}
	if m.base, err = t.baseOf(f, b); err != nil {
		return nil, err
	}
	done, err := t.store.mergedBefore(ours.head, m.base, theirs, b)
	if err != nil {
		return nil, err
	}
	if m.base, err = t.store.moved(ours, m.base); err != nil {
		return nil, err
	}
	var errs [2]error
	m.them, errs[0] = t.store.commitView(theirs)
	m.done, errs[1] = t.store.commitView(done)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return m, errors.Join(m.check(t.name, m.ours, m.base), m.check(f.name, m.them, m.done))
}

// baseOf is what a fork, or the fork that it is a fork of, began with on a tape.
func (t *Tape) baseOf(f *Tape, b forkBase) (*snapshot, error) {
	for f.Parent() != t.name {
		up := t.store.forkHandle(f.Parent())
		if up == nil {
			return nil, conflict("", "fork %q was not made of %q", f.name, t.name)
		}
		next, ok, err := up.madeBase(b.commit)
		if err != nil {
			return nil, err
		}
		if ok {
			b = next // else it begins with what the parent had of its own parent
		}
		f = up
	}
	return t.store.commitView(b.start)
}

// moved is what a tape has in common with what a fork began with. That is all of it,
// unless entries at its end got other ids when the tape was pulled: then what the tape
// has them in follows.
func (s *Store) moved(ours side, base *snapshot) (*snapshot, error) {
	if ok, err := ours.view.continues(base); ok || err != nil {
		return base, err
	}
	begin, err := s.git.Commit(base.commit)
	if err != nil {
		return nil, corruptObject(base.commit, err)
	}
	for _, from := range begin.Parents {
		if has, err := s.contains(ours.head, from); err != nil || !has {
			return base, err
		}
	}
	common, err := s.commonCommit(ours.head, base.commit)
	if err != nil {
		return nil, err
	}
	return s.commitView(common)
}

// mergedBefore is the newest commit of a fork that the tape has already: merged, taken over
// as it is by git, or merged into something that was merged. It is the fork's beginning
// if there is none.
func (s *Store) mergedBefore(ours gitstore.Hash, base *snapshot, theirs gitstore.Hash, b forkBase) (gitstore.Hash, error) {
	begin, err := s.git.Commit(base.commit)
	if err != nil {
		return b.start, corruptObject(base.commit, err)
	}
	has := map[gitstore.Hash]bool{}
	if err := s.reachable(ours, append(begin.Parents, base.commit), has); err != nil {
		return b.start, err
	}
	for c, err := range s.byFirstParents(theirs) {
		if err != nil || c.hash == b.start {
			return b.start, err
		}
		if has[c.hash] {
			return c.hash, nil
		}
	}
	return b.start, nil
}

// reachable collects a commit, those before it by first parents, up to one of some, and
// what was merged in them up to where that begins.
func (s *Store) reachable(h gitstore.Hash, stop []gitstore.Hash, has map[gitstore.Hash]bool) error {
	for c, err := range s.byFirstParents(h) {
		if err != nil {
			return err
		}
		if slices.Contains(stop, c.hash) || has[c.hash] {
			return nil
		}
		has[c.hash] = true
		for _, merged := range c.merged() {
			if err := s.reachable(merged, stop, has); err != nil {
				return err
			}
		}
		if c.Trailer(trailerBase) != "" {
			return nil // a fork's beginning
		}
	}
	return nil
}

// check refuses a side whose history was changed.
func (m *sides) check(name string, side, base *snapshot) error {
	ok, err := side.continues(base)
	if err != nil || ok {
		return err
	}
	e := &RewrittenError{Name: name}
	e.Base, err = firstChange(base, side)
	if err != nil {
		return err
	}
	return e
}

// firstChange returns the first entry in which two commits differ.
func firstChange(was, is *snapshot) (out [2][]byte, err error) {
	next1, stop1 := iter.Pull2(was.behind(context.Background(), nil, ""))
	defer stop1()
	next2, stop2 := iter.Pull2(is.behind(context.Background(), nil, ""))
	defer stop2()
	for {
		a, err1, ok := next1()
		b, err2, _ := next2()
		if err := errors.Join(err1, err2); err != nil || !ok || !bytes.Equal(a.Raw, b.Raw) {
			return [2][]byte{a.Raw, b.Raw}, err
		}
	}
}

// lines merges, and returns what the tape gets, without newlines.
func (m *sides) lines(ctx context.Context) ([][]byte, error) {
	var in threeway.Input
	var err error
	if in.OursOrigin, err = m.origin(m.t); err != nil {
		return nil, err
	}
	if in.TheirsOrigin, err = m.origin(m.f); err != nil {
		return nil, err
	}
	in.Apart = in.OursOrigin != in.TheirsOrigin
	if in.After, err = m.base.lastID(); err != nil {
		return nil, err
	}
	if in.TheirsAfter, err = m.done.lastID(); err != nil {
		return nil, err
	}
	if in.Theirs, err = rawLines(ctx, m.them, m.done, m.f.name); err != nil || len(in.Theirs) == 0 {
		return nil, err
	}
	if in.Ours, err = rawLines(ctx, m.ours, m.base, m.t.name); err != nil {
		return nil, err
	}
	in.Ours = append(in.Ours, m.more...)
	res, err := threeway.Merge(in)
	return res.Lines, err
}

func rawLines(ctx context.Context, v, base *snapshot, tape string) ([][]byte, error) {
	var out [][]byte
	for e, err := range v.behind(ctx, base, tape) {
		if err != nil {
			return nil, err
		}
		out = append(out, e.Raw)
	}
	return out, nil
}

// origin is how a merge names the tape or fork that an entry had its id in.
func (t *Tape) origin() threeway.Origin {
	root := t.rootName()
	return threeway.Origin{Tape: root, Fork: strings.TrimPrefix(strings.TrimPrefix(t.name, root), "/")}
}

// origin is that of a side. The fork may be gone: what it is merged into knows the tape.
func (m *sides) origin(t *Tape) (threeway.Origin, error) {
	if !t.IsFork() {
		return t.origin(), nil
	}
	info, err := m.ours.tapeInfo()
	return threeway.Origin{Tape: info.Name, Fork: strings.TrimPrefix(t.name, info.Name+"/")}, err
}

// content is what an entry says, wherever it stands.
func content(e jsonl.Entry) string { return e.Kind + "\x00" + string(e.Payload) + "\x00" + e.Date }

// told is what both sides of a merge have said behind what they have in common.
func (m *sides) told(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	ours, err1 := rawLines(ctx, m.ours, m.base, "")
	them, err2 := rawLines(ctx, m.them, m.done, "")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for _, line := range slices.Concat(ours, them, m.more) {
		if e, err := jsonl.Parse(line); err == nil {
			known[content(e)] = true
		}
	}
	return known, nil
}
