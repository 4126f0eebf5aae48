package repo

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
)

// Revision is a tape as it was at some point: everything up to an entry, or what a commit
// has. What is appended later does not appear in it.
type Revision struct {
	store  *Store
	tape   string // the name that entries get
	name   string
	v      *snapshot
	commit *snapshot // the newest commit that may have something of it
	last   int64
}

// Revision returns a tape as it was at what a target names: an anchor of the tape (its name,
// the number or folder of its phase, or Latest) or an entry of it (@17), both meaning
// everything up to there; a tape or fork, meaning all that it has now, committed or not;
// a tag, a branch or a commit, of which HEAD is the tape's newest. "" is the tape as it is
// now. ErrNotFound if a target names nothing.
func (s *Store) Revision(ctx context.Context, tape *Tape, target string) (*Revision, error) {
	if number, ok := strings.CutPrefix(target, "@"); ok {
		return tape.pointAt(ctx, number)
	}
	if target == "" {
		return tape.pointNow(ctx)
	}
	p, err := tape.pointOfAnchor(ctx, target)
	if !errors.Is(err, ErrNotFound) {
		return p, err
	}
	if other, err := s.Tape(ctx, target); err == nil {
		return other.pointNow(ctx)
	} else if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrInvalid) {
		return nil, err
	}
	if h, ok := tape.resolveCommit(target); ok {
		return s.pointOfCommit(tape, target, h)
	}
	if fork, err := s.Tape(ctx, tape.name+"/"+target); err == nil && fork.IsFork() {
		return fork.pointNow(ctx)
	}
	return nil, notFound("name an anchor (tape anchors lists them), an entry (@17), a tape or fork, a tag or a commit",
		"tape %q has no %q", tape.name, target)
}

// pointNow is all that the tape has.
func (t *Tape) pointNow(ctx context.Context) (*Revision, error) {
	p := &Revision{store: t.store, tape: t.name, name: t.name}
	for {
		head, err := t.head()
		if err == nil {
			p.v, err = t.snapshot(ctx)
		}
		if err == nil {
			p.commit, err = t.store.commitView(head)
		}
		if err == nil {
			p.last, err = p.v.lastID()
		}
		if err != nil {
			return nil, fmt.Errorf("read tape %q: %w", t.name, err)
		}
		if again, err := t.head(); err == nil && again == head {
			return p, nil
		}
	}
}

func (t *Tape) pointAt(ctx context.Context, number string) (*Revision, error) {
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 {
		return nil, invalid("entries are numbered from @1", "%q is not the id of an entry", "@"+number)
	}
	p, err := t.pointNow(ctx)
	if err != nil {
		return nil, err
	}
	if id > p.last {
		return nil, notFound("tape info says how many there are", "tape %q has no entry @%d", t.name, id)
	}
	p.name, p.last = fmt.Sprintf("%s @%d", t.name, id), id
	return p, nil
}

func (t *Tape) pointOfAnchor(ctx context.Context, target string) (*Revision, error) {
	p, err := t.pointNow(ctx)
	if err != nil {
		return nil, err
	}
	i, err := t.findPhase(p.v, strings.TrimPrefix(strings.TrimPrefix(target, "refs/tags/"), "anchor/"+t.slug+"/"))
	if err != nil {
		return nil, err
	}
	anchor, err := readAnchor(p.v, p.v.list[i], t.name)
	p.name, p.last = t.name+" "+p.v.list[i].folder, anchor.ID
	return p, err
}

func (s *Store) pointOfCommit(tape *Tape, target string, h gitstore.Hash) (*Revision, error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return nil, notFound("", "%s is not a commit", h)
	}
	v, err := s.commitView(h)
	if err != nil {
		return nil, err
	}
	p := &Revision{store: s, tape: decodeTrailer(c.Trailer(trailerName)), name: target, v: v, commit: v}
	if p.tape == "" {
		p.tape = tape.name
	}
	if strings.HasPrefix(h.String(), target) {
		p.name = target[:min(len(target), 10)]
	}
	p.last, err = v.lastID()
	return p, err
}

// Name says what the point is, for headings.
func (p *Revision) Name() string { return p.name }

// Tape is the name of the tape or fork that the point is of.
func (p *Revision) Tape() string { return p.tape }

// LastID is the id of the last entry that belongs to the point.
func (p *Revision) LastID() int64 { return p.last }

// Entries yields the entries of the point from an id on. After an error it ends.
func (p *Revision) Entries(ctx context.Context, from int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := p.read(ctx, max(1, from), func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("read %s: %w", p.name, err))
		}
	}
}

func (p *Revision) read(ctx context.Context, from int64, yield func(Entry) bool) error {
	if from > p.last {
		return nil
	}
	begin, err := phaseOf(p.v, from)
	if err != nil {
		return err
	}
	w := &walk{v: p.v, tape: p.tape, first: begin, last: len(p.v.list) - 1, from: place{id: from}}
	return w.read(ctx, func(e Entry) bool { return yield(e) && e.ID < p.last })
}

// CommonWith returns the id up to which both points have the same entries for sure, 0 if
// none. It goes by the trees of their commits, in which what is equal has equal hashes:
// of two long tapes with a common beginning only the ends are read. (What somebody changed
// by hand in a working tree, before that, is for Verify to tell.)
func (p *Revision) CommonWith(other *Revision) (int64, error) {
	id, err := commonOf(p.commit, other.commit)
	return min(id, p.last, other.last), err
}

func commonOf(a, b *snapshot) (int64, error) {
	i := 0
	for i < min(len(a.list), len(b.list)) && a.list[i].folder == b.list[i].folder && a.list[i].tree == b.list[i].tree {
		i++
	}
	if i == len(a.list) {
		return a.lastID()
	}
	if i == len(b.list) {
		return b.lastID()
	}
	anchorA, err1 := readAnchor(a, a.list[i], "")
	anchorB, err2 := readAnchor(b, b.list[i], "")
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	if !bytes.Equal(anchorA.Raw, anchorB.Raw) || a.list[i].folder != b.list[i].folder {
		return min(anchorA.ID, anchorB.ID) - 1, nil
	}
	return commonInPhase(a, b, a.list[i], b.list[i])
}

// commonInPhase finds the last entry that two forms of a phase have in common: in each
// class the files that differ say with which id they begin to.
func commonInPhase(a, b *snapshot, pa, pb phase) (int64, error) {
	lastA, err1 := lastID(a, pa)
	lastB, err2 := lastID(b, pb)
	filesA, err3 := a.segments(pa)
	filesB, err4 := b.segments(pb)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return 0, err
	}
	common := min(lastA, lastB)
	for c := range classCount {
		n := 0
		for n < min(len(filesA[c]), len(filesB[c])) && filesA[c][n].hash == filesB[c][n].hash {
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
func readRest(v *snapshot, p phase, files []segment, n int) ([]byte, error) {
	if n >= len(files) {
		return nil, nil
	}
	return v.content(p, files[n])
}

// firstBehind is the lowest id behind the lines that two files have in common; a very
// high one if they are equal.
func firstBehind(a, b []byte) int64 {
	n := samePrefix(a, b)
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
	common, err := p.store.commonCommit(p.commit.commit, other.commit.commit)
	if errors.Is(err, ErrConflict) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := p.store.commitView(common)
	if err != nil {
		return 0, err
	}
	id, err := v.lastID()
	return min(id, p.last, other.last), err
}

// Usage is what a run event says about tokens; false for any other entry.
func (e Entry) Usage() (Usage, bool) {
	if e.Kind != KindEvent || jsonl.GetString(e.Payload, "name") != "run" {
		return Usage{}, false
	}
	usage := jsonl.Get(e.Payload, "data", "usage")
	if !jsonl.IsObject(usage) {
		return Usage{}, false
	}
	return readUsage(usage), true
}
