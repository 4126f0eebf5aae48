package repo

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

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// ContinueMerge finishes a merge that git has begun in the tape's working tree and has
// stopped at a conflict. The files that it left do not matter: entries that were not
// committed are committed first, then what is merged is appended.
func (t *Tape) ContinueMerge(ctx context.Context) (Merged, error) {
	out := Merged{Into: t.name}
	err := t.lockedAsIs(ctx, func(w *writer) error {
		heads, err := w.beginMerging(ctx)
		switch {
		case err != nil:
			return err
		case len(heads) == 0:
			return notFound("tape merge FORK begins one", "there is no merge to finish in %s", w.wt.Dir)
		case len(heads) > 1:
			return conflict("merge one branch after the other; tape merge --abort takes this one back", "git is merging more than one branch")
		}
		if out, err = w.onto(ctx, heads[0], ontoOptions{stopped: true}); err != nil {
			return err
		}
		return t.store.git.ClearMerge(w.wt)
	})
	if err != nil {
		return out, fmt.Errorf("merge into %q: %w", t.name, classify(err))
	}
	return out, nil
}

// linesBehindIndex are the entries behind a commit's that the files of the working tree
// have behind what git's index knows of them. Where git has stopped at a file, that has
// our lines, if some were appended, or marks of the conflict.
func (w *writer) linesBehindIndex(ours *snapshot) ([][]byte, error) {
	index, err := w.t.store.git.ReadIndex(w.wt)
	if err != nil {
		return nil, err
	}
	if len(index) == 0 {
		return nil, conflict("git -C "+shellWord(w.wt.Dir)+" reset makes a new one", "git has no index in %s, and cannot tell what is merged there", w.wt.Dir)
	}
	last, err := ours.lastID()
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
	list, err := listPhases(w.wt.Dir)
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, p := range list {
		if p.seq < len(ours.list) {
			continue
		}
		names, err := dirNames(filepath.Join(w.anchorsPath(), p.folder))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			path := path.Join(anchorsDir, p.folder, name)
			if _, _, ok := parseSegment(name); !ok && name != anchorFile || stopped[path] && !w.begins(path, known[path]) {
				continue
			}
			entries, err := w.fileBeyond(filepath.Join(w.anchorsPath(), p.folder, name), known[path])
			if err != nil {
				return nil, err
			}
			found = append(found, entries...)
		}
	}
	// An index that is behind does not know what is committed.
	return byID(slices.DeleteFunc(found, func(e jsonl.Entry) bool { return e.ID <= last })), nil
}

func (w *writer) fileBeyond(file string, h gitstore.Hash) ([]jsonl.Entry, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return w.t.store.beyond(data, h, file)
}

// begins reports whether a file of the working tree begins with a blob.
func (w *writer) begins(path string, h gitstore.Hash) bool {
	data, err1 := os.ReadFile(filepath.Join(w.wt.Dir, filepath.FromSlash(path)))
	blob, err2 := w.t.store.git.Blob(h)
	return err1 == nil && err2 == nil && bytes.HasPrefix(data, blob)
}

// AbortMerge takes back a merge that git has begun in the tape's working tree and has not
// finished. Unlike git merge --abort, it keeps what was recorded and not committed: that
// is committed.
func (t *Tape) AbortMerge(ctx context.Context) error {
	err := t.lockedAsIs(ctx, func(w *writer) error {
		heads, err := w.beginMerging(ctx)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			return notFound("tape log --graph shows what is merged", "git is not in the middle of a merge in %s", w.wt.Dir)
		}
		return w.abortMerge(ctx)
	})
	if err != nil {
		return fmt.Errorf("take back the merge into %q: %w", t.name, classify(err))
	}
	return nil
}

func (w *writer) abortMerge(ctx context.Context) error {
	ours, err := w.t.store.commitView(w.head)
	if err != nil {
		return err
	}
	loose, err := w.unmergedLines(ours)
	if err != nil {
		return err
	}
	p, err := w.t.planOn(ours)
	if err != nil {
		return err
	}
	defer p.batch.Discard()
	if err := p.addLoose(ctx, loose); err != nil {
		return err
	}
	if err := p.move(ctx, w); err != nil {
		return err
	}
	return w.t.store.git.ClearMerge(w.wt)
}

// beginMerging finds the working tree and what git is merging into it. What an earlier
// call left unfinished behind its commit is finished.
func (w *writer) beginMerging(ctx context.Context) ([]gitstore.Hash, error) {
	var err error
	if w.head, err = w.t.head(); err != nil {
		return nil, err
	}
	if w.wt, _, err = w.t.worktree(); err != nil {
		return nil, notFound("", "tape %q is not checked out, so there is no merge in it", w.t.name)
	}
	heads, err := w.t.store.git.MergeHeads(w.wt)
	if err != nil {
		return nil, err
	}
	if st, ok := readState(w.lock.File); ok && checkingOut(st, w.head) {
		w.st = st
		err = w.recover(ctx, true)
	}
	return heads, err
}

// unmergedLines are the entries that were not committed when git stopped, or have been
// appended since.
func (w *writer) unmergedLines(ours *snapshot) ([][]byte, error) {
	loose, err := w.linesBehindIndex(ours)
	if err != nil {
		return nil, err
	}
	last, err := ours.lastID()
	if err != nil {
		return nil, err
	}
	for _, line := range loose {
		last++
		if id, err := jsonl.ParseID(line); err != nil || id != last {
			return nil, &CorruptError{File: w.wt.Dir, Msg: fmt.Sprintf("entry %d is missing among those that are not committed", last)}
		}
	}
	return loose, nil
}
