package join

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
)

// ContinueMerge finishes a merge in the tape's working tree that git stopped at a conflict. The files
// that git left do not matter: uncommitted entries are committed, then the other side's entries are
// appended.
func ContinueMerge(ctx context.Context, t *workspace.Tape) (Result, error) {
	out := Result{Into: t.Name()}
	err := writer.LockedUnrepaired(ctx, t, func(w *writer.Writer) error {
		heads, err := mergeHeads(ctx, w)
		switch {
		case err != nil:
			return err
		case len(heads) == 0:
			return layout.NotFound("", "there is no merge to finish in %s", w.Wt.Dir).Try(layout.BeginMerge)
		case len(heads) > 1:
			return layout.Conflict("", "git is merging more than one branch").Try(layout.MergeOneByOne)
		}
		if _, err := lineage.CommonCommit(t.Store(), w.Head, heads[0]); errors.Is(err, layout.ErrConflict) {
			return layout.Conflict("", "what git merges has nothing in common with the tape").Try(layout.AbortMerge)
		}
		if out, err = onto(ctx, w, heads[0], ontoOptions{stopped: true}); err != nil {
			return err
		}
		return gitworktree.ClearMerge(t.Store().Git(), w.Wt)
	})
	return out, layout.Wrap(err, "merge into %q", t.Name())
}

// linesAfterIndex returns the entries in the working tree that neither the commit nor git's index has.
// A file with a conflict is read only if it still begins with our lines; otherwise it contains conflict
// markers.
func linesAfterIndex(w *writer.Writer, ours *snapshot.Snapshot) ([][]byte, error) {
	index, err := gitindex.Read(w.Wt)
	if err != nil {
		return nil, err
	}
	if len(index) == 0 {
		return nil, layout.Conflict("git -C "+layout.ShellWord(w.Wt.Dir)+" reset makes a new one", "git has no index in %s, and cannot tell what is merged there", w.Wt.Dir)
	}
	last, err := ours.LastID()
	if err != nil {
		return nil, err
	}
	const ourStage = 2
	indexed := map[string]gitstore.Hash{}
	conflict := map[string]bool{}
	for _, e := range index {
		if e.Stage == 0 || e.Stage == ourStage {
			indexed[e.Path] = e.Hash
		}
		conflict[e.Path] = e.Stage != 0
	}
	list, err := snapshot.ListPhases(w.Wt.Dir)
	if errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(index, func(e gitindex.Entry) bool { return strings.HasPrefix(e.Path, layout.AnchorsDir+"/") }) {
		return nil, nil // git rm has removed all
	}
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, p := range list {
		if p.Seq < len(ours.List) {
			continue
		}
		names, err := workspace.DirNames(filepath.Join(w.AnchorsPath(), p.Folder))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			path, file := path.Join(layout.AnchorsDir, p.Folder, name), filepath.Join(w.AnchorsPath(), p.Folder, name)
			if _, _, ok := layout.ParseSegment(name); !ok && name != layout.AnchorFile {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			if conflict[path] {
				if blob, err := w.T.Store().Git().Blob(indexed[path]); err != nil || !bytes.HasPrefix(data, blob) {
					continue
				}
			}
			entries, err := resolve.Beyond(w.T.Store(), data, indexed[path], file,
				"git -C "+layout.ShellWord(w.Wt.Dir)+" checkout -- "+layout.ShellWord(path)+" brings it back")
			if err != nil {
				return nil, err
			}
			found = append(found, entries...)
		}
	}
	// An outdated index lacks some of what is committed.
	return resolve.ByID(slices.DeleteFunc(found, func(e jsonl.Entry) bool { return e.ID <= last })), nil
}

// AbortMerge undoes a merge that git has not finished in the tape's working tree. Unlike git merge
// --abort, it keeps uncommitted entries by committing them.
func AbortMerge(ctx context.Context, t *workspace.Tape) error {
	err := writer.LockedUnrepaired(ctx, t, func(w *writer.Writer) error {
		heads, err := mergeHeads(ctx, w)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			return layout.NotFound("", "git is not in the middle of a merge in %s", w.Wt.Dir).Try(layout.ShowMerged, w.Wt.Dir)
		}
		return abortMerge(ctx, w)
	})
	return layout.Wrap(err, "undo the merge into %q", t.Name())
}

func abortMerge(ctx context.Context, w *writer.Writer) error {
	ours, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	uncommitted, err := unmergedLines(w, ours)
	if err != nil {
		return err
	}
	batch := w.T.Store().Git().NewBatch()
	defer batch.Discard()
	p, err := commits.On(w.T, ours, batch)
	if err != nil {
		return err
	}
	if err := p.Checkpoint(ctx, uncommitted); err != nil {
		return err
	}
	if err := moveTo(ctx, w, batch, p.Plan); err != nil {
		return err
	}
	return gitworktree.ClearMerge(w.T.Store().Git(), w.Wt)
}

// mergeHeads returns the commits that git is merging into the working tree. If an earlier call was
// interrupted after its commit, it also finishes that checkout.
func mergeHeads(ctx context.Context, w *writer.Writer) ([]gitstore.Hash, error) {
	if w.Head.IsZero() {
		_, err := w.T.Head()
		return nil, err
	}
	if w.Wt.Dir == "" {
		return nil, layout.NotFound("", "tape %q is not checked out, so there is no merge in it", w.T.Name())
	}
	heads, err := gitworktree.MergeHeads(w.Wt)
	if err != nil {
		return nil, err
	}
	return heads, w.FinishCheckout(ctx)
}

// unmergedLines are the entries that were not committed when git stopped, or were appended since.
func unmergedLines(w *writer.Writer, ours *snapshot.Snapshot) ([][]byte, error) {
	lines, err := linesAfterIndex(w, ours)
	if err != nil {
		return nil, err
	}
	last, err := ours.LastID()
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		last++
		if id, err := jsonl.ParseID(line); err != nil || id != last {
			return nil, &layout.CorruptError{File: w.Wt.Dir, Msg: fmt.Sprintf("entry %d is missing among those that are not committed", last)}
		}
	}
	return lines, nil
}
