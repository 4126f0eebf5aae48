package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/tags"
	"tape/internal/store/workspace"
)

// HumanState is the state of the anchor that opens a tape by default.
const HumanState = `{"owner":"human"}`

// CreateTape creates an empty tape, opened by the anchor session/start. ErrConflict
// if there is one of that name.
func CreateTape(ctx context.Context, s *workspace.Store, name string) (*workspace.Tape, error) {
	return CreateTapeFrom(ctx, s, name, layout.Anchor{Name: layout.FirstAnchor, State: []byte(HumanState)})
}

// CreateTapeFrom creates a tape that is opened by a given anchor.
func CreateTapeFrom(ctx context.Context, s *workspace.Store, name string, first layout.Anchor) (*workspace.Tape, error) {
	if err := layout.CheckNewName("a tape", name); err != nil {
		return nil, err
	}
	t := s.Handle(name)
	err := LockedAsIs(ctx, t, func(w *Writer) error {
		return HoldingNew(ctx, s, func() error { return w.create(ctx, first) })
	})
	return t, layout.Wrap(err, "create tape %q", name)
}

// HoldingNew runs f with the lock that keeps a purge from dropping objects without a name.
func HoldingNew(ctx context.Context, s *workspace.Store, f func() error) error {
	unlock, err := s.LockPrivate(ctx, workspace.NewLock)
	if err != nil {
		return err
	}
	return errors.Join(f(), unlock())
}

func (w *Writer) create(ctx context.Context, first layout.Anchor) error {
	if err := w.awaited(ctx); err != nil {
		return err
	}
	next, err := w.putRoot(ctx, first)
	if err != nil {
		return err
	}
	return w.MoveTo(ctx, next, w.Head)
}

// awaited makes sure that the tape can begin, and finds the working tree that waits for its
// branch, as a new workspace's does.
func (w *Writer) awaited(ctx context.Context) (err error) {
	if !w.Head.IsZero() {
		return layout.Conflict("", "there is a tape %q already", w.T.Name()).Try(layout.SwitchTo, w.T.Name())
	}
	if err := checkUnused(ctx, w.T); err != nil {
		return err
	}
	if w.Wt, err = w.T.Store().Git().WorktreeOf(w.T.Ref()); errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	return err
}

// checkUnused refuses the name of an open fork, and that of a tape whose branch git has renamed:
// it could not be renamed back. Such a one has left its tags.
func checkUnused(ctx context.Context, t *workspace.Tape) error {
	if err := CheckNoFork(t); err != nil {
		return err
	}
	left, err := t.Store().Git().Refs(layout.TagPrefix + t.Slug() + "/")
	if err != nil || len(left) == 0 {
		return err
	}
	return t.Store().CheckRenamed(ctx, t.Name())
}

// CheckNoFork refuses the name of an open fork: commands could not tell them apart.
func CheckNoFork(t *workspace.Tape) error {
	f := t.Store().ForkHandle(t.Name())
	if f == nil {
		return nil
	}
	_, err := f.Store().Git().Ref(f.Ref())
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = layout.Conflict("choose another name", "there is a fork with the name of this tape: %q", t.Name())
	}
	return err
}

// putRoot stores the first commit of a tape, and its tag's object.
func (w *Writer) putRoot(ctx context.Context, first layout.Anchor) (Plan, error) {
	batch := w.T.Store().Git().NewBatch()
	out, _, err := w.root(ctx, batch, first)
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		batch.Discard()
	}
	return out, err
}

// root puts the first commit of a tape into a batch, and what is built on it.
func (w *Writer) root(ctx context.Context, batch *gitstore.Batch, first layout.Anchor) (out Plan, b *resolve.Builder, err error) {
	t, s := w.T, w.T.Store()
	d, err := layout.AnchorDraft(first)
	if err != nil {
		return out, nil, err
	}
	line, err := Encode(t, 1, d)
	if err != nil {
		return out, nil, err
	}
	info, err := layout.EncodeTapeInfo(t.Name(), s.Now())
	if err != nil {
		return out, nil, err
	}
	b = &resolve.Builder{Put: batch.Put}
	layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: layout.TapeFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, info)})
	if !w.foreignReadme() {
		layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: layout.ReadmeFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, []byte(layout.Readme))})
	}
	b.OpenPhase(first.Name, line)
	c := gitstore.Commit{Tree: b.Tree(), Message: t.Message("start: "+layout.OneLine(t.Name()), first.Name, 1, 1, b.Format)}
	out = Plan{Subject: c.Subject(), Objects: batch}
	if out.Hash, err = PutCommit(ctx, t, batch, &c); err != nil {
		return out, nil, err
	}
	tag := gitstore.Ref{Name: t.TagRef(b.Folder)}
	tag.Hash, err = tags.Put(ctx, t, batch, tag.Name, out.Hash, c, line)
	out.Tags = []gitstore.Ref{tag}
	return out, b, err
}

// foreignReadme reports whether somebody has put a README.md into the folder of the working
// tree. It is not written over: a tape may have none.
func (w *Writer) foreignReadme() bool {
	if w.Wt.Dir == "" {
		return false
	}
	data, err := os.ReadFile(filepath.Join(w.Wt.Dir, layout.ReadmeFile))
	if errors.Is(err, fs.ErrNotExist) || string(data) == layout.Readme {
		return false
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return true
	}
	_, ours := layout.FindEntry(v.Root, layout.ReadmeFile)
	return !ours
}

// Plan is where a branch is to go.
type Plan struct {
	Hash    gitstore.Hash
	Subject string          // for the reflog
	Tags    []gitstore.Ref  // of the phases that it opens: full name, and the tag object
	Objects *gitstore.Batch // that were stored for it; nil if there are none
	// Clean: the working tree holds what the branch is at, file for file. What that has in
	// common with the new commit is not written again.
	Clean bool
}

// MoveTo moves the branch from a commit (zero: there is none yet) to one that need not
// continue it, and writes the working tree anew if there is one. Once the branch has moved,
// an interrupted move is completed by the next writer.
func (w *Writer) MoveTo(ctx context.Context, next Plan, old gitstore.Hash) error {
	defer next.Objects.Discard()
	// What the note knows of the files holds until the branch has moved.
	before := w.rec
	if before.Branch == "" {
		before = journal.Record{Branch: w.T.Ref(), Head: old.String()}
	}
	w.rec = before
	u := journal.Undo{Head: old.String(), Next: next.Hash.String(), Checkout: true}
	if next.Clean {
		u.From = old.String()
	}
	if err := w.begins(u); err != nil {
		return err
	}
	who, err := w.moveRef(ctx, next, old)
	if err != nil {
		if now, readErr := w.T.Store().Git().Ref(w.T.Ref()); now == next.Hash || readErr != nil && !errors.Is(readErr, gitstore.ErrNotFound) {
			return fmt.Errorf("the branch has moved, the next command completes the change: %w", err)
		}
		before.Gen, before.Undo = w.rec.Gen, nil
		w.rec = before
		return errors.Join(err, w.save(true))
	}
	_ = w.T.Store().FS().Remove(snapshot.SealsPath(w.T)) // they were of another history
	if err := w.finishMove(context.WithoutCancel(ctx), next, who); err != nil {
		w.T.Store().Warn("the next command that writes to the tape completes this one: " + err.Error())
	}
	w.settle(ctx, next.Objects)
	return nil
}

// moveRef moves the branch, and returns who did. After an error it may be there all the same,
// but is not durable.
func (w *Writer) moveRef(ctx context.Context, next Plan, old gitstore.Hash) (who gitstore.Signature, err error) {
	git := w.T.Store().Git()
	if _, who, err = git.Identity(w.T.Store().Now()); err != nil {
		return who, err
	}
	err = git.UpdateRef(ctx, gitstore.RefUpdate{Name: w.T.Ref(), Old: old, New: next.Hash, Message: "tape: " + next.Subject, Who: who})
	if err == nil {
		w.Head = next.Hash
	}
	return who, err
}

// settle makes sure that what the branch has been moved to is there, and reports whether it is.
func (w *Writer) settle(ctx context.Context, objects *gitstore.Batch) bool {
	err := objects.Finish(ctx)
	if err != nil {
		w.T.Store().Warn("the change is made, but git gc may have dropped some of it: " + err.Error())
	}
	return err == nil
}

func (w *Writer) finishMove(ctx context.Context, next Plan, who gitstore.Signature) error {
	for _, tag := range next.Tags {
		if err := tags.Set(ctx, w.T, tag.Name, tag.Hash, who); err != nil {
			return err
		}
	}
	if w.Wt.Dir != "" {
		return w.recover(ctx)
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	if err := tags.Prune(ctx, w.T, v.List); err != nil {
		return err
	}
	if _, err := tags.Ensure(ctx, w.T, w.Head, false); err != nil {
		return err
	}
	w.rec.Undo = nil
	return w.save(true)
}
