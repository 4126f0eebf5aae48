package repo

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/gitstore"
)

// dropObjects removes the objects that only the old history had, and others without a name
// that hold a secret. It does not touch what somebody else has just written and not given
// a name yet, as git gc --prune=now would: other tapes may be written to meanwhile.
// It reports whether all are gone.
func (p *purge) dropObjects(j *purgeJournal) (all bool, err error) {
	s := p.s
	lock, err := s.fs.Lock(p.ctx, s.privatePath("gc.lock"), s.wait)
	if err != nil {
		return false, err
	}
	d := &dropper{p: p, began: time.Now(), live: map[gitstore.Hash]bool{}, old: map[gitstore.Hash]bool{}, doomed: map[gitstore.Hash]bool{}}
	left := len(p.out.Left)
	err = errors.Join(d.run(j), lock.Unlock())
	return len(p.out.Left) == left, err
}

// dropper removes objects.
type dropper struct {
	p      *purge
	began  time.Time
	live   map[gitstore.Hash]bool // what refs, reflogs and indexes lead to
	old    map[gitstore.Hash]bool // what the old history led to
	doomed map[gitstore.Hash]bool // not live, and old or with a secret; false: looked at, and neither
}

func (d *dropper) run(j *purgeJournal) error {
	for h := range j.commits {
		if err := d.walk(h, d.old, walkTree); err != nil {
			return err
		}
	}
	if err := d.findLive(); err != nil {
		return err
	}
	if err := d.dropNameless(); err != nil {
		return err
	}
	// Caches that name commits; git makes them again.
	info := filepath.Join(d.objects(), "info")
	for _, name := range []string{"commit-graph", "commit-graphs"} {
		if err := d.p.s.fs.RemoveAll(filepath.Join(info, name)); err != nil {
			return err
		}
	}
	if err := d.dropPacked(); err != nil {
		return err
	}
	if err := d.dropLoose(); err != nil {
		return err
	}
	kept := 0
	for h := range j.commits {
		if d.live[h] {
			kept++
		}
	}
	if kept > 0 {
		d.p.left("%d of the old commits are still used by something else in the repository: git worktree list may tell by what; then purge again", kept)
	}
	return nil
}

// dropNameless removes objects with a secret that a killed process has left before it gave
// them their names.
func (d *dropper) dropNameless() error {
	dir := d.p.s.privatePath("tmp")
	names, err := dirNames(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue // it got its name
		}
		if z, err := zlib.NewReader(bytes.NewReader(raw)); err == nil {
			raw, _ = io.ReadAll(io.LimitReader(z, gitstore.MaxObject)) // as much as was written
		}
		if strings.HasPrefix(name, asidePrefix) || d.p.mask.holds(raw) {
			if err := d.p.s.fs.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (d *dropper) objects() string { return filepath.Join(d.p.s.git.GitDir(), "objects") }

// findLive marks all that git would keep.
func (d *dropper) findLive() error {
	s := d.p.s
	refs, err := s.git.Refs("refs/")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if err := d.walk(ref.Hash, d.live, walkRef); err != nil {
			return fmt.Errorf("%s: %w", ref.Name, err)
		}
	}
	mark := func(h gitstore.Hash) error { return d.walk(h, d.live, walkLog) }
	for _, dir := range s.gitDirs() {
		if _, h, err := s.git.Head(dir); err == nil && !h.IsZero() {
			if err := mark(h); err != nil {
				return err
			}
		}
		heads, _ := filepath.Glob(filepath.Join(dir, "*_HEAD"))
		for _, path := range heads {
			raw, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			if h, err := gitstore.ParseHash(string(raw[:min(len(raw), 40)])); err == nil {
				if err := mark(h); err != nil {
					return err
				}
			}
		}
	}
	err = s.eachReflog(func(_, path string) error {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // it is gone since
		}
		for line := range strings.Lines(string(raw)) {
			for _, h := range loggedCommits(line) {
				if err := mark(h); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return d.findStaged()
}

// findStaged marks what the indexes of working trees have. Somebody's may still have the
// old files.
func (d *dropper) findStaged() error {
	s := d.p.s
	for _, dir := range s.gitDirs() {
		index, err := s.git.ReadIndex(gitstore.Worktree{GitDir: dir})
		if err != nil {
			return err
		}
		told := false
		for _, e := range index {
			if d.old[e.Hash] && !d.live[e.Hash] && !told {
				told = true
				d.p.left("the working tree of %s still has old files: git reset --hard in it takes over the new ones; then purge again", dir)
			}
			d.live[e.Hash] = true
		}
	}
	return nil
}

// How far a walk goes.
const (
	walkRef  = iota // to all that has to be there
	walkLog         // to all that is there: git may have removed what only a reflog names
	walkTree        // to what is there of one commit, not to its parents
)

// walk marks an object and what it leads to.
func (d *dropper) walk(from gitstore.Hash, seen map[gitstore.Hash]bool, far int) error {
	for stack := []gitstore.Hash{from}; len(stack) > 0; {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[h] {
			continue
		}
		if err := d.p.ctx.Err(); err != nil {
			return err
		}
		kind, raw, err := d.p.s.git.Read(h)
		if far != walkRef && errors.Is(err, gitstore.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		seen[h] = true
		switch kind {
		case gitstore.KindCommit:
			c, err := gitstore.DecodeCommit(raw)
			if err != nil {
				return err
			}
			stack = append(stack, c.Tree)
			if far != walkTree {
				stack = append(stack, c.Parents...)
			}
		case gitstore.KindTree:
			entries, err := gitstore.DecodeTree(raw)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if e.IsDir() {
					stack = append(stack, e.Hash)
				} else {
					seen[e.Hash] = true
				}
			}
		case gitstore.KindTag:
			if t, err := gitstore.DecodeTag(raw); err == nil {
				stack = append(stack, t.Object)
			}
		}
	}
	return nil
}

// isDoomed reports whether an object has to go.
func (d *dropper) isDoomed(h gitstore.Hash) bool {
	if d.live[h] {
		return false
	}
	if d.old[h] {
		return true
	}
	is, known := d.doomed[h]
	if !known {
		kind, raw, err := d.p.s.git.Read(h)
		if err == nil && kind == gitstore.KindTag {
			t, tagErr := gitstore.DecodeTag(raw)
			is = tagErr == nil && d.old[t.Object]
		}
		is = is || err == nil && d.p.mask.holds(raw)
		d.doomed[h] = is
	}
	return is
}

// dropLoose removes doomed objects that lie loose: files before the trees that have them,
// and commits last, so that what is left when it is cut off is found again.
func (d *dropper) dropLoose() error {
	fans, err := os.ReadDir(d.objects())
	if err != nil {
		return err
	}
	todo := map[gitstore.Kind][]gitstore.Hash{}
	for _, fan := range fans {
		if !fan.IsDir() || len(fan.Name()) != 2 {
			continue
		}
		names, err := dirNames(filepath.Join(d.objects(), fan.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, name := range names {
			h, err := gitstore.ParseHash(fan.Name() + name)
			if err != nil || !d.isDoomed(h) {
				continue
			}
			if kind, _, err := d.p.s.git.Read(h); err == nil {
				todo[kind] = append(todo[kind], h)
			}
		}
	}
	for _, kind := range []gitstore.Kind{gitstore.KindBlob, gitstore.KindTree, gitstore.KindTag, gitstore.KindCommit} {
		for _, h := range todo[kind] {
			if err := d.removeLoose(h); err != nil {
				return err
			}
		}
	}
	return nil
}

const asidePrefix = "purged-"

// removeLoose removes an object. Somebody who is about to use it again touches it (see
// Batch.Put), or finds that it has gone and writes it anew; so it is taken away first, and
// brought back if it was touched.
func (d *dropper) removeLoose(h gitstore.Hash) error {
	s := d.p.s
	path := filepath.Join(d.objects(), h.String()[:2], h.String()[2:])
	aside := s.privatePath("tmp", asidePrefix+h.String())
	if err := s.fs.MkdirAll(filepath.Dir(aside)); err != nil {
		return err
	}
	if err := s.fs.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	st, err := os.Stat(aside)
	if err != nil {
		return err
	}
	if st.ModTime().After(d.began) {
		d.p.left("object %s is just being used by somebody else: purge again", h)
		return s.fs.Rename(aside, path)
	}
	return s.fs.Remove(aside)
}
