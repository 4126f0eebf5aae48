package repair

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/git/gitindex"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// objects moves damaged objects away, and brings back what is missing: from packs whose index is damaged, from the files of
// working trees with git's index of them, and from a remote.
func (g *gitMender) objects(ctx context.Context) error {
	dir := gitrun.ObjectsDir(g.git)
	if err := g.loose(dir); err != nil {
		return err
	}
	if err := errors.Join(g.derived(ctx, dir), g.packs(ctx, dir)); err != nil {
		return err
	}
	g.git.Refresh()
	missing := g.missing(ctx)
	if len(missing) == 0 {
		return ctx.Err()
	}
	found, err := g.fromTrees(ctx, missing)
	if err != nil {
		return err
	}
	if found > 0 {
		g.say("%s brought back from the files of working trees", objects(found))
		g.git.Refresh()
		missing = g.missing(ctx) // what those lead to
	}
	if len(missing) == 0 || g.bring == nil {
		return ctx.Err()
	}
	return g.fromRemote(ctx, missing)
}

func objects(n int) string {
	if n == 1 {
		return "an object was"
	}
	return strconv.Itoa(n) + " objects were"
}

// loose moves loose objects away that cannot be read.
func (g *gitMender) loose(dir string) error {
	n := 0
	for _, fan := range namesIn(dir) {
		if len(fan) != 2 {
			continue
		}
		if st, err := os.Lstat(filepath.Join(dir, fan)); err == nil && !st.IsDir() {
			if err := g.files.Keep(filepath.Join(dir, fan)); err != nil {
				return err
			}
			continue
		}
		for _, name := range namesIn(dir, fan) {
			path := filepath.Join(dir, fan, name)
			if len(name) != 2*sha1.Size-2 || isIntact(path, fan+name) {
				continue
			}
			if err := g.files.Keep(path); err != nil {
				return err
			}
			n++
		}
	}
	if n > 0 {
		g.say("%s damaged", objects(n))
	}
	return nil
}

// isIntact reports whether a loose object can be read and is what its name says.
func isIntact(path, name string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return false
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, z); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == name
}

// derived moves away what git derives from objects, if it is damaged, or if git says that it is not about what is there, as
// that of another copy of the repository: commit graphs, and the index of several packs.
func (g *gitMender) derived(ctx context.Context, dir string) error {
	for _, d := range []struct{ path, command string }{
		{"pack/multi-pack-index", "multi-pack-index"}, {"info/commit-graph", "commit-graph"}, {"info/commit-graphs", "commit-graph"},
	} {
		path := filepath.Join(dir, filepath.FromSlash(d.path))
		if _, err := os.Lstat(path); err != nil || g.isAbout(ctx, path, d.command) {
			continue
		}
		if err := g.files.Keep(path); err != nil {
			return err
		}
		g.say("%s was damaged; git makes it again", path)
	}
	return ctx.Err()
}

// isAbout reports whether a derived file is whole, and git finds nothing wrong with it. It is believed without git, or if git
// cannot read its settings.
func (g *gitMender) isAbout(ctx context.Context, path, command string) bool {
	if st, err := os.Lstat(path); err == nil && !st.IsDir() && !isSealed(path) {
		return false
	}
	cmd, err := gitrun.Command(ctx, g.git, command, "verify")
	if err != nil {
		return true
	}
	var said strings.Builder
	cmd.Stderr = &said
	var failed *exec.ExitError
	return !errors.As(cmd.Run(), &failed) || ctx.Err() != nil || gitrun.SaysSettings(said.String())
}

// packs makes missing and damaged indexes of packs again, and those of version 1, and takes the intact objects out of damaged
// packs.
func (g *gitMender) packs(ctx context.Context, dir string) error {
	folder := filepath.Join(dir, "pack")
	for _, name := range namesIn(folder) {
		base, isPack := strings.CutSuffix(filepath.Join(folder, name), ".pack")
		if index, isIndex := strings.CutSuffix(filepath.Join(folder, name), ".idx"); isIndex {
			if _, err := os.Lstat(index + ".pack"); err != nil { // its pack is gone
				if err := g.files.Keep(filepath.Join(folder, name)); err != nil {
					return err
				}
			}
		}
		if !isPack {
			continue
		}
		sound := isSealed(base + ".pack")
		for _, derived := range []string{base + ".idx", base + ".rev"} {
			if _, err := os.Lstat(derived); err == nil && (!sound || !isSealed(derived) || strings.HasSuffix(derived, ".idx") && isFirstVersion(derived)) {
				if err := g.files.Keep(derived); err != nil {
					return err
				}
			}
		}
		if _, err := os.Lstat(base + ".idx"); sound && err == nil {
			continue
		}
		if err := g.indexPack(ctx, base, sound); err != nil {
			return err
		}
	}
	return nil
}

// indexPack indexes a pack again; one that is not sound is taken apart.
func (g *gitMender) indexPack(ctx context.Context, base string, sound bool) error {
	args := []string{"index-pack", "--index-version=2", base + ".pack"}
	if !sound {
		if err := g.files.Keep(base + ".pack"); err != nil {
			return err
		}
		args = []string{"unpack-objects", "-q", "-r"}
	}
	cmd, err := gitrun.Command(ctx, g.git, args...)
	if err != nil {
		return err
	}
	if !sound {
		moved := filepath.Join(g.files.Kept(), "objects", "pack", filepath.Base(base)+".pack")
		f, err := os.Open(moved)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.Stdin = f
	}
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case sound && err != nil:
		g.say("%s.pack has no index, and git could not make it: %v", base, err)
	case sound:
		g.say("the index of %s.pack was made again", base)
	default:
		g.say("%s.pack was damaged; what git could read of it is there", base)
	}
	return nil
}

// isFirstVersion reports whether an index of a pack has version 1, which begins without a name of the format (pack.indexVersion=1,
// or programs older than git 1.6).
func isFirstVersion(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) != "\xfftOc"
}

// isSealed reports whether a file of git ends with the checksum of what is before it, as packs and what is derived from
// them do.
func isSealed(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() < 2*sha1.Size {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha1.New()
	if _, err := io.CopyN(sum, f, st.Size()-sha1.Size); err != nil {
		return false
	}
	end, err := io.ReadAll(f)
	return err == nil && bytes.Equal(end, sum.Sum(nil))
}

// missing returns the objects that refs and logs of tapes lead to, as far as they can be followed, and that are not there.
func (g *gitMender) missing(ctx context.Context) map[gitstore.Hash]bool {
	out, seen := map[gitstore.Hash]bool{}, map[gitstore.Hash]bool{}
	var todo []gitstore.Hash
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix, layout.ArchivePrefix, layout.TagPrefix} {
		refs, damaged, _ := g.git.ReadableRefs(prefix)
		for _, ref := range refs {
			todo = append(todo, ref.Hash)
		}
		lost, _ := g.git.LostRefs(prefix, refs)
		for _, d := range damaged {
			lost = append(lost, d.Name)
		}
		for _, name := range lost {
			if log, _ := g.git.Reflog(name); len(log) > 0 {
				todo = append(todo, log[len(log)-1].New)
			}
		}
	}
	for len(todo) > 0 && ctx.Err() == nil {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[h] || h.IsZero() {
			continue
		}
		seen[h] = true
		kind, data, err := g.git.Read(h)
		if err != nil {
			out[h] = true
			continue
		}
		switch kind {
		case gitstore.KindCommit:
			if c, err := gitstore.DecodeCommit(data); err == nil {
				todo = append(append(todo, c.Tree), c.Parents...)
			}
		case gitstore.KindTag:
			if tag, err := gitstore.DecodeTag(data); err == nil {
				todo = append(todo, tag.Object)
			}
		case gitstore.KindTree:
			entries, _ := g.git.Tree(h)
			for _, e := range entries {
				todo = append(todo, e.Hash)
			}
		}
	}
	return out
}

// fromTrees stores missing files and folders that working trees have: git's index says what was committed.
func (g *gitMender) fromTrees(ctx context.Context, missing map[gitstore.Hash]bool) (found int, err error) {
	batch := g.git.NewBatch()
	defer batch.Discard()
	put := func(kind gitstore.Kind, data []byte) {
		if h := gitstore.HashObject(kind, data); missing[h] {
			batch.Put(kind, data)
			delete(missing, h)
			found++
		}
	}
	trees, _ := g.git.Worktrees()
	for _, wt := range trees {
		index, err := gitindex.Read(wt)
		if err != nil {
			continue
		}
		for _, e := range index {
			if missing[e.Hash] && !e.SkipWorktree {
				g.committed(filepath.Join(wt.Dir, filepath.FromSlash(e.Path)), e.Hash, put)
			}
		}
		foldersOf(index, put)
	}
	if found == 0 {
		return 0, nil
	}
	return found, batch.Flush(ctx)
}

// committed puts the beginning of a file that is the content of an object: what follows was appended later.
func (g *gitMender) committed(path string, h gitstore.Hash, put func(gitstore.Kind, []byte)) {
	const most = 1000 // lines that may have been appended
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for range most {
		if gitstore.HashObject(gitstore.KindBlob, data) == h {
			put(gitstore.KindBlob, data)
			return
		}
		if len(data) == 0 {
			return
		}
		data = data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1]
	}
}

// foldersOf puts the trees of an index.
func foldersOf(index []gitindex.Entry, put func(gitstore.Kind, []byte)) {
	if slices.ContainsFunc(index, func(e gitindex.Entry) bool { return e.Stage != 0 }) {
		return
	}
	var build func(entries []gitindex.Entry, prefix string) gitstore.Hash
	build = func(entries []gitindex.Entry, prefix string) gitstore.Hash {
		var tree []gitstore.TreeEntry
		for i := 0; i < len(entries); {
			name, _, below := strings.Cut(entries[i].Path[len(prefix):], "/")
			if !below {
				tree = append(tree, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: entries[i].Hash})
				i++
				continue
			}
			end := i
			for end < len(entries) && strings.HasPrefix(entries[end].Path, prefix+name+"/") {
				end++
			}
			tree = append(tree, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeDir, Hash: build(entries[i:end], prefix+name+"/")})
			i = end
		}
		data := gitstore.EncodeTree(tree)
		put(gitstore.KindTree, data)
		return gitstore.HashObject(gitstore.KindTree, data)
	}
	build(index, "")
}

// fromRemote copies missing objects, and what they lead to, from a copy of a remote.
func (g *gitMender) fromRemote(ctx context.Context, missing map[gitstore.Hash]bool) error {
	gitDir, done, err := g.bring(ctx)
	if err != nil {
		g.say("%s missing; the remote has not helped: %v", objects(len(missing)), err)
		return ctx.Err()
	}
	defer done()
	if gitDir == "" {
		return nil // no remote
	}
	there, err := gitstore.OpenBare(gitDir, g.git.SharedOptions())
	if err != nil {
		return err
	}
	batch := g.git.NewBatch()
	defer batch.Discard()
	n := 0
	for round := missing; len(round) > 0 && ctx.Err() == nil; {
		got := 0
		for h := range round {
			if kind, data, err := there.Read(h); err == nil && gitstore.HashObject(kind, data) == h {
				batch.Put(kind, data)
				got++
			}
		}
		n += got
		if err := batch.Flush(ctx); err != nil {
			return errors.Join(err, ctx.Err())
		}
		if got == 0 {
			break
		}
		g.git.Refresh()
		round = g.missing(ctx)
	}
	if n > 0 {
		g.say("%s brought back from the remote", objects(n))
	}
	return ctx.Err()
}
