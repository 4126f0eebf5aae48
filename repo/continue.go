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

// linesBeyond collects the lines that files of the working tree have behind what git
// knows of them, from a phase on, by their ids. Files for which known says false are left
// out.
func (w *writer) linesBeyond(from int, known func(path string) (gitstore.Hash, bool)) ([][]byte, error) {
	list, err := listPhases(w.wt.Dir)
	if err != nil {
		return nil, err
	}
	var found []jsonl.Entry
	for _, p := range list {
		if p.seq < from {
			continue
		}
		names, err := dirNames(filepath.Join(w.anchorsPath(), p.folder))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, _, ok := parseSegment(name); !ok && name != anchorFile {
				continue
			}
			h, ok := known(path.Join(anchorsDir, p.folder, name))
			if !ok {
				continue
			}
			entries, err := w.fileBeyond(filepath.Join(w.anchorsPath(), p.folder, name), h)
			if err != nil {
				return nil, err
			}
			found = append(found, entries...)
		}
	}
	return byID(found), nil
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

// ContinueMerge finishes a merge that git has begun in the tape's working tree and has
// stopped at a conflict. The files that it left do not matter: entries that were not
// committed are committed first, then what is merged is appended.
func (t *Tape) ContinueMerge(ctx context.Context) (Merged, error) {
	out := Merged{Into: t.name}
	lock, err := t.lockFile(ctx)
	if err != nil {
		return out, fmt.Errorf("merge into %q: %w", t.name, classify(err))
	}
	w := &writer{t: t, lock: lock}
	err = w.continueMerge(ctx, &out)
	if err := errors.Join(err, lock.Unlock()); err != nil {
		return out, fmt.Errorf("merge into %q: %w", t.name, classify(err))
	}
	return out, nil
}

func (w *writer) continueMerge(ctx context.Context, out *Merged) error {
	heads, err := w.beginMerging(ctx)
	if err != nil {
		return err
	}
	if len(heads) == 0 {
		return notFound("tape merge FORK begins one", "there is no merge to finish in %s", w.wt.Dir)
	}
	if len(heads) > 1 {
		return conflict("merge one branch after the other; tape merge --abort takes this one back", "git is merging more than one branch")
	}
	loose, err := w.unmergedLines()
	if err != nil {
		return err
	}
	batch := w.t.store.git.NewBatch()
	defer batch.Discard()
	plan, err := w.planMerge(ctx, batch, heads[0], loose, out)
	if err != nil {
		return err
	}
	return w.concludeMerge(ctx, batch, plan)
}

// planMerge commits loose lines on top of the branch, and merges a commit into that.
func (w *writer) planMerge(ctx context.Context, batch *gitstore.Batch, theirs gitstore.Hash, loose [][]byte, out *Merged) (plannedCommit, error) {
	t := w.t
	ours, err := t.store.commitView(w.head)
	if err != nil {
		return plannedCommit{}, err
	}
	m, err := t.sidesOf(side{head: w.head, view: ours, more: loose}, theirs, "")
	if err != nil {
		return plannedCommit{}, err
	}
	b, err := newBuilder(m.ours, batch.Put)
	if err != nil {
		return plannedCommit{}, err
	}
	plan, last, err := w.planLoose(ctx, batch, b, m.ours, loose)
	if err != nil {
		return plan, err
	}
	lines, err := m.lines(ctx)
	if err != nil || len(lines) == 0 {
		return plan, err
	}
	for _, line := range lines {
		if err := b.addLine(line); err != nil {
			return plan, err
		}
	}
	plan.subject = mergeSubject(m.f, len(lines))
	c := gitstore.Commit{Tree: b.tree(), Parents: []gitstore.Hash{plan.hash, theirs},
		Message: t.message(plan.subject, b.anchor, last+1, last+int64(len(lines)), trailer{trailerFork, encodeTrailer(m.f.name)})}
	plan.hash, err = t.putCommit(ctx, batch, &c)
	out.Entries, out.FirstID, out.LastID, out.Commit = len(lines), last+1, last+int64(len(lines)), plan.hash.String()
	return plan, err
}

// planLoose commits lines that were not committed on top of the branch. It returns the last
// entry, too.
func (w *writer) planLoose(ctx context.Context, batch *gitstore.Batch, b *builder, ours *commitView, loose [][]byte) (plannedCommit, int64, error) {
	plan := plannedCommit{hash: w.head, subject: "back to " + oneLine(w.t.name)}
	last, err := ours.lastID()
	if err != nil || len(loose) == 0 {
		return plan, last, err
	}
	first := last + 1
	for _, line := range loose {
		if id, err := jsonl.ParseID(line); err != nil || id != last+1 {
			return plan, last, &CorruptError{File: w.wt.Dir, Msg: fmt.Sprintf("entry %d is missing among those that are not committed", last+1)}
		}
		last++
		if err := b.addLine(line); err != nil {
			return plan, last, err
		}
	}
	plan.subject = checkpointSubject(int64(len(loose)))
	c := gitstore.Commit{Tree: b.tree(), Parents: []gitstore.Hash{plan.hash}, Message: w.t.message(plan.subject, b.anchor, first, last)}
	plan.hash, err = w.t.putCommit(ctx, batch, &c)
	return plan, last, err
}

// unmergedLines are the entries that were not committed when git stopped, or have been
// appended since.
func (w *writer) unmergedLines() ([][]byte, error) {
	ours, err := w.t.store.commitView(w.head)
	if err != nil {
		return nil, err
	}
	return w.linesBehindIndex(ours)
}

// linesBehindIndex are the entries behind a commit's that the files of the working tree
// have behind what git's index knows of them. Where git has stopped at a file, that has
// our lines, if some were appended, or marks of the conflict.
func (w *writer) linesBehindIndex(ours *commitView) ([][]byte, error) {
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
	lines, err := w.linesBeyond(len(ours.list), func(path string) (gitstore.Hash, bool) {
		return known[path], !stopped[path] || w.begins(path, known[path])
	})
	// An index that is behind does not know what is committed.
	return slices.DeleteFunc(lines, func(line []byte) bool {
		id, err := jsonl.ParseID(line)
		return err == nil && id <= last
	}), err
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
	lock, err := t.lockFile(ctx)
	if err == nil {
		w := &writer{t: t, lock: lock}
		err = errors.Join(w.abortMerge(ctx), lock.Unlock())
	}
	if err != nil {
		return fmt.Errorf("take back the merge into %q: %w", t.name, classify(err))
	}
	return nil
}

func (w *writer) abortMerge(ctx context.Context) error {
	heads, err := w.beginMerging(ctx)
	if err != nil {
		return err
	}
	if len(heads) == 0 {
		return notFound("tape log --graph shows what is merged", "git is not in the middle of a merge in %s", w.wt.Dir)
	}
	loose, err := w.unmergedLines()
	if err != nil {
		return err
	}
	ours, err := w.t.store.commitView(w.head)
	if err != nil {
		return err
	}
	batch := w.t.store.git.NewBatch()
	defer batch.Discard()
	b, err := newBuilder(ours, batch.Put)
	if err != nil {
		return err
	}
	plan, _, err := w.planLoose(ctx, batch, b, ours, loose)
	if err != nil {
		return err
	}
	return w.concludeMerge(ctx, batch, plan)
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

// concludeMerge moves the branch to a commit, writes the working tree from it, and lets
// git know that the merge is over.
func (w *writer) concludeMerge(ctx context.Context, batch *gitstore.Batch, plan plannedCommit) error {
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	if err := w.replace(ctx, plan, w.head, w.wt, true); err != nil {
		return err
	}
	return w.t.store.git.ClearMerge(w.wt)
}
