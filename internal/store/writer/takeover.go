package writer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// A working tree may have the entries of a tape that git does not know: a backup without .git was restored, or git has
// lost the branch. A new tape of that name must not begin there with other files.

// TakeOver makes a tape of the files in its folder, which git does not know, and commits them as they are.
func TakeOver(ctx context.Context, s *workspace.Store, name string) error {
	t := s.Handle(name)
	err := LockedUnrepaired(ctx, t, func(w *Writer) error {
		return WithNewLock(ctx, s, func() error {
			if err := w.checkNew(ctx); err != nil {
				return err
			}
			if w.Wt.Dir == "" {
				wt, err := gitworktree.Add(ctx, s.Git(), t.Ref(), t.TreeDir())
				if err != nil {
					return err
				}
				w.Wt = wt
			}
			_, err := w.takeOver(ctx)
			return err
		})
	})
	return layout.Wrap(err, "take over the files of tape %q", name)
}

// HasEntries reports whether a folder has phases of a tape, or something else in their place.
func HasEntries(dir string) bool {
	names, err := workspace.DirNames(filepath.Join(dir, layout.AnchorsDir))
	_, statErr := os.Lstat(filepath.Join(dir, layout.AnchorsDir))
	return statErr == nil && (err != nil || len(names) > 0)
}

// takeOver makes the new tape of the files that are in its working tree; done is false if there are none. If the tape's
// record says that it had a branch, it refuses: a repair brings that back, with its history. Errors: ErrConflict.
func (w *Writer) takeOver(ctx context.Context) (done bool, err error) {
	if w.Wt.Dir == "" || !HasEntries(w.Wt.Dir) {
		return false, nil
	}
	if w.rec.LastID > 0 {
		return false, layout.Conflict("", "the branch %s is gone, but its entries are still in %s", w.T.Branch(), w.Wt.Dir).Try(layout.RepairTape)
	}
	f, err := ReadFirst(w.Wt.Dir)
	if err != nil {
		return false, err
	}
	if f.info.Name != w.T.Name() {
		return false, layout.Conflict("move it away, or take that tape", "%s has the entries of the tape %q", w.AnchorsPath(), f.info.Name)
	}
	next, err := w.putFirst(ctx, f)
	if err != nil {
		return false, err
	}
	who, err := w.moveRef(ctx, next, gitstore.ZeroHash)
	if err != nil {
		return false, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := commits.SetTag(ctx, w.T, next.Tags[0].Name, next.Tags[0].Hash, who); err != nil {
		return true, err
	}
	w.rec = journal.Record{}
	if err := w.recover(ctx); err != nil {
		return true, err
	}
	if err = w.Checkpoint(ctx); err == nil {
		_, err = commits.EnsureTags(ctx, w.T, w.Head, true)
	}
	w.T.Store().Warn(fmt.Sprintf("git did not know the tape %s in %s; its %s were taken over as they are", strconv.Quote(w.T.Name()), w.Wt.Dir, layout.CountEntries(w.LastID())))
	return true, err
}

// First is how a tape in a folder begins.
type First struct {
	info    layout.TapeInfo
	infoRaw []byte
	folder  string
	name    string // of the anchor
	line    []byte
}

// Name returns the tape's name.
func (f First) Name() string { return f.info.Name }

// ReadFirst reads how the tape in a folder begins. Errors: ErrConflict if the folder has no complete tape.
func ReadFirst(dir string) (f First, err error) {
	refuse := func(why string) (First, error) {
		return First{}, layout.Conflict("move them away, or choose another folder", "%s and %s in %s are not those of a tape: %s", layout.AnchorsDir, layout.TapeFile, dir, why)
	}
	file := filepath.Join(dir, layout.TapeFile)
	if f.infoRaw, err = os.ReadFile(file); err == nil {
		f.info, err = layout.DecodeTapeInfo(f.infoRaw, file)
	}
	if err != nil {
		return refuse(err.Error())
	}
	phases, err := snapshot.ListPhases(dir)
	if err != nil || len(phases) == 0 || phases[0].Seq != 1 {
		return refuse("there is no first phase")
	}
	f.folder = phases[0].Folder
	if f.line, err = os.ReadFile(filepath.Join(dir, layout.AnchorsDir, f.folder, layout.AnchorFile)); err != nil {
		return refuse(err.Error())
	}
	e, err := jsonl.Parse(f.line)
	if err != nil || e.ID != 1 || e.Kind != layout.KindAnchor {
		return refuse("the first anchor cannot be read")
	}
	if f.name = jsonl.GetString(e.Payload, "name"); layout.FolderName(1, f.name) != f.folder {
		return refuse("the first anchor belongs to another folder")
	}
	return f, nil
}

// putFirst stores the first commit of a tape that is taken over: its first anchor, and the files beside the phases.
func (w *Writer) putFirst(ctx context.Context, f First) (commits.Plan, error) {
	batch := w.T.Store().Git().NewBatch()
	b := &resolve.Builder{Put: batch.Put}
	layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: layout.TapeFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, f.infoRaw)})
	if readme, err := os.ReadFile(filepath.Join(w.Wt.Dir, layout.ReadmeFile)); err == nil && layout.IsReadme(readme) {
		layout.SetEntry(&b.Root, gitstore.TreeEntry{Name: layout.ReadmeFile, Mode: gitstore.ModeFile, Hash: batch.Put(gitstore.KindBlob, readme)})
	}
	out, err := w.rootOf(ctx, batch, b, f.name, f.line, nil)
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		batch.Discard()
	}
	return out, err
}
