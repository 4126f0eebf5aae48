package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// prepare stores the records, makes sure that the new history is sound, and writes the
// journal.
func (p *purge) prepare() (*purgeJournal, error) {
	j := &purgeJournal{tape: p.t.rootName(), commits: p.r.commits, prints: p.out.Fingerprints, whole: slices.Collect(maps.Keys(p.mask.whole)),
		texts: slices.Collect(maps.Keys(p.mask.texts)), removed: slices.Collect(maps.Keys(p.mask.removed))}
	var plans []purgeMove
	for i := range p.out.Tapes {
		done := &p.out.Tapes[i]
		for _, w := range p.writers {
			if w.t.name != done.Tape {
				continue
			}
			plan, err := p.record(w, *done)
			if err != nil {
				return nil, err
			}
			done.New = plan.hash.String()
			plans = append(plans, purgeMove{w.t.branch, w.head, plan.hash, plan.subject})
		}
	}
	others, err := p.otherMoves(plans)
	if err != nil {
		return nil, err
	}
	if err := p.batch.Flush(p.ctx); err != nil {
		return nil, err
	}
	p.out.Signatures = p.r.signed
	p.out.Left = nil
	if err := p.tellKept(); err != nil {
		return nil, err
	}
	p.o.Step("checking the new history")
	if err := p.check(plans); err != nil {
		return nil, err
	}
	for old, next := range p.earlier {
		if _, ok := j.commits[old]; !ok {
			j.commits[old] = next // what was gone on from kept them
		}
	}
	j.moves = append(others, plans...)
	return j, p.s.fs.WriteFile(p.s.journalPath(), j.encode())
}

// otherMoves are those of refs besides the branches of the tape and its forks.
func (p *purge) otherMoves(planned []purgeMove) ([]purgeMove, error) {
	refs, err := p.s.git.Refs("refs/")
	if err != nil {
		return nil, err
	}
	skip, clean := map[string]bool{}, map[gitstore.Hash]bool{}
	for _, m := range planned {
		skip[m.ref] = true
	}
	var out []purgeMove
	for _, ref := range refs {
		kind, _, err := p.s.git.Read(ref.Hash)
		if skip[ref.Name] || err != nil {
			continue
		}
		move := purgeMove{ref: ref.Name, old: ref.Hash, new: ref.Hash, subject: "purge"}
		commit, err := p.s.git.Peel(ref.Hash)
		switch {
		case err != nil:
			continue
		case isTracking(ref.Name) || ref.Name == stashRef:
			if has, err := p.leadsToOld(commit, clean); err != nil || !has {
				continue
			}
			move.new = gitstore.ZeroHash
			p.out.Removed = append(p.out.Removed, ref.Name)
		case p.r.to(commit) == commit && (kind != gitstore.KindTag || !p.masksTag(ref)):
			continue
		case kind == gitstore.KindTag:
			dir, folder := ref.Name[:strings.LastIndexByte(ref.Name, '/')+1], ref.Name[strings.LastIndexByte(ref.Name, '/')+1:]
			next := ref.Name
			if renamed, ok := p.r.folders[folder]; ok && strings.HasPrefix(ref.Name, tagPrefix) {
				next = dir + renamed
				out = append(out, purgeMove{ref: ref.Name, old: ref.Hash, subject: "purge"})
				move = purgeMove{ref: next, subject: "purge"}
			}
			if move.new, err = p.r.tag(ref.Hash, shortTag(next)); err != nil {
				return nil, err
			}
		default:
			move.new = p.r.to(commit)
		}
		out = append(out, move)
	}
	return out, nil
}

// check refuses a new history that would not verify although the old one does.
func (p *purge) check(plans []purgeMove) error {
	for _, w := range p.writers {
		for _, m := range plans {
			if m.ref != w.t.branch {
				continue
			}
			_, ok, err := w.t.checkPurged(p.ctx, m.old, m.new)
			if err != nil {
				return err
			}
			if !ok && p.follow == nil {
				p.left("others cannot tell the new history of %s for that of the old one: they have to clone again", w.t.Branch())
			}
			is, err := p.problems(w.t, m.new)
			if err != nil || len(is) == 0 {
				if err != nil {
					return err
				}
				continue
			}
			was, err := p.problems(w.t, m.old)
			if err != nil {
				return err
			}
			if len(was) == 0 {
				return &CorruptError{File: w.t.Branch(), Msg: "the history that a purge would give is not sound, so nothing was changed: " + is[0].String()}
			}
			p.s.warn(fmt.Sprintf("%q was damaged before, and is now: %s", w.t.name, is[0]))
		}
	}
	return nil
}

// problems are those that verify would find in a history of a tape.
func (p *purge) problems(t *Tape, head gitstore.Hash) ([]Problem, error) {
	if t.IsFork() {
		if _, ok, err := t.madeBase(head); err != nil || !ok {
			return nil, err // made with git: where it begins shows only once its parent has moved
		}
	}
	return p.s.problems(p.ctx, t, head, false)
}

// carryOut does what a journal says, and removes it.
func (p *purge) carryOut(j *purgeJournal) error {
	ctx := context.WithoutCancel(p.ctx)
	defer func(was context.Context) { p.ctx = was }(p.ctx)
	p.ctx = ctx
	for _, m := range j.moves {
		if err := p.move(ctx, m); err != nil {
			return err
		}
	}
	p.o.Step("clearing reflogs")
	if err := p.clearReflogs(j); err != nil {
		return err
	}
	if err := p.clearFiles(j); err != nil {
		return err
	}
	p.o.Step("dropping what was replaced")
	dropped, err := p.dropObjects(j)
	if err != nil {
		return err
	}
	if err := p.o.Derived(ctx); err != nil || !dropped {
		return err // the next purge drops what is still in use
	}
	return p.s.fs.Remove(p.s.journalPath())
}

// move moves a ref if it holds what the journal says. If it does not it was moved already,
// or somebody has gone on from the old history.
func (p *purge) move(ctx context.Context, m purgeMove) error {
	for _, w := range p.writers {
		if w.t.branch != m.ref {
			continue
		}
		if w.head == m.old {
			err := w.replace(ctx, plannedCommit{hash: m.new, subject: m.subject}, m.old, w.wt, w.wt.Dir != "")
			if err != nil || w.st.Undo == nil {
				return err
			}
			return w.begin(ctx) // what is missing of the working tree keeps old objects alive
		}
		return nil
	}
	now, err := p.s.git.Ref(m.ref)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	file := filepath.Join(p.s.git.GitDir(), filepath.FromSlash(m.ref))
	if now == m.new {
		return p.dropLock(ctx, m, file)
	}
	if now != m.old {
		if !p.out.Finished {
			p.left("%s was moved meanwhile: purge again", m.ref)
		}
		return nil
	}
	if raw, err := os.ReadFile(file); err == nil && m.new.IsZero() && bytes.HasPrefix(raw, []byte("ref: ")) {
		return p.s.fs.Remove(file) // as git has it of the remote's HEAD: it leads to one that goes as well
	}
	return p.s.git.UpdateRef(ctx, gitstore.RefUpdate{Name: m.ref, Old: m.old, New: m.new, Message: "tape: " + m.subject})
}

// dropLock removes the lock of a dead process on a ref that is gone: the name may tell.
func (p *purge) dropLock(ctx context.Context, m purgeMove, file string) error {
	if _, err := os.Lstat(file + ".lock"); err != nil || !m.new.IsZero() {
		return nil //nolint:nilerr // there is none
	}
	err := p.s.git.UpdateRef(ctx, gitstore.RefUpdate{Name: m.ref, Old: m.old}) // who takes a lock removes a dead one
	if errors.Is(err, gitstore.ErrConflict) {
		return nil
	}
	return err
}

func (p *purge) left(format string, args ...any) {
	p.out.Left = append(p.out.Left, fmt.Sprintf(format, args...))
}
