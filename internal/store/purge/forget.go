package purge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/forks"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"time"
)

// ForgetOptions say how a tape is forgotten.
type ForgetOptions struct {
	Also    []string                        // other names that an import would give to the same session
	Derived func(ctx context.Context) error // as in PurgeOptions
	Step    func(what string)               // as in PurgeOptions
}

// Forgotten is what forgetting a tape did.
type Forgotten struct {
	Slugs   []string // of the tape and of those of its forks that are known here
	Remotes []string // that had the tape when they were last fetched or pushed to
}

// forgetNote is stored while a tape is being forgotten, so that a repeated call knows what to look for when
// the tape is gone.
type forgetNote struct {
	Tape    string
	Also    []string
	Slugs   []string
	Remotes []string
	Gone    []string // commits that must not be readable any more
}

const forgetNoteFile = "forgetting"

// Forget removes a tape with its forks, archives, and what was fetched of it from remotes, and notes that
// imports, recordings and pulls leave it out from now on. Git's objects are removed, too. The next call
// finishes an interrupted one, even if it names another tape. A call for a tape that was already forgotten
// removes what has come back or was left. Needs the git program.
//
// Errors: ErrNotFound if there is no such tape and none was forgotten; ErrConflict if it is the current
// one, if somebody has it checked out, or if something of it cannot be removed; ErrBusy.
func Forget(ctx context.Context, s *workspace.Store, name string, o ForgetOptions) (out Forgotten, err error) {
	p := newPurge(s, s.Handle(name), PurgeOptions{Derived: o.Derived, Step: o.Step})
	err = p.alone(ctx, func() error {
		before, err := readForgetNote(s)
		if err != nil {
			return err
		}
		if before.Tape != "" && before.Tape != name {
			s.Warn("finishing to forget a tape, which was interrupted")
			first := &forget{purge: newPurge(s, s.Handle(before.Tape), p.o), note: before}
			if err := first.do(ctx); err != nil {
				return fmt.Errorf("forget tape %q: %w", before.Tape, err)
			}
			before = forgetNote{}
		}
		before.Tape, before.Also = name, append(before.Also, o.Also...)
		f := &forget{purge: p, note: before}
		err = f.do(ctx)
		out = Forgotten{Slugs: f.note.Slugs, Remotes: f.note.Remotes}
		return err
	}, workspace.FetchLock, purgeLock)
	return out, layout.Wrap(err, "forget tape %q", name)
}

// forget is a tape being forgotten.
type forget struct {
	*purge
	note  forgetNote
	slugs map[string]bool        // of the tape and its forks
	refs  []gitstore.Ref         // of the tape and its forks, here and as remotes have them
	gone  map[gitstore.Hash]bool // commits of the tape and its forks
	logs  map[string]bool        // the names of refs; their reflogs go, too
}

func (f *forget) do(ctx context.Context) error {
	defer f.unlock()
	if err := f.lock(ctx); err != nil {
		return err
	}
	if err := f.check(ctx); err != nil {
		return err
	}
	for _, w := range f.writers {
		// Uncommitted entries without a working tree would be damage, if this is interrupted.
		if err := w.CheckpointAll(ctx); err != nil {
			return err
		}
	}
	if err := f.find(ctx); err != nil {
		return err
	}
	if err := f.announce(ctx); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	f.o.Step("removing the tape")
	if err := f.remove(ctx); err != nil {
		return err
	}
	if err := f.o.Derived(ctx); err != nil {
		return err
	}
	f.o.Step("removing its history")
	if err := f.syncRemoved(); err != nil {
		return err
	}
	if err := f.collect(ctx, f.removeLeftovers); err != nil {
		return err
	}
	if err := f.checkGone(); err != nil {
		return err
	}
	for len(f.writers) > 0 { // lock files have names of phases
		last := len(f.writers) - 1
		w := f.writers[last]
		f.writers = f.writers[:last]
		if err := w.Unlock(); err != nil {
			return err
		}
	}
	if err := f.syncRemoved(); err != nil { // what git has removed, and the locks
		return err
	}
	return f.s.FS().Remove(f.s.PrivatePath(forgetNoteFile))
}

// check refuses, before anything is changed, what removing the working trees and branches would refuse, and a
// tape that neither exists nor was forgotten.
func (f *forget) check(ctx context.Context) error {
	known, err := projects.ReadForgotten(f.s)
	if err != nil {
		return err
	}
	if len(f.writers) == 0 && f.note.Gone == nil && !known.Has(f.root) {
		_, err := f.s.Tape(ctx, f.root)
		return err
	}
	for _, w := range f.writers {
		if f.s.CurrentTape() == w.T.Name() {
			return layout.Conflict("", "it is the current tape").Try(layout.SwitchAway)
		}
		if w.Wt.Dir == "" || w.InMainTree() {
			continue
		}
		if err := forks.CheckClosable(w); err != nil {
			return err
		}
		foreign, err := forks.ForeignFiles(w)
		if err != nil {
			return err
		}
		if len(foreign) > 0 {
			return layout.Conflict("move it away", "%s does not belong to the tape, and would be removed with it", filepath.Join(w.Wt.Dir, foreign[0]))
		}
	}
	return nil
}

// announce notes what is about to be removed. From then on, imports leave the tape out.
func (f *forget) announce(ctx context.Context) error {
	for slug := range f.slugs {
		if !slices.Contains(f.note.Slugs, slug) {
			f.note.Slugs = append(f.note.Slugs, slug)
		}
	}
	for h := range f.gone {
		f.note.Gone = append(f.note.Gone, h.String())
	}
	slices.Sort(f.note.Slugs)
	slices.Sort(f.note.Gone)
	f.note.Gone, f.note.Also = slices.Compact(f.note.Gone), slices.Compact(f.note.Also)
	raw, err := json.Marshal(f.note)
	if err != nil {
		return err
	}
	if err := f.s.FS().WriteFile(f.s.PrivatePath(forgetNoteFile), append(raw, '\n')); err != nil {
		return err
	}
	slugs := slices.Clone(f.note.Slugs)
	for _, name := range f.note.Also {
		slugs = append(slugs, layout.TapeSlug(name))
	}
	return projects.AddForgotten(ctx, f.s, slugs...)
}

func readForgetNote(s *workspace.Store) (n forgetNote, err error) {
	raw, err := os.ReadFile(s.PrivatePath(forgetNoteFile))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &n)
	}
	return n, err
}

// remove removes the working trees, refs, reflogs and files of the tape.
func (f *forget) remove(ctx context.Context) error {
	if err := f.removeFiles(); err != nil {
		return err
	}
	for _, w := range slices.Backward(f.writers) {
		if w.Wt.Dir == "" {
			continue
		}
		if err := w.DropTree(ctx); err != nil {
			return err
		}
	}
	// This must be durable before the branches go, because they say whose the folders are.
	if err := f.syncTrees(); err != nil {
		return err
	}
	for _, w := range slices.Backward(f.writers) {
		if err := forks.Drop(ctx, w, "tape: forget"); err != nil {
			return err
		}
	}
	var updates []gitstore.RefUpdate
	for _, ref := range f.refs {
		now, err := f.s.Git().Ref(ref.Name)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // it went with its working tree
		}
		if err != nil {
			return err
		}
		updates = append(updates, gitstore.RefUpdate{Name: ref.Name, Old: now, Message: "tape: forget"})
	}
	if err := f.s.Git().UpdateRefs(ctx, updates); err != nil {
		return err
	}
	if f.s.PreviousTape() == f.root {
		if err := f.s.ForgetPrevious(); err != nil {
			return err
		}
	}
	if err := f.clearLogs(); err != nil {
		return err
	}
	if _, err := f.s.Git().RecoverLocks(ctx); err != nil {
		return err
	}
	return f.removeLocks(ctx)
}

// syncTrees makes the removal of working trees durable.
func (f *forget) syncTrees() error {
	dirs := []string{f.s.Dir(), filepath.Join(f.s.Dir(), layout.TapesDir), filepath.Join(f.s.Dir(), layout.ForksDir)}
	for slug := range f.slugs {
		dirs = append(dirs, filepath.Join(f.s.Dir(), layout.ForksDir, slug))
	}
	for _, dir := range dirs {
		if err := f.s.FS().SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return f.syncRemoved()
}

// removeFiles removes the tape's files outside of git's objects: damaged files that were set aside, and seals.
func (f *forget) removeFiles() error {
	var paths []string
	for slug := range f.slugs {
		torn := disk.Glob(f.s.PrivatePath(layout.TornDirName), slug+"~*")
		seals := filepath.Join(filepath.Dir(snapshot.SealsPath(f.t)), slug)
		paths = append(append(paths, torn...), seals)
	}
	return f.removeAll(paths)
}

// removeLeftovers removes the temporary files of killed processes, which may contain something of the tape. Only
// holders of a lock write objects, so no object is being written now. Another file counts as left over if nobody
// has written to it for a while.
func (f *forget) removeLeftovers() error {
	const idle = 10 * time.Minute
	files, _ := os.ReadDir(f.s.PrivatePath(layout.TempDirName)) // usually there are none
	var paths []string
	for _, e := range files {
		object, _ := filepath.Match(gitstore.TempObjects, e.Name())
		if st, err := e.Info(); err == nil && (object || !e.IsDir() && time.Since(st.ModTime()) > idle) {
			paths = append(paths, f.s.PrivatePath(layout.TempDirName, e.Name()))
		}
	}
	return f.removeAll(paths)
}

func (f *forget) removeAll(paths []string) error {
	for _, path := range paths {
		if err := f.s.FS().RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// clearLogs removes the tape's reflogs and its commits from other reflogs. It also removes files of git, such as
// ORIG_HEAD, that name them, and drafts of messages, which may have a text of the tape.
func (f *forget) clearLogs() error {
	gone := func(h gitstore.Hash) bool { return f.gone[h] }
	err := eachReflog(f.s, func(ref, path, log string) error {
		if f.logs[ref] {
			return f.s.FS().Remove(path) // of a ref that was deleted while its reflog was locked
		}
		var out strings.Builder
		for line := range strings.Lines(log) {
			if !slices.ContainsFunc(loggedCommits(line), gone) {
				out.WriteString(line)
			}
		}
		if out.Len() == len(log) {
			return nil
		}
		return f.s.FS().WriteFile(path, []byte(out.String()))
	})
	if err != nil {
		return err
	}
	return eachFile(gitFiles(f.s), func(path string, raw []byte, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Base(path) // a draft of a message names no commits
		named := strings.Contains(name, "MSG") && !(name == "MERGE_MSG" && f.mergesOthers(filepath.Dir(path)))
		if !named && !names(raw, gone) {
			return nil
		}
		return f.s.FS().Remove(path)
	})
}

// mergesOthers reports whether git is in the middle of a merge of other tapes in a worktree, given by its git folder.
func (f *forget) mergesOthers(gitDir string) bool {
	branch, _, err1 := f.s.Git().Head(gitDir)
	heads, err2 := gitworktree.MergeHeads(gitstore.Worktree{GitDir: gitDir})
	return errors.Join(err1, err2) == nil && len(heads) > 0 && !f.isOf(branch) &&
		!slices.ContainsFunc(heads, func(h gitstore.Hash) bool { return f.gone[h] })
}

// removeLocks removes lock files that an interrupted call has left, because their names are the tape's slugs.
func (f *forget) removeLocks(ctx context.Context) error {
	for slug := range f.slugs {
		path := filepath.Join(filepath.Dir(journal.LockPath(f.t)), slug)
		held := slices.ContainsFunc(f.writers, func(w *writer.Writer) bool { return w.T.Slug() == slug })
		if _, err := os.Lstat(path); held || err != nil {
			continue
		}
		lock, err := f.s.FS().Lock(ctx, path, f.s.Wait())
		if err == nil {
			err = lock.Remove()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkGone returns an ErrConflict if commits of the tape still exist. It names what keeps them.
func (f *forget) checkGone() error {
	none, err := f.reportUsed(slices.Collect(maps.Keys(f.gone)), "")
	if err != nil || none {
		return err
	}
	refs, err := f.purge.refs()
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if f.leads(ref.commit) {
			return layout.Conflict("delete it, then forget the tape again: git -C "+layout.ShellWord(f.s.Dir())+" update-ref -d "+layout.ShellWord(ref.Name),
				"its history is still in the repository, because %s leads to it", ref.Name)
		}
	}
	return layout.Conflict("then forget the tape again", "its history is still in the repository: %s", strings.Join(f.out.Left, "; "))
}
