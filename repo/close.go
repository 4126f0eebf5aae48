package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// Discard drops a fork with everything in it. Nothing is left of it but two lines in the
// reflog of its parent's branch, by which git keeps its commits for a while. ErrConflict
// if there are forks of it, or somebody has it checked out.
func (t *Tape) Discard(ctx context.Context) error {
	if !t.IsFork() {
		return invalid("tape reset starts a tape over", "%q is a tape, not a fork", t.name)
	}
	return t.write(ctx, func(w *writer) error {
		children, err := t.Forks(ctx)
		if err != nil {
			return err
		}
		if len(children) > 0 {
			return conflict("merge or discard it first", "there is a fork of it: %q", children[0].name)
		}
		if err := w.checkClosable(); err != nil {
			return err
		}
		if err := w.commitAll(ctx); err != nil {
			return err
		}
		b, err := t.base(w.head)
		if err != nil {
			return err
		}
		return w.close(ctx, fmt.Sprintf("%s%s (%s)", discardMessage, oneLine(t.fork), countEntries(w.st.LastID-b.id)))
	})
}

// checkClosable refuses to take away a working tree that somebody else made.
func (w *writer) checkClosable() error {
	if w.wt.Dir == "" {
		return nil
	}
	ours, err1 := os.Stat(w.t.treeDir())
	is, err2 := os.Stat(w.wt.Dir)
	if err1 == nil && err2 == nil && os.SameFile(ours, is) {
		return nil
	}
	return conflict("check something else out there, or take it away with: git worktree remove "+shellWord(w.wt.Dir),
		"%q is checked out in %s, and would be gone", w.t.name, w.wt.Dir)
}

// What the reflog of a tape says of its forks, and of forks of these, that were closed
// without leaving anything in it.
const (
	discardMessage = "tape: discard "
	nothingMessage = "tape: merge of nothing "
)

// close takes away a fork's working tree, its branch and its tags. With a message its
// commit is noted in the reflogs of what it is a fork of. Interrupted before the branch is
// gone, it leaves a fork that can be closed again; behind that, tags for tape gc.
func (w *writer) close(ctx context.Context, message string) error {
	t, s := w.t, w.t.store
	ctx = context.WithoutCancel(ctx)
	if message != "" {
		if err := t.noteAbove(ctx, w.head, message); err != nil {
			return err
		}
	}
	if s.config.Tape == t.name {
		if err := s.SetSetting("tape", t.Parent()); err != nil {
			return err
		}
	}
	if w.wt.Dir != "" {
		if err := w.keepForeign(); err != nil {
			return err
		}
		if err := w.dropTree(ctx); err != nil {
			return err
		}
	}
	if err := s.git.UpdateRef(ctx, gitstore.RefUpdate{Name: t.branch, Old: w.head, Message: "tape: close"}); err != nil {
		return err
	}
	if err := t.pruneTags(ctx, nil); err != nil {
		s.warn("tags of the fork are left, until tape gc: " + err.Error())
	}
	_ = s.fs.Remove(t.sealsPath())
	w.gone = true
	return nil
}

// noteAbove leaves the way to a fork's last commit in the reflog of its parent. If that is
// a fork as well, its reflog goes when it is closed: what it is a fork of gets a note, too.
func (t *Tape) noteAbove(ctx context.Context, head gitstore.Hash, message string) error {
	_, who, err := t.store.git.Identity(t.store.now())
	if err != nil {
		return err
	}
	for name, ok := t.Parent(), true; ok; name, _, ok = cutFork(name) {
		up, err := t.store.Tape(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		at, err := up.head()
		if err != nil {
			return err
		}
		err = t.store.git.LogRef(ctx, up.branch,
			gitstore.ReflogEntry{Old: at, New: head, Who: who, Message: message},
			gitstore.ReflogEntry{Old: head, New: at, Who: who, Message: "tape: back to " + oneLine(up.name)})
		if err != nil || !up.IsFork() {
			return err
		}
	}
	return nil
}

// keepForeign moves a working tree away that holds files which are not the tape's.
func (w *writer) keepForeign() error {
	known := map[string]bool{gitDirName: true, tapeFile: true, anchorsDir: true}
	names, err := dirNames(w.wt.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := w.t.store.fs
	for _, name := range names {
		if known[name] {
			continue
		}
		dir := w.t.store.privatePath(tornDirName, w.t.slug+"~"+w.t.store.now().UTC().Format("20060102T150405.000000000Z"))
		if err := d.MkdirAll(dir); err != nil {
			return err
		}
		if err := d.Rename(filepath.Join(w.wt.Dir, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		w.t.store.warn(fmt.Sprintf("%s was no part of the fork; it is now in %s", name, dir))
	}
	return nil
}

// Forks returns the open forks of a tape, not those of its forks.
func (t *Tape) Forks(ctx context.Context) ([]*Tape, error) {
	return t.store.tapesUnder(ctx, forkPrefix+t.slug+"/")
}

// Forks returns all open forks of the workspace.
func (s *Store) Forks(ctx context.Context) ([]*Tape, error) { return s.tapesUnder(ctx, forkPrefix) }

// What has become of a fork.
const (
	ForkOpen       = "open"
	ForkMerged     = "merged"
	ForkSummarized = "summarized" // merged with a summary only
	ForkDiscarded  = "discarded"
)

// ForkInfo is an overview of a fork.
type ForkInfo struct {
	Name    string // PARENT/FORK
	Fork    string // its own name
	Parent  string
	Branch  string // as git names it
	Dir     string // its working tree; "" if it has none
	Base    Base
	Entries int64 // behind the base
	Commit  string
	Updated string // date of the last entry or commit
	Status  string // one of the Fork constants
	Into    string // the merge commit
}

// ForkInfo returns an overview of an open fork.
func (t *Tape) ForkInfo(ctx context.Context) (ForkInfo, error) {
	base, err := t.Base(ctx)
	if err != nil {
		return ForkInfo{}, err
	}
	sum, err := t.Summary(ctx)
	if err != nil {
		return ForkInfo{}, err
	}
	head, err := t.head()
	if err != nil {
		return ForkInfo{}, err
	}
	out := ForkInfo{Name: t.name, Fork: t.fork, Parent: t.Parent(), Branch: t.Branch(), Dir: t.WorkTree(), Base: base,
		Entries: sum.Entries - base.Entry, Commit: head.String(), Updated: sum.Updated, Status: ForkOpen}
	if out.Entries == 0 {
		out.Updated = base.Date
	}
	return out, nil
}

// ClosedForks returns the forks that were merged into a tape, or were its and discarded,
// the newest first. Of those that were discarded, git's reflog knows for as long as it
// keeps them.
func (t *Tape) ClosedForks(ctx context.Context) ([]ForkInfo, error) {
	c := &closedForks{s: t.store, seen: map[string]bool{}}
	forks, err := t.store.Forks(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range forks {
		if !f.isForkOf(t.name) {
			continue
		}
		base, err := f.Base(ctx)
		if errors.Is(err, ErrNotFound) {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, err
		}
		c.seen[f.name+base.Start] = true // a name may be used again
	}
	if err := c.discarded(t); err != nil {
		return nil, err
	}
	head, err := t.head()
	if err == nil {
		err = c.merged(ctx, t, head, t.start(head))
	}
	if err != nil {
		return nil, err
	}
	return c.sorted(), nil
}

// ForksOfClosed returns the forks that were merged into a fork which is closed itself.
func (s *Store) ForksOfClosed(ctx context.Context, closed ForkInfo) ([]ForkInfo, error) {
	c := &closedForks{s: s, seen: map[string]bool{}}
	at, err := gitstore.ParseHash(closed.Commit)
	if err != nil {
		return nil, err
	}
	start, err := gitstore.ParseHash(closed.Base.Start)
	if err != nil {
		return nil, err
	}
	f := s.forkHandle(closed.Name)
	if f == nil {
		return nil, invalid("", "%q is not a fork", closed.Name)
	}
	if err := c.merged(ctx, f, at, start); err != nil {
		return nil, err
	}
	return c.sorted(), nil
}

func (c *closedForks) sorted() []ForkInfo {
	slices.SortStableFunc(c.out, func(a, b ForkInfo) int { return strings.Compare(b.Updated, a.Updated) })
	return c.out
}

// closedForks collects forks that are closed.
type closedForks struct {
	s    *Store
	seen map[string]bool // by name and beginning
	out  []ForkInfo
}

// discarded looks for those that the reflog of a tape tells of, not for forks of its forks.
func (c *closedForks) discarded(t *Tape) error {
	log, err := c.s.git.Reflog(t.branch)
	if err != nil {
		return classify(err)
	}
	for i := len(log) - 1; i >= 0; i-- {
		if !strings.HasPrefix(log[i].Message, discardMessage) {
			continue
		}
		name, err := c.s.nameAt(log[i].New)
		if up, _, ok := cutFork(name); err == nil && ok && up == t.name {
			err = c.add(t, name, log[i].New, ForkInfo{Status: ForkDiscarded, Updated: FormatDate(log[i].Who.When)})
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			return err // a commit that git has pruned is not worth a mention
		}
	}
	return nil
}

// merged looks for those that were merged into a tape or fork, between two commits.
func (c *closedForks) merged(ctx context.Context, t *Tape, head, start gitstore.Hash) error {
	for at, err := range c.s.byFirstParents(head) {
		if err = errors.Join(err, ctx.Err()); err != nil || at.hash == start {
			return err
		}
		for _, theirs := range at.merged() {
			if err := c.merge(ctx, t, at, theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *closedForks) merge(ctx context.Context, t *Tape, commit ancestor, theirs gitstore.Hash) error {
	name := decodeTrailer(commit.Trailer(trailerFork))
	if name == "" {
		var err error
		if name, err = c.s.nameAt(theirs); err != nil {
			return err
		}
	}
	if name == t.name { // the tape was pulled: what it had merged itself
		common, err := c.s.commonCommit(commit.Parents[0], theirs)
		if err != nil {
			return err
		}
		return c.merged(ctx, t, theirs, common)
	}
	info := ForkInfo{Status: ForkMerged, Into: commit.hash.String(), Updated: FormatDate(commit.Committer.When)}
	if commit.Trailer(trailerMerge) == mergeSummary {
		info.Status = ForkSummarized
	}
	return c.add(t, name, theirs, info)
}

// add adds a fork of a tape, or of a fork of it, by its last commit.
func (c *closedForks) add(t *Tape, name string, at gitstore.Hash, info ForkInfo) error {
	f := c.s.forkHandle(name)
	if f == nil || !f.isForkOf(t.name) {
		return nil
	}
	b, err := f.base(at)
	if err != nil {
		return err
	}
	if info.Base, err = f.describeBase(b); err != nil || c.seen[name+info.Base.Start] {
		return err
	}
	c.seen[name+info.Base.Start] = true // merged more than once: the last time counts
	last, err := c.s.lastOf(at)
	if err != nil {
		return err
	}
	info.Name, info.Fork, info.Parent, info.Branch = f.name, f.fork, f.Parent(), f.Branch()
	info.Entries, info.Commit = last-b.id, at.String()
	c.out = append(c.out, info)
	return nil
}
