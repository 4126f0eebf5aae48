package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/repair"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Report is what Verify found.
type Report struct {
	OK       bool
	Checked  Checked
	Problems []Problem
	Notes    []Problem        // worth knowing, but not broken promises
	Damage   []*repair.Damage // of working trees
	GitFsck  bool             // git fsck was run
}

// Checked counts what Verify checked.
type Checked struct {
	Tapes, Forks, Archives, Commits, Files int
	Entries                                int64
}

// Problem is a broken promise, or in Report.Notes something worth knowing.
type Problem struct {
	Tape    string // "" for the workspace as a whole
	File    string // path, or commit:path
	Line    int    // 0 for the file as a whole
	Message string
	Fix     string // what to do about it; if there is damage, usually tape verify --repair

	first, last int64 // of a note: the entries that it is about
}

func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Tape != "" {
		where = strings.TrimSuffix(p.Tape+": "+where, ": ")
	}
	return strings.TrimPrefix(where+": "+p.Message, ": ")
}

// Verify checks everything that the format promises of the workspace: history is append-only, every
// entry can be read, none is missing, commits, trailers, tags and working trees agree, and git fsck
// finds nothing. It changes nothing. Work that an interrupted command left to the next one is not a
// problem. Broken promises are in the report; an error says that a check could not be made.
func Verify(ctx context.Context, s *workspace.Store) (*Report, error) {
	v := &verifier{s: s, report: &Report{}}
	v.audit = newAudit(s, policy{found: v.problem, repaired: func(where string, id int64) { v.repaired("", where, id) }})
	for _, t := range v.tapes() {
		was := *v.report
		err := v.verifyTape(ctx, t)
		if _, gone := t.Head(); t.IsFork() && errors.Is(gone, layout.ErrNotFound) {
			*v.report = was // closed meanwhile
		} else if err != nil {
			return nil, fmt.Errorf("verify tape %q: %w", t.Name(), layout.Classify(err))
		}
	}
	for _, dir := range repair.Unknown(s) {
		v.note("", dir, "files of a tape or fork that git does not know")
	}
	if err := v.archives(ctx); err != nil {
		return nil, fmt.Errorf("verify archives: %w", err)
	}
	if err := v.fsck(ctx); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	if partial := v.s.Git().Partial(layout.DefaultRemote); partial != nil && v.missing {
		return nil, fmt.Errorf("verify: %w", partial) // what git has not brought is not damaged
	}
	v.report.Checked.Commits = v.audit.commits
	v.report.OK = len(v.report.Problems) == 0
	return v.report, nil
}

// verifier trusts the workspace, and collects its problems.
type verifier struct {
	s      *workspace.Store
	audit  *audit // of all histories
	report *Report

	missing bool // there are objects that git does not have
}

// tapes lists tapes and forks, each after its parent.
func (v *verifier) tapes() (out []*workspace.Tape) {
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix} {
		refs, err := v.readable(prefix)
		if err != nil {
			v.problem("", violation(prefix, "%v", err))
		}
		first := len(out)
		for _, ref := range refs {
			if of := v.s.CopyOf(ref); of != "" {
				v.note("", ref.Name, "a program that synchronizes folders made it, as a copy of %s; tape verify --repair takes it away", strings.TrimPrefix(of, "refs/heads/"))
				continue
			}
			t, err := v.s.TapeOfBranch(ref.Name)
			if errors.Is(err, gitstore.ErrNotFound) {
				continue // closed meanwhile
			}
			if err != nil {
				v.problem(strings.TrimPrefix(ref.Name, prefix), err)
				last := &v.report.Problems[len(v.report.Problems)-1]
				last.Fix = cmp.Or(last.Fix, layout.FromCopy)
				continue
			}
			out = append(out, t)
		}
		slices.SortStableFunc(out[first:], func(a, b *workspace.Tape) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return out
}

// readable lists the refs that can be read; the others, and those that were lost, are problems.
func (v *verifier) readable(prefix string) ([]gitstore.Ref, error) {
	refs, damaged, err := v.s.Git().ReadableRefs(prefix)
	for _, d := range damaged {
		v.problem("", &layout.CorruptError{File: cmp.Or(d.Name, "packed-refs"), Msg: d.Err.Error(), Fix: layout.FromCopy})
	}
	if err := v.s.Git().CheckPacked(); err != nil {
		v.problem("", &layout.CorruptError{File: "packed-refs", Msg: err.Error(), Fix: layout.FromCopy})
	}
	lost, begun := v.s.LostBranches(prefix, refs)
	for _, name := range begun {
		if log, _ := v.s.Git().Reflog(name); len(log) > 0 {
			if _, err := v.s.Git().Commit(log[0].New); err == nil {
				v.note("", name, "there is a log and no ref: its creation was cut off, or it was lost; tape verify --repair makes it again")
			}
		}
	}
	for _, name := range lost {
		if !slices.ContainsFunc(damaged, func(d gitstore.DamagedRef) bool { return d.Name == name }) {
			v.problem("", &layout.CorruptError{File: name, Msg: "the ref is gone, although its log is there", Fix: layout.FromCopy})
		}
	}
	return refs, err
}

// problem records an error unless it is nil, with its place if it is a CorruptError.
func (v *verifier) problem(tape string, err error) {
	if err == nil {
		return
	}
	v.missing = v.missing || errors.Is(err, gitstore.ErrNotFound) || strings.HasSuffix(err.Error(), ": "+gitstore.ErrNotFound.Error())
	p := Problem{Tape: tape, Message: err.Error()}
	if c, ok := errors.AsType[*layout.CorruptError](err); ok {
		p.File, p.Line, p.Message, p.Fix = v.short(c.File), c.Line, c.Msg, c.Fix
	}
	for _, h := range layout.Hints(err) {
		if h.Kind == "" {
			p.Fix = cmp.Or(p.Fix, h.Text)
		}
	}
	if !slices.Contains(v.report.Problems, p) {
		v.report.Problems = append(v.report.Problems, p)
	}
}

// short makes a path relative to the workspace.
func (v *verifier) short(path string) string {
	if rel, err := filepath.Rel(v.s.Dir(), path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// verifyTape checks one tape. It returns an error only if it could not check it.
func (v *verifier) verifyTape(ctx context.Context, t *workspace.Tape) (failed error) {
	if t.IsFork() {
		v.report.Checked.Forks++
	} else {
		v.report.Checked.Tapes++
	}
	// Problems found while somebody writes to the tape count only if they are found again.
	const tries = 10
	for try := 1; ; try++ {
		before, recErr := journal.PeekOf(t)
		head, err := t.Head()
		if err = errors.Join(recErr, err); err != nil {
			v.problem(t.Name(), err)
			return ctx.Err()
		}
		if _, ok := errors.AsType[*workspace.IncompleteMergeError](snapshot.CheckMergeComplete(t, head)); ok {
			v.note(t.Name(), "", "git has made a merge, which the next command that reads the tape completes")
			return nil
		}
		if err := v.audit.history(ctx, t, head); err != nil {
			return err
		}
		was := *v.report
		err = v.checkAt(ctx, t, head)
		after, recErr := journal.PeekOf(t)
		found := len(v.report.Problems)+len(v.report.Notes) > len(was.Problems)+len(was.Notes)
		if err = errors.Join(err, recErr); err != nil || !found {
			return err
		}
		if !journal.Changed(before, after) && after.Undo == nil || try == tries {
			return v.findLost(ctx, t)
		}
		if lock, err := writer.LockFile(ctx, t); err == nil { // wait until the writer has finished
			if try == tries-1 { // keep the lock, so that nobody writes during the last try
				defer func() { failed = errors.Join(failed, lock.Unlock()) }()
			} else if err := lock.Unlock(); err != nil {
				return err
			}
		}
		*v.report = was
	}
}

// findLost reports which entries are lost.
func (v *verifier) findLost(ctx context.Context, t *workspace.Tape) error {
	d, err := repair.Find(ctx, t)
	if err != nil || d == nil {
		return ctx.Err() // the damage is in git, and already reported
	}
	v.report.Damage = append(v.report.Damage, d)
	for _, lost := range d.LostTexts() {
		v.problem(t.Name(), &layout.CorruptError{Msg: lost + ", acknowledged, but neither in the files nor in git"})
	}
	return nil
}

// repaired adds a note for an entry that a repair has made. Entries in a row share a note.
func (v *verifier) repaired(tape, where string, id int64) {
	first, notes := id, &v.report.Notes
	if n := len(*notes); n > 0 && (*notes)[n-1].last == id-1 && (*notes)[n-1].Tape == tape && (*notes)[n-1].File == v.short(where) {
		first, *notes = (*notes)[n-1].first, (*notes)[:n-1]
	}
	v.note(tape, where, "what a repair could not bring back: %s", layout.Entries(first, id))
	last := &(*notes)[len(*notes)-1]
	last.first, last.last = first, id
}

// note records something that is not a problem.
func (v *verifier) note(tape, where, format string, args ...any) {
	v.report.Notes = append(v.report.Notes, Problem{Tape: tape, File: v.short(where), Message: fmt.Sprintf(format, args...)})
}

// checkAt checks a tape's tags and working tree against a commit, and counts its files and entries.
func (v *verifier) checkAt(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	committed, err := snapshot.AtCommit(v.s, head)
	if err != nil {
		v.problem(t.Name(), err)
		return nil
	}
	if err := v.tags(ctx, t, head); err != nil {
		return err
	}
	from, err := ownFrom(t, head)
	v.problem(t.Name(), err)
	v.count(committed, from)
	return v.workingTree(ctx, t, committed)
}

// ownFrom is the index of the first phase that may have entries of the fork itself; 0 for a tape.
func ownFrom(t *workspace.Tape, head gitstore.Hash) (int, error) {
	if !t.IsFork() {
		return 0, nil
	}
	b, err := snapshot.BaseOf(t, head)
	if err != nil {
		return 0, err
	}
	base, err := snapshot.AtCommit(t.Store(), b.Start)
	if err != nil {
		return 0, err
	}
	return len(base.List) - 1, nil
}

// count counts a commit's files and entries from a phase on. It ignores damage, which the audit reports.
func (v *verifier) count(snap *snapshot.Snapshot, from int) {
	for _, p := range snap.List[from:] {
		files, err := snap.Tree(p)
		if err != nil {
			return
		}
		v.report.Checked.Files += len(files)
	}
	first, err1 := snapshot.ReadAnchor(snap, snap.List[from], "")
	last, err2 := snap.LastID()
	if err1 == nil && err2 == nil {
		v.report.Checked.Entries += last - first.ID + 1
	}
}

// tags checks that each handoff has its annotated tag, and that there are no others. A missing tag is
// only a note, because a repair makes it again.
func (v *verifier) tags(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	rec, _ := journal.PeekOf(t)
	opened, err := v.opened(ctx, t, head)
	if err != nil {
		return ctx.Err() // the audit has reported what is missing
	}
	prefix := layout.TagPrefix + t.Slug() + "/"
	refs, err := v.s.Git().Refs(prefix)
	if err != nil {
		v.problem(t.Name(), violation(prefix, "%v", err))
		return nil
	}
	for _, ref := range refs {
		folder := strings.TrimPrefix(ref.Name, prefix)
		want, ok := opened[folder]
		delete(opened, folder)
		tag, err := v.audit.readTag(ref.Name, ref.Hash)
		switch {
		case !ok && err == nil && v.isAhead(t, head, tag.Object):
		case !ok && rec.Undo != nil:
			v.note(t.Name(), ref.Name, "an interrupted command has left this tag; the next one that writes removes it")
		case !ok:
			v.problem(t.Name(), violation(ref.Name, "the tape has no such phase"))
		case err != nil:
			v.problem(t.Name(), violation(ref.Name, "%v", err))
		case tag.Object != want && (rec.Undo != nil || !v.has(head, tag.Object)):
			v.note(t.Name(), ref.Name, "the tag names %s, but the phase came with %s; a repair moves the tag", short(tag.Object), short(want))
		case tag.Object != want:
			v.problem(t.Name(), violation(ref.Name, "the tag names %s, but the phase came with %s", short(tag.Object), short(want)))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(opened)) {
		v.note(t.Name(), prefix+folder, "the tag of commit %s is missing; a repair makes it again", short(opened[folder]))
	}
	return nil
}

func (v *verifier) has(head, h gitstore.Hash) bool {
	has, err := lineage.Contains(v.s, head, h)
	return err == nil && has
}

// opened maps the folders of a tape's own phases to the commits that added them.
func (v *verifier) opened(ctx context.Context, t *workspace.Tape, head gitstore.Hash) (map[string]gitstore.Hash, error) {
	chain, err := lineage.FirstParents(ctx, v.s, head)
	if err != nil {
		return nil, err
	}
	out, start := map[string]gitstore.Hash{}, snapshot.StartOf(t, head)
	for _, h := range chain {
		if h == start {
			break
		}
		for _, folder := range v.audit.opened[h] {
			out[folder] = h
		}
	}
	return out, nil
}

// isAhead reports whether a remote has a commit that the tape does not have yet: git fetches the tags
// of commits together with them.
func (v *verifier) isAhead(t *workspace.Tape, head, h gitstore.Hash) bool {
	if has, err := lineage.Contains(v.s, head, h); err != nil || has {
		return false
	}
	for _, prefix := range layout.RemoteRefs() {
		refs, _ := v.s.Git().Refs(prefix)
		for _, ref := range refs {
			if strings.HasSuffix(ref.Name, "/"+t.Branch()) {
				if has, err := lineage.Contains(v.s, ref.Hash, h); err == nil && has {
					return true
				}
			}
		}
	}
	return false
}

// archives checks archived histories.
func (v *verifier) archives(ctx context.Context) error {
	refs, err := v.readable(layout.ArchivePrefix)
	if err != nil {
		v.problem("", violation(layout.ArchivePrefix, "%v", err))
		return nil
	}
	for _, ref := range refs {
		v.report.Checked.Archives++
		name := ref.Name
		if recorded, err := v.s.NameAt(ref.Hash); err == nil && recorded != "" {
			name = recorded
		}
		c, err := v.s.Git().Commit(ref.Hash)
		if err == nil {
			info, infoErr := workspace.TapeInfoAt(v.s.Git(), ref.Hash, c.Tree, layout.TapeFile)
			if top, _, _ := strings.Cut(name, "/"); infoErr == nil && info.Name != name && info.Name != top {
				v.note("", ref.Name, "it has a branch that git made from the tape %.200q", info.Name)
				continue
			}
		}
		if err := v.audit.history(ctx, v.s.Handle(name), ref.Hash); err != nil {
			return err
		}
		if snap, err := snapshot.AtCommit(v.s, ref.Hash); err != nil {
			v.problem(name, err)
		} else {
			v.count(snap, 0)
		}
	}
	return nil
}
