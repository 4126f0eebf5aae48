package forks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Discard deletes a fork with all its entries. Only two lines remain in the reflog of its parent's
// branch and, if that is a fork, of its ancestors'. They make git keep the commits for a while.
// ErrConflict if the fork has forks, or somebody has it checked out.
func Discard(ctx context.Context, t *workspace.Tape) error {
	if !t.IsFork() {
		return layout.Invalid("", "%q is a tape, not a fork", t.Name()).Try(layout.ResetInstead)
	}
	err := writer.Locked(ctx, t, func(w *writer.Writer) error {
		if err := t.Store().CheckList(ctx, layout.ForkPrefix+t.Slug()+"/"); err != nil {
			return err
		}
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
	return layout.Wrap(err, "discard fork %q", t.Name())
}

// CheckClosable refuses to remove a working tree that somebody else made, or has locked.
func CheckClosable(w *writer.Writer) error {
	if w.Wt.Dir == "" {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(w.Wt.GitDir, "locked")); err == nil {
		return layout.Conflict("unlock it: git -C "+layout.ShellWord(w.T.Store().Dir())+" worktree unlock "+layout.ShellWord(w.Wt.Dir), "git has locked the working tree %s", w.Wt.Dir)
	}
	ours, err1 := os.Stat(w.T.TreeDir())
	is, err2 := os.Stat(w.Wt.Dir)
	if err1 == nil && err2 == nil && os.SameFile(ours, is) {
		return nil
	}
	return layout.Conflict("check out something else there, or remove it with: git worktree remove "+layout.ShellWord(w.Wt.Dir),
		"%q is checked out in %s, which would lose its branch", w.T.Name(), w.Wt.Dir)
}

// How reflog messages of a tape begin that tell of closed forks which left no entry in it.
const (
	discardMessage    = "tape: discard "
	EmptyMergeMessage = "tape: merge of nothing "
)

// Close removes a fork's working tree, branch and tags. With a message, its last commit is noted in
// the reflogs of its ancestors. If it was the current tape, its parent becomes that, or
// the nearest ancestor that exists. If it is interrupted before the branch is gone, the fork can be
// closed again; after that, only tags remain for tape gc.
func Close(ctx context.Context, w *writer.Writer, message string) error {
	t, s := w.T, w.T.Store()
	ctx = context.WithoutCancel(ctx)
	if message != "" {
		if err := noteInAncestors(ctx, t, w.Head, message); err != nil {
			return err
		}
	}
	if s.Config().Tape == t.Name() {
		next := t.Parent()
		for up, err := range Ancestors(ctx, t) {
			if err != nil {
				return err
			}
			next = up.Name()
			break
		}
		if err := s.SetSetting("tape", next); err != nil {
			return err
		}
	}
	return Drop(ctx, w, "tape: close")
}

// Drop removes the working tree, then the branch, then the tags. Files that are not the tape's are
// moved into git's folder, unless the tape is checked out in the workspace's own folder.
func Drop(ctx context.Context, w *writer.Writer, message string) error {
	t, s := w.T, w.T.Store()
	if w.Wt.Dir != "" {
		if err := w.DropTree(ctx); err != nil {
			return err
		}
	}
	if err := s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: t.Ref(), Old: w.Head, Message: message}); err != nil {
		return err
	}
	if err := commits.PruneTags(ctx, t, nil); err != nil {
		s.Warn("tags of " + layout.OneLine(t.Name()) + " are left until tape gc removes them: " + err.Error())
	}
	snapshot.RemoveSeals(t)
	w.MarkRemoved()
	return nil
}

// Ancestors yields a fork's parent, its grandparent and so on, without those that do not exist here.
func Ancestors(ctx context.Context, t *workspace.Tape) iter.Seq2[*workspace.Tape, error] {
	return func(yield func(*workspace.Tape, error) bool) {
		for name, ok := t.Parent(), true; ok; name, _, ok = layout.CutFork(name) {
			up, err := t.Store().Tape(ctx, name)
			if !errors.Is(err, layout.ErrNotFound) && !yield(up, err) {
				return
			}
		}
	}
}

// noteInAncestors records a fork's last commit in the reflog of its parent. If the parent is a fork
// itself, its reflog is deleted when it is closed, so its parent gets a note, too.
func noteInAncestors(ctx context.Context, t *workspace.Tape, head gitstore.Hash, message string) error {
	who := t.Store().Git().Committer(t.Store().Now())
	for up, err := range Ancestors(ctx, t) {
		if err != nil {
			return err
		}
		// Both lines, to the commit and back, are written at once without the tape's lock, so that no
		// handoff comes between them.
		err = t.Store().Git().LogRef(ctx, up.Ref(),
			gitstore.ReflogEntry{New: head, Who: who, Message: message},
			gitstore.ReflogEntry{Old: head, Who: who, Message: "tape: back to " + layout.OneLine(up.Name())})
		if err != nil || !up.IsFork() {
			return err
		}
	}
	return nil
}

// ForeignFiles lists the files and folders at the top of the working tree that are not the tape's.
func ForeignFiles(w *writer.Writer) ([]string, error) {
	ours := map[string]bool{layout.GitDirName: true, layout.TapeFile: true, layout.AnchorsDir: true}
	if v, err := snapshot.AtCommit(w.T.Store(), w.Head); err == nil {
		for _, name := range layout.RootFiles() {
			if _, ok := layout.FindEntry(v.Root, name); ok {
				ours[name] = true
			}
		}
	}
	names, err := workspace.DirNames(w.Wt.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return ours[name] }), err
}

// States of a fork.
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
	Entries int64  // after the base
	Commit  string // its newest one
	Updated string // date of the last entry, else of the first commit; of a closed fork, when it was closed
	Status  string // one of the Fork constants
	Into    string // the merge commit; "" unless merged
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
