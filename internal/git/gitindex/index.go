// Package gitindex reads and changes the index of a worktree (gitformat-index(5)).
package gitindex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitobject"
	"tape/internal/git/gitstore"
)

// ErrUnreadable says that a worktree's index is damaged, or of a kind that is not
// edited here (version 4, split, sparse). [Rebuild] replaces it.
var ErrUnreadable = errors.New("unreadable git index")

// Entry is one file in the index.
type Entry struct {
	Path  string
	Hash  gitstore.Hash
	Mode  uint32
	Stage int // 0, or 1 to 3 in a conflict

	SkipWorktree bool
}

// Change is the new state of one path in the index.
type Change struct {
	Path   string // with slashes, relative to the worktree's root
	Hash   gitstore.Hash
	Mode   uint32
	Size   int64 // the blob's size in bytes; git sees a file that has become longer as modified
	Remove bool
	// Skip leaves the file out of the working tree: git takes it for unchanged, whether it
	// exists or not (git-update-index(1), "Skip-worktree bit").
	Skip bool
}

// Read returns the entries of a worktree's index; none if there is no index. Errors: ErrUnreadable.
func Read(w gitstore.Worktree) ([]Entry, error) {
	x, err := readIndexFile(w.IndexPath())
	if err != nil {
		return nil, err
	}
	out := make([]Entry, x.len())
	for i := range out {
		out[i] = x.entry(i)
	}
	return out, nil
}

// Update changes some entries of a worktree's index. Others stay byte for byte as they are,
// but for smudges, and go if they cannot exist beside a changed path. For each path it looks at
// the file on disk, so that git status need not. A path with a conflict is resolved. A path
// that was skipped is no longer skipped, unless the change says so. If there is no index, one
// is created.
//
// The index is derived from history and working tree. It is replaced atomically and
// its content is synced, but not its name: after a power cut the old one may be back, which
// the next writer of the tape notices.
//
// Errors: ErrUnreadable, gitstore.ErrBusy when git holds the index for too long, and
// gitstore.ErrNotFound when the worktree is gone.
func Update(ctx context.Context, r *gitstore.Repo, w gitstore.Worktree, changes []Change) error {
	return replaceIndex(ctx, r, w, func() ([]byte, error) {
		x, err := readIndexFile(w.IndexPath())
		if err != nil {
			return nil, err
		}
		edits, err := x.edits(w.Dir, changes)
		if err != nil {
			return nil, err
		}
		edits = append(edits, x.smudges(w.Dir, edits)...)
		return x.splice(edits), nil
	})
}

// Rebuild replaces a worktree's index, readable or not, by one with exactly these entries.
// Errors: those of [Update] without ErrUnreadable.
func Rebuild(ctx context.Context, r *gitstore.Repo, w gitstore.Worktree, entries []Change) error {
	return replaceIndex(ctx, r, w, func() ([]byte, error) {
		x := &indexFile{version: 2}
		edits, err := x.edits(w.Dir, entries)
		return x.splice(edits), err
	})
}

// replaceIndex writes what build returns through git's index.lock.
func replaceIndex(ctx context.Context, r *gitstore.Repo, w gitstore.Worktree, build func() ([]byte, error)) error {
	if _, err := os.Stat(w.GitDir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the git index of %s: the worktree is gone: %w", w.Dir, gitstore.ErrNotFound)
	}
	err := r.Locks().Guarded(ctx, w.IndexGuard(), func() (err error) {
		l, err := r.Locks().Lock(w.IndexPath())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Release()) }()
		data, err := build()
		if err != nil {
			return err
		}
		if err := l.Write(data); err != nil {
			return err
		}
		return l.Publish()
	})
	return gitstore.Wrap(err, "write the git index of %s", w.Dir)
}

// readIndexFile reads and checks an index; a missing one is empty.
func readIndexFile(path string) (*indexFile, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &indexFile{version: 2}, nil
	}
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreadable, path, err)
	}
	if st, err := os.Stat(path); err == nil {
		x.written = st.ModTime()
	}
	return x, nil
}

// indexEdit replaces the entries from..to of an index with data, which has add entries.
type indexEdit struct {
	from, to int
	data     []byte
	add      int
}

// edits turns changes into edits, none of which overlap. Of two changes of a path the later counts.
func (x *indexFile) edits(root string, changes []Change) ([]indexEdit, error) {
	sorted := changes
	byPath := func(a, b Change) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(changes, byPath) {
		sorted = slices.Clone(changes)
		slices.SortStableFunc(sorted, byPath)
	}
	edits := make([]indexEdit, 0, len(sorted))
	for i, c := range sorted {
		if err := checkIndexPath(c.Path); err != nil {
			return nil, err
		}
		if i+1 < len(sorted) && sorted[i+1].Path == c.Path {
			continue // the later one wins
		}
		var e indexEdit
		e.from, e.to = x.find(c.Path)
		if !c.Remove {
			stat, err := statEntry(root, c)
			if err != nil {
				return nil, err
			}
			e.data, e.add = encodeIndexEntry(c, stat), 1
			if x.len() > 0 {
				edits = append(edits, x.displaced(c.Path)...)
			}
		}
		edits = append(edits, e)
	}
	return dropCovered(edits), nil
}

// displaced returns the edits that remove what cannot exist beside path: files at the place
// of its folders, and files below it.
func (x *indexFile) displaced(path string) []indexEdit {
	var out []indexEdit
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		if from, to := x.find(path[:i]); to > from {
			out = append(out, indexEdit{from: from, to: to})
		}
	}
	below := []byte(path + "/")
	from := x.lowerBound(below)
	to := from
	for to < x.len() && bytes.HasPrefix(x.path(to), below) {
		to++
	}
	if to > from {
		out = append(out, indexEdit{from: from, to: to})
	}
	return out
}

// dropCovered sorts edits by place, and drops removals of entries that another edit
// replaces or removes anyway.
func dropCovered(edits []indexEdit) []indexEdit {
	sortEdits(edits)
	out := edits[:0]
	end := 0
	for _, e := range edits {
		if e.add == 0 && e.to <= end {
			continue
		}
		e.from, e.to = max(e.from, end), max(e.to, end)
		out = append(out, e)
		end = e.to
	}
	return out
}

// sortEdits puts edits in order of place, insertions before what they precede.
func sortEdits(edits []indexEdit) {
	byPlace := func(a, b indexEdit) int { return cmp.Or(a.from-b.from, a.to-b.to) }
	if !slices.IsSortedFunc(edits, byPlace) {
		slices.SortStableFunc(edits, byPlace)
	}
}

func checkIndexPath(path string) error {
	if strings.IndexByte(path, 0) >= 0 {
		return fmt.Errorf("bad path %q in the git index", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if err := gitobject.CheckName(part); err != nil {
			return fmt.Errorf("bad path %q in the git index", path)
		}
	}
	return nil
}

// statEntry returns the stat data of a file for its entry. The size is the blob's, not the
// file's: a file that grew after its blob was hashed then differs from its entry, and git
// sees that it is modified. For a missing file all but the size is zero; git sees that the
// file is deleted.
func statEntry(root string, c Change) (indexStat, error) {
	if c.Skip {
		return indexStat{}, nil
	}
	st, err := os.Lstat(filepath.Join(root, filepath.FromSlash(c.Path)))
	if err != nil {
		if gitstore.IsAbsent(err) {
			return indexStat{size: uint32(c.Size)}, nil
		}
		return indexStat{}, err
	}
	s := systemStat(st)
	s.size = uint32(c.Size)
	return s, nil
}

// maxSmudgeChecks and maxSmudgeBytes bound how much of the working tree is read again.
const (
	maxSmudgeChecks = 256
	maxSmudgeBytes  = 8 << 20
)

// smudges handles "racily clean" entries as git does. Git takes a file for unchanged if its
// stat data equal the entry's, unless the file is as new as the index itself: then a change
// of equal size in the same tick of the clock would not show, so git compares the content.
// A new index is younger and would hide such entries. So unchanged entries of this kind are
// compared now. If a file has changed, or is beyond the bounds, its entry gets the size 0,
// which makes git compare the next time.
//
// Whole seconds count: most gits are built to ignore the rest.
func (x *indexFile) smudges(root string, edits []indexEdit) []indexEdit {
	var out []indexEdit
	checks, size := 0, int64(0)
	for i := range x.kept(edits) {
		s := x.stat(i)
		if x.written.IsZero() || int64(s.mtimeSec) < x.written.Unix() || s.size == 0 || x.skipped(i) {
			continue
		}
		if checks >= maxSmudgeChecks || size >= maxSmudgeBytes {
			out = append(out, indexEdit{from: i, to: i + 1, data: x.smudged(i), add: 1})
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(string(x.path(i))))
		st, err := os.Lstat(path)
		if err != nil || !st.Mode().IsRegular() || st.Size() != int64(s.size) || systemStat(st).mtimeSec != s.mtimeSec {
			continue // git sees it as modified anyway
		}
		checks, size = checks+1, size+st.Size()
		if size > maxSmudgeBytes || !x.sameContent(i, path) {
			out = append(out, indexEdit{from: i, to: i + 1, data: x.smudged(i), add: 1})
		}
	}
	return out
}

func (x *indexFile) sameContent(i int, path string) bool {
	data, err := os.ReadFile(path)
	return err == nil && gitstore.HashObject(gitstore.KindBlob, data) == x.hash(i)
}

// Stat returns the properties of a file that differ after a change: its size, its times and
// its inode number, as far as the system has them.
func Stat(st fs.FileInfo) string {
	s := systemStat(st)
	return fmt.Sprintf("%d/%d/%d.%d/%d", st.Size(), st.ModTime().UnixNano(), s.ctimeSec, s.ctimeNano, s.ino)
}

func portableStat(st fs.FileInfo) indexStat {
	t := st.ModTime()
	return indexStat{mtimeSec: uint32(t.Unix()), mtimeNano: uint32(t.Nanosecond()), size: uint32(st.Size())}
}
