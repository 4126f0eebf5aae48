package audit

import (
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
	Notes    []Problem // what is to be known, and breaks no promise
	Damage   []*repair.Damage
	GitFsck  bool // git was there, and git fsck was run
}

// Checked counts what Verify looked at.
type Checked struct {
	Tapes, Forks, Archives, Commits, Files int
	Entries                                int64
}

// Problem is one broken promise.
type Problem struct {
	Tape    string // "" for the workspace as a whole
	File    string // path, or commit:path
	Line    int    // 0: the file as a whole
	Message string
	Fix     string // what to do about it; mostly tape verify --repair, where there is damage

	first, last int64 // of a note, the entries that it is about
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

// Verify checks everything that the format promises of the workspace: that history is
// append-only, that every entry can be read and none is missing, that commits,
// trailers, tags and working trees agree, and what git fsck checks. It changes nothing: what an
// interrupted command left for the next one is no problem. The error is for a check that could
// not be made; what is broken is in the report.
func Verify(ctx context.Context, s *workspace.Store) (*Report, error) {
	v := &verifier{s: s, report: &Report{}}
	v.audit = newAudit(s, policy{compare: true, found: v.problem, repaired: func(where string, id int64) { v.repaired("", where, id) }})
	for _, t := range v.tapes() {
		was := *v.report
		err := v.tape(ctx, t)
		if _, gone := t.Head(); t.IsFork() && errors.Is(gone, layout.ErrNotFound) {
			*v.report = was // closed meanwhile
		} else if err != nil {
			return nil, fmt.Errorf("verify tape %q: %w", t.Name(), layout.Classify(err))
		}
	}
	if err := v.archives(ctx); err != nil {
		return nil, fmt.Errorf("verify archives: %w", err)
	}
	if err := v.fsck(ctx); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	v.report.Checked.Commits = v.audit.commits
	v.report.OK = len(v.report.Problems) == 0
	return v.report, nil
}

// verifier trusts the workspace, and collects what is wrong with it.
type verifier struct {
	s      *workspace.Store
	audit  *audit // of all histories
	report *Report
}

// tapes lists tapes and forks, each after what it is a fork of.
func (v *verifier) tapes() (out []*workspace.Tape) {
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix} {
		refs, err := v.s.Git().Refs(prefix)
		if err != nil {
			v.problem("", violation(prefix, "%v", err))
		}
		first := len(out)
		for _, ref := range refs {
			t, err := v.s.TapeOfBranch(ref.Name)
			if errors.Is(err, gitstore.ErrNotFound) {
				continue // closed meanwhile
			}
			if err != nil {
				v.problem(strings.TrimPrefix(ref.Name, prefix), err)
				continue
			}
			out = append(out, t)
		}
		slices.SortStableFunc(out[first:], func(a, b *workspace.Tape) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return out
}

// problem records an error, if it is one; it keeps the place where a CorruptError has one.
func (v *verifier) problem(tape string, err error) {
	if err == nil {
		return
	}
	p := Problem{Tape: tape, Message: err.Error()}
	var c *layout.CorruptError
	if errors.As(err, &c) {
		p.File, p.Line, p.Message, p.Fix = v.short(c.File), c.Line, c.Msg, c.Fix
	}
	if !slices.Contains(v.report.Problems, p) {
		v.report.Problems = append(v.report.Problems, p)
	}
}

// short is a path in the workspace.
func (v *verifier) short(path string) string {
	if rel, err := filepath.Rel(v.s.Dir(), path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// tape checks one tape. It returns an error only when it could not be checked.
func (v *verifier) tape(ctx context.Context, t *workspace.Tape) error {
	if t.IsFork() {
		v.report.Checked.Forks++
	} else {
		v.report.Checked.Tapes++
	}
	// What is found while the tape is moved on counts if it is found again.
	const tries = 10
	for try := 1; ; try++ {
		before, noteErr := journal.PeekOf(t)
		head, err := t.Head()
		if err = errors.Join(noteErr, err); err != nil {
			v.problem(t.Name(), err)
			return ctx.Err()
		}
		var unsettled *workspace.Unsettled
		if errors.As(snapshot.CheckSettled(t, head), &unsettled) {
			v.note(t.Name(), "", "git has made a merge, which the next command that reads the tape completes")
			return nil
		}
		if err := v.audit.history(ctx, t, head); err != nil {
			return err
		}
		was := *v.report
		err = v.at(ctx, t, head)
		after, noteErr := journal.PeekOf(t)
		found := len(v.report.Problems)+len(v.report.Notes) > len(was.Problems)+len(was.Notes)
		if err = errors.Join(err, noteErr); err != nil || !found {
			return err
		}
		if after.Gen == before.Gen && after.Undo == nil || try == tries {
			return v.lost(ctx, t)
		}
		if lock, err := writer.LockFile(ctx, t); err == nil { // whoever is changing it has finished
			if err := lock.Unlock(); err != nil {
				return err
			}
		}
		*v.report = was
	}
}

// lost says which entries are gone.
func (v *verifier) lost(ctx context.Context, t *workspace.Tape) error {
	d, err := repair.Find(ctx, t)
	if err != nil || d == nil {
		return ctx.Err() // in git, which the problems tell
	}
	v.report.Damage = append(v.report.Damage, d)
	for _, lost := range d.LostTexts() {
		v.problem(t.Name(), &layout.CorruptError{Msg: lost + ", acknowledged, but neither in the files nor in git"})
	}
	return nil
}

// repaired tells of an entry that a repair has made, together with those right before it.
func (v *verifier) repaired(tape, where string, id int64) {
	first, notes := id, &v.report.Notes
	if n := len(*notes); n > 0 && (*notes)[n-1].last == id-1 && (*notes)[n-1].Tape == tape && (*notes)[n-1].File == v.short(where) {
		first, *notes = (*notes)[n-1].first, (*notes)[:n-1]
	}
	v.note(tape, where, "what a repair could not bring back: %s", layout.Entries(first, id))
	last := &(*notes)[len(*notes)-1]
	last.first, last.last = first, id
}

// note tells of something that is no problem.
func (v *verifier) note(tape, where, format string, args ...any) {
	v.report.Notes = append(v.report.Notes, Problem{Tape: tape, File: v.short(where), Message: fmt.Sprintf(format, args...)})
}

// at checks what belongs to a commit of a tape, and may be moved on with it.
func (v *verifier) at(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
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

// ownFrom is the index of the phase with which the entries begin that only a fork has.
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

// count counts a commit's files and entries from a phase on; the audit tells of damage.
func (v *verifier) count(look *snapshot.Snapshot, from int) {
	for _, p := range look.List[from:] {
		files, err := look.Tree(p)
		if err != nil {
			return
		}
		v.report.Checked.Files += len(files)
	}
	first, err1 := snapshot.ReadAnchor(look, look.List[from], "")
	last, err2 := look.LastID()
	if err1 == nil && err2 == nil {
		v.report.Checked.Entries += last - first.ID + 1
	}
}

// tags checks that each handoff has its annotated tag, and that there are no others.
// The next command mends what an interrupted one left behind.
func (v *verifier) tags(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	note, _ := journal.PeekOf(t)
	opened, err := v.opened(ctx, t, head)
	if err != nil {
		return ctx.Err() // the audit has found what is missing
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
		case !ok && note.Undo != nil:
			v.note(t.Name(), ref.Name, "an interrupted command has left this tag; the next one that writes removes it")
		case !ok:
			v.problem(t.Name(), violation(ref.Name, "the tape has no such phase"))
		case err != nil:
			v.problem(t.Name(), violation(ref.Name, "%v", err))
		case tag.Object != want && !v.has(head, tag.Object):
			v.note(t.Name(), ref.Name, "the tag names %s, which the tape no longer has; a repair sets it on %s", short(tag.Object), short(want))
		case tag.Object != want:
			v.problem(t.Name(), violation(ref.Name, "the tag names %s, the phase came with %s", short(tag.Object), short(want)))
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

// opened maps folders of a tape's own phases to the commits that they came with.
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

// isAhead reports whether a commit is one of a remote's that the tape does not have yet: git
// brings tags along with what it fetches.
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

// archives checks the former histories of tapes.
func (v *verifier) archives(ctx context.Context) error {
	refs, err := v.s.Git().Refs(layout.ArchivePrefix)
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
		if err := v.audit.history(ctx, v.s.Handle(name), ref.Hash); err != nil {
			return err
		}
		if look, err := snapshot.AtCommit(v.s, ref.Hash); err != nil {
			v.problem(name, err)
		} else {
			v.count(look, 0)
		}
	}
	return nil
}
