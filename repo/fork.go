package repo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tape/internal/gitstore"
)

// A fork is a branch off a tape, or off another fork, and is read and written like a
// tape. Its commits have the whole tape up to the base, whose objects git shares.
//
// The first commit of its own adds nothing of its own: it says what the fork is called
// and with which entry of the parent it begins. Its tree is the base of a merge.

// IsFork reports whether this is a fork.
func (t *Tape) IsFork() bool { return t.fork != "" }

// ForkName is a fork's own name, without its parent's; "" for a tape.
func (t *Tape) ForkName() string { return t.fork }

// Parent is the name of the tape or fork that a fork was made of; "" for a tape.
func (t *Tape) Parent() string {
	if !t.IsFork() {
		return ""
	}
	return strings.TrimSuffix(t.name, "/"+t.fork)
}

// cutFork splits the name of a fork. Names of tapes may have a slash, of forks not.
func cutFork(name string) (parent, fork string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 1 || i == len(name)-1 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// forkHandle is the handle of the fork PARENT/FORK, nil if that is none.
func (s *Store) forkHandle(name string) *Tape {
	parent, fork, ok := cutFork(name)
	if !ok {
		return nil
	}
	return &Tape{store: s, name: name, slug: tapeSlug(name), fork: fork,
		branch: forkPrefix + tapeSlug(parent) + "/" + tapeSlug(fork)}
}

// nameOfFork finds the name of a fork: the nearest commit that has one says it. A branch
// that somebody made by hand off another tape is named after its slug, and the parent
// whose slug comes before it.
func (s *Store) nameOfFork(branch string, head gitstore.Hash) (string, error) {
	name, err := s.nameAt(head)
	if err != nil || name != "" && branchOf(name, branch) == branch {
		return name, err
	}
	parentSlug, fork, ok := strings.Cut(strings.TrimPrefix(branch, forkPrefix), "/")
	if !ok || fork == "" || strings.Contains(fork, "/") {
		return "", &CorruptError{File: branch, Msg: "not the branch of a fork: fork/TAPE/NAME",
			Fix: "rename the branch with: git branch -m"}
	}
	parent, err := s.nameOfBranch(branchPrefix + parentSlug)
	if err == nil {
		return parent + "/" + fork, nil
	}
	if !errors.Is(err, gitstore.ErrNotFound) {
		return "", err
	}
	refs, err := s.git.Refs(forkPrefix)
	if err != nil {
		return "", classify(err)
	}
	for _, ref := range refs {
		if name, err := s.nameAt(ref.Hash); err == nil && name != "" && tapeSlug(name) == parentSlug {
			return name + "/" + fork, nil
		}
	}
	return parentSlug + "/" + fork, nil
}

// rootName is the name of the tape that a fork, or a fork of it, is of.
func (t *Tape) rootName() string {
	if !t.IsFork() {
		return t.name
	}
	h, err := t.head()
	if err == nil {
		if v, err := t.store.commitView(h); err == nil {
			if info, err := v.tapeInfo(); err == nil {
				return info.Name
			}
		}
	}
	// The branch is gone, or of no use: then the name of a tape is in its name.
	root := t.name
	for up, _, ok := cutFork(root); ok; up, _, ok = cutFork(up) {
		root = up
		if _, err := t.store.handle(root).head(); err == nil {
			break
		}
	}
	return root
}

func (v *commitView) tapeInfo() (tapeInfo, error) {
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

// Base says where a fork begins.
type Base struct {
	Parent string
	Entry  int64  // the last entry that it has of its parent
	Anchor string // the phase that is open there
	Commit string // of the parent
	Start  string // the fork's first commit
	Date   string // of that
}

// Base returns where a fork begins. ErrInvalid for a tape, which begins with itself.
func (t *Tape) Base(ctx context.Context) (Base, error) {
	if err := ctx.Err(); err != nil {
		return Base{}, err
	}
	head, err := t.head()
	if err != nil {
		return Base{}, err
	}
	b, err := t.base(head)
	if err != nil {
		return Base{}, fmt.Errorf("read fork %q: %w", t.name, err)
	}
	return t.describeBase(b)
}

func (t *Tape) describeBase(b forkBase) (Base, error) {
	v, err := t.store.commitView(b.start)
	if err != nil {
		return Base{}, err
	}
	c, err := t.store.git.Commit(b.start)
	if err != nil {
		return Base{}, corruptObject(b.start, err)
	}
	anchor, err := readAnchor(v, v.list[len(v.list)-1], t.name)
	return Base{Parent: t.Parent(), Entry: b.id, Anchor: anchor.Anchor, Commit: b.commit.String(), Start: b.start.String(),
		Date: FormatDate(c.Committer.When)}, err
}

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
	for h := head; ; {
		c, err := t.store.git.Commit(h)
		if err != nil {
			return b, false, corruptObject(h, err)
		}
		if id, ok := t.startsHere(c); ok {
			return forkBase{start: h, commit: c.Parents[0], id: id}, true, nil
		}
		if len(c.Parents) == 0 {
			return b, false, nil
		}
		h = c.Parents[0]
	}
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

// firstCommit is the oldest of those before a commit, by first parents.
func (s *Store) firstCommit(h gitstore.Hash) (gitstore.Hash, error) {
	for {
		c, err := s.git.Commit(h)
		if err != nil {
			return h, corruptObject(h, err)
		}
		if len(c.Parents) == 0 {
			return h, nil
		}
		h = c.Parents[0]
	}
}

func (v *commitView) lastID() (int64, error) { return lastID(v, v.lastPhase()) }
