package forks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/lineage"
	"tape/internal/query"
	"tape/internal/snapshot"
	"tape/internal/workspace"
	"tape/internal/writer"
)

// Discard drops a fork with everything in it. Nothing is left of it but two lines in the
// reflog of its parent's branch, by which git keeps its commits for a while. ErrConflict
// if there are forks of it, or somebody has it checked out.
func Discard(ctx context.Context, t *workspace.Tape) error {
	if !t.IsFork() {
		return layout.Invalid("tape reset starts a tape over", "%q is a tape, not a fork", t.Name())
	}
	return writer.Write(ctx, t, func(w *writer.Writer) error {
		children, err := t.Forks(ctx)
		if err != nil {
			return err
		}
		if len(children) > 0 {
			return layout.Conflict("merge or discard it first", "there is a fork of it: %q", children[0].Name())
		}
		if err := CheckClosable(w); err != nil {
			return err
		}
		if err := w.Checkpoint(ctx); err != nil {
			return err
		}
		b, err := snapshot.BaseOf(t, w.Head)
		if err != nil {
			return err
		}
		return Close(ctx, w, fmt.Sprintf("%s%s (%s)", discardMessage, layout.OneLine(t.ForkName()), layout.CountEntries(w.LastID()-b.ID)))
	})
}

// CheckClosable refuses to take away a working tree that somebody else made.
func CheckClosable(w *writer.Writer) error {
	if w.Wt.Dir == "" {
		return nil
	}
	ours, err1 := os.Stat(w.T.TreeDir())
	is, err2 := os.Stat(w.Wt.Dir)
	if err1 == nil && err2 == nil && os.SameFile(ours, is) {
		return nil
	}
	return layout.Conflict("check something else out there, or take it away with: git worktree remove "+layout.ShellWord(w.Wt.Dir),
		"%q is checked out in %s, and would be gone", w.T.Name(), w.Wt.Dir)
}

// What the reflog of a tape says of its forks, and of forks of these, that were closed
// without leaving anything in it.
const (
	discardMessage = "tape: discard "
	NothingMessage = "tape: merge of nothing "
)

// Close takes away a fork's working tree, its branch and its tags. With a message its
// commit is noted in the reflogs of what it is a fork of. Interrupted before the branch is
// gone, it leaves a fork that can be closed again; behind that, tags for tape gc.
func Close(ctx context.Context, w *writer.Writer, message string) error {
	t, s := w.T, w.T.Store()
	ctx = context.WithoutCancel(ctx)
	if message != "" {
		if err := noteAbove(ctx, t, w.Head, message); err != nil {
			return err
		}
	}
	if s.Config().Tape == t.Name() {
		if err := s.SetSetting("tape", t.Parent()); err != nil {
			return err
		}
	}
	if w.Wt.Dir != "" {
		if err := keepForeign(w); err != nil {
			return err
		}
		if err := w.DropTree(ctx); err != nil {
			return err
		}
	}
	if err := s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: t.Ref(), Old: w.Head, Message: "tape: close"}); err != nil {
		return err
	}
	if err := writer.PruneTags(ctx, t, nil); err != nil {
		s.Warn("tags of the fork are left, until tape gc: " + err.Error())
	}
	_ = s.FS().Remove(snapshot.SealsPath(t))
	w.Gone()
	return nil
}

// Above yields what a fork is of, what that is a fork of, and so on: those that are here.
func Above(ctx context.Context, t *workspace.Tape) iter.Seq2[*workspace.Tape, error] {
	return func(yield func(*workspace.Tape, error) bool) {
		for name, ok := t.Parent(), true; ok; name, _, ok = layout.CutFork(name) {
			up, err := t.Store().Tape(ctx, name)
			if !errors.Is(err, layout.ErrNotFound) && !yield(up, err) {
				return
			}
		}
	}
}

// noteAbove leaves the way to a fork's last commit in the reflog of its parent. If that is
// a fork as well, its reflog goes when it is closed: what it is a fork of gets a note, too.
func noteAbove(ctx context.Context, t *workspace.Tape, head gitstore.Hash, message string) error {
	_, who, err := t.Store().Git().Identity(t.Store().Now())
	if err != nil {
		return err
	}
	for up, err := range Above(ctx, t) {
		if err != nil {
			return err
		}
		at, err := up.Head()
		if err != nil {
			return err
		}
		err = t.Store().Git().LogRef(ctx, up.Ref(),
			gitstore.ReflogEntry{Old: at, New: head, Who: who, Message: message},
			gitstore.ReflogEntry{Old: head, New: at, Who: who, Message: "tape: back to " + layout.OneLine(up.Name())})
		if err != nil || !up.IsFork() {
			return err
		}
	}
	return nil
}

// keepForeign moves a working tree away that holds files which are not the tape's.
func keepForeign(w *writer.Writer) error {
	known := map[string]bool{layout.GitDirName: true, layout.TapeFile: true, layout.AnchorsDir: true}
	names, err := workspace.DirNames(w.Wt.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := w.T.Store().FS()
	for _, name := range names {
		if known[name] {
			continue
		}
		dir := w.T.Store().PrivatePath(layout.TornDirName, w.T.Slug()+"~"+w.T.Store().Now().UTC().Format("20060102T150405.000000000Z"))
		if err := d.MkdirAll(dir); err != nil {
			return err
		}
		if err := d.Rename(filepath.Join(w.Wt.Dir, name), filepath.Join(dir, name)); err != nil {
			return err
		}
		w.T.Store().Warn(fmt.Sprintf("%s was no part of the fork; it is now in %s", name, dir))
	}
	return nil
}

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
	Base    query.Base
	Entries int64 // behind the base
	Commit  string
	Updated string // date of the last entry or commit
	Status  string // one of the Fork constants
	Into    string // the merge commit
}

// Describe returns an overview of an open fork.
func Describe(ctx context.Context, t *workspace.Tape) (ForkInfo, error) {
	base, err := query.DescribeBase(ctx, t)
	if err != nil {
		return ForkInfo{}, err
	}
	sum, err := query.SummaryOf(ctx, t)
	if err != nil {
		return ForkInfo{}, err
	}
	head, err := t.Head()
	if err != nil {
		return ForkInfo{}, err
	}
	out := ForkInfo{Name: t.Name(), Fork: t.ForkName(), Parent: t.Parent(), Branch: t.Branch(), Dir: t.WorkTree(), Base: base,
		Entries: sum.Entries - base.Entry, Commit: head.String(), Updated: sum.Updated, Status: ForkOpen}
	if out.Entries == 0 {
		out.Updated = base.Date
	}
	return out, nil
}

// ClosedForks returns the forks that were merged into a tape, or were its and discarded,
// the newest first. Of those that were discarded, git's reflog knows for as long as it
// keeps them.
func ClosedForks(ctx context.Context, t *workspace.Tape) ([]ForkInfo, error) {
	c := &closedForks{s: t.Store(), seen: map[string]bool{}}
	forks, err := t.Store().Forks(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range forks {
		if !f.IsForkOf(t.Name()) {
			continue
		}
		base, err := query.DescribeBase(ctx, f)
		if errors.Is(err, layout.ErrNotFound) {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, err
		}
		c.seen[f.Name()+base.Start] = true // a name may be used again
	}
	if err := c.discarded(t); err != nil {
		return nil, err
	}
	head, err := t.Head()
	if err == nil {
		err = c.merged(ctx, t, head, snapshot.StartOf(t, head))
	}
	if err != nil {
		return nil, err
	}
	return c.sorted(), nil
}

// ForksOfClosed returns the forks that were merged into a fork which is closed itself.
func ForksOfClosed(ctx context.Context, s *workspace.Store, closed ForkInfo) ([]ForkInfo, error) {
	c := &closedForks{s: s, seen: map[string]bool{}}
	at, err := gitstore.ParseHash(closed.Commit)
	if err != nil {
		return nil, err
	}
	start, err := gitstore.ParseHash(closed.Base.Start)
	if err != nil {
		return nil, err
	}
	f := s.ForkHandle(closed.Name)
	if f == nil {
		return nil, layout.Invalid("", "%q is not a fork", closed.Name)
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
	s    *workspace.Store
	seen map[string]bool // by name and beginning
	out  []ForkInfo
}

// discarded looks for those that the reflog of a tape tells of, not for forks of its forks.
func (c *closedForks) discarded(t *workspace.Tape) error {
	log, err := c.s.Git().Reflog(t.Ref())
	if err != nil {
		return layout.Classify(err)
	}
	for i := len(log) - 1; i >= 0; i-- {
		if !strings.HasPrefix(log[i].Message, discardMessage) {
			continue
		}
		name, err := c.s.NameAt(log[i].New)
		if up, _, ok := layout.CutFork(name); err == nil && ok && up == t.Name() {
			err = c.add(t, name, log[i].New, ForkInfo{Status: ForkDiscarded, Updated: layout.FormatDate(log[i].Who.When)})
		}
		if err != nil && !errors.Is(err, layout.ErrCorrupt) {
			return err // a commit that git has pruned is not worth a mention
		}
	}
	return nil
}

// merged looks for those that were merged into a tape or fork, between two commits.
func (c *closedForks) merged(ctx context.Context, t *workspace.Tape, head, start gitstore.Hash) error {
	for at, err := range c.s.ByFirstParents(head) {
		if err = errors.Join(err, ctx.Err()); err != nil || at.Hash == start {
			return err
		}
		for _, theirs := range lineage.Merged(at) {
			if err := c.merge(ctx, t, at, theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *closedForks) merge(ctx context.Context, t *workspace.Tape, commit workspace.Ancestor, theirs gitstore.Hash) error {
	name := layout.DecodeTrailer(commit.Trailer(layout.TrailerFork))
	if name == "" {
		var err error
		if name, err = c.s.NameAt(theirs); err != nil {
			return err
		}
	}
	if name == t.Name() { // the tape was pulled: what it had merged itself
		common, err := lineage.CommonCommit(c.s, commit.Parents[0], theirs)
		if err != nil {
			return err
		}
		return c.merged(ctx, t, theirs, common)
	}
	info := ForkInfo{Status: ForkMerged, Into: commit.Hash.String(), Updated: layout.FormatDate(commit.Committer.When)}
	if commit.Trailer(layout.TrailerMerge) == layout.MergeSummary {
		info.Status = ForkSummarized
	}
	return c.add(t, name, theirs, info)
}

// add adds a fork of a tape, or of a fork of it, by its last commit.
func (c *closedForks) add(t *workspace.Tape, name string, at gitstore.Hash, info ForkInfo) error {
	f := c.s.ForkHandle(name)
	if f == nil || !f.IsForkOf(t.Name()) {
		return nil
	}
	b, err := snapshot.BaseOf(f, at)
	if err != nil {
		return err
	}
	if info.Base, err = query.DescribeBaseAt(f, b); err != nil || c.seen[name+info.Base.Start] {
		return err
	}
	c.seen[name+info.Base.Start] = true // merged more than once: the last time counts
	last, err := snapshot.LastOf(c.s, at)
	if err != nil {
		return err
	}
	info.Name, info.Fork, info.Parent, info.Branch = f.Name(), f.ForkName(), f.Parent(), f.Branch()
	info.Entries, info.Commit = last-b.ID, at.String()
	c.out = append(c.out, info)
	return nil
}

// ClosedHere reports whether a fork's commit was merged into something that it is a fork
// of, or the fork was closed with nothing to merge; with discards, or discarded.
func ClosedHere(ctx context.Context, t *workspace.Tape, at gitstore.Hash, discards bool) (bool, error) {
	known := false
	for up, err := range Above(ctx, t) {
		if err != nil {
			return false, err
		}
		known = true
		if closed, err := HasClosed(up, at, discards); err != nil || closed {
			return closed, err
		}
	}
	if !known {
		return false, layout.Conflict("pull it, too: without --tape everything is pulled", "%q, which %q is a fork of, is not here", t.Parent(), t.Name())
	}
	return false, nil
}

// HasClosed is closedHere for one of what a fork may be merged into.
func HasClosed(t *workspace.Tape, at gitstore.Hash, discards bool) (bool, error) {
	head, err := t.Head()
	if err != nil {
		return false, err
	}
	if has, err := lineage.Contains(t.Store(), head, at); err != nil || has {
		return has, err
	}
	log, err := t.Store().Git().Reflog(t.Ref())
	if err != nil {
		return false, err
	}
	for _, e := range log {
		if !strings.HasPrefix(e.Message, NothingMessage) && !(discards && strings.HasPrefix(e.Message, discardMessage)) {
			continue
		}
		if has, err := lineage.Contains(t.Store(), e.New, at); err != nil && !errors.Is(err, layout.ErrCorrupt) || has {
			return has, err // what git has pruned says nothing
		}
	}
	return false, nil
}
