package audit_test

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Repositories that a remote could offer to do harm: names that lead out of their folder, trees that no
// tape has, objects that inflate without end, history that was rewritten.

// evilCase is one of them, made from a healthy repository with a tape called main.
type evilCase struct {
	Name string
	// Build makes the bare repository dir from the healthy bare repository good, which has
	// the tape main with two handoffs or more, and fork/main/try.
	Build func(t testing.TB, dir, good string)
	Ref   string // the ref that must not be used
	Want  string // a part of the message; "" if the remote is harmless: then nothing is refused
	// Rewrites: the fault is that something was changed. Only somebody who had accepted
	// the former state can see it.
	Rewrites bool
	// Unsent: git would refuse to send it, or take minutes. The check reads the
	// repository's files directly, as if a server had sent them.
	Unsent bool
}

const mainRef = "refs/heads/tape/main"

// evilCases returns all cases.
func evilCases() []evilCase {
	return slices.Concat(refCases(), treeCases(), artifactCases(), entryCases(), historyCases(), tagCases(), forkCases(), bombCases())
}

// refsIn returns every ref of a bare repository with its object, loose or packed, even if
// git would not accept its name.
func refsIn(t testing.TB, dir string) map[string]string {
	t.Helper()
	refs := map[string]string{}
	for line := range strings.Lines(readText(t, filepath.Join(dir, "packed-refs"))) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && len(hash) == 40 {
			refs[name] = hash
		}
	}
	top := filepath.Join(dir, "refs")
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		refs[filepath.ToSlash(rel)] = strings.TrimSpace(readText(t, path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return refs
}

func readText(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}

// bare is a bare repository that a case changes.
type bare struct {
	t   testing.TB
	dir string
}

// copyRepo copies the healthy repository to dir.
func copyRepo(t testing.TB, dir, good string) bare {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
		t.Fatal(err)
	}
	return bare{t, dir}
}

// said is what git has said of objects. It says the same in every copy of a repository.
var said sync.Map

// git returns what git prints, without the last newline. The last argument begins with the hash of the object
// that git is asked about.
func (r bare) git(args ...string) string {
	r.t.Helper()
	asked := strings.Join(args, " ")
	if out, ok := said.Load(asked); ok {
		return out.(string)
	}
	var errs bytes.Buffer
	cmd := exec.Command("git", append([]string{"--git-dir=" + r.dir}, args...)...)
	cmd.Stderr = &errs
	raw, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", asked, err, &errs)
	}
	out := strings.TrimSuffix(string(raw), "\n")
	said.Store(asked, out)
	return out
}

// commitOf returns the commit or tag that a ref names.
func (r bare) commitOf(ref string) string {
	r.t.Helper()
	hash := refsIn(r.t, r.dir)[ref]
	if hash == "" {
		r.t.Fatalf("there is no %s", ref)
	}
	return hash
}

// object stores data as an object of a kind, without checking it.
func (r bare) object(kind string, data []byte) string {
	r.t.Helper()
	raw := slices.Concat(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data)
	sum := sha1.Sum(raw)
	hash := hex.EncodeToString(sum[:])
	write(r.t, r.loosePath(hash), string(deflatedBytes(r.t, raw)))
	return hash
}

func (r bare) loosePath(hash string) string {
	return filepath.Join(r.dir, "objects", hash[:2], hash[2:])
}

func (r bare) blob(text string) string { return r.object("blob", []byte(text)) }

func (r bare) show(rev string) string {
	return r.git("cat-file", "-p", rev) + "\n"
}

// set writes a ref, without a look at what it names.
func (r bare) set(ref, hash string) {
	write(r.t, filepath.Join(r.dir, filepath.FromSlash(ref)), hash+"\n")
}

// entry is an entry of a tree.
type entry struct{ mode, name, hash string }

const (
	file   = "100644"
	folder = "40000"
)

func (r bare) list(tree string) []entry {
	var out []entry
	for line := range strings.SplitSeq(strings.TrimSuffix(r.git("ls-tree", "-z", tree), "\x00"), "\x00") {
		facts, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(facts)
		if ok && len(fields) == 3 {
			out = append(out, entry{strings.TrimPrefix(fields[0], "0"), name, fields[2]})
		}
	}
	return out
}

// tree stores a tree in git's order, without checking the names of its entries.
func (r bare) tree(entries ...entry) string {
	r.t.Helper()
	key := func(e entry) string {
		if e.mode == folder {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(key(a), key(b)) })
	return r.unsorted(entries...)
}

func (r bare) unsorted(entries ...entry) string {
	r.t.Helper()
	var raw []byte
	for _, e := range entries {
		var hash []byte
		if _, err := fmt.Sscanf(e.hash, "%x", &hash); err != nil {
			r.t.Fatal(err)
		}
		raw = append(fmt.Appendf(raw, "%s %s\x00", e.mode, e.name), hash...)
	}
	return r.object("tree", raw)
}

// commit stores a commit.
func (r bare) commit(tree, message string, parents ...string) string {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	const who = "M <m@example.org> 1795167000 +0000"
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s\n", who, who, message)
	return r.object("commit", []byte(b.String()))
}

// tip is the newest commit of the tape, in parts.
type tip struct {
	bare
	ref                  string
	commit               string
	root, anchors, phase []entry
	folder               string // of the open phase
}

func (r bare) tip(ref string) *tip {
	c := &tip{bare: r, ref: ref, commit: r.commitOf(ref)}
	c.root = r.list(c.commit)
	c.anchors = r.list(c.commit + ":anchors")
	c.folder = c.anchors[len(c.anchors)-1].name
	c.phase = r.list(c.commit + ":anchors/" + c.folder)
	return c
}

// put adds an entry, or replaces the one of its name.
func put(entries *[]entry, e entry) {
	for i := range *entries {
		if (*entries)[i].name == e.name {
			(*entries)[i] = e
			return
		}
	}
	*entries = append(*entries, e)
}

func drop(entries *[]entry, name string) {
	*entries = slices.DeleteFunc(*entries, func(e entry) bool { return e.name == name })
}

func hashOf(entries []entry, name string) string {
	for _, e := range entries {
		if e.name == name {
			return e.hash
		}
	}
	return ""
}

// save stores the changed parts, and returns the root tree.
func (c *tip) save() string {
	put(&c.anchors, entry{folder, c.folder, c.tree(c.phase...)})
	return c.saveAnchors()
}

func (c *tip) saveAnchors() string {
	put(&c.root, entry{folder, "anchors", c.tree(c.anchors...)})
	return c.tree(c.root...)
}

// push commits a tree on top, and moves the branch to it.
func (c *tip) push(tree string) {
	c.set(c.ref, c.bare.commit(tree, "by hand", c.commit))
}

// last is the last entry's id.
func (c *tip) last() (id int) {
	for _, e := range c.phase {
		for line := range strings.Lines(c.show(e.hash)) {
			var n int
			if _, err := fmt.Sscanf(line, `{"id":%d`, &n); err == nil {
				id = max(id, n)
			}
		}
	}
	return id
}

// line is a valid entry.
func line(id int, text string) string {
	return fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":%q},"meta":{},"date":"2026-11-20T09:30:00+00:00"}`+"\n", id, text)
}

// messages is the content of the open phase's messages.
func (c *tip) messages() string {
	if h := hashOf(c.phase, "messages.jsonl"); h != "" {
		return c.show(h)
	}
	return ""
}

// changeMain returns a case in which the newest commit of main was changed.
func changeMain(name, want string, change func(c *tip)) evilCase {
	return evilCase{Name: name, Ref: mainRef, Want: want, Build: func(t testing.TB, dir, good string) {
		change(copyRepo(t, dir, good).tip(mainRef))
	}}
}
