package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"time"
)

// HumanState is the default state of the first anchor.
const HumanState = `{"owner":"human"}`

// CreateTape creates an empty tape with the anchor session/start. Errors: ErrConflict if the name is taken.
func CreateTape(ctx context.Context, s *workspace.Store, name string) (*workspace.Tape, error) {
	return CreateTapeFrom(ctx, s, name, TapeStart{First: layout.Anchor{Name: layout.FirstAnchor, State: []byte(HumanState)}})
}

// TapeStart says how a tape begins.
type TapeStart struct {
	First  layout.Anchor
	Readme string // about the session, before the usual text of README.md; "": only the usual text
	Dated  bool   // commits have the dates of their entries, not the time of writing
}

func (o TapeStart) dates() *commits.Dates {
	if !o.Dated {
		return nil
	}
	return &commits.Dates{}
}

// CreateTapeFrom creates a tape that begins as origin says. Errors: ErrConflict if the name is taken.
func CreateTapeFrom(ctx context.Context, s *workspace.Store, name string, origin TapeStart) (*workspace.Tape, error) {
	if err := layout.CheckNewName("a tape", name); err != nil {
		return nil, err
	}
	t := s.Handle(name)
	err := LockedUnrepaired(ctx, t, func(w *Writer) error {
		return WithNewLock(ctx, s, func() error { return w.create(ctx, origin) })
	})
	return t, layout.Wrap(err, "create tape %q", name)
}

// WithNewLock runs f under the lock that keeps a purge from deleting objects that no ref leads to yet.
func WithNewLock(ctx context.Context, s *workspace.Store, f func() error) error {
	unlock, err := s.LockPrivate(ctx, workspace.NewLock)
	if err != nil {
		return err
	}
	return errors.Join(f(), unlock())
}

func (w *Writer) create(ctx context.Context, origin TapeStart) error {
	if err := w.checkNew(ctx); err != nil {
		return err
	}
	if err := projects.CheckForgotten(w.T); err != nil {
		return err
	}
	if done, err := w.takeOver(ctx); done || err != nil {
		return err
	}
	next, err := w.putRoot(ctx, origin)
	if err != nil {
		return err
	}
	return w.MoveTo(ctx, next, w.Head)
}

// checkNew checks that the tape can be created. The branch may be checked out before it exists, as in a new
// workspace: checkNew sets w.Wt to that working tree.
func (w *Writer) checkNew(ctx context.Context) (err error) {
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

// checkUnused refuses the name of an open fork, and of a tape whose branch git has renamed: the branch could not
// be renamed back. Such a tape still has its tags.
func checkUnused(ctx context.Context, t *workspace.Tape) error {
	if err := CheckNoFork(t); err != nil {
		return err
	}
	oldTags, err := t.Store().Git().Refs(layout.TagPrefix + t.Slug() + "/")
	if err != nil || len(oldTags) == 0 {
		return err
	}
	return t.Store().CheckRenamed(ctx, t.Name())
}

// CheckNoFork refuses the name of an open fork: commands could not tell the two apart.
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

// putRoot stores the first commit of a tape, and its tag.
func (w *Writer) putRoot(ctx context.Context, origin TapeStart) (commits.Plan, error) {
	batch := w.T.Store().Git().NewBatch()
	out, _, err := w.root(ctx, batch, origin, origin.dates())
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		batch.Discard()
	}
	return out, err
}

// root puts the first commit of a tape into a batch, and returns the builder of its tree.
func (w *Writer) root(ctx context.Context, batch *gitstore.Batch, origin TapeStart, dates *commits.Dates) (out commits.Plan, b *resolve.Builder, err error) {
	t, s := w.T, w.T.Store()
	d, err := layout.AnchorDraft(origin.First)
	if err != nil {
		return out, nil, err
	}
	line, err := Encode(t, 1, d)
	if err != nil {
		return out, nil, err
	}
	// A session that is imported on two machines begins with the same bytes.
	created, err := time.Parse(time.RFC3339, origin.First.Date)
	if err != nil || !origin.Dated {
		created = s.Now()
	}
	info, err := layout.EncodeTapeInfo(t.Name(), created)
	if err != nil {
		return out, nil, err
	}
	b = &resolve.Builder{Put: batch.Put, Grown: batch.PutGrown, Closed: batch.Release}
	layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: layout.TapeFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, info)})
	for name, text := range map[string]string{layout.ReadmeFile: layout.ReadmeOf(origin.Readme), layout.AttributesFile: layout.Attributes} {
		if !w.foreign(name) {
			layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, []byte(text))})
		}
	}
	out, err = w.rootOf(ctx, batch, b, origin.First.Name, line, dates)
	return out, b, err
}

// rootOf puts the first commit of a tape into a batch: the files that the builder has, and the first anchor.
func (w *Writer) rootOf(ctx context.Context, batch *gitstore.Batch, b *resolve.Builder, anchor string, line []byte, dates *commits.Dates) (out commits.Plan, err error) {
	t := w.T
	b.OpenPhase(anchor, line)
	dates.Add(line)
	c := gitstore.Commit{Tree: b.Tree(), Message: t.Message("start: "+layout.OneLine(t.Name()), anchor, 1, 1, b.Format)}
	out = commits.Plan{Subject: c.Subject(), Objects: batch}
	if out.Hash, err = commits.Put(ctx, t, batch, &c, dates); err != nil {
		return out, err
	}
	tag := gitstore.Ref{Name: t.TagRef(b.Folder)}
	tag.Hash, err = commits.PutWithTag(ctx, t, batch, tag.Name, out.Hash, c, line)
	out.Tags = []gitstore.Ref{tag}
	return out, err
}

// foreign reports whether the working tree has a file of this name, README.md or .gitattributes, that tape did not
// write. That file stays, and the tape gets none of its own.
func (w *Writer) foreign(name string) bool {
	if w.Wt.Dir == "" {
		return false
	}
	data, err := os.ReadFile(filepath.Join(w.Wt.Dir, name))
	if errors.Is(err, fs.ErrNotExist) || layout.WroteRootFile(name, data) {
		return false
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return true
	}
	_, ours := layout.FindEntry(v.Root, name)
	return !ours
}

// MoveTo moves the branch from old (zero: it does not exist) to next, which need not continue old, and rewrites
// the working tree if there is one. Once the branch has moved, the next writer completes an interrupted move.
func (w *Writer) MoveTo(ctx context.Context, next commits.Plan, old gitstore.Hash) error {
	defer next.Objects.Discard()
	// The record of the files is valid until the branch has moved.
	before := w.rec
	if before.Branch == "" {
		before = journal.Record{Branch: w.T.Ref(), Head: old.String()}
	}
	w.rec = before
	if err := w.recordUndo(*journal.MoveTo(old, next.Hash, next.Clean)); err != nil {
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
	snapshot.RemoveSeals(w.T) // its checksums belong to the old history
	if err := w.finishMove(context.WithoutCancel(ctx), next, who); err != nil {
		w.T.Store().Warn("the next command that writes to the tape completes this one: " + err.Error())
	}
	w.finishObjects(ctx, next.Objects)
	return nil
}

// moveRef moves the branch, and returns the committer. After an error the branch may have moved, but not durably.
func (w *Writer) moveRef(ctx context.Context, next commits.Plan, old gitstore.Hash) (who gitstore.Signature, err error) {
	git := w.T.Store().Git()
	who = git.Committer(w.T.Store().Now())
	err = git.UpdateRef(ctx, gitstore.RefUpdate{Name: w.T.Ref(), Old: old, New: next.Hash, Message: "tape: " + next.Subject, Who: who})
	if err == nil {
		w.Head = next.Hash
	}
	return who, err
}

// finishObjects restores objects that a git gc has deleted meanwhile, and reports whether all exist.
func (w *Writer) finishObjects(ctx context.Context, objects *gitstore.Batch) bool {
	err := objects.Finish(ctx)
	if err != nil {
		w.T.Store().Warn("the change is made, but git gc may have deleted part of it: " + err.Error())
	}
	return err == nil
}

func (w *Writer) finishMove(ctx context.Context, next commits.Plan, who gitstore.Signature) error {
	for _, tag := range next.Tags {
		if err := commits.SetTag(ctx, w.T, tag.Name, tag.Hash, who); err != nil {
			return err
		}
	}
	if w.Wt.Dir != "" {
		return w.recover(ctx)
	}
	return w.finishBareMove(ctx)
}

// finishBareMove completes a move of a tape without working tree.
func (w *Writer) finishBareMove(ctx context.Context) error {
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	if err := commits.PruneTags(ctx, w.T, v.List); err != nil {
		return err
	}
	if _, err := commits.EnsureTags(ctx, w.T, w.Head, false); err != nil {
		return err
	}
	w.rec.Undo = nil
	return w.save(true)
}
