package forks

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Remove removes a tape with its working tree, branch and tags. With archive, a ref keeps its history:
// Remove returns the ref's name, and writer.Restore brings the tape back. Without archive, the tape's
// archives are deleted, too. ErrConflict if it has open forks, is the current tape, or somebody has
// it checked out.
func Remove(ctx context.Context, t *workspace.Tape, archive bool) (ref string, err error) {
	if t.IsFork() {
		return "", layout.Invalid("", "%q is a fork", t.Name()).Try(layout.DiscardInstead, t.Name())
	}
	err = writer.Locked(ctx, t, func(w *writer.Writer) error {
		if err := checkRemovable(ctx, w); err != nil {
			return err
		}
		if archive {
			if err := checkReadable(w); err != nil {
				return err
			}
			if ref, err = w.Archive(ctx); err != nil {
				return err
			}
		} else if err := dropArchives(ctx, t); err != nil {
			return err
		}
		// The tags go before the branch: if this is interrupted, the next writer creates them
		// again.
		if err := commits.PruneTags(ctx, t, nil); err != nil {
			return err
		}
		return Drop(context.WithoutCancel(ctx), w, "tape: remove")
	})
	return ref, layout.Wrap(err, "remove tape %q", t.Name())
}

// CheckNoneOpen returns ErrConflict if the tape has open forks, which would lose their parent.
func CheckNoneOpen(ctx context.Context, t *workspace.Tape) error {
	if err := t.Store().CheckList(ctx, layout.ForkPrefix+t.Slug()+"/"); err != nil {
		return err
	}
	open, err := t.Forks(ctx)
	if err != nil || len(open) == 0 {
		return err
	}
	var names []string
	for _, f := range open {
		names = append(names, strconv.Quote(f.Name()))
	}
	return layout.Conflict("", "tape %q has open forks, which could not be merged any more: %s", t.Name(), strings.Join(names, ", ")).
		Try(layout.CloseForks, open[0].Name())
}

func checkRemovable(ctx context.Context, w *writer.Writer) error {
	t := w.T
	if err := CheckNoneOpen(ctx, t); err != nil {
		return err
	}
	if t.Store().CurrentTape() == t.Name() {
		return layout.Conflict("", "it is the current tape").Try(layout.SwitchAway)
	}
	if w.InMainTree() {
		return nil
	}
	return CheckClosable(w)
}

// checkReadable refuses to keep a tape as an archive only, if git cannot read all that its newest commit has.
func checkReadable(w *writer.Writer) error {
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	l := snapshot.Lister{S: w.T.Store(), NoSizes: true}
	if err := l.Tree(v.RootTree, ""); err != nil {
		return layout.CorruptObject(w.Head, err)
	}
	for _, f := range l.Out {
		data, err := v.Git.Blob(f.Hash)
		if err == nil && gitstore.HashObject(gitstore.KindBlob, data) != f.Hash {
			err = errors.New(f.Path + " is not what its name in git says")
		}
		if err != nil {
			return layout.CorruptObject(w.Head, err)
		}
	}
	return nil
}

func dropArchives(ctx context.Context, t *workspace.Tape) error {
	all, err := snapshot.Archives(ctx, t)
	if err != nil {
		return err
	}
	for _, a := range all {
		h, err := gitstore.ParseHash(a.Commit)
		if err == nil {
			err = t.Store().Git().UpdateRef(ctx, gitstore.RefUpdate{Name: a.Ref, Old: h, Message: "tape: remove"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
