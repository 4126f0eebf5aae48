package resolve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/threeway"
)

// Side is our side of a merge: a commit, and what that comes to.
type Side struct {
	Head gitstore.Hash
	View *snapshot.Snapshot // it, or one before it
	More [][]byte           // what follows the view
}

// InputsOf finds what a commit has that is to be merged, of a fork whose name may be known.
func InputsOf(t *workspace.Tape, ours Side, theirs gitstore.Hash, name string) (*Inputs, error) {
	if name == "" {
		var err error
		if name, err = t.Store().NameAt(theirs); err != nil {
			return nil, err
		}
	}
	if f := t.Store().ForkHandle(name); f != nil && name != t.Name() && f.IsForkOf(t.Name()) {
		return forkInputs(t, ours, f, theirs)
	}
	// The same tape, what a fork is of, another fork, or a branch that somebody made.
	base, err := lineage.CommonCommit(t.Store(), ours.Head, theirs)
	if err != nil {
		return nil, err
	}
	m := &Inputs{T: t, F: t, Ours: ours.View, more: ours.More}
	if name != "" && name != t.Name() {
		m.F = snapshot.HandleOf(t.Store(), name, theirs)
	}
	var errs [2]error
	m.Base, errs[0] = snapshot.AtCommit(t.Store(), base)
	m.Them, errs[1] = snapshot.AtCommit(t.Store(), theirs)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	m.done = m.Base
	return m, errors.Join(m.check(t.Name(), m.Ours, m.Base), m.check(m.F.Name(), m.Them, m.Base))
}

// Inputs is what a merge is made of.
type Inputs struct {
	T, F *workspace.Tape    // the tape that gets entries, and what is merged into it
	Base *snapshot.Snapshot // what ours begins with
	Ours *snapshot.Snapshot
	done *snapshot.Snapshot // what theirs begins with, or had when it was merged before
	Them *snapshot.Snapshot

	more [][]byte // what follows ours
}

// forkInputs finds what is to be merged of a fork's commit into a tape's.
func forkInputs(t *workspace.Tape, ours Side, f *workspace.Tape, theirs gitstore.Hash) (*Inputs, error) {
	b, ok, err := snapshot.MadeBase(f, theirs)
	if err == nil && !ok {
		var common gitstore.Hash
		if common, err = lineage.CommonCommit(t.Store(), ours.Head, theirs); err == nil {
			b, err = snapshot.BaseAt(f, common)
		}
	}
	if err != nil {
		return nil, err
	}
	m := &Inputs{T: t, F: f, Ours: ours.View, more: ours.More}
	if m.Base, err = baseOf(t, f, b); err != nil {
		return nil, err
	}
	done, err := mergedBefore(t.Store(), ours.Head, m.Base, theirs, b)
	if err != nil {
		return nil, err
	}
	if m.Base, err = moved(t.Store(), ours, m.Base); err != nil {
		return nil, err
	}
	var errs [2]error
	m.Them, errs[0] = snapshot.AtCommit(t.Store(), theirs)
	m.done, errs[1] = snapshot.AtCommit(t.Store(), done)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return m, errors.Join(m.check(t.Name(), m.Ours, m.Base), m.check(f.Name(), m.Them, m.done))
}

// baseOf is what a fork, or the fork that it is a fork of, began with on a tape.
func baseOf(t *workspace.Tape, f *workspace.Tape, b snapshot.ForkBase) (*snapshot.Snapshot, error) {
	for f.Parent() != t.Name() {
		up := t.Store().ForkHandle(f.Parent())
		if up == nil {
			return nil, layout.Conflict("", "fork %q was not made of %q", f.Name(), t.Name())
		}
		next, ok, err := snapshot.MadeBase(up, b.Commit)
		if err != nil {
			return nil, err
		}
		if ok {
			b = next // else it begins with what the parent had of its own parent
		}
		f = up
	}
	return snapshot.AtCommit(t.Store(), b.Start)
}

// moved is what a tape has in common with what a fork began with: all of it, or, where
// a pull gave entries at its end other ids, up to where they follow.
func moved(s *workspace.Store, ours Side, base *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	if ok, err := ours.View.Continues(base); ok || err != nil {
		return base, err
	}
	begin, err := s.Git().Commit(base.Commit)
	if err != nil {
		return nil, layout.CorruptObject(base.Commit, err)
	}
	for _, from := range begin.Parents {
		if has, err := lineage.Contains(s, ours.Head, from); err != nil || !has {
			return base, err
		}
	}
	common, err := lineage.CommonCommit(s, ours.Head, base.Commit)
	if err != nil {
		return nil, err
	}
	return snapshot.AtCommit(s, common)
}

// mergedBefore is a fork's newest commit that the tape has: merged, taken over by git,
// or merged into what was merged. It is the fork's beginning if there is none.
func mergedBefore(s *workspace.Store, ours gitstore.Hash, base *snapshot.Snapshot, theirs gitstore.Hash, b snapshot.ForkBase) (gitstore.Hash, error) {
	begin, err := s.Git().Commit(base.Commit)
	if err != nil {
		return b.Start, layout.CorruptObject(base.Commit, err)
	}
	has := map[gitstore.Hash]bool{}
	if err := reachable(s, ours, append(begin.Parents, base.Commit), has); err != nil {
		return b.Start, err
	}
	for c, err := range s.ByFirstParents(theirs) {
		if err != nil || c.Hash == b.Start {
			return b.Start, err
		}
		if has[c.Hash] {
			return c.Hash, nil
		}
	}
	return b.Start, nil
}

// reachable collects a commit, those before it by first parents, up to one of some, and
// what was merged in them up to where that begins.
func reachable(s *workspace.Store, h gitstore.Hash, stop []gitstore.Hash, has map[gitstore.Hash]bool) error {
	for c, err := range s.ByFirstParents(h) {
		if err != nil {
			return err
		}
		if slices.Contains(stop, c.Hash) || has[c.Hash] {
			return nil
		}
		has[c.Hash] = true
		for _, merged := range lineage.Merged(c) {
			if err := reachable(s, merged, stop, has); err != nil {
				return err
			}
		}
		if c.Trailer(layout.TrailerBase) != "" {
			return nil // a fork's beginning
		}
	}
	return nil
}

// check refuses a side whose history was changed.
func (m *Inputs) check(name string, side, base *snapshot.Snapshot) error {
	ok, err := side.Continues(base)
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

func firstChange(was, is *snapshot.Snapshot) (out [2][]byte, err error) {
	next1, stop1 := iter.Pull2(was.After(context.Background(), nil, ""))
	defer stop1()
	next2, stop2 := iter.Pull2(is.After(context.Background(), nil, ""))
	defer stop2()
	for {
		a, err1, ok := next1()
		b, err2, _ := next2()
		if err := errors.Join(err1, err2); err != nil || !ok || !bytes.Equal(a.Raw, b.Raw) {
			return [2][]byte{a.Raw, b.Raw}, err
		}
	}
}

// Lines merges, and returns what the tape gets, without newlines.
func (m *Inputs) Lines(ctx context.Context) ([][]byte, error) {
	var in threeway.Input
	var err error
	if in.OursOrigin, err = m.Origin(m.T); err != nil {
		return nil, err
	}
	if in.TheirsOrigin, err = m.Origin(m.F); err != nil {
		return nil, err
	}
	in.Apart = in.OursOrigin != in.TheirsOrigin
	if in.After, err = m.Base.LastID(); err != nil {
		return nil, err
	}
	if in.TheirsAfter, err = m.done.LastID(); err != nil {
		return nil, err
	}
	if in.Theirs, err = rawLines(ctx, m.Them, m.done, m.F.Name()); err != nil || len(in.Theirs) == 0 {
		return nil, err
	}
	if in.Ours, err = rawLines(ctx, m.Ours, m.Base, m.T.Name()); err != nil {
		return nil, err
	}
	in.Ours = append(in.Ours, m.more...)
	return threeway.Merge(in)
}

func rawLines(ctx context.Context, v, base *snapshot.Snapshot, tape string) ([][]byte, error) {
	var out [][]byte
	for e, err := range v.After(ctx, base, tape) {
		if err != nil {
			return nil, err
		}
		out = append(out, e.Raw)
	}
	return out, nil
}

// origin is how a merge names the tape or fork that an entry had its id in.
func origin(t *workspace.Tape) threeway.Origin {
	root := snapshot.RootName(t)
	return threeway.Origin{Tape: root, Fork: strings.TrimPrefix(strings.TrimPrefix(t.Name(), root), "/")}
}

// Origin is that of a side. The fork may be gone: what it is merged into knows the tape.
func (m *Inputs) Origin(t *workspace.Tape) (threeway.Origin, error) {
	if !t.IsFork() {
		return origin(t), nil
	}
	info, err := m.Ours.TapeInfo()
	return threeway.Origin{Tape: info.Name, Fork: strings.TrimPrefix(t.Name(), info.Name+"/")}, err
}

// Content is what an entry says, wherever it stands.
func Content(e jsonl.Entry) string { return e.Kind + "\x00" + string(e.Payload) + "\x00" + e.Date }

// told is what both sides of a merge have said behind what they have in common.
func (m *Inputs) told(ctx context.Context) (map[string]bool, error) {
	known := map[string]bool{}
	ours, err1 := rawLines(ctx, m.Ours, m.Base, "")
	them, err2 := rawLines(ctx, m.Them, m.done, "")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for _, line := range slices.Concat(ours, them, m.more) {
		if e, err := jsonl.Parse(line); err == nil {
			known[Content(e)] = true
		}
	}
	return known, nil
}

// RewrittenError says that one side of a merge does not begin with what both began with:
// somebody changed its history.
type RewrittenError struct {
	Name string    // the tape or fork whose history was changed
	Base [2][]byte // the first entry that differs, as it was and as it is; nil if missing
}

func (e *RewrittenError) Error() string {
	return fmt.Sprintf("the history of %q was changed: it does not begin with what both sides began with", e.Name)
}

// Is makes every RewrittenError an ErrConflict.
func (e *RewrittenError) Is(target error) bool { return target == layout.ErrConflict }

// Hints are the way out.
func (e *RewrittenError) Hints() []layout.Hint {
	return layout.Words("nothing was changed; go back to the history that was recorded (git reflog shows it), or keep the fork as a tape of its own")
}
