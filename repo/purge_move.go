package repo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/secrets"
)

// prepare stores the records, makes sure that the new history is sound, and writes the
// journal.
func (p *purge) prepare() (*purgeJournal, error) {
	j := &purgeJournal{commits: p.r.commits, prints: p.out.Fingerprints, whole: slices.Collect(maps.Keys(p.mask.whole))}
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
	return j, p.s.fs.WriteFile(p.journalPath(), j.encode())
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
		case p.r.to(commit) == commit:
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
	v := &verifier{ctx: p.ctx, s: p.s, report: &Report{}, seen: map[gitstore.Hash]bool{}, purging: true}
	if _, err := v.history(t, head); err != nil {
		return nil, err
	}
	look, err := p.s.commitView(head)
	if err != nil {
		return nil, err
	}
	return v.report.Problems, v.content(t.name, look, 0)
}

// finishOld carries out a purge that was cut off.
func (p *purge) finishOld() error {
	raw, err := os.ReadFile(p.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	j, err := decodePurgeJournal(raw)
	if err != nil {
		return &CorruptError{File: p.journalPath(), Msg: "the journal of a purge cannot be read: " + err.Error(), Fix: "remove it, and purge again"}
	}
	p.s.warn("a purge had been cut off; it is carried out now")
	p.out.Finished = true
	for _, fp := range j.prints {
		p.prints[fp] = true
	}
	for _, digest := range j.whole {
		p.mask.whole[digest] = true
	}
	p.mask.match = func(f secrets.Finding) bool { return p.prints[f.Fingerprint] }
	if err := p.carryOut(j); err != nil {
		return err
	}
	p.earlier = j.commits
	return nil
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
	return p.s.fs.Remove(p.journalPath())
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
	if now == m.new {
		return nil
	}
	if now != m.old {
		if !p.out.Finished {
			p.left("%s was moved meanwhile: purge again", m.ref)
		}
		return nil
	}
	err = p.s.git.UpdateRef(ctx, gitstore.RefUpdate{Name: m.ref, Old: m.old, New: m.new, Message: "tape: " + m.subject})
	if err != nil && m.new.IsZero() && strings.HasSuffix(m.ref, "/HEAD") {
		return nil // a symbolic ref of git's, to one that goes as well
	}
	return err
}

func (p *purge) left(format string, args ...any) {
	p.out.Left = append(p.out.Left, fmt.Sprintf(format, args...))
}

// clearReflogs lets all reflogs tell of the new commits in place of the old ones.
func (p *purge) clearReflogs(j *purgeJournal) error {
	return p.s.eachReflog(func(_, path string) error {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // it is gone since
		}
		var out []byte
		for line := range strings.Lines(string(raw)) {
			for _, h := range loggedCommits(line) {
				if next, ok := j.commits[h]; ok {
					line = strings.Replace(line, h.String(), next.String(), 2)
				}
			}
			head, message, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if ok {
				line = head + "\t" + p.mask.text(message) + "\n"
			}
			out = append(out, line...)
		}
		if bytes.Equal(out, raw) {
			return nil
		}
		return p.s.fs.WriteFile(path, out)
	})
}

// clearFiles removes what else may tell what was masked: the notes of git and of this
// program, and what was set aside.
func (p *purge) clearFiles(j *purgeJournal) error {
	remove := func(path string) error {
		if err := p.s.fs.Remove(path); err != nil {
			return err
		}
		if rel, err := filepath.Rel(p.s.dir, path); err == nil {
			path = filepath.ToSlash(rel)
		}
		p.out.Removed = append(p.out.Removed, path)
		return nil
	}
	for _, dir := range p.s.gitDirs() {
		for _, name := range []string{"ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG"} {
			path := filepath.Join(dir, name)
			raw, err := os.ReadFile(path)
			if err == nil && (p.mask.holds(raw) || namesOld(raw, j)) {
				if err := remove(path); err != nil {
					return err
				}
			}
		}
	}
	for _, dir := range []string{p.s.privatePath(tornDirName), filepath.Join(p.s.git.GitDir(), "rr-cache")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(path)
			if err == nil && (p.mask.holds(raw) || p.mask.holds([]byte(d.Name()))) {
				err = remove(path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, w := range p.writers {
		if err := w.scrub(); err != nil {
			return err
		}
	}
	return nil
}

// namesOld reports whether a file of git's begins a line with a commit that is replaced.
func namesOld(raw []byte, j *purgeJournal) bool {
	for line := range strings.Lines(string(raw)) {
		if h, err := gitstore.ParseHash(line[:min(len(line), 40)]); err == nil {
			if _, ok := j.commits[h]; ok {
				return true
			}
		}
	}
	return false
}

// scrub writes the note twice, so that neither of its places has what it had before.
func (w *writer) scrub() error {
	for range 2 {
		if err := w.save(true); err != nil {
			return err
		}
	}
	for slot := range int64(2) {
		used := make([]byte, slotSize)
		n, err := w.lock.File.ReadAt(used, slot*slotSize)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			continue
		}
		end := bytes.IndexByte(used[:n], '\n') + 1
		if _, err = w.lock.File.WriteAt(make([]byte, n-end), slot*slotSize+int64(end)); err != nil {
			return err
		}
	}
	return w.lock.File.Sync()
}
