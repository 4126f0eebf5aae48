package purge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"tape/internal/git/disk"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"time"
)

// drop deletes the ref that keeps the old history, and lets git remove all objects that nothing refers to.
// It reports whether all objects of the old history are gone.
func (p *purge) drop(ctx context.Context) (all bool, err error) {
	gone, err := p.stagedOld()
	if err != nil {
		return false, err
	}
	before, err := readUnfinished(p.s)
	if err != nil {
		return false, err
	}
	gone = slices.AppendSeq(append(gone, before.gone...), maps.Keys(p.r.Commits))
	if err := p.setUnfinished(ctx, purgeDropping, unfinished{gone: gone}); err != nil {
		return false, err
	}
	if err := p.syncRemoved(); err != nil {
		return false, err
	}
	if err := p.setPurgeRef(ctx, purgeMoving, gitstore.ZeroHash); err != nil {
		return false, err
	}
	if err := p.collect(ctx, func() error { return nil }); err != nil {
		return false, err
	}
	return p.reportUsed(gone, "; then purge again")
}

// collect runs git gc while no tape is written to: a writer stores objects before anything refers to them, so gc
// would drop them. Objects that somebody stores with git meanwhile are newer than the cutoff, and stay. first is
// called before gc, with all locks held.
func (p *purge) collect(ctx context.Context, first func() error) (err error) {
	locks, err := p.lockOthers(ctx)
	defer func() {
		for _, unlock := range slices.Backward(locks) {
			err = errors.Join(err, unlock())
		}
	}()
	if err != nil {
		return err
	}
	if err := first(); err != nil {
		return err
	}
	// These caches contain ids of commits. Git makes them again.
	for _, name := range []string{"commit-graph", "commit-graphs"} {
		if err := p.s.FS().RemoveAll(filepath.Join(gitrun.ObjectsDir(p.s.Git()), "info", name)); err != nil {
			return err
		}
	}
	return gitrun.GC(ctx, p.s.Git(), fmt.Sprintf("@%d +0000", time.Now().Unix()))
}

// syncRemoved makes all removals durable, including those by git, which does not sync folders. Otherwise a power
// cut could bring back what was removed, but not the ref from which the next command finishes the purge.
func (p *purge) syncRemoved() error {
	err := filepath.WalkDir(p.s.Git().GitDir(), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = p.s.FS().SyncDir(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return errors.Join(err, p.s.FS().SyncDir(filepath.Dir(p.s.IndexFile())))
}

// lockOthers locks all tapes and forks that are not purged, parents first, and takes the lock for creating
// new ones.
func (p *purge) lockOthers(ctx context.Context) (locks []func() error, err error) {
	if err := errors.Join(p.s.CheckList(ctx, layout.BranchPrefix), p.s.CheckList(ctx, layout.ForkPrefix)); err != nil {
		return nil, err // its lock could not be taken
	}
	all, err := p.s.TapesAndForks(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, byName)
	for _, t := range all {
		if p.holds(t) {
			continue
		}
		lock, err := writer.LockFile(ctx, t)
		if err != nil {
			return locks, fmt.Errorf("wait for %q, to drop the old objects: %w", t.Name(), err)
		}
		locks = append(locks, lock.Unlock)
	}
	unlock, err := p.s.LockPrivate(ctx, workspace.NewLock)
	if err != nil {
		return locks, err
	}
	return append(locks, unlock), nil
}

// stagedOld finds files of the old history that a working tree's index still has, although the branch
// does not.
func (p *purge) stagedOld() (out []gitstore.Hash, err error) {
	for _, dir := range p.s.Git().HeadDirs() {
		index, err := gitindex.Read(gitstore.Worktree{GitDir: dir})
		if err != nil {
			return nil, err
		}
		var old []gitstore.Hash
		for _, e := range index {
			if p.r.Blobs[e.Hash].Changed {
				old = append(old, e.Hash)
			}
		}
		if _, head, err := p.s.Git().Head(dir); len(old) > 0 && err == nil && !head.IsZero() && !p.r.Changed(head) {
			l := snapshot.Lister{S: p.s, NoSizes: true}
			c, err := p.s.Git().Commit(head)
			if err == nil {
				err = l.Tree(c.Tree, "")
			}
			if err != nil {
				return nil, layout.CorruptObject(head, err)
			}
			old = slices.DeleteFunc(old, func(h gitstore.Hash) bool {
				return slices.ContainsFunc(l.Out, func(f gitindex.Change) bool { return f.Hash == h })
			})
		}
		out = append(out, old...)
	}
	return out, nil
}

// reportUsed returns whether all of the old objects are gone. If not, it reports what may still use them, and what to do
// about that, which ends with again.
func (p *purge) reportUsed(gone []gitstore.Hash, again string) (none bool, err error) {
	git, err := gitstore.OpenBare(p.s.Git().GitDir(), p.s.Git().SharedOptions()) // the store's may have removed packs open
	if err != nil {
		return false, err
	}
	left := map[gitstore.Hash]bool{}
	for _, h := range gone {
		if _, _, err := git.Read(h); err == nil {
			left[h] = true
		} else if !errors.Is(err, gitstore.ErrNotFound) {
			return false, err
		}
	}
	if len(left) == 0 {
		return true, nil
	}
	for _, dir := range p.s.Git().HeadDirs() {
		index, err := gitindex.Read(gitstore.Worktree{GitDir: dir})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(index, func(e gitindex.Entry) bool { return left[e.Hash] }) {
			p.left("the working tree of %s still has old files: run git reset --hard in it%s", dir, again)
		}
	}
	for _, path := range disk.Glob(gitrun.ObjectsDir(git), "pack/*.keep") {
		p.left("git keeps what is in the pack of %s: remove that file%s", filepath.Base(path), again)
	}
	p.left("something else in the repository still uses %d of the old commits and files: git worktree list may show what%s", len(left), again)
	return false, nil
}
