package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/gitstore/gitrun"
)

// GCOptions change what GC does. Nil means the defaults.
type GCOptions struct {
	// Idle is for how long nobody must have written to a tape before its working tree
	// is taken away; 0 means a day, a negative value that it does not matter.
	Idle time.Duration
	// WorktreesOnly leaves the repository as it is.
	WorktreesOnly bool
	// Step is told what is begun, in a few words. Nil drops it.
	Step func(what string)
}

// idleDefault is for how long a working tree is kept that nobody uses. It costs little to
// keep, and as much as a checkout to make anew.
const idleDefault = 24 * time.Hour

// GCReport tells what GC did.
type GCReport struct {
	Before, After int64        // bytes of the repository and of the working trees that are gone
	Worktrees     []GCWorktree // that were taken away
	Kept          []GCWorktree // that nobody uses, but that hold something else
	Locks         []string     // files that killed processes had left
	Temporary     int          // as many files that had no name yet
}

// GCWorktree is a working tree of a tape that is not the current one.
type GCWorktree struct {
	Tape, Dir string
	Reason    string // why it was kept
}

// GC takes away working trees that are clean and idle, of all tapes and forks but the
// current one and only where this program puts them, and what killed processes left;
// then the repository is packed. Readers and writers need not stop: what is taken away
// is made again by the next write to the tape, and nothing that was recorded is lost.
//
// Errors: ErrNoGit unless WorktreesOnly; ErrBusy when another GC runs, the context's error when interrupted.
func (s *Store) GC(ctx context.Context, o *GCOptions) (GCReport, error) {
	var opts GCOptions
	if o != nil {
		opts = *o
	}
	if opts.Idle == 0 {
		opts.Idle = idleDefault
	}
	if opts.Step == nil {
		opts.Step = func(string) {}
	}
	c := &collector{s: s, o: opts}
	if err := c.run(ctx); err != nil {
		return c.report, fmt.Errorf("collect workspace %s: %w", s.dir, classify(err))
	}
	return c.report, nil
}

// collector is one GC.
type collector struct {
	s      *Store
	o      GCOptions
	report GCReport
}

func (c *collector) run(ctx context.Context) error {
	if !c.o.WorktreesOnly {
		if err := gitrun.CheckGit(); err != nil {
			return err
		}
	}
	size, err := folderSize(ctx, c.s.git.GitDir())
	if err != nil {
		return err
	}
	c.report.Before = size
	c.o.Step("looking for idle working trees")
	if err := c.worktrees(ctx); err != nil {
		return err
	}
	if !c.o.WorktreesOnly {
		if c.report.Locks, err = c.s.git.RecoverLocks(ctx); err != nil {
			return err
		}
		if err := c.temporary(ctx); err != nil {
			return err
		}
		if err := c.forkTags(ctx); err != nil {
			return err
		}
		c.o.Step("packing")
		if _, err := gitrun.GC(ctx, c.s.git, ""); err != nil {
			return err
		}
	}
	c.report.After, err = folderSize(ctx, c.s.git.GitDir())
	return err
}

// worktrees takes away those that nobody uses.
func (c *collector) worktrees(ctx context.Context) error {
	all, err := c.s.tapesAndForks(ctx)
	if err != nil {
		return err
	}
	current := c.s.CurrentTape()
	for _, t := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wt, ok := t.ownTree(); ok && t.name != current {
			if err := c.worktree(ctx, t, wt); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownTree returns the tape's working tree if it is one that this program has made.
func (t *Tape) ownTree() (gitstore.Worktree, bool) {
	wt, err := t.store.git.WorktreeOf(t.branch)
	if err != nil || wt.GitDir == t.store.git.GitDir() {
		return wt, false
	}
	want, err := filepath.EvalSymlinks(t.treeDir())
	return wt, err == nil && wt.Dir == want
}

// worktree takes one away unless somebody writes to the tape, did so of late, or has
// something there that would be lost.
func (c *collector) worktree(ctx context.Context, t *Tape, wt gitstore.Worktree) error {
	if c.o.Idle > 0 && !t.idle(wt, c.s.now().Add(-c.o.Idle)) {
		return nil
	}
	kept := func(err error) { c.report.Kept = append(c.report.Kept, GCWorktree{t.name, wt.Dir, err.Error()}) }
	lock, err := c.s.fs.Lock(ctx, t.lockPath(), 0)
	switch {
	case errors.Is(err, disk.ErrLocked):
		kept(errors.New("somebody is writing to it"))
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil // nobody ever wrote: the tree is not of this program's making
	case err != nil:
		return err
	}
	w := &writer{t: t, lock: lock}
	size := int64(0)
	err = w.checkDisposable(ctx, wt)
	if err == nil {
		if size, err = folderSize(ctx, wt.Dir); err == nil {
			err = w.dropTree(ctx)
		}
	}
	if err := errors.Join(err, lock.Unlock()); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		kept(err)
		return nil
	}
	c.report.Before += size
	c.report.Worktrees = append(c.report.Worktrees, GCWorktree{Tape: t.name, Dir: wt.Dir})
	return nil
}

// idle reports whether nobody has written to a working tree since a time: neither by
// this program, which writes its note each time, nor by hand.
func (t *Tape) idle(wt gitstore.Worktree, since time.Time) bool {
	paths := []string{t.lockPath(), wt.Dir, filepath.Join(wt.Dir, anchorsDir), filepath.Join(wt.GitDir, "index")}
	if list, err := listPhases(wt.Dir); err == nil && len(list) > 0 {
		open := filepath.Join(wt.Dir, anchorsDir, list[len(list)-1].folder)
		paths = append(paths, open)
		names, _ := dirNames(open)
		for _, name := range names {
			paths = append(paths, filepath.Join(open, name))
		}
	}
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil && st.ModTime().After(since) {
			return false
		}
	}
	return true
}

// checkDisposable refuses a working tree that holds anything which git has not.
func (w *writer) checkDisposable(ctx context.Context, wt gitstore.Worktree) error {
	for _, name := range []string{"locked", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "index.lock"} {
		if _, err := os.Lstat(filepath.Join(wt.GitDir, name)); err == nil {
			return fmt.Errorf("git is in the middle of something there, or it is locked: %s", filepath.Join(wt.GitDir, name))
		}
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	if w.wt.Dir != wt.Dir {
		return errors.New("it was moved meanwhile")
	}
	if n := w.uncommitted(); n > 0 {
		return fmt.Errorf("%s not committed", areEntries(n))
	}
	v, err := w.t.store.commitView(w.head)
	if err != nil {
		return err
	}
	l := lister{s: w.t.store, noSizes: true}
	if err := l.tree(v.rootTree, ""); err != nil {
		return corruptObject(w.head, err)
	}
	committed := make(map[string]gitstore.Hash, len(l.out))
	for _, f := range l.out {
		committed[f.Path] = f.Hash
	}
	if err := w.checkStaged(committed); err != nil {
		return err
	}
	return checkSameFiles(ctx, w.wt.Dir, committed)
}

// checkStaged makes sure that the git index says what the commit does. What is not in
// the working tree has to be absent from it on purpose.
func (w *writer) checkStaged(committed map[string]gitstore.Hash) error {
	staged, err := w.t.store.git.ReadIndex(w.wt)
	if err != nil {
		return err
	}
	for _, e := range staged {
		if h, ok := committed[e.Path]; !ok || h != e.Hash || e.Stage != 0 {
			return fmt.Errorf("%s is staged", e.Path)
		}
		if e.SkipWorktree {
			continue
		}
		if _, err := os.Lstat(filepath.Join(w.wt.Dir, filepath.FromSlash(e.Path))); err != nil {
			return fmt.Errorf("%s was taken away", e.Path)
		}
	}
	if len(staged) != len(committed) {
		return errors.New("files were taken out of git's index")
	}
	return nil
}

// checkSameFiles makes sure that each file in a working tree is as committed, byte for
// byte.
func checkSameFiles(ctx context.Context, dir string, committed map[string]gitstore.Hash) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == gitDirName || d.IsDir() {
			return err
		}
		name = filepath.ToSlash(name)
		h, ok := committed[name]
		if !ok {
			return fmt.Errorf("%s is not committed", name)
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a plain file", name)
		}
		data, err := os.ReadFile(path)
		if err == nil && gitstore.HashObject(gitstore.KindBlob, data) != h {
			err = fmt.Errorf("%s is not as it was committed", name)
		}
		return err
	})
}

// dropTree removes the working tree. A record says so until it is gone, so that readers
// meanwhile use the commit, and a writer after a crash begins a new one.
func (w *writer) dropTree(ctx context.Context) error {
	w.st.Gen++
	w.st.Undo = &undo{Head: w.head.String(), Next: w.head.String(), Checkout: true}
	if err := w.save(true); err != nil {
		return err
	}
	if err := w.t.store.git.RemoveWorktree(context.WithoutCancel(ctx), w.wt); err != nil {
		return err
	}
	w.wt = gitstore.Worktree{}
	w.st.Undo, w.st.Home = nil, ""
	return w.save(true)
}

// temporary removes files that a killed process has left before it gave them their names.
// They are a day old at least: none is being written.
func (c *collector) temporary(ctx context.Context) error {
	before := c.s.now().Add(-idleDefault)
	git := c.s.git.GitDir()
	trees, err := c.s.git.Worktrees()
	if err != nil {
		return err
	}
	dirs := []string{c.s.dir, git, filepath.Join(git, "info"), filepath.Join(git, "hooks"), filepath.Join(git, privateDir)}
	for _, wt := range trees {
		if wt.GitDir != git {
			dirs = append(dirs, wt.Dir, wt.GitDir)
		}
	}
	private, err := dirNames(filepath.Join(git, privateDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range private {
		dirs = append(dirs, filepath.Join(git, privateDir, name))
	}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.sweep(dir, before)
	}
	c.s.git.SweepTemp(c.s.now())
	return nil
}

// sweep removes the temporary files of a folder. One that cannot be removed stays until
// the next time.
func (c *collector) sweep(dir string, before time.Time) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() || !strings.HasPrefix(e.Name(), disk.TempPrefix) || st.ModTime().After(before) {
			continue
		}
		if c.s.fs.Remove(filepath.Join(dir, e.Name())) == nil {
			c.report.Temporary++
		}
	}
}

// folderSize adds the sizes of all files below a folder. What goes away meanwhile does
// not count.
func folderSize(ctx context.Context, dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if st, err := d.Info(); err == nil {
			total += st.Size()
		}
		return nil
	})
	return total, err
}
