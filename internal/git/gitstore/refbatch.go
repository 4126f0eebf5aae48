package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitlock"
)

// FewRefs is the largest number of refs that are written as files of their own.
const FewRefs = 64

// UpdateRefs changes refs, each if it still has its Old value, durably. Up to FewRefs are changed one
// by one as by UpdateRef, until one fails. More go into packed-refs, which is replaced once; if one of
// them does not have its Old value, nothing changes. After a crash each ref has its old or its new
// value, not necessarily all the same.
//
// An update with equal Old and New makes durable what another program has set. Errors: as UpdateRef.
func (r *Repo) UpdateRefs(ctx context.Context, updates []RefUpdate) error {
	if len(updates) > FewRefs {
		return r.UpdateRefsAtOnce(ctx, updates)
	}
	for _, u := range updates {
		if err := u.check(); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if err := r.UpdateRef(ctx, u); err != nil {
			return err
		}
		if u.Old != u.New {
			continue
		}
		if err := r.syncFile(r.RefPath(u.Name)); err != nil && !IsAbsent(err) { // packed
			return fmt.Errorf("update %s: %w", u.Name, err)
		}
	}
	return nil
}

// UpdateRefsAtOnce is UpdateRefs, but uses packed-refs also for a few refs. After a crash, the refs that
// have no file of their own have either all their old values or all their new ones.
func (r *Repo) UpdateRefsAtOnce(ctx context.Context, updates []RefUpdate) error {
	for _, u := range updates {
		if err := u.check(); err != nil {
			return err
		}
	}
	updates = slices.Clone(updates)
	sortUpdates(updates)
	for i := 1; i < len(updates); i++ {
		if updates[i].Name == updates[i-1].Name {
			return fmt.Errorf("update %s: it is given twice", updates[i].Name)
		}
	}
	err := r.locks.Guarded(ctx, r.refGuard(), func() error {
		b := &refBatch{r: r, updates: updates}
		return errors.Join(b.run(ctx), b.release())
	})
	return Wrap(err, "update %d refs", len(updates))
}

func sortUpdates(updates []RefUpdate) {
	slices.SortStableFunc(updates, func(a, b RefUpdate) int { return strings.Compare(a.Name, b.Name) })
}

// refBatch is a change of many refs in progress. The guard is held.
//
// Each ref is locked, as git does, from before its value is compared until it has the new one. New
// values take effect by one rename of packed-refs; where a ref has a file of its own, which takes
// precedence, by the removal of that file. A deleted ref is removed from packed-refs first, as in
// deleteLocked.
//
// Refs that mirror a remote, and have no file, are covered by the lock on packed-refs alone: locking
// each would take far longer than everything else. If a fetch creates a file for such a ref meanwhile, the
// file takes precedence, as if the fetch had come later.
type refBatch struct {
	r       *Repo
	updates []RefUpdate // sorted by name
	locks   []string    // lock files, "" for none; closed, because there may be more than a process may have open
	loose   []bool      // has a file of its own
}

func (b *refBatch) run(ctx context.Context) (err error) {
	packed, err := b.r.locks.Lock(b.r.packedPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Release()) }()
	// A killed git may have left it; only the holder of the lock writes it.
	if err := b.r.fs.Remove(b.r.packedPath() + ".new"); err != nil {
		return err
	}
	old, err := b.r.readPacked(nil)
	if err != nil {
		return err
	}
	for _, u := range b.updates {
		if isMirror(u.Name) && NoFileAt(b.r.RefPath(u.Name)) {
			b.locks = append(b.locks, "")
		} else if err := b.lock(ctx, u.Name); err != nil {
			return err
		}
	}
	if err := b.compare(old); err != nil {
		return err
	}
	next, err := b.merge(old)
	if err != nil {
		return err
	}
	for _, u := range b.updates {
		if err := b.log(u); err != nil {
			return err
		}
	}
	// The content goes through a file of its own: the lock on packed-refs is needed until the refs'
	// files are gone, or git could pack one of them in between.
	if err := b.r.fs.WriteFile(b.r.packedPath(), next); err != nil {
		return err
	}
	return b.removeFiles()
}

func (b *refBatch) lock(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.r.clearEmptyDir(b.r.RefPath(name)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := b.mkdir(filepath.Dir(b.r.RefPath(name))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l, err := b.r.locks.Lock(b.r.RefPath(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	path, err := l.Detach()
	b.locks = append(b.locks, path)
	return err
}

// mkdir makes a folder for locks. Its name is not synced, because no ref will be in it.
func (b *refBatch) mkdir(dir string) error {
	err := b.r.fs.Mkdir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = b.mkdir(filepath.Dir(dir)); err == nil {
			err = b.r.fs.Mkdir(dir)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (b *refBatch) release() error {
	var errs []error
	parents := map[string]string{} // folder → a ref in it
	for i, path := range b.locks {
		if path == "" {
			continue
		}
		errs = append(errs, b.r.fs.Remove(path))
		parents[filepath.Dir(path)] = b.updates[i].Name
	}
	for _, name := range parents {
		b.r.removeEmptyParents(name)
	}
	return errors.Join(errs...)
}

func (c packedContent) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.lines, name, func(l packedLine, name string) int { return strings.Compare(l.name, name) })
}

// compare checks that every ref has its Old value, and finds out which have files.
func (b *refBatch) compare(old packedContent) error {
	b.loose = make([]bool, len(b.updates))
	for i, u := range b.updates {
		h, target, err := b.r.looseRef(u.Name)
		switch {
		case errors.Is(err, ErrNotFound):
			if k, ok := old.find(u.Name); ok {
				h = old.lines[k].h
			}
		case err != nil:
			return fmt.Errorf("read %s: %w", u.Name, err)
		case target != "":
			return fmt.Errorf("%s is a symbolic ref to %s", u.Name, target)
		case b.locks[i] == "":
			return &gitlock.HeldError{Path: b.r.RefPath(u.Name)} // a fetch has just created it: retry
		default:
			b.loose[i] = true
		}
		if h != u.Old {
			return fmt.Errorf("%s: %w: it holds %s, not %s", u.Name, ErrConflict, describeHash(h), describeHash(u.Old))
		}
	}
	return nil
}

// merge returns the new content of packed-refs. Refs outside of refs/tags are not peeled; the header
// says so, and git reads the objects.
func (b *refBatch) merge(old packedContent) ([]byte, error) {
	next := packedContent{peeled: old.peeled}
	lines := old.lines
	for _, u := range b.updates {
		for len(lines) > 0 && lines[0].name < u.Name {
			next.lines, lines = append(next.lines, lines[0]), lines[1:]
		}
		var had packedLine
		if len(lines) > 0 && lines[0].name == u.Name {
			had, lines = lines[0], lines[1:]
		}
		line := packedLine{name: u.Name, h: u.New, peeled: had.peeled}
		if u.New.IsZero() {
			continue
		}
		if had.h != u.New {
			line.peeled = ""
			if strings.HasPrefix(u.Name, "refs/tags/") {
				to, err := b.r.Peel(u.New)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", u.Name, err)
				}
				if to != u.New {
					line.peeled = "^" + to.String() + "\n"
				}
			} else {
				next.peeled.all = false
			}
		}
		next.lines = append(next.lines, line)
	}
	next.lines = append(next.lines, lines...)
	return next.encode(), b.checkNames(next)
}

// checkNames refuses names that clash in packed-refs: a and a/b cannot both exist. Clashes with refs'
// files were found when the refs were locked; those of mirrors, which have no locks, are not found.
func (b *refBatch) checkNames(next packedContent) error {
	for _, u := range b.updates {
		if u.New.IsZero() {
			continue
		}
		for above := path.Dir(u.Name); above != "refs"; above = path.Dir(above) {
			if _, ok := next.find(above); ok {
				return fmt.Errorf("%s exists, so %s cannot", above, u.Name)
			}
		}
		if i, _ := next.find(u.Name + "/"); i < len(next.lines) && strings.HasPrefix(next.lines[i].name, u.Name+"/") {
			return fmt.Errorf("%s exists, so %s cannot", next.lines[i].name, u.Name)
		}
	}
	return nil
}

func (b *refBatch) log(u RefUpdate) error {
	logged := isLogged(u.Name)
	switch {
	case u.Old == u.New:
	case u.New.IsZero() && (logged || !NoFileAt(b.r.logPath(u.Name))):
		return b.r.logDeletion(u)
	case logged && !u.New.IsZero():
		return b.r.logUpdate(u)
	}
	return nil
}

// removeFiles removes the refs' own files, after which packed-refs counts.
func (b *refBatch) removeFiles() error {
	dirs := map[string]bool{}
	for i, u := range b.updates {
		if !b.loose[i] {
			continue
		}
		if err := b.r.fs.Remove(b.r.RefPath(u.Name)); err != nil {
			return err
		}
		dirs[filepath.Dir(b.r.RefPath(u.Name))] = true
	}
	for dir := range dirs {
		if err := b.r.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
