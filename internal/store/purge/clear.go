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
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// eachFile calls fn for files, and for all files below folders. It skips what is missing or no plain file. err
// says why a file or folder cannot be read.
func eachFile(paths []string, fn func(path string, raw []byte, err error) error) error {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			var raw []byte
			if err == nil {
				if !d.Type().IsRegular() {
					return nil
				}
				raw, err = os.ReadFile(path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return fn(path, raw, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gitFiles returns the paths of git's own files that name commits or have drafts of messages.
func gitFiles(s *workspace.Store) (paths []string) {
	for _, dir := range s.Git().HeadDirs() {
		for _, name := range []string{"ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG"} {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// eachReflog calls fn for all reflogs. ref is the name of the reflog's ref, such as refs/heads/tape/main or HEAD.
func eachReflog(s *workspace.Store, fn func(ref, path, log string) error) error {
	for _, dir := range s.Git().HeadDirs() {
		logs := filepath.Join(dir, "logs")
		err := eachFile([]string{logs}, func(path string, raw []byte, err error) error {
			if err != nil {
				return err
			}
			return fn(filepath.ToSlash(path[len(logs)+1:]), path, string(raw))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loggedCommits returns the commits at the beginning of a line. In a reflog, these are the old and the new one.
func loggedCommits(line string) (out []gitstore.Hash) {
	words := strings.Fields(line)
	for _, word := range words[:min(2, len(words))] {
		if h, err := gitstore.ParseHash(word); err == nil && !h.IsZero() {
			out = append(out, h)
		}
	}
	return out
}

// clearReflogs replaces the old commits in all reflogs with the new ones, and masks the messages.
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

// clearFiles removes other files of git and tape, such as ORIG_HEAD and damaged files that were set aside, if
// they contain masked text or name replaced commits. It reports files of the user.
func (p *purge) clearFiles(ctx context.Context) error {
	// Objects that a killed process had not renamed yet are in tmp.
	paths := []string{p.s.PrivatePath(layout.TornDirName), p.s.PrivatePath("tmp"), filepath.Join(p.s.Git().GitDir(), "rr-cache")}
	err := eachFile(append(paths, gitFiles(p.s)...), func(path string, raw []byte, err error) error {
		if err != nil {
			p.leftUnread(err)
			return nil
		}
		if z, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
			raw, _ = io.ReadAll(io.LimitReader(z, gitstore.MaxObject)) // possibly cut off
		}
		if !p.mask.Holds(raw) && !p.mask.Holds([]byte(filepath.Base(path))) && !names(raw, p.r.Changed) {
			return nil
		}
		if err := p.s.FS().Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if rel, err := filepath.Rel(p.s.Dir(), path); err == nil {
			path = filepath.ToSlash(rel)
		}
		p.out.Removed = append(p.out.Removed, path)
		return nil
	})
	if err != nil {
		return err
	}
	// The lock of a killed process may contain the name of a ref that is gone.
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

// reportFiles reports files in a working tree that have masked text, in their content or path, but do not belong
// to a tape. They are the user's, so they stay.
func (p *purge) reportFiles(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := []string{".git", layout.AnchorsDir, layout.TapeFile, layout.TapesDir, layout.ForksDir, filepath.Base(p.s.IndexFile())}
	var paths []string
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return eachFile(paths, func(path string, raw []byte, err error) error {
		switch {
		case err != nil:
			p.leftUnread(err)
		case p.mask.Holds(raw) || p.mask.Holds([]byte(path[len(dir)+1:])):
			p.left("the file %s has it, and does not belong to a tape: remove it", p.mask.Text(path))
		}
		return ctx.Err()
	})
}

func (p *purge) leftUnread(err error) {
	p.left("a file could not be read, and may have it: %s; look yourself", p.mask.Text(err.Error()))
}

// names reports whether a line of one of git's files begins with a commit for which which is true.
func names(raw []byte, which func(gitstore.Hash) bool) bool {
	for line := range strings.Lines(string(raw)) {
		if slices.ContainsFunc(loggedCommits(line), which) {
			return true
		}
	}
	return false
}
