package repo

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"tape/internal/gitstore"
)

// forkBase is where a fork begins.
type forkBase struct {
	start  gitstore.Hash // its first commit, whose tree is the base
	commit gitstore.Hash // the parent's
	id     int64         // the last entry in the base
}

// base finds the beginning of a fork by its first parents.
func (t *Tape) base(head gitstore.Hash) (forkBase, error) {
	if !t.IsFork() {
		return forkBase{}, invalid("name a fork: tape forks lists them", "%q is a tape, not a fork", t.name)
	}
	b, ok, err := t.madeBase(head)
	if err != nil || ok {
		return b, err
	}
	return t.handMadeBase(head)
}

// madeBase finds the commit that a fork was begun with; a branch that somebody made with
// git has none.
func (t *Tape) madeBase(head gitstore.Hash) (b forkBase, ok bool, err error) {
	for c, err := range t.store.byFirstParents(head) {
		if err != nil {
			return b, false, err
		}
		if id, ok := t.startsHere(c.Commit); ok {
			return forkBase{start: c.hash, commit: c.Parents[0], id: id}, true, nil
		}
	}
	return b, false, nil
}

// start is the commit behind which a fork is its own, zero for a tape.
func (t *Tape) start(head gitstore.Hash) gitstore.Hash {
	if !t.IsFork() {
		return gitstore.ZeroHash
	}
	b, err := t.base(head)
	if err != nil {
		return gitstore.ZeroHash // whoever needs the base says so
	}
	return b.start
}

// startsHere reports whether a commit is the first of the fork, and with which entry of
// the parent it begins.
func (t *Tape) startsHere(c gitstore.Commit) (int64, bool) {
	value := c.Trailer(trailerBase)
	if value == "" || len(c.Parents) != 1 || decodeTrailer(c.Trailer(trailerName)) != t.name {
		return 0, false
	}
	id, err := strconv.ParseInt(value, 10, 64)
	return id, err == nil && id > 0
}

// handMadeBase is where a branch that somebody made with git leaves its parent; where that
// is gone, with its first commit.
func (t *Tape) handMadeBase(head gitstore.Hash) (forkBase, error) {
	parent, err := t.store.Tape(context.Background(), t.Parent())
	if errors.Is(err, ErrNotFound) {
		first, err := t.store.firstCommit(head)
		if err != nil {
			return forkBase{}, err
		}
		return t.baseAt(first)
	}
	if err != nil {
		return forkBase{}, err
	}
	at, err := parent.head()
	if err != nil {
		return forkBase{}, err
	}
	common, err := t.store.commonCommit(at, head)
	if err != nil {
		return forkBase{}, err
	}
	return t.baseAt(common)
}

// baseAt is the base of a fork that begins with a commit of its parent.
func (t *Tape) baseAt(h gitstore.Hash) (forkBase, error) {
	id, err := t.store.lastOf(h)
	return forkBase{start: h, commit: h, id: id}, err
}

// lastOf is the last entry of a commit: its trailer says it, unless it was made by hand.
func (s *Store) lastOf(h gitstore.Hash) (int64, error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return 0, corruptObject(h, err)
	}
	if _, last, ok := strings.Cut(c.Trailer(trailerEntries), "-"); ok {
		if id, err := strconv.ParseInt(last, 10, 64); err == nil {
			return id, nil
		}
	}
	v, err := s.commitView(h)
	if err != nil {
		return 0, err
	}
	return v.lastID()
}

func (v *snapshot) lastID() (int64, error) { return lastID(v, v.lastPhase()) }

func (v *snapshot) tapeInfo() (tapeInfo, error) {
	where := v.file(tapeFile)
	e, ok := findEntry(v.root, tapeFile)
	if !ok {
		return tapeInfo{}, &CorruptError{File: where, Msg: "the commit has no " + tapeFile}
	}
	raw, err := v.git.Blob(e.Hash)
	if err != nil {
		return tapeInfo{}, corruptObject(v.commit, err)
	}
	return decodeTapeInfo(raw, where)
}
