package gitstore

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Which objects one side lacks: what is reachable from some tips and not from others.

// has reports whether an object is there, without reading it.
func (r *Repo) has(h Hash) bool { return r.objects(false).has(h) }

func (o *odb) has(h Hash) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := h.String()
	for _, dir := range o.dirs {
		if _, err := os.Stat(filepath.Join(dir, name[:2], name[2:])); err == nil {
			return true
		}
	}
	if o.list() != nil {
		return false
	}
	for _, p := range o.packs {
		if p.open(&o.bases) != nil {
			continue // repacked, or damaged: then reading it will tell
		}
		if _, err := p.index.FindOffset(plumbing.Hash(h)); err == nil {
			return true
		}
	}
	return false
}

// paintMost bounds the known commits that are read to find out what is reachable from
// them: to take less for known costs sending more, nothing else.
const paintMost = 1000

// lacking walks from tips through a repository.
type lacking struct {
	r    *Repo
	ctx  context.Context
	seen map[Hash]bool // objects that are known, or in out
	out  []Hash
	new  []Commit // in which trees are looked at
	edge []Hash   // trees of known commits that new ones stand on
}

// lacks returns the objects that tips lead to and known ones do not, as far as that is cheap
// to tell: commits and tags first. Known ones that the repository does not have are passed
// over; the more relevant should come first. Every object is there, commits and trees are
// well-formed; else it is an error.
func (r *Repo) lacks(ctx context.Context, tips, known []Hash) ([]Hash, error) {
	l := &lacking{r: r, ctx: ctx, seen: map[Hash]bool{}}
	var commits []Hash
	for _, tip := range tips {
		h, err := l.peel(tip)
		if err != nil {
			return nil, err
		}
		if !h.IsZero() {
			commits = append(commits, h)
		}
	}
	if err := l.commits(commits, known); err != nil {
		return nil, err
	}
	for _, tree := range l.edge {
		if err := l.tree(tree, true); err != nil {
			return nil, err
		}
	}
	for _, c := range l.new {
		if err := l.tree(c.Tree, false); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

// add notes an object that is lacking, and reports whether it is a new one.
func (l *lacking) add(h Hash) bool {
	if l.seen[h] {
		return false
	}
	l.seen[h] = true
	l.out = append(l.out, h)
	return true
}

// peel notes tags and returns the commit that they lead to, zero if it is something else,
// which is noted.
func (l *lacking) peel(h Hash) (Hash, error) {
	for range maxSymbolic {
		kind, raw, err := l.r.Read(h)
		if err != nil {
			return ZeroHash, err
		}
		switch kind {
		case KindCommit:
			return h, nil
		case KindTree:
			return ZeroHash, l.tree(h, false)
		case KindBlob:
			l.add(h)
			return ZeroHash, nil
		}
		l.add(h)
		line, _, _ := strings.Cut(string(raw), "\n")
		next, err := ParseHash(strings.TrimPrefix(line, "object "))
		if err != nil {
			return ZeroHash, fmt.Errorf("tag %s: %w", h, err)
		}
		h = next
	}
	return ZeroHash, fmt.Errorf("tag %s: a tag of a tag of a tag", h)
}

// dated is a commit on the way, youngest first.
type dated struct {
	h      Hash
	c      Commit
	known  bool
	queued bool
}

type byDate []*dated

func (q byDate) Len() int           { return len(q) }
func (q byDate) Less(i, j int) bool { return q[i].c.Committer.When.After(q[j].c.Committer.When) }
func (q byDate) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byDate) Push(x any)        { *q = append(*q, x.(*dated)) }
func (q *byDate) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// commits finds the new ones: from the tips and the known ones downwards by date, until
// all that is left is known. Where clocks were wrong, some known ones count as new.
func (l *lacking) commits(tips, known []Hash) error {
	met := map[Hash]*dated{}
	var queue byDate
	fresh := 0 // in the queue, and not known
	var order []*dated
	meet := func(h Hash, isKnown, must bool) error {
		d := met[h]
		if d == nil {
			c, err := l.commit(h)
			if err != nil {
				if !must && errors.Is(err, ErrNotFound) {
					return nil
				}
				return err
			}
			d = &dated{h: h, c: c, queued: true}
			met[h] = d
			heap.Push(&queue, d)
			fresh++
		}
		if isKnown && !d.known {
			d.known = true
			if d.queued {
				fresh--
			} else { // it was taken for new: what it stands on is known, too
				d.queued = true
				heap.Push(&queue, d)
			}
		}
		return nil
	}
	isKnown := map[Hash]bool{}
	for i, h := range known {
		isKnown[h] = true
		if i >= paintMost || !l.r.has(h) {
			continue
		}
		if h, err := l.r.Peel(h); err == nil {
			if kind, _, err := l.r.Read(h); err != nil || kind != KindCommit {
				continue
			}
			if err := meet(h, true, false); err != nil {
				return err
			}
		}
	}
	for _, h := range tips {
		if err := meet(h, isKnown[h], true); err != nil {
			return err
		}
	}
	for fresh > 0 && len(queue) > 0 {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		d := heap.Pop(&queue).(*dated)
		d.queued = false
		if !d.known {
			fresh--
			order = append(order, d)
		}
		for _, parent := range d.c.Parents {
			if err := meet(parent, d.known || isKnown[parent], !d.known); err != nil {
				return err
			}
		}
	}
	l.split(order, met)
	return nil
}

// split notes the commits that stayed new, and the trees that they stand on.
func (l *lacking) split(order []*dated, met map[Hash]*dated) {
	edges := map[Hash]bool{}
	for _, d := range order {
		if d.known {
			continue
		}
		l.add(d.h)
		l.new = append(l.new, d.c)
		for _, parent := range d.c.Parents {
			if p := met[parent]; p != nil && p.known && !edges[p.c.Tree] {
				edges[p.c.Tree] = true
				l.edge = append(l.edge, p.c.Tree)
			}
		}
	}
}

// commit reads a commit without what is not needed here.
func (l *lacking) commit(h Hash) (Commit, error) {
	c, err := l.r.Commit(h)
	c.Message = ""
	return c, err
}

// tree notes a tree and what is in it, or marks it all as known.
func (l *lacking) tree(h Hash, known bool) error {
	if l.seen[h] {
		return nil
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	raw, err := l.r.readAs(h, KindTree)
	if err == nil && !known {
		err = checkTree(raw)
	}
	if err != nil {
		return fmt.Errorf("tree %s: %w", h, err)
	}
	entries, err := DecodeTree(raw)
	if err != nil {
		return fmt.Errorf("tree %s: %w", h, err)
	}
	note := func(h Hash) {
		if known {
			l.seen[h] = true
		} else {
			l.add(h)
		}
	}
	note(h)
	for _, e := range entries {
		switch {
		case e.Mode&modeKind == ModeDir:
			err = l.tree(e.Hash, known)
		case e.Mode&modeKind == modeGitlink:
		case !l.seen[e.Hash]:
			if !known && !l.r.has(e.Hash) {
				err = fmt.Errorf("object %s: %w", e.Hash, ErrNotFound)
			}
			note(e.Hash)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAncestor reports whether a commit is among those that another one stands on.
func (r *Repo) isAncestor(ctx context.Context, old, of Hash) (bool, error) {
	seen := map[Hash]bool{}
	for stack := []Hash{of}; len(stack) > 0; {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if h == old {
			return true, nil
		}
		if seen[h] {
			continue
		}
		seen[h] = true
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c, err := r.Commit(h)
		if err != nil {
			return false, err
		}
		slices.Reverse(c.Parents) // first parents first
		stack = append(stack, c.Parents...)
	}
	return false, nil
}

// packFor writes what of objects another side lacks into a pack of its own, a temporary
// file in the folder of this repository, which the caller closes and removes.
func (r *Repo) packFor(ctx context.Context, objects []Hash) (f *os.File, err error) {
	tmp, err := (&Batch{r: r}).create()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
		}
	}()
	source := &packSource{ctx: ctx, r: r, objects: map[Hash]*packObject{}}
	for _, h := range objects {
		if _, err := source.add(h); err != nil {
			return nil, err
		}
	}
	if _, err := encodePack(tmp, source, objects); err != nil {
		return nil, fmt.Errorf("write pack: %w", err)
	}
	return tmp.File, nil
}

// removeFile closes and removes a temporary file.
func removeFile(f *os.File) {
	_ = f.Close()
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = os.Truncate(f.Name(), 0) // Windows, while a virus scanner has it open
	}
}
