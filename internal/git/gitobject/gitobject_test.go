package gitobject_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/git/gitobject"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// raw returns the content of an object from git.
func raw(j *gitjudge.Judge, name string) []byte {
	j.Helper()
	kind := j.Git("cat-file", "-t", name)
	out, err := gitjudge.GitStdin(j, "", "cat-file", kind, name)
	j.OK(err)
	return []byte(out)
}

// Decoding git's objects and encoding them again gives the same bytes and ids.
func TestObjectsAsGitWritesThem(t *testing.T) {
	j := gitjudge.New(t)
	for _, name := range []string{"a-b", "a/x", "a0", "a.b", "z/y/x", "ü"} {
		j.Write(name, name)
	}
	j.Git("add", ".")
	j.Git("commit", "-q", "-m", "Überschrift\n\nText.\n\nTape: main\nTape-Fork: x")
	j.Git("-c", "user.name=Bob de la B.", "commit", "-q", "--allow-empty", "--date=2001-02-03T04:05:06-0730", "-m", "second")
	j.Git("tag", "-a", "-m", "a tag\n\nof two paragraphs", "v/1", "HEAD~1")

	check := func(kind gitobject.Kind, name string, again []byte, err error) {
		t.Helper()
		j.OK(err)
		data := raw(j, name)
		if !bytes.Equal(again, data) {
			t.Errorf("%s is written as\n%q, git has\n%q", name, again, data)
		}
		if h := gitobject.HashObject(kind, data); h.String() != j.Git("rev-parse", name) {
			t.Errorf("%s gets the name %s", name, h)
		}
	}
	for _, name := range []string{"HEAD^{tree}", "HEAD:a", "HEAD:z"} {
		tree, err := gitobject.DecodeTree(raw(j, name))
		slices.Reverse(tree)
		check(gitobject.KindTree, name, gitobject.EncodeTree(tree), err)
	}
	for _, name := range []string{"HEAD", "HEAD~1"} {
		c, err := gitobject.DecodeCommit(raw(j, name))
		check(gitobject.KindCommit, name, gitobject.EncodeCommit(c), err)
	}
	tag, err := gitobject.DecodeTag(raw(j, "v/1"))
	check(gitobject.KindTag, "v/1", gitobject.EncodeTag(tag), err)
	if tag.Name != "v/1" || tag.Object.String() != j.Git("rev-parse", "HEAD~1") {
		t.Errorf("the tag is %+v", tag)
	}
	c, err := gitobject.DecodeCommit(raw(j, "HEAD~1"))
	j.OK(err)
	if c.Subject() != "Überschrift" || c.Trailer("tape-fork") != "x" || c.Trailer("Text") != "" || len(c.Parents) != 0 {
		t.Errorf("the commit is %+v", c)
	}
}

// Objects are found wherever git keeps them: loose, packed as deltas, behind alternates.
func TestFindsWhatGitHas(t *testing.T) {
	j := gitjudge.New(t)
	rng := rand.New(rand.NewPCG(1, 1))
	text := make([]byte, 60_000)
	for i := range text {
		text[i] = byte('a' + rng.IntN(26))
	}
	for n := range 12 { // so similar that git stores deltas
		copy(text[n*5000:], fmt.Sprint("change ", n))
		j.Write("file", string(text))
		j.Git("add", ".")
		j.Git("commit", "-q", "-m", fmt.Sprint("commit ", n))
	}
	list := func() []string {
		return strings.Fields(j.Git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)"))
	}
	findAll := func(where, gitDir string) {
		t.Helper()
		db := gitobject.NewDB(gitDir, nil)
		defer db.Close()
		for _, name := range list() {
			h, want := j.Hash(name), raw(j, name)
			kind, size, data, err := db.Get(h, true)
			if err != nil || size != int64(len(want)) || !bytes.Equal(data, want) || gitobject.HashObject(kind, data) != h {
				t.Errorf("%s: %s is a %s of %d bytes, %v", where, name, kind, size, err)
			}
			// The kind of a delta is not looked up.
			if k, n, none, err := db.Get(h, false); k != kind && k != "" || n != size || none != nil || err != nil {
				t.Errorf("%s: without content, %s is a %s of %d bytes, %v", where, name, k, n, err)
			}
			if found, err := db.WithPrefix(name[:12]); err != nil || !slices.Equal(found, []gitobject.Hash{h}) {
				t.Errorf("%s: %s is found as %v, %v", where, name[:12], found, err)
			}
		}
		if _, _, _, err := db.Get(gitobject.Hash{1}, true); !errors.Is(err, gitobject.ErrNotFound) {
			t.Errorf("%s: a missing object gives %v", where, err)
		}
	}
	findAll("loose", j.GitDir)
	before := gitobject.NewDB(j.GitDir, nil)
	defer before.Close()
	if _, _, _, err := before.Get(gitobject.Hash{1}, false); err == nil || !before.Current() {
		t.Errorf("before packing: %v, current %v", err, before.Current())
	}
	j.Git("gc", "--quiet", "--aggressive", "--prune=now")
	if !strings.Contains(j.Git("count-objects", "-v"), "count: 0") || !strings.Contains(packed(j), "chain length") {
		t.Fatal("no deltas in a pack: the test misses its point")
	}
	findAll("packed", j.GitDir)
	if before.Current() {
		t.Error("Current does not notice a new pack")
	}
	// As in a pack of more than 2 GiB, where offsets have 64 bits.
	j.Git("index-pack", "--index-version=2,0x40", packs(j)[0])
	findAll("packed, with large offsets", j.GitDir)
	other := filepath.Join(t.TempDir(), "other.git")
	j.Git("clone", "-q", "--bare", "--shared", j.Dir, other)
	findAll("behind alternates", other)
	alone := gitobject.NewDB(filepath.Join(t.TempDir(), "none"), []string{filepath.Join(j.GitDir, "objects")})
	defer alone.Close()
	if _, _, _, err := alone.Get(j.Hash(j.Git("rev-parse", "HEAD")), true); err != nil {
		t.Errorf("in an extra object folder: %v", err)
	}
}

func packed(j *gitjudge.Judge) string { return j.Git("verify-pack", "-v", packs(j)[0]) }

func packs(j *gitjudge.Judge) []string {
	j.Helper()
	all, err := filepath.Glob(filepath.Join(j.GitDir, "objects", "pack", "*.pack"))
	j.OK(err)
	return all
}

// A damaged index of a pack gives an error: not content, and not "not found".
func TestDamagedPackIndex(t *testing.T) {
	j := gitjudge.New(t)
	h := j.Commits(3)[2]
	j.Git("update-ref", "refs/heads/x", h.String())
	j.Git("gc", "--quiet", "--prune=now")
	path := strings.TrimSuffix(packs(j)[0], ".pack") + ".idx"
	good, err := os.ReadFile(path)
	j.OK(err)
	j.OK(os.Chmod(path, 0o600))
	counts := slices.Clone(good)
	counts[8+4*int(h[0])] ^= 0x80 // now more objects begin so than there are
	for what, bad := range map[string][]byte{"empty": {}, "a part of the counts": good[:500], "a part of the names": good[:1100],
		"without its end": good[:len(good)-45], "garbage": []byte(strings.Repeat("garbage ", 300)), "counts": counts} {
		j.OK(os.WriteFile(path, bad, 0o600))
		db := gitobject.NewDB(j.GitDir, nil)
		if _, _, _, err := db.Get(h, true); err == nil || errors.Is(err, gitobject.ErrNotFound) {
			t.Errorf("%s: %v, want an error other than ErrNotFound", what, err)
		}
		if found, err := db.WithPrefix(h.String()[:8]); err == nil {
			t.Errorf("%s: found %v by its beginning", what, found)
		}
		db.Close()
	}
}

// Damaged or crafted objects give an error, never content.
func TestDamagedObjects(t *testing.T) {
	j := gitjudge.New(t)
	text := strings.Repeat("some text ", 20_000)
	name, err := gitjudge.GitStdin(j, text, "hash-object", "-w", "--stdin")
	j.OK(err)
	h := j.Hash(strings.TrimSpace(name))
	path := filepath.Join(j.GitDir, "objects", h.String()[:2], h.String()[2:])
	good, err := os.ReadFile(path)
	j.OK(err)
	j.OK(os.Chmod(path, 0o600))
	for what, bad := range map[string][]byte{"empty": {}, "torn": good[:len(good)/2], "garbage": []byte("garbage"), "zeros": make([]byte, len(good))} {
		j.OK(os.WriteFile(path, bad, 0o600))
		if _, _, data, err := gitobject.NewDB(j.GitDir, nil).Get(h, true); err == nil {
			t.Errorf("%s: %d bytes are read", what, len(data))
		}
	}
	for _, bad := range []string{"", ".", "..", ".git", ".GIT", "a/b", `a\b`} {
		tree := gitobject.EncodeTree([]gitobject.TreeEntry{{Name: bad, Mode: gitobject.ModeFile}})
		if _, err := gitobject.DecodeTree(tree); err == nil {
			t.Errorf("a tree may have the name %q", bad)
		}
	}
	whole := gitobject.EncodeTree([]gitobject.TreeEntry{{Name: "a", Mode: gitobject.ModeFile}})
	for n := 1; n < len(whole); n++ {
		if _, err := gitobject.DecodeTree(whole[:n]); err == nil {
			t.Errorf("%d bytes of a tree are read", n)
		}
	}
	for _, bad := range []string{"", "tree xyz\n\n", "parent " + h.String() + "\n\n", "tree " + h.String() + "\nauthor nobody\n\n", "tree " + h.String() + "\nauthor A <a> soon\n\n"} {
		if c, err := gitobject.DecodeCommit([]byte(bad)); err == nil {
			t.Errorf("%q is the commit %+v", bad, c)
		}
	}
	for _, bad := range []string{"", "object " + h.String() + "\ntype tree\n\n", "type commit\ntag x\n\n"} {
		if tag, err := gitobject.DecodeTag([]byte(bad)); err == nil {
			t.Errorf("%q is the tag %+v", bad, tag)
		}
	}
}

// The cache keeps objects while it has users, and not more than its limit.
func TestCache(t *testing.T) {
	var k gitobject.Cache
	h := func(n int) gitobject.Hash { return gitobject.Hash{byte(n), byte(n >> 8)} }
	k.Put(h(1), gitobject.Cached{Data: []byte("x")})
	if _, ok := k.Get(h(1)); ok {
		t.Error("a cache without users keeps an object")
	}
	k.Use(1)
	data := make([]byte, 1<<20)
	for n := range 100 {
		k.Put(h(n), gitobject.Cached{Data: data})
		if _, ok := k.Get(h(0)); !ok {
			t.Fatalf("an object that is asked for all the time is gone after %d others", n)
		}
	}
	kept := 0
	for n := range 100 {
		if _, ok := k.Get(h(n)); ok {
			kept++
		}
	}
	if kept < 8 || kept > 33 {
		t.Errorf("%d MiB are kept, want 8 to 33", kept)
	}
	k.Use(-1)
	if _, ok := k.Get(h(99)); ok {
		t.Error("a cache keeps an object after its last user has gone")
	}
}
