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

// Side is our side of a merge: a commit, as a snapshot and the lines after it.
type Side struct {
	Head gitstore.Hash
	View *snapshot.Snapshot // of Head, or of a commit before it
	More [][]byte           // the lines after View
}

// InputsOf returns the inputs for merging the commit theirs into a tape. name is the merged fork's name, or ""
// if it is unknown. Errors: *RewrittenError; ErrConflict if the two sides have nothing in common.
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
	// The same tape, a fork's parent, another fork, or a branch made by hand.
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
	m.merged = m.Base
	return m, errors.Join(m.check(t.Name(), m.Ours, m.Base), m.check(m.F.Name(), m.Them, m.Base))
}

// Inputs are the two sides of a merge and their bases.
type Inputs struct {
	T, F   *workspace.Tape    // the tape that gets entries, and the tape or fork that is merged
	Base   *snapshot.Snapshot // the base of ours
	Ours   *snapshot.Snapshot
	merged *snapshot.Snapshot // the base of theirs: the common beginning, or what was merged before
	Them   *snapshot.Snapshot

	more [][]byte // the lines after Ours
}

// forkInputs returns the inputs for merging a fork's commit into its tape.
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
	merged, err := mergedBefore(t.Store(), ours.Head, m.Base, theirs, b)
	if err != nil {
		return nil, err
	}
	if m.Base, err = commonBase(t.Store(), ours, m.Base); err != nil {
		return nil, err
	}
	var errs [2]error
	m.Them, errs[0] = snapshot.AtCommit(t.Store(), theirs)
	m.merged, errs[1] = snapshot.AtCommit(t.Store(), merged)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return m, errors.Join(m.check(t.Name(), m.Ours, m.Base), m.check(f.Name(), m.Them, m.merged))
}

// baseOf returns the part of a tape that a fork began with. For a fork of a fork, that is the part that its
// outermost parent fork began with.
func baseOf(t *workspace.Tape, f *workspace.Tape, b snapshot.ForkBase) (*snapshot.Snapshot, error) {
	for f.Parent() != t.Name() {
		up := t.Store().ForkHandle(f.Parent())
		if up == nil {
			return nil, layout.Conflict("", "fork %q was not made from %q", f.Name(), t.Name())
		}
		next, ok, err := snapshot.MadeBase(up, b.Commit)
		if err != nil {
			return nil, err
		}
		if ok {
			b = next // otherwise it begins within its parent's base
		}
		f = up
	}
	return snapshot.AtCommit(t.Store(), b.Start)
}

// commonBase returns the part of a fork's base that the tape still has: all of it, or, if a pull renumbered
// entries at its end, up to these.
func commonBase(s *workspace.Store, ours Side, base *snapshot.Snapshot) (*snapshot.Snapshot, error) {
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

// mergedBefore returns the fork's newest commit that the tape already has: by a merge, by a fast-forward by
// git, or by a merge of another branch that had it. If there is none, it returns the fork's first commit.
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

// reachable adds a commit to the set has, with its first parents up to one in stop or up to a fork's first
// commit, and in the same way the commits that they merged.
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
			return nil // a fork's first commit
		}
	}
	return nil
}

// check returns a *RewrittenError if a side's history was changed.
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

func firstChange(was, now *snapshot.Snapshot) (out [2][]byte, err error) {
	next1, stop1 := iter.Pull2(was.After(context.Background(), nil, ""))
	defer stop1()
	next2, stop2 := iter.Pull2(now.After(context.Background(), nil, ""))
	defer stop2()
	for {
		a, err1, ok := next1()
		b, err2, _ := next2()
		if err := errors.Join(err1, err2); err != nil || !ok || !bytes.Equal(a.Raw, b.Raw) {
			return [2][]byte{a.Raw, b.Raw}, err
		}
	}
}

// Lines computes the merge, and returns the lines that the tape gets, without newlines.
func (m *Inputs) Lines(ctx context.Context) ([][]byte, error) {
	var in threeway.Input
	var err error
	if in.OursOrigin, err = m.Origin(m.T); err != nil {
		return nil, err
	}
	if in.TheirsOrigin, err = m.Origin(m.F); err != nil {
		return nil, err
	}
	in.Independent = in.OursOrigin != in.TheirsOrigin
	if in.After, err = m.Base.LastID(); err != nil {
		return nil, err
	}
	if in.TheirsAfter, err = m.merged.LastID(); err != nil {
		return nil, err
	}
	if in.Theirs, err = rawLines(ctx, m.Them, m.merged, m.F.Name()); err != nil || len(in.Theirs) == 0 {
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

// origin returns the origin that a merge records with a renumbered entry's former id.
func origin(t *workspace.Tape) threeway.Origin {
	root := snapshot.RootName(t)
	return threeway.Origin{Tape: root, Fork: strings.TrimPrefix(strings.TrimPrefix(t.Name(), root), "/")}
}

// Origin returns the origin of a side. The fork may be gone, so the tape's name is taken from Ours.
func (m *Inputs) Origin(t *workspace.Tape) (threeway.Origin, error) {
	if !t.IsFork() {
		return origin(t), nil
	}
	info, err := m.Ours.TapeInfo()
	return threeway.Origin{Tape: info.Name, Fork: strings.TrimPrefix(t.Name(), info.Name+"/")}, err
}

// Content returns what an entry says, without its id and meta.
func Content(e jsonl.Entry) string { return e.Kind + "\x00" + string(e.Payload) + "\x00" + e.Date }

// contents returns the Content of the entries of both sides after their bases.
func (m *Inputs) contents(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	ours, err1 := rawLines(ctx, m.Ours, m.Base, "")
	them, err2 := rawLines(ctx, m.Them, m.merged, "")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for _, line := range slices.Concat(ours, them, m.more) {
		if e, err := jsonl.Parse(line); err == nil {
			all[Content(e)] = true
		}
	}
	return all, nil
}

// RewrittenError says that one side of a merge does not begin with its base: somebody changed its history.
type RewrittenError struct {
	Name string    // the tape or fork whose history was changed
	Base [2][]byte // the first different entry, as it was and as it is; nil if missing
}

func (e *RewrittenError) Error() string {
	return fmt.Sprintf("the history of %q is another one: it does not begin with the entries that both sides began with", e.Name)
}

// Is makes every RewrittenError an ErrConflict.
func (e *RewrittenError) Is(target error) bool { return target == layout.ErrConflict }

// Hints returns what to do about the error.
func (e *RewrittenError) Hints() []layout.Hint {
	return []layout.Hint{{Kind: layout.PullOrGoBack}}
}
