package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// Revision is a tape as it was at one point: everything up to an entry, or what a commit contains.
// Entries appended later are not part of it.
type Revision struct {
	store  *workspace.Store
	tape   string // the name that its entries get
	name   string
	V      *snapshot.Snapshot // contains it, and maybe later entries
	Commit *snapshot.Snapshot // the newest commit that may contain a part of it
	last   int64              // id of the last entry
}

// RevisionOf returns the tape as it was at a target. An anchor of the tape (its name, the number or
// folder of its phase, or Latest) or an entry (@17) means everything up to there, itself included. A
// tape, or a fork by its full or own name, means all that it has now, committed or not. A tag, branch
// or commit means that commit; HEAD is the tape's newest. "" is the tape as it is now. ErrNotFound if
// the target names nothing; ErrInvalid for a malformed id.
func RevisionOf(ctx context.Context, s *workspace.Store, tape *workspace.Tape, target string) (*Revision, error) {
	if number, ok := strings.CutPrefix(target, "@"); ok {
		return revisionAtEntry(ctx, tape, number)
	}
	if target == "" {
		return revisionNow(ctx, tape)
	}
	r, err := revisionAtAnchor(ctx, tape, target)
	if !errors.Is(err, layout.ErrNotFound) {
		return r, err
	}
	if other, err := s.Tape(ctx, target); err == nil {
		return revisionNow(ctx, other)
	} else if !errors.Is(err, layout.ErrNotFound) && !errors.Is(err, layout.ErrInvalid) {
		return nil, err
	}
	if h, ok := resolveTapeCommit(tape, target); ok {
		return revisionAtCommit(tape, target, h)
	}
	if fork, err := s.Tape(ctx, tape.Name()+"/"+target); err == nil && fork.IsFork() {
		return revisionNow(ctx, fork)
	}
	return nil, layout.NotFound("", "tape %q has no %q", tape.Name(), target).Try(layout.NameRevision, target)
}

// revisionNow is everything that the tape has now.
func revisionNow(ctx context.Context, t *workspace.Tape) (r *Revision, err error) {
	defer wrapRead(t, &err)
	r = &Revision{store: t.Store(), tape: t.Name(), name: t.Name()}
	if r.V, err = snapshot.Take(ctx, t); err != nil {
		return nil, err
	}
	if r.Commit, err = snapshot.AtCommit(r.store, r.V.Commit); err != nil {
		return nil, err
	}
	if last, ok := r.V.RecordedLast(); ok {
		r.last = last
		return r, nil
	}
	r.last, err = r.V.LastID()
	return r, err
}

func revisionAtEntry(ctx context.Context, t *workspace.Tape, number string) (*Revision, error) {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return nil, layout.Invalid("entries are numbered from @1", "%q is not the id of an entry", "@"+number)
	}
	r, err := revisionNow(ctx, t)
	if err != nil {
		return nil, err
	}
	if id > r.last {
		return nil, layout.NotFound("", "tape %q has no entry @%d", t.Name(), id).Try(layout.ShowEntryCount)
	}
	r.name, r.last = fmt.Sprintf("%s @%d", t.Name(), id), id
	return r, nil
}

func revisionAtAnchor(ctx context.Context, t *workspace.Tape, target string) (*Revision, error) {
	r, err := revisionNow(ctx, t)
	if err != nil {
		return nil, err
	}
	i, err := snapshot.FindPhase(t, r.V, anchorName(t, target))
	if err != nil {
		return nil, err
	}
	anchor, err := snapshot.ReadAnchor(r.V, r.V.List[i], t.Name())
	r.name, r.last = t.Name()+" "+r.V.List[i].Folder, anchor.ID
	return r, err
}

// anchorName returns the anchor that a target names. The target may be a tag.
func anchorName(t *workspace.Tape, target string) string {
	return strings.TrimPrefix(strings.TrimPrefix(target, "refs/tags/"), "anchor/"+t.Slug()+"/")
}

func revisionAtCommit(t *workspace.Tape, target string, h gitstore.Hash) (*Revision, error) {
	c, v, err := readCommit(t, h)
	if err != nil {
		return nil, err
	}
	r := &Revision{store: t.Store(), tape: nameAt(t, c), name: target, V: v, Commit: v}
	if strings.HasPrefix(h.String(), target) {
		r.name = target[:min(len(target), 10)]
	}
	r.last, err = v.LastID()
	return r, err
}

func readCommit(t *workspace.Tape, h gitstore.Hash) (gitstore.Commit, *snapshot.Snapshot, error) {
	c, err := t.Store().Git().Commit(h)
	if err != nil {
		return c, nil, layout.NotFound("", "%s is not a commit", h)
	}
	v, err := snapshot.AtCommit(t.Store(), h)
	return c, v, err
}

// nameAt is the name of the tape that a commit says it belongs to. Commits made by hand say nothing.
func nameAt(t *workspace.Tape, c gitstore.Commit) string {
	return cmp.Or(layout.DecodeTrailer(c.Trailer(layout.TrailerName)), t.Name())
}

// Name is what headings call the revision.
func (r *Revision) Name() string { return r.name }

// Tape is the name of the tape.
func (r *Revision) Tape() string { return r.tape }

// Last is the id of the last entry.
func (r *Revision) Last() int64 { return r.last }

// Entries yields the entries of the revision, beginning with an id. It ends after an error.
func (r *Revision) Entries(ctx context.Context, from int64) iter.Seq2[layout.Entry, error] {
	return layout.Seq(func(yield func(layout.Entry) bool) error {
		from := max(1, from)
		if from > r.last {
			return nil
		}
		begin, err := snapshot.PhaseOf(r.V, from)
		if err == nil {
			w := &snapshot.Walk{V: r.V, Tape: r.tape, First: begin, Last: len(r.V.List) - 1, From: snapshot.Place{ID: from}}
			err = w.Read(ctx, func(e layout.Entry) bool { return yield(e) && e.ID < r.last })
		}
		return layout.Wrap(err, "read %s", r.name)
	})
}

// CommonWith returns an id up to which both revisions certainly have the same entries; 0 if there is
// none. It compares the hashes of trees, so only the differing ends of two tapes are read. It does
// not see what somebody changed by hand in a working tree; Verify does.
func (r *Revision) CommonWith(other *Revision) (int64, error) {
	id, err := commonEntries(r.Commit, other.Commit)
	return min(id, r.last, other.last), err
}

// commonEntries returns the id up to which two commits have the same entries.
func commonEntries(a, b *snapshot.Snapshot) (int64, error) {
	i := 0
	for i < min(len(a.List), len(b.List)) && a.List[i].Folder == b.List[i].Folder && a.List[i].Tree == b.List[i].Tree {
		i++
	}
	if i == len(a.List) {
		return a.LastID()
	}
	if i == len(b.List) {
		return b.LastID()
	}
	anchorA, err1 := snapshot.ReadAnchor(a, a.List[i], "")
	anchorB, err2 := snapshot.ReadAnchor(b, b.List[i], "")
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	if !bytes.Equal(anchorA.Raw, anchorB.Raw) || a.List[i].Folder != b.List[i].Folder {
		return min(anchorA.ID, anchorB.ID) - 1, nil
	}
	return commonInPhase(a, b, a.List[i], b.List[i])
}

// commonInPhase returns the last entry that two versions of a phase have in common. In each class,
// the first files that differ show where the difference begins.
func commonInPhase(a, b *snapshot.Snapshot, pa, pb layout.Phase) (int64, error) {
	lastA, err1 := snapshot.LastID(a, pa)
	lastB, err2 := snapshot.LastID(b, pb)
	filesA, err3 := a.Segments(pa)
	filesB, err4 := b.Segments(pb)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return 0, err
	}
	common := min(lastA, lastB)
	for c := range layout.ClassCount {
		n := 0
		for n < min(len(filesA[c]), len(filesB[c])) && filesA[c][n].Hash == filesB[c][n].Hash {
			n++
		}
		restA, err1 := nthFile(a, pa, filesA[c], n)
		restB, err2 := nthFile(b, pb, filesB[c], n)
		if err := errors.Join(err1, err2); err != nil {
			return 0, err
		}
		common = min(common, firstDifferent(restA, restB)-1)
	}
	return common, nil
}

// nthFile returns the content of a class's n-th file, nil if it has none.
func nthFile(v *snapshot.Snapshot, p layout.Phase, files []layout.Segment, n int) ([]byte, error) {
	if n >= len(files) {
		return nil, nil
	}
	return v.Content(p, files[n])
}

// firstDifferent is the lowest id after two files' common lines, math.MaxInt64 if they are equal.
func firstDifferent(a, b []byte) int64 {
	n := layout.SamePrefix(a, b)
	n = bytes.LastIndexByte(a[:n], '\n') + 1
	lowest := int64(math.MaxInt64)
	for _, rest := range [][]byte{a[n:], b[n:]} {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if len(line) == 0 {
			continue
		}
		id, err := jsonl.ParseID(line)
		if err != nil {
			return 1 // whoever reads it reports what is wrong
		}
		lowest = min(lowest, id)
	}
	return lowest
}

// SharedWith returns the last id of the newest commit that both revisions continue by first parents,
// 0 if they have no such commit. Entries up to there that differ were edited; the later ones were
// written independently.
func (r *Revision) SharedWith(ctx context.Context, other *Revision) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	common, err := lineage.CommonCommit(r.store, r.Commit.Commit, other.Commit.Commit)
	if errors.Is(err, layout.ErrConflict) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	id, err := snapshot.LastOf(r.store, common)
	return min(id, r.last, other.last), err
}
