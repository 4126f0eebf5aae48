package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	modeGitlink uint32 = 0o160000
	modeKind    uint32 = 0o170000
)

// looseObjects lists the loose objects.
func (r *Repo) looseObjects() (map[Hash]bool, error) {
	out := map[Hash]bool{}
	fans, err := os.ReadDir(r.objectsDir())
	if err != nil {
		return nil, err
	}
	for _, fan := range fans {
		if !fan.IsDir() || len(fan.Name()) != 2 {
			continue
		}
		files, err := os.ReadDir(filepath.Join(r.objectsDir(), fan.Name()))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, f := range files {
			if h, err := ParseHash(fan.Name() + f.Name()); err == nil {
				out[h] = true
			}
		}
	}
	return out, nil
}

// walker goes through what is reachable and picks the loose objects.
type walker struct {
	r     *Repo
	loose map[Hash]bool // those not met yet
	seen  map[Hash]bool
	found []Hash // in the order in which they were met
}

// reachableLoose returns those loose objects that refs, HEADs, reflogs and the indexes of
// worktrees lead to. It ends as soon as there are no others.
func (r *Repo) reachableLoose(ctx context.Context, loose map[Hash]bool) ([]Hash, error) {
	w := &walker{r: r, loose: loose, seen: map[Hash]bool{}}
	refs, err := r.Refs("refs/")
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if err := w.walk(ctx, ref.Hash); err != nil {
			return nil, fmt.Errorf("%s: %w", ref.Name, err)
		}
	}
	for _, dir := range r.headDirs() {
		if err := w.walkWorktree(ctx, dir); err != nil {
			return nil, err
		}
	}
	return w.found, nil
}

// walkWorktree follows HEAD, index and reflogs in a git folder. As for git, a reflog may
// name what is long gone.
func (w *walker) walkWorktree(ctx context.Context, dir string) error {
	if _, h, err := w.r.Head(dir); err == nil && !h.IsZero() {
		if err := w.walk(ctx, h); err != nil {
			return fmt.Errorf("HEAD of %s: %w", dir, err)
		}
	}
	entries, err := w.r.ReadIndex(Worktree{GitDir: dir})
	if err != nil && !errors.Is(err, ErrIndexUnreadable) {
		return err
	}
	for _, e := range entries {
		w.meet(e.Hash)
	}
	return filepath.WalkDir(filepath.Join(dir, "logs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ctx.Err() // a log that goes away meanwhile
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return ctx.Err()
		}
		for line := range strings.Lines(string(raw)) {
			e, ok := parseReflog(line)
			for _, h := range []Hash{e.Old, e.New} {
				if !ok || h.IsZero() {
					continue
				}
				if err := w.walk(ctx, h); err != nil && !errors.Is(err, ErrNotFound) {
					return fmt.Errorf("reflog %s: %w", path, err)
				}
			}
		}
		return nil
	})
}

// meet notes an object and reports whether it is new.
func (w *walker) meet(h Hash) bool {
	if w.seen[h] {
		return false
	}
	w.seen[h] = true
	if w.loose[h] {
		delete(w.loose, h)
		w.found = append(w.found, h)
	}
	return true
}

// walk follows commits, tags and trees from one object on.
func (w *walker) walk(ctx context.Context, from Hash) error {
	for stack := []Hash{from}; len(stack) > 0 && len(w.loose) > 0; {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if w.seen[h] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		next, err := w.children(h)
		if err != nil {
			return err
		}
		w.meet(h)
		stack = append(stack, next...)
	}
	return nil
}

// children returns what an object leads to; blobs in trees are met right away.
func (w *walker) children(h Hash) (next []Hash, err error) {
	kind, raw, err := w.r.Read(h)
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindCommit:
		c, err := DecodeCommit(raw)
		return append(c.Parents, c.Tree), err
	case KindTree:
		entries, err := DecodeTree(raw)
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", h, err)
		}
		for _, e := range entries {
			switch {
			case e.Mode&modeKind == ModeDir:
				next = append(next, e.Hash)
			case e.Mode&modeKind != modeGitlink:
				w.meet(e.Hash)
			}
		}
	case KindTag:
		line, _, _ := strings.Cut(string(raw), "\n") // a tag may name anything
		target, err := ParseHash(strings.TrimPrefix(line, "object "))
		return []Hash{target}, err
	}
	return next, nil
}
