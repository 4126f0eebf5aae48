package query

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/lineage"
	"tape/internal/snapshot"
	"tape/internal/workspace"
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
		return pointAt(ctx, tape, number)
	}
	if target == "" {
		return pointNow(ctx, tape)
	}
	p, err := pointOfAnchor(ctx, tape, target)
	if !errors.Is(err, layout.ErrNotFound) {
		return p, err
	}
	if other, err := s.Tape(ctx, target); err == nil {
		return pointNow(ctx, other)
	} else if !errors.Is(err, layout.ErrNotFound) && !errors.Is(err, layout.ErrInvalid) {
		return nil, err
	}
	if h, ok := resolveTapeCommit(tape, target); ok {
		return pointOfCommit(s, tape, target, h)
	}
	if fork, err := s.Tape(ctx, tape.Name()+"/"+target); err == nil && fork.IsFork() {
		return pointNow(ctx, fork)
	}
	return nil, layout.NotFound("name an anchor (tape anchors lists them), an entry (@17), a tape or fork, a tag or a commit",
		"tape %q has no %q", tape.Name(), target)
}

// pointNow is all that the tape has.
func pointNow(ctx context.Context, t *workspace.Tape) (*Revision, error) {
	p := &Revision{store: t.Store(), tape: t.Name(), name: t.Name()}
	for {
		head, err := t.Head()
		if err == nil {
			p.V, err = snapshot.Take(ctx, t)
		}
		if err == nil {
			p.Commit, err = snapshot.AtCommit(t.Store(), head)
		}
		if err == nil {
			p.last, err = p.V.LastID()
		}
		if err != nil {
			return nil, fmt.Errorf("read tape %q: %w", t.Name(), err)
		}
		if again, err := t.Head(); err == nil && again == head {
			return p, nil
		}
	}
}

func pointAt(ctx context.Context, t *workspace.Tape, number string) (*Revision, error) {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return nil, layout.Invalid("entries are numbered from @1", "%q is not the id of an entry", "@"+number)
	}
	p, err := pointNow(ctx, t)
	if err != nil {
		return nil, err
	}
	if id > p.last {
		return nil, layout.NotFound("tape info says how many there are", "tape %q has no entry @%d", t.Name(), id)
	}
	p.name, p.last = fmt.Sprintf("%s @%d", t.Name(), id), id
	return p, nil
}

func pointOfAnchor(ctx context.Context, t *workspace.Tape, target string) (*Revision, error) {
	p, err := pointNow(ctx, t)
	if err != nil {
		return nil, err
	}
	i, err := snapshot.FindPhase(t, p.V, strings.TrimPrefix(strings.TrimPrefix(target, "refs/tags/"), "anchor/"+t.Slug()+"/"))
	if err != nil {
		return nil, err
	}
	anchor, err := snapshot.ReadAnchor(p.V, p.V.List[i], t.Name())
	p.name, p.last = t.Name()+" "+p.V.List[i].Folder, anchor.ID
	return p, err
}

func pointOfCommit(s *workspace.Store, tape *workspace.Tape, target string, h gitstore.Hash) (*Revision, error) {
	c, err := s.Git().Commit(h)
	if err != nil {
		return nil, layout.NotFound("", "%s is not a commit", h)
	}
	v, err := snapshot.AtCommit(s, h)
	if err != nil {
		return nil, err
	}
	p := &Revision{store: s, tape: layout.DecodeTrailer(c.Trailer(layout.TrailerName)), name: target, V: v, Commit: v}
	if p.tape == "" {
		p.tape = tape.Name()
	}
	if strings.HasPrefix(h.String(), target) {
		p.name = target[:min(len(target), 10)]
	}
	p.last, err = v.LastID()
	return p, err
}

// Name says what the point is, for headings.
func (p *Revision) Name() string { return p.name }

// Tape is the name of the tape or fork that the point is of.
func (p *Revision) Tape() string { return p.tape }

// LastID is the id of the last entry that belongs to the point.
func (p *Revision) LastID() int64 { return p.last }

// Entries yields the entries of the point from an id on. After an error it ends.
func (p *Revision) Entries(ctx context.Context, from int64) iter.Seq2[layout.Entry, error] {
	return func(yield func(layout.Entry, error) bool) {
		if err := p.read(ctx, max(1, from), func(e layout.Entry) bool { return yield(e, nil) }); err != nil {
			yield(layout.Entry{}, fmt.Errorf("read %s: %w", p.name, err))
		}
	}
}

func (p *Revision) read(ctx context.Context, from int64, yield func(layout.Entry) bool) error {
	if from > p.last {
		return nil
	}
	begin, err := snapshot.PhaseOf(p.V, from)
	if err != nil {
		return err
	}
	w := &snapshot.Walk{V: p.V, Tape: p.tape, First: begin, Last: len(p.V.List) - 1, From: snapshot.Place{Id: from}}
	return w.Read(ctx, func(e layout.Entry) bool { return yield(e) && e.ID < p.last })
}

// CommonWith returns the id up to which both points have the same entries for sure, 0 if
// none. It goes by the trees of their commits, in which what is equal has equal hashes:
// of two long tapes with a common beginning only the ends are read. (What somebody changed
// by hand in a working tree, before that, is for Verify to tell.)
func (p *Revision) CommonWith(other *Revision) (int64, error) {
	id, err := commonOf(p.Commit, other.Commit)
	return min(id, p.last, other.last), err
}

func commonOf(a, b *snapshot.Snapshot) (int64, error) {
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
		common = min(common, firstBehind(restA, restB)-1)
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

// firstBehind is the lowest id behind the lines that two files have in common; a very
// high one if they are equal.
func firstBehind(a, b []byte) int64 {
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

// SharedWith returns the id up to which both points have one history: that of the newest
// commit that both continue by first parents. Where entries up to there differ, somebody
// edited them; behind it each side went its own way. 0 if they have no such commit.
func (p *Revision) SharedWith(ctx context.Context, other *Revision) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	common, err := lineage.CommonCommit(p.store, p.Commit.Commit, other.Commit.Commit)
	if errors.Is(err, layout.ErrConflict) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := snapshot.AtCommit(p.store, common)
	if err != nil {
		return 0, err
	}
	id, err := v.LastID()
	return min(id, p.last, other.last), err
}

// UsageOf is what a run event says about tokens; false for any other entry.
func UsageOf(e layout.Entry) (Usage, bool) {
	if e.Kind != layout.KindEvent || jsonl.GetString(e.Payload, "name") != "run" {
		return Usage{}, false
	}
	usage := jsonl.Get(e.Payload, "data", "usage")
	if !jsonl.IsObject(usage) {
		return Usage{}, false
	}
	return readUsage(usage), true
}
