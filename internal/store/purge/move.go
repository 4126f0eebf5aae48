package purge

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/audit"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// purgeMove moves a ref; a zero hash means that it does not exist.
type purgeMove struct {
	w        *writer.Writer // of a purged tape or fork, else nil
	ref      string
	old, new gitstore.Hash
	subject  string // of the reflog, for a tape or fork
}

// prepare stores the records, checks the new history, and notes in a ref which commits it replaces.
func (p *purge) prepare(ctx context.Context) ([]purgeMove, error) {
	var plans []purgeMove
	for _, w := range p.writers {
		i := slices.IndexFunc(p.out.Tapes, func(done PurgedTape) bool { return done.Tape == w.T.Name() })
		if i < 0 {
			continue
		}
		plan, err := p.record(ctx, w, p.out.Tapes[i].Entries)
		if err != nil {
			return nil, err
		}
		p.out.Tapes[i].New = plan.Hash.String()
		plans = append(plans, purgeMove{w, w.T.Ref(), w.Head, plan.Hash, plan.Subject})
	}
	others, err := p.otherMoves(ctx, plans)
	if err != nil {
		return nil, err
	}
	if err := p.batch.Flush(ctx); err != nil {
		return nil, err
	}
	p.out.Signatures = p.r.Signed
	p.out.Left = nil
	if err := p.reportKept(ctx); err != nil {
		return nil, err
	}
	p.o.Step("checking the new history")
	if err := p.check(ctx, plans); err != nil {
		return nil, err
	}
	return append(others, plans...), p.noteMoves(ctx, plans)
}

// noteMoves records what is about to be moved. From then on the purge will be finished.
func (p *purge) noteMoves(ctx context.Context, plans []purgeMove) error {
	u := unfinished{prints: p.out.Fingerprints, whole: p.mask.WholeTexts()}
	if p.interrupted != nil {
		u = *p.interrupted
	}
	for _, m := range plans {
		u.pairs = append(u.pairs, [2]gitstore.Hash{m.old, p.r.To(m.old)})
	}
	for _, h := range p.heads.archives {
		u.pairs = append(u.pairs, [2]gitstore.Hash{h, p.r.To(h)})
	}
	u.pairs = slices.DeleteFunc(u.pairs, func(pair [2]gitstore.Hash) bool {
		_, _, err1 := p.s.Git().Read(pair[0])
		_, _, err2 := p.s.Git().Read(pair[1])
		return errors.Join(err1, err2) != nil // dropped by now
	})
	return p.setUnfinished(ctx, purgeMoving, u)
}

// otherMoves lists the moves of all refs that must change, except those that are planned already.
func (p *purge) otherMoves(ctx context.Context, planned []purgeMove) ([]purgeMove, error) {
	refs, err := p.refs()
	if err != nil {
		return nil, err
	}
	var out, renames []purgeMove
	for _, ref := range refs {
		move := purgeMove{ref: ref.Name, old: ref.Hash}
		switch {
		case slices.ContainsFunc(planned, func(m purgeMove) bool { return m.ref == ref.Name }):
			continue
		case layout.IsTracking(ref.Name) || ref.Name == layout.StashRef:
			if !p.leadsToOld(ctx, ref.commit) {
				continue
			}
			p.out.Removed = append(p.out.Removed, ref.Name)
		case !p.r.Changed(ref.commit) && !(ref.isTag() && p.masksTag(ref)):
			continue
		case ref.isTag():
			dir, folder := path.Split(ref.Name)
			if renamed, ok := p.r.Folders[folder]; ok && strings.HasPrefix(ref.Name, layout.TagPrefix) {
				renames = append(renames, move)
				move = purgeMove{ref: dir + renamed}
			}
			if move.new, err = p.r.Tag(ctx, ref.Hash, layout.ShortTag(move.ref)); err != nil {
				return nil, err
			}
		default:
			move.new = p.r.To(ref.commit)
		}
		out = append(out, move)
	}
	return append(out, renames...), nil // make the new names first
}

// check refuses a new history that does not verify although the old one does.
func (p *purge) check(ctx context.Context, plans []purgeMove) error {
	for _, m := range plans {
		t := m.w.T
		problems, err := p.problems(ctx, t, m.new)
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			continue
		}
		before, err := p.problems(ctx, t, m.old)
		if err != nil {
			return err
		}
		if len(before) == 0 {
			return &layout.CorruptError{File: t.Branch(), Msg: "the purge would make a damaged history, so nothing was changed: " + problems[0].String()}
		}
		p.s.Warn(fmt.Sprintf("%q was damaged before the purge, and still is: %s", t.Name(), problems[0]))
	}
	return nil
}

// problems returns what verify would find wrong with the history.
func (p *purge) problems(ctx context.Context, t *workspace.Tape, head gitstore.Hash) ([]audit.Problem, error) {
	if t.IsFork() {
		if _, ok, err := snapshot.MadeBase(t, head); err != nil || !ok {
			return nil, err // made with git: its base is known only once the parent has moved
		}
	}
	return audit.Problems(ctx, p.s, t, head)
}

// carryOut moves the refs and clears the old history everywhere else.
func (p *purge) carryOut(ctx context.Context, moves []purgeMove) error {
	for _, m := range moves {
		if err := p.move(ctx, m); err != nil {
			return err
		}
	}
	if err := p.batch.Finish(ctx); err != nil {
		return err
	}
	p.o.Step("clearing reflogs")
	if err := p.clearReflogs(); err != nil {
		return err
	}
	if err := p.clearFiles(ctx); err != nil {
		return err
	}
	p.o.Step("removing the old history")
	dropped, err := p.drop(ctx)
	if err != nil {
		return err
	}
	if err := p.o.Derived(ctx); err != nil || !dropped {
		return err // the next purge drops what is still used
	}
	if err := p.syncRemoved(); err != nil {
		return err
	}
	return p.setPurgeRef(ctx, purgeDropping, gitstore.ZeroHash)
}

// move moves a ref, unless somebody else moved it meanwhile.
func (p *purge) move(ctx context.Context, m purgeMove) error {
	if w := m.w; w != nil {
		if err := w.MoveTo(ctx, commits.Plan{Hash: m.new, Subject: m.subject}, m.old); err != nil {
			return err
		}
		return w.Begin(ctx) // an unfinished working tree would keep old objects alive
	}
	if m.new.IsZero() { // such as a remote's HEAD, whose target is removed, too
		if err := p.s.Git().RemoveSymbolicRef(ctx, m.ref); err != nil {
			return err
		}
	}
	now, err := p.s.Git().Ref(m.ref)
	switch {
	case err != nil && !errors.Is(err, gitstore.ErrNotFound):
		return err
	case now == m.new:
		return nil
	case now != m.old:
		p.left("%s was moved meanwhile: purge again", m.ref)
		return nil
	}
	return p.s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: m.ref, Old: m.old, New: m.new, Message: "tape: purge"})
}

func (p *purge) left(format string, args ...any) {
	p.out.Left = append(p.out.Left, fmt.Sprintf(format, args...))
}
