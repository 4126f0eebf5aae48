package upkeep

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"time"
)

// GCOptions say what GC does. Nil means the defaults.
type GCOptions struct {
	// Idle is how long a tape must have been unchanged before its working tree is removed. 0 means a day;
	// a negative duration means no time at all.
	Idle time.Duration
	// WorktreesOnly leaves the repository unchanged.
	WorktreesOnly bool
	// Auto does only what keeps reading fast: if there are more than 50 packs, it combines the small ones.
	// That takes time in proportion to what was recorded since the last GC. The report stays empty.
	Auto bool
	// Step, if set, is called when a step begins, with a few words about it.
	Step func(what string)
}

// idleDefault is how long an unused working tree is kept. Keeping it costs little; creating it again costs as
// much as a checkout.
const idleDefault = 24 * time.Hour

// GCReport is what GC did.
type GCReport struct {
	Before, After int64        // bytes that the workspace takes on disk
	Worktrees     []GCWorktree // removed working trees
	Kept          []GCWorktree // idle ones that were not removed
	Locks         []string     // lock files that killed processes left
	Temporary     int          // how many temporary files were removed
}

// GCWorktree is a working tree of a tape that is not the current one.
type GCWorktree struct {
	Tape, Dir string
	Reason    string // why it was kept
}

// GC removes clean and idle working trees of all tapes and forks except the current one, if they are where
// this program puts them. It removes what killed processes left, and packs the repository. Readers and
// writers need not stop: the next write to a tape creates its working tree again, and nothing recorded is
// lost.
//
// Errors: ErrNoGit unless WorktreesOnly; ErrBusy when another GC runs, the context's error when interrupted.
func GC(ctx context.Context, s *workspace.Store, o *GCOptions) (GCReport, error) {
	c := &collector{s: s}
	if o != nil {
		c.o = *o
	}
	c.o.Idle = cmp.Or(c.o.Idle, idleDefault)
	if c.o.Step == nil {
		c.o.Step = func(string) {}
	}
	run := c.run
	if c.o.Auto {
		run = func(ctx context.Context) error { return gitrun.Tidy(ctx, s.Git()) }
	}
	err := run(ctx)
	return c.report, layout.Wrap(err, "collect workspace %s", s.Dir())
}

// collector is one GC.
type collector struct {
	s      *workspace.Store
	o      GCOptions
	report GCReport
}

func (c *collector) run(ctx context.Context) error {
	if !c.o.WorktreesOnly {
		if err := gitrun.Runnable(ctx, c.s.Git()); err != nil {
			return err
		}
	}
	var err error
	if c.report.Before, err = c.size(ctx); err != nil {
		return err
	}
	if !c.o.WorktreesOnly { // first, because stale locks would block this GC
		if c.report.Locks, err = gitrun.RecoverLocks(ctx, c.s.Git()); err != nil {
			return err
		}
	}
	c.o.Step("looking for idle working trees")
	if err := c.worktrees(ctx); err != nil {
		return err
	}
	if !c.o.WorktreesOnly {
		if err := c.temporary(ctx); err != nil {
			return err
		}
		if err := c.forkTags(ctx); err != nil {
			return err
		}
		c.o.Step("packing")
		if err := gitrun.GC(ctx, c.s.Git(), ""); errors.Is(err, gitrun.ErrDamaged) {
			c.s.Warn("git did not pack the repository, because it cannot read part of it; tape verify --repair mends what can be mended")
		} else if err != nil {
			return err
		}
	}
	c.report.After, err = c.size(ctx)
	return err
}

// worktrees removes the idle working trees.
func (c *collector) worktrees(ctx context.Context) error {
	all, err := c.s.TapesAndForks(ctx)
	if err != nil {
		return err
	}
	current := c.s.CurrentTape()
	for _, t := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wt, ok := ownTree(t); ok && t.Name() != current {
			if err := c.worktree(ctx, t, wt); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownTree returns the tape's working tree if this program made it.
func ownTree(t *workspace.Tape) (gitstore.Worktree, bool) {
	wt, err := t.Store().Git().WorktreeOf(t.Ref())
	if err != nil || wt.GitDir == t.Store().Git().GitDir() {
		return wt, false
	}
	want, err := filepath.EvalSymlinks(t.TreeDir())
	return wt, err == nil && wt.Dir == want
}

// worktree removes a tape's working tree, unless somebody is writing to the tape or did so recently, or the
// working tree contains something that would be lost.
func (c *collector) worktree(ctx context.Context, t *workspace.Tape, wt gitstore.Worktree) error {
	if c.o.Idle > 0 && !idle(t, wt, c.s.Now().Add(-c.o.Idle)) {
		return nil
	}
	kept := func(err error) { c.report.Kept = append(c.report.Kept, GCWorktree{t.Name(), wt.Dir, err.Error()}) }
	lock, err := c.s.FS().Lock(ctx, journal.LockPath(t), 0)
	switch {
	case errors.Is(err, disk.ErrLocked):
		kept(errors.New("somebody is writing to it"))
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return nil // this program never wrote to the tape, so it did not make the tree
	case err != nil:
		return err
	}
	w := writer.Holding(t, lock)
	if err = checkDisposable(ctx, w, wt); err == nil {
		err = w.DropTree(ctx)
	}
	if err := errors.Join(err, lock.Unlock()); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		kept(err)
		return nil
	}
	c.report.Worktrees = append(c.report.Worktrees, GCWorktree{Tape: t.Name(), Dir: wt.Dir})
	return nil
}

// idle reports whether a working tree is unchanged since the given time. A write by this program changes the
// lock file; a change by hand shows in the files and folders.
func idle(t *workspace.Tape, wt gitstore.Worktree, since time.Time) bool {
	paths := []string{journal.LockPath(t), wt.Dir, filepath.Join(wt.Dir, layout.AnchorsDir), filepath.Join(wt.GitDir, "index")}
	if list, err := snapshot.ListPhases(wt.Dir); err == nil && len(list) > 0 {
		open := filepath.Join(wt.Dir, layout.AnchorsDir, list[len(list)-1].Folder)
		paths = append(paths, open)
		names, _ := workspace.DirNames(open)
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

// temporary removes temporary files that killed processes left. They are at least a day old, so none is
// being written.
func (c *collector) temporary(ctx context.Context) error {
	before := c.s.Now().Add(-idleDefault)
	git := c.s.Git().GitDir()
	trees, err := c.s.Git().Worktrees()
	if err != nil {
		return err
	}
	dirs := []string{git, filepath.Join(git, "info"), filepath.Join(git, "hooks"), filepath.Join(git, layout.PrivateDir)}
	for _, wt := range trees {
		if wt.GitDir != git {
			dirs = append(dirs, wt.GitDir)
		}
	}
	private, err := workspace.DirNames(filepath.Join(git, layout.PrivateDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range private {
		dirs = append(dirs, filepath.Join(git, layout.PrivateDir, name))
	}
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.sweep(dir, before, c.s.FS().Remove) //nolint:forbidigo // these folders are in .git
	}
	for _, wt := range trees { // a file of this name may be somebody's
		files := aside.Of(c.s.Handle(c.s.CurrentTape()), wt.Dir)
		c.sweep(wt.Dir, before, files.Remove)
		files.Tell()
	}
	c.s.Git().SweepTemp(c.s.Now())
	return nil
}

// sweep removes the temporary files of a folder. Files that cannot be removed stay until the next time.
func (c *collector) sweep(dir string, before time.Time, remove func(path string) error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() || !strings.HasPrefix(e.Name(), disk.TempPrefix) || st.ModTime().After(before) {
			continue
		}
		if remove(filepath.Join(dir, e.Name())) == nil {
			c.report.Temporary++
		}
	}
}

// size returns the bytes that the workspace takes on disk: working trees and repository.
func (c *collector) size(ctx context.Context) (int64, error) {
	size, err := diskUse(ctx, c.s.Dir())
	git := c.s.Git().GitDir()
	if err == nil && !strings.HasPrefix(git, c.s.Dir()+string(filepath.Separator)) {
		var more int64
		more, err = diskUse(ctx, git)
		size += more
	}
	return size, err
}

// diskUse returns the bytes that a folder takes on disk. Files and folders take whole blocks, so a thousand
// small files take more than one large file of the same content.
func diskUse(ctx context.Context, dir string) (int64, error) {
	const block = 4096
	var total int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			total += block
		} else if st, err := d.Info(); err == nil {
			total += (st.Size() + block - 1) / block * block
		}
		return nil
	})
	return total, err
}
