package gitstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Ref is a ref and the object that it names.
type Ref struct {
	Name string
	Hash Hash
}

// RefUpdate is a change of one ref.
type RefUpdate struct {
	Name    string
	Old     Hash      // its value must be this; zero: it must not exist
	New     Hash      // its value becomes this; zero: delete it
	Message string    // for the reflog
	Who     Signature // for the reflog; without name or address: the committer of [Repo.Identity]
}

// maxSymbolic limits a chain of symbolic refs, as git does.
const maxSymbolic = 5

// CheckRefName returns what is wrong with a full ref name, which starts with refs/, by the rules of
// git-check-ref-format(1).
func CheckRefName(name string) error {
	bad := func(why string) error { return fmt.Errorf("bad ref name %.200q: %s", name, why) }
	if !strings.HasPrefix(name, "refs/") {
		return bad("it does not start with refs/")
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c == 0x7f:
			return bad("a control character")
		case strings.IndexByte(" ~^:?*[\\", c) >= 0:
			return bad(fmt.Sprintf("the character %q", c))
		}
	}
	switch {
	case strings.Contains(name, ".."):
		return bad("two dots in a row")
	case strings.Contains(name, "@{"):
		return bad("@{")
	case strings.HasSuffix(name, "."):
		return bad("a dot at the end")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return bad("an empty part")
		case part[0] == '.':
			return bad("a part that starts with a dot")
		case strings.HasSuffix(part, ".lock"):
			return bad("a part that ends in .lock")
		}
	}
	return nil
}

// RefPath returns the path of a ref's own file.
func (r *Repo) RefPath(name string) string {
	return filepath.Join(r.gitDir, filepath.FromSlash(name))
}

// Ref returns what a ref, or HEAD, names, following symbolic refs. Errors: ErrNotFound; ErrDamagedRef,
// with the path of the file.
func (r *Repo) Ref(name string) (Hash, error) {
	for range maxSymbolic {
		if name != "HEAD" {
			if err := CheckRefName(name); err != nil {
				return Hash{}, err
			}
		}
		h, target, err := r.readRef(name)
		if err != nil || target == "" {
			return h, err
		}
		name = target
	}
	return Hash{}, fmt.Errorf("read %s: too many symbolic refs in a row", name)
}

// readRef reads one ref without following it, first its file, then packed-refs. The order matters:
// a git that packs refs writes packed-refs before it removes the file.
func (r *Repo) readRef(name string) (h Hash, target string, err error) {
	h, target, err = r.looseRef(name)
	if errors.Is(err, ErrNotFound) {
		h, err = r.packedRef(name)
	}
	if err != nil {
		err = fmt.Errorf("read %s: %w", name, err)
	}
	return h, target, err
}

// looseRef reads the file of a ref. A damaged one that mirrors a remote counts as missing, because it can
// be fetched again.
func (r *Repo) looseRef(name string) (h Hash, target string, err error) {
	h, target, err = readLoose(r.RefPath(name))
	if errors.Is(err, ErrDamagedRef) && isMirror(name) {
		err = ErrNotFound
	}
	return h, target, err
}

// readLoose reads a ref file: an object id, or "ref: <name>".
func readLoose(path string) (h Hash, target string, err error) {
	var buf [1024]byte
	n := 0
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		n, err = io.ReadFull(f, buf[:])
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		if st, serr := os.Stat(path); IsAbsent(err) || serr == nil && st.IsDir() {
			err = ErrNotFound
		}
		return h, "", err
	}
	content := strings.TrimRight(string(buf[:n]), " \t\r\n")
	if target, ok := strings.CutPrefix(content, "ref:"); ok {
		return h, strings.TrimSpace(target), nil
	}
	if h, ok := parseLoose(content); ok {
		return h, "", nil
	}
	if content == "" {
		return h, "", fmt.Errorf("%w: %s is empty, probably because of a crash while it was written", ErrDamagedRef, path)
	}
	return h, "", fmt.Errorf("%w: %s holds no object id", ErrDamagedRef, path)
}

// readHead reads a HEAD. Git writes a link to the branch's file if core.preferSymlinkRefs says so; that file is gone if the
// branch is packed.
func readHead(gitDir string) (h Hash, branch string, err error) {
	path := filepath.Join(gitDir, "HEAD")
	if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, "refs/") {
		return h, target, nil
	}
	h, branch, err = readLoose(path)
	if errors.Is(err, ErrDamagedRef) {
		err = fmt.Errorf("%w: %w", ErrDamagedHead, err)
	}
	return h, branch, err
}

// parseLoose parses an object id; git allows white space and anything after it.
func parseLoose(content string) (h Hash, ok bool) {
	const digits = 2 * len(h)
	if len(content) < digits || len(content) > digits && !strings.ContainsRune(" \t\r\n", rune(content[digits])) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(content[:digits]))
	return h, err == nil && !h.IsZero()
}

// Refs returns all refs whose name starts with prefix, sorted by name. Symbolic refs are resolved;
// dangling ones, and names that git would not accept, are left out. Errors: an unreadable ref file,
// with its path.
func (r *Repo) Refs(prefix string) ([]Ref, error) { return r.refs(prefix, nil) }

// DamagedRef is a ref whose value cannot be read.
type DamagedRef struct {
	Name string // "" for a line of packed-refs without a name
	Err  error
}

// ReadableRefs is Refs for a caller who goes on without the refs that cannot be read, which it returns, too.
func (r *Repo) ReadableRefs(prefix string) (refs []Ref, damaged []DamagedRef, err error) {
	refs, err = r.refs(prefix, func(name string, err error) { damaged = append(damaged, DamagedRef{name, err}) })
	return refs, damaged, err
}

// refs lists refs. A damaged one is an error, unless there is a function to tell.
func (r *Repo) refs(prefix string, damaged func(name string, err error)) ([]Ref, error) {
	if !strings.HasPrefix(prefix, "refs/") || strings.Contains(prefix, "..") {
		return nil, fmt.Errorf("list refs: bad prefix %q", prefix)
	}
	loose := map[string]Hash{}
	// Files before packed-refs, see readRef.
	dir := prefix[:strings.LastIndexByte(prefix, '/')]
	if err := r.looseRefs(dir, prefix, loose, damaged); err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	refs := make([]Ref, 0, len(loose))
	for name, h := range loose {
		if h.IsZero() {
			continue // damaged
		}
		refs = append(refs, Ref{Name: name, Hash: h})
	}
	err := r.packedRefs(prefix, damaged, func(name string, h Hash) {
		if _, ok := loose[name]; !ok && CheckRefName(name) == nil {
			refs = append(refs, Ref{Name: name, Hash: h})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list refs: %w", err)
	}
	byName := func(a, b Ref) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(refs, byName) { // most are packed, which is sorted
		slices.SortFunc(refs, byName)
	}
	return slices.CompactFunc(refs, func(a, b Ref) bool { return a.Name == b.Name }), nil
}

func (r *Repo) looseRefs(dir, prefix string, found map[string]Hash, damaged func(name string, err error)) error {
	entries, err := os.ReadDir(r.RefPath(dir))
	if err != nil {
		if IsAbsent(err) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		name := dir + "/" + e.Name()
		if e.IsDir() {
			if strings.HasPrefix(name+"/", prefix) || strings.HasPrefix(prefix, name+"/") {
				if err := r.looseRefs(name, prefix, found, damaged); err != nil {
					return err
				}
			}
			continue
		}
		if !strings.HasPrefix(name, prefix) || CheckRefName(name) != nil {
			continue
		}
		h, target, err := r.looseRef(name)
		if err == nil && target != "" {
			h, err = r.Ref(name)
		}
		switch {
		case errors.Is(err, ErrNotFound): // packed or deleted meanwhile, or dangling
		case err != nil && damaged != nil:
			damaged(name, err)
			found[name] = ZeroHash // a packed value is older
		case err != nil:
			return err
		default:
			found[name] = h
		}
	}
	return nil
}

// HasRefs reports whether a git folder has refs with a prefix, which ends in a slash, without opening it as
// a repository. An empty folder below the prefix counts as a ref.
func HasRefs(gitDir, prefix string) bool {
	loose, _ := os.ReadDir(filepath.Join(gitDir, filepath.FromSlash(prefix)))
	has := slices.ContainsFunc(loose, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".lock") })
	r := &Repo{gitDir: gitDir}
	return has || r.packedRefs(prefix, nil, func(string, Hash) { has = true }) == nil && has
}

// Head reads HEAD in gitDir, which is r.GitDir() or a linked worktree's folder under .git/worktrees. It
// returns the branch, "" if HEAD is detached, and the commit, zero if the branch has none yet.
func (r *Repo) Head(gitDir string) (branch string, h Hash, err error) {
	h, branch, err = readHead(gitDir)
	if err == nil && branch != "" {
		h, err = r.Ref(branch)
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
	}
	return branch, h, Wrap(err, "read HEAD of %s", gitDir)
}

// SetHead makes HEAD in gitDir name a branch, which need not exist yet.
func (r *Repo) SetHead(ctx context.Context, gitDir, branch string) error {
	if err := CheckRefName(branch); err != nil {
		return err
	}
	err := r.locks.Guarded(ctx, r.refGuard(), func() (err error) {
		l, err := r.locks.Lock(filepath.Join(gitDir, "HEAD"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Release()) }()
		if err := l.Write([]byte("ref: " + branch + "\n")); err != nil {
			return err
		}
		if err := l.Publish(); err != nil {
			return err
		}
		return r.fs.SyncDir(gitDir)
	})
	return Wrap(err, "set HEAD to %s", branch)
}

// IsAbsent reports whether err says that a path does not exist, or cannot because one of its parents is a file.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}

// RemoveSymbolicRef removes a ref if it is symbolic; otherwise it does nothing.
func (r *Repo) RemoveSymbolicRef(ctx context.Context, name string) error {
	isSymbolic := func() bool {
		_, target, err := readLoose(r.RefPath(name))
		return err == nil && target != ""
	}
	if !isSymbolic() {
		return nil
	}
	return r.locks.Guarded(ctx, r.refGuard(), func() error { return r.removeLoose(name, isSymbolic) })
}

// removeLoose removes the file of a ref if check returns true while the ref is locked. The guard must be held.
func (r *Repo) removeLoose(name string, check func() bool) (err error) {
	path := r.RefPath(name)
	l, err := r.locks.Lock(path)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, l.Release())
		r.removeEmptyParents(name)
	}()
	if !check() {
		return nil
	}
	return errors.Join(r.fs.Remove(path), r.fs.SyncDir(filepath.Dir(path)))
}
