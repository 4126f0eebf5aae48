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

// What git gc does under git's own locks is done here under ours, before it runs: a lock of ours that
// a power cut left is recognized, and the next process that meets it removes it.

// PackRefs moves all refs from files of their own into packed-refs, except those that are symbolic,
// damaged, a worktree's, or name a missing object. Errors: ErrBusy if somebody else has locked one of them,
// ErrConflict if one changes meanwhile.
func (r *Repo) PackRefs(ctx context.Context) error {
	err := r.locks.Guarded(ctx, r.refGuard(), func() error {
		b := &refBatch{r: r, updates: r.packable()}
		if len(b.updates) == 0 && NoFileAt(r.packedPath()+".new") { // a killed git's file would block other packers
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
			return nil //nolint:nilerr // leave it as it is
		}
		if _, err := r.Peel(h); err == nil {
			out = append(out, RefUpdate{Name: name, Old: h, New: h})
		}
		return nil
	})
	sortUpdates(out)
	return out
}

// ExpireReflogs drops the lines of reflogs that are older than before, except those of the stash, which
// is nothing but a reflog. Errors: ErrBusy if somebody else has a ref locked.
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

// expireReflog drops the old lines of one log. It holds the guard, as our writers of logs do, and the lock
// on the log's ref, as git does.
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
			return nil // the log was removed, or expired by somebody else
		}
		return r.fs.WriteFile(path, []byte(kept))
	})
}

// expired returns the content of a log, and the part that is not older than before.
func expired(path string, before time.Time) (log, kept string) {
	raw, _ := os.ReadFile(path)
	var recent []byte
	for line := range bytes.Lines(raw) {
		if e, ok := parseReflog(string(line)); !ok || !e.Who.When.Before(before) {
			recent = append(recent, line...)
		}
	}
	return string(raw), string(recent)
}

// eachFile calls fn for the files below a folder, with their names relative to root. It skips locks,
// temporary files, and what vanishes meanwhile.
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
