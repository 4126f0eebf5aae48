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

// Revision is a tape as it was at some point: everything up to an entry, or what a commit
// has. What is appended later does not appear in it.
type Revision struct {
	store  *workspace.Store
	tape   string // the name that entries get
	name   string
	V      *snapshot.Snapshot
	Commit *snapshot.Snapshot // the newest commit that may have something of it
	last   int64
}

// RevisionOf returns a tape as it was at what a target names: an anchor of the tape (its name,
// the number or folder of its phase, or Latest) or an entry of it (@17), both meaning
// everything up to there; a tape or fork, meaning all that it has now, committed or not;
// a tag, a branch or a commit, of which HEAD is the tape's newest. "" is the tape as it is
// now. ErrNotFound if a target names nothing.
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

// revisionNow is all that the tape has.
func revisionNow(ctx context.Context, t *workspace.Tape) (r *Revision, err error) {
	defer reading(t, &err)
	r = &Revision{store: t.Store(), tape: t.Name(), name: t.Name()}
	if r.V, err = snapshot.Take(ctx, t); err != nil {
		return nil, err
	}
	if r.Commit, err = snapshot.AtCommit(r.store, r.V.Commit); err != nil {
		return nil, err
	}
	if last, ok := r.V.NotedLast(); ok {
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
		return nil, layout.NotFound("", "tape %q has no entry @%d", t.Name(), id).Try(layout.LookHowMany)
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

// anchorName is what a target calls an anchor, which it may name by its tag.
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

// nameAt is the name of the tape that a commit says it is of; one made by hand does not say.
func nameAt(t *workspace.Tape, c gitstore.Commit) string {
	return cmp.Or(layout.DecodeTrailer(c.Trailer(layout.TrailerName)), t.Name())
}

// Name says what the revision is, for headings.
func (r *Revision) Name() string { return r.name }

// Last is the id of its last entry.
func (r *Revision) Last() int64 { return r.last }

// Entries yields the entries of the revision from an id on. After an error it ends.
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

// CommonWith returns the id up to which both revisions have the same entries for sure, 0 if
// none. It goes by the trees of their commits, in which what is equal has equal hashes:
// of two long tapes with a common beginning only the ends are read. (What somebody changed
// by hand in a working tree, before that, is for Verify to tell.)
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

// commonInPhase finds the last entry that two forms of a phase have in common: in each
// class the files that differ say with which id they begin to.
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
		restA, err1 := readRest(a, pa, filesA[c], n)
		restB, err2 := readRest(b, pb, filesB[c], n)
		if err := errors.Join(err1, err2); err != nil {
			return 0, err
		}
		common = min(common, firstDifferent(restA, restB)-1)
	}
	return common, nil
}

// readRest returns a class's n-th file, nil if it has none.
func readRest(v *snapshot.Snapshot, p layout.Phase, files []layout.Segment, n int) ([]byte, error) {
	if n >= len(files) {
		return nil, nil
	}
	return v.Content(p, files[n])
}

// firstDifferent is the lowest id behind two files' common lines; very high if they are equal.
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
			return 1 // readers will tell what is wrong
		}
		lowest = min(lowest, id)
	}
	return lowest
}

// SharedWith returns the id up to which both revisions have one history: that of the newest
// commit that both continue by first parents. Where entries up to there differ, somebody
// edited them; after it each went its own way. 0 if they have no such commit.
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
