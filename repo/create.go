package repo

import (
	"context"
	"errors"
	"fmt"

	"tape/internal/gitstore"
)

// HumanState is the state of the anchor that opens a tape by default.
const HumanState = `{"owner":"human"}`

// CreateTape creates an empty tape, opened by the anchor session/start. ErrConflict
// if there is one of that name.
func (s *Store) CreateTape(ctx context.Context, name string) (*Tape, error) {
	return s.CreateTapeFrom(ctx, name, Anchor{Name: FirstAnchor, State: []byte(HumanState)})
}

// CreateTapeFrom creates a tape that is opened by a given anchor.
func (s *Store) CreateTapeFrom(ctx context.Context, name string, first Anchor) (*Tape, error) {
	if err := checkName("a tape", name); err != nil {
		return nil, err
	}
	t := s.handle(name)
	err := t.lockedAsIs(ctx, func(w *writer) error {
		return s.holdingNew(ctx, func() error { return w.create(ctx, first) })
	})
	if err != nil {
		return nil, fmt.Errorf("create tape %q: %w", name, classify(err))
	}
	return t, nil
}

// newLock is held while something is stored of a tape or fork that has no branch yet. A purge
// takes it, as it takes the locks of those that have one, before it drops what has no name.
const newLock = "new.lock"

func (s *Store) holdingNew(ctx context.Context, f func() error) error {
	unlock, err := s.lockPrivate(ctx, newLock)
	if err != nil {
		return err
	}
	return errors.Join(f(), unlock())
}

func (w *writer) create(ctx context.Context, first Anchor) error {
	t, git := w.t, w.t.store.git
	if _, err := git.Ref(t.branch); err == nil {
		return conflict("tape switch "+shellWord(t.name)+" makes it the current one", "there is a tape %q already", t.name)
	} else if !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if err := t.checkNoFork(); err != nil {
		return err
	}
	next, err := w.putRoot(ctx, first)
	if err != nil {
		return err
	}
	// A working tree that waits for this branch (a new workspace's) is written now.
	wt, err := git.WorktreeOf(t.branch)
	waits := err == nil
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	return w.replace(ctx, next, gitstore.ZeroHash, wt, waits)
}

// checkNoFork refuses the name of an open fork: commands could not tell them apart.
func (t *Tape) checkNoFork() error {
	f := t.store.forkHandle(t.name)
	if f == nil {
		return nil
	}
	_, err := f.store.git.Ref(f.branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = conflict("choose another name", "there is a fork %q, and the tape would be called so, too", t.name)
	}
	return err
}

// putRoot stores the first commit of a tape, and its tag's object.
func (w *writer) putRoot(ctx context.Context, first Anchor) (plannedCommit, error) {
	t, s := w.t, w.t.store
	var none plannedCommit
	d, err := first.draft()
	if err != nil {
		return none, err
	}
	line, err := t.encode(1, d)
	if err != nil {
		return none, err
	}
	info, err := encodeTapeInfo(t.name, s.now())
	if err != nil {
		return none, err
	}
	batch := s.git.NewBatch()
	defer batch.Discard()
	folder := folderName(1, first.Name)
	tree := func(entries ...gitstore.TreeEntry) gitstore.Hash {
		return batch.Put(gitstore.KindTree, gitstore.EncodeTree(entries))
	}
	phaseTree := tree(gitstore.TreeEntry{Name: anchorFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, line)})
	anchors := tree(gitstore.TreeEntry{Name: folder, Mode: gitstore.ModeDir, Hash: phaseTree})
	c := gitstore.Commit{
		Tree: tree(gitstore.TreeEntry{Name: tapeFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, info)},
			gitstore.TreeEntry{Name: anchorsDir, Mode: gitstore.ModeDir, Hash: anchors}),
		Message: t.message("start: "+oneLine(t.name), first.Name, 1, 1),
	}
	out := plannedCommit{subject: c.Subject()}
	if out.hash, err = t.putCommit(ctx, batch, &c); err != nil {
		return none, err
	}
	tag := gitstore.Ref{Name: t.tagRef(folder)}
	if tag.Hash, err = t.putTag(ctx, batch, tag.Name, out.hash, c, line); err != nil {
		return none, err
	}
	out.tags = []gitstore.Ref{tag}
	return out, batch.Flush(ctx)
}

// replace moves the branch to a commit that does not continue it, and writes the
// working tree anew if there is one. Once the branch has moved, an interrupted
// replace is completed by the next writer.
func (w *writer) replace(ctx context.Context, next plannedCommit, old gitstore.Hash, wt gitstore.Worktree, hasTree bool) error {
	return w.replaceFrom(ctx, "", next, old, wt, hasTree)
}

// replaceFrom is replace where the working tree holds a commit, file for file.
func (w *writer) replaceFrom(ctx context.Context, from string, next plannedCommit, old gitstore.Hash, wt gitstore.Worktree, hasTree bool) error {
	git := w.t.store.git
	_, who, err := git.Identity(w.t.store.now())
	if err != nil {
		return err
	}
	// What the note knows of the files holds until the branch has moved.
	before, ok := readState(w.lock.File)
	if !ok {
		before = state{Branch: w.t.branch, Head: old.String()}
	}
	w.st = before
	w.st.Gen++
	w.st.Undo = &undo{Head: old.String(), Next: next.hash.String(), Checkout: true, From: from}
	if err := w.save(true); err != nil {
		return err
	}
	err = git.UpdateRef(ctx, gitstore.RefUpdate{Name: w.t.branch, Old: old, New: next.hash, Message: "tape: " + next.subject, Who: who})
	if now, readErr := git.Ref(w.t.branch); err != nil && (readErr != nil || now != next.hash) {
		before.Gen, before.Undo = w.st.Gen, nil
		w.st = before
		return errors.Join(err, w.save(true))
	}
	_ = w.t.store.fs.Remove(w.t.sealsPath()) // they were of another history
	ctx = context.WithoutCancel(ctx)
	w.head = next.hash
	if err := w.finishReplace(ctx, next, wt, hasTree, who); err != nil {
		w.t.store.warn("the next command that writes to the tape completes this one: " + err.Error())
	}
	return nil
}

func (w *writer) finishReplace(ctx context.Context, next plannedCommit, wt gitstore.Worktree, hasTree bool, who gitstore.Signature) error {
	for _, tag := range next.tags {
		if err := w.t.setTag(ctx, tag.Name, tag.Hash, who); err != nil {
			return err
		}
	}
	if hasTree {
		w.wt = wt
		return w.recover(ctx, true)
	}
	v, err := w.t.store.commitView(w.head)
	if err != nil {
		return err
	}
	if err := w.t.pruneTags(ctx, v.list); err != nil {
		return err
	}
	if _, err := w.t.ensureTags(ctx, w.head, false); err != nil {
		return err
	}
	w.st.Undo = nil
	return w.save(true)
}
