package join

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
)

// ContinueMerge finishes a merge that git has begun in the tape's working tree and has
// stopped at a conflict. The files that it left do not matter: entries that were not
// committed are committed first, then what is merged is appended.
func ContinueMerge(ctx context.Context, t *workspace.Tape) (Result, error) {
	out := Result{Into: t.Name()}
	err := writer.LockedAsIs(ctx, t, func(w *writer.Writer) error {
		heads, err := beginMerging(ctx, w)
		switch {
		case err != nil:
			return err
		case len(heads) == 0:
			return layout.NotFound("", "there is no merge to finish in %s", w.Wt.Dir).Try(layout.BeginMerge)
		case len(heads) > 1:
			return layout.Conflict("", "git is merging more than one branch").Try(layout.MergeOneByOne)
		}
		if out, err = onto(ctx, w, heads[0], ontoOptions{stopped: true}); err != nil {
			return err
		}
		return t.Store().Git().ClearMerge(w.Wt)
	})
	return out, layout.Wrap(err, "merge into %q", t.Name())
}

// linesBehindIndex are the entries behind a commit's that the files of the working tree
// have behind what git's index knows of them. Where git has stopped at a file, that has
// our lines, if some were appended, or marks of the conflict.
func linesBehindIndex(w *writer.Writer, ours *snapshot.Snapshot) ([][]byte, error) {
	index, err := gitindex.Read(w.T.Store().Git(), w.Wt)
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
	known := map[string]gitstore.Hash{}
	stopped := map[string]bool{}
	for _, e := range index {
		if e.Stage == 0 || e.Stage == ourStage {
			known[e.Path] = e.Hash
		}
		stopped[e.Path] = e.Stage != 0
	}
	list, err := snapshot.ListPhases(w.Wt.Dir)
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
			if stopped[path] {
				if blob, err := w.T.Store().Git().Blob(known[path]); err != nil || !bytes.HasPrefix(data, blob) {
					continue
				}
			}
			entries, err := resolve.Beyond(w.T.Store(), data, known[path], file)
			if err != nil {
				return nil, err
			}
			found = append(found, entries...)
		}
	}
	// An index that is behind does not know what is committed.
	return resolve.ByID(slices.DeleteFunc(found, func(e jsonl.Entry) bool { return e.ID <= last })), nil
}

// AbortMerge takes back a merge that git has not finished in the tape's working tree.
// Unlike git merge --abort, it commits what was recorded.
func AbortMerge(ctx context.Context, t *workspace.Tape) error {
	err := writer.LockedAsIs(ctx, t, func(w *writer.Writer) error {
		heads, err := beginMerging(ctx, w)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			return layout.NotFound("", "git is not in the middle of a merge in %s", w.Wt.Dir).Try(layout.ShowMerged, w.Wt.Dir)
		}
		return abortMerge(ctx, w)
	})
	return layout.Wrap(err, "take back the merge into %q", t.Name())
}

func abortMerge(ctx context.Context, w *writer.Writer) error {
	ours, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	loose, err := unmergedLines(w, ours)
	if err != nil {
		return err
	}
	batch := w.T.Store().Git().NewBatch()
	defer batch.Discard()
	p, err := writer.CommitsOn(w.T, ours, batch)
	if err != nil {
		return err
	}
	if err := p.Checkpoint(ctx, loose); err != nil {
		return err
	}
	if err := moveTo(ctx, w, batch, p.Plan); err != nil {
		return err
	}
	return w.T.Store().Git().ClearMerge(w.Wt)
}

// beginMerging finds the working tree and what git is merging into it. What an earlier
// call left unfinished behind its commit is finished.
func beginMerging(ctx context.Context, w *writer.Writer) ([]gitstore.Hash, error) {
	if w.Head.IsZero() {
		_, err := w.T.Head()
		return nil, err
	}
	if w.Wt.Dir == "" {
		return nil, layout.NotFound("", "tape %q is not checked out, so there is no merge in it", w.T.Name())
	}
	heads, err := w.T.Store().Git().MergeHeads(w.Wt)
	if err != nil {
		return nil, err
	}
	return heads, w.FinishCheckout(ctx)
}

// unmergedLines are entries not committed when git stopped, or appended since.
func unmergedLines(w *writer.Writer, ours *snapshot.Snapshot) ([][]byte, error) {
	loose, err := linesBehindIndex(w, ours)
	if err != nil {
		return nil, err
	}
	last, err := ours.LastID()
	if err != nil {
		return nil, err
	}
	for _, line := range loose {
		last++
		if id, err := jsonl.ParseID(line); err != nil || id != last {
			return nil, &layout.CorruptError{File: w.Wt.Dir, Msg: fmt.Sprintf("entry %d is missing among those that are not committed", last)}
		}
	}
	return loose, nil
}
