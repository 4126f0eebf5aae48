package purge

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/layout"
)

// clearReflogs lets all reflogs tell of the new commits in place of the old ones.
func (p *purge) clearReflogs() error {
	return eachReflog(p.s, func(_, path, log string) error {
		var out []byte
		for line := range strings.Lines(log) {
			for _, h := range loggedCommits(line) {
				line = strings.Replace(line, h.String(), p.r.To(h).String(), 2)
			}
			head, message, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			if ok {
				line = head + "\t" + p.mask.Text(message) + "\n"
			}
			out = append(out, line...)
		}
		if string(out) == log {
			return nil
		}
		return p.s.FS().WriteFile(path, out)
	})
}

// clearFiles removes what else may tell what was masked: the notes of git and of this
// program, and what was set aside.
func (p *purge) clearFiles(ctx context.Context) error {
	remove := func(path string) error {
		if err := p.s.FS().Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if rel, err := filepath.Rel(p.s.Dir(), path); err == nil {
			path = filepath.ToSlash(rel)
		}
		p.out.Removed = append(p.out.Removed, path)
		return nil
	}
	for _, dir := range gitDirs(p.s) {
		for _, name := range []string{"ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG"} {
			path := filepath.Join(dir, name)
			raw, err := os.ReadFile(path)
			if err == nil && (p.mask.Holds(raw) || p.namesOld(raw)) {
				if err := remove(path); err != nil {
					return err
				}
			}
		}
	}
	// Objects that a killed process has not given their names yet are in tmp.
	for _, dir := range []string{p.s.PrivatePath(layout.TornDirName), p.s.PrivatePath("tmp"), filepath.Join(p.s.Git().GitDir(), "rr-cache")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return nil //nolint:nilerr // it is gone since
			}
			if z, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
				raw, _ = io.ReadAll(io.LimitReader(z, gitstore.MaxObject)) // as much as was written
			}
			if p.mask.Holds(raw) || p.mask.Holds([]byte(d.Name())) {
				return remove(path)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	// The name of a ref that is gone may tell, and a lock of a killed process has it.
	if _, err := p.s.Git().RecoverLocks(ctx); err != nil {
		return err
	}
	for _, w := range p.writers {
		if err := p.reportFiles(ctx, w.Wt.Dir); err != nil {
			return err
		}
		if err := w.Scrub(); err != nil {
			return err
		}
	}
	return nil
}

// reportFiles names files in a working tree that are none of a tape's, and have it: they are
// somebody's, and stay.
func (p *purge) reportFiles(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	others := []string{".git", layout.AnchorsDir, layout.TapeFile, layout.ConfigFile, layout.TapesDir, layout.ForksDir, filepath.Base(p.s.IndexFile())}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel := filepath.ToSlash(path[len(dir)+1:])
		if top := !strings.Contains(rel, "/"); top && slices.Contains(others, rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if err := ctx.Err(); err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && (p.mask.Holds(raw) || p.mask.Holds([]byte(rel))) {
			p.left("the file %s has it, and is none of a tape's: remove it", p.mask.Text(path))
		}
		return nil
	})
}

// namesOld reports whether a file of git's begins a line with a commit that is replaced.
func (p *purge) namesOld(raw []byte) bool {
	for line := range strings.Lines(string(raw)) {
		if h, err := gitstore.ParseHash(line[:min(len(line), 40)]); err == nil {
			if p.r.To(h) != h {
				return true
			}
		}
	}
	return false
}
