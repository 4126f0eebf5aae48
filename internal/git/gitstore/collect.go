package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What git gc does under git's own locks is done here under ours, before it runs: a lock of
// ours that is left by a power cut is known for one, and removed by whoever meets it.

// PackRefs moves all refs that have files of their own into packed-refs, but those that are
// symbolic, damaged, a worktree's, or name an object that is not there. ErrBusy when somebody
// else has one of them locked.
func (r *Repo) PackRefs(ctx context.Context) error {
	err := r.locks.Guarded(ctx, r.refGuard(), func() error {
		b := &refBatch{r: r, updates: r.packable()}
		if len(b.updates) == 0 && NoFileAt(r.packedPath()+".new") { // what a killed git left keeps others from packing
			return nil
		}
		return errors.Join(b.run(ctx), b.release())
	})
	return Wrap(err, "pack refs")
}

// packable lists the refs that PackRefs packs, sorted by name.
func (r *Repo) packable() (out []RefUpdate) {
	_ = eachFile(r.gitDir, "refs", func(path, name string) error {
		for _, own := range []string{"refs/bisect/", "refs/worktree/", "refs/rewritten/"} {
			if strings.HasPrefix(name, own) {
				return nil
			}
		}
		h, target, err := readLoose(path)
		if err != nil || target != "" || CheckRefName(name) != nil {
			return nil //nolint:nilerr // it stays as it is
		}
		if _, err := r.Peel(h); err == nil {
			out = append(out, RefUpdate{Name: name, Old: h, New: h})
		}
		return nil
	})
	sortUpdates(out)
	return out
}

// ExpireReflogs drops all lines of reflogs that are older than a time, but those of the stash,
// which is a log and nothing else. ErrBusy when somebody else has a ref locked.
func (r *Repo) ExpireReflogs(ctx context.Context, before time.Time) error {
	for _, dir := range r.HeadDirs() {
		err := eachFile(filepath.Join(dir, "logs"), "", func(path, name string) error {
			if name == "refs/stash" {
				return nil
			}
			return r.expireReflog(ctx, path, filepath.Join(dir, filepath.FromSlash(name)), before)
		})
		if err != nil {
			return fmt.Errorf("expire reflogs: %w", err)
		}
	}
	return nil
}

// expireReflog does it for one log. Who writes to a log has its ref locked.
func (r *Repo) expireReflog(ctx context.Context, path, ref string, before time.Time) error {
	if old, kept := expired(path, before); old == kept {
		return nil
	}
	return r.locks.Guarded(ctx, r.refGuard(), func() (err error) {
		l, err := r.locks.Lock(ref)
		if err != nil {
			return err
		}
		defer func() {
			err = errors.Join(err, l.Release())
			if name, rerr := filepath.Rel(r.gitDir, ref); rerr == nil {
				r.removeEmptyParents(filepath.ToSlash(name)) // the ref may be packed
			}
		}()
		old, kept := expired(path, before)
		if old == kept {
			return nil // the log is gone since
		}
		return r.fs.WriteFile(path, []byte(kept))
	})
}

// expired reads a log, and what of it is not older than a time.
func expired(path string, before time.Time) (log, kept string) {
	raw, _ := os.ReadFile(path)
	var young []byte
	for line := range bytes.Lines(raw) {
		if e, ok := parseReflog(string(line)); !ok || !e.Who.When.Before(before) {
			young = append(young, line...)
		}
	}
	return string(raw), string(young)
}

// eachFile calls fn for the files below a folder, with their names from root, but for locks and
// for what has no name yet. What goes away meanwhile is passed over.
func eachFile(root, below string, fn func(path, name string) error) error {
	return filepath.WalkDir(filepath.Join(root, below), func(path string, d fs.DirEntry, err error) error {
		if IsAbsent(err) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") || strings.HasSuffix(path, ".lock") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return fn(path, filepath.ToSlash(name))
	})
}
