package gitstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/disk"
)

func (j *judge) write(path, content string) {
	j.Helper()
	file := filepath.Join(j.dir, filepath.FromSlash(path))
	j.ok(os.MkdirAll(filepath.Dir(file), 0o700))
	j.ok(os.WriteFile(file, []byte(content), 0o600))
}

func change(path, content string) IndexChange {
	return IndexChange{Path: path, Hash: HashObject(KindBlob, []byte(content)), Mode: ModeFile, Size: int64(len(content))}
}

func (j *judge) main() Worktree {
	return Worktree{Dir: j.dir, GitDir: j.gitDir, Branch: "refs/heads/tape/main"}
}

// staged compares what we read with what git does.
func (j *judge) staged(r *Repo, w Worktree) {
	j.Helper()
	entries, err := r.ReadIndex(w)
	j.ok(err)
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%06o %s %d\t%s", e.Mode, e.Hash, e.Stage, e.Path))
	}
	want := j.gitIn(w.Dir, "-c", "core.quotePath=false", "ls-files", "--stage")
	if strings.Join(got, "\n") != want {
		j.Errorf("index:\n%s\ngit has:\n%s", strings.Join(got, "\n"), want)
	}
}

func TestUpdateIndexAsGitSeesIt(t *testing.T) {
	j := newJudge(t)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	for i := range 50 {
		j.write(fmt.Sprintf("anchors/%03d_x/messages.jsonl", i), fmt.Sprintf("line %d\n", i))
	}
	j.write("tape.json", "{}\n")
	j.git("add", ".")
	j.git("commit", "-qm", "start")
	before := j.git("ls-files", "--debug", "anchors/001_x")

	long := "anchors/" + strings.Repeat("ü", 60) + "/" + strings.Repeat("long-", 45) + "/messages.jsonl"
	added := []IndexChange{
		change("anchors/002_x/messages.jsonl", "line 2\nmore\n"), change("anchors/050_x/events.jsonl", "{}\n"),
		change("anchors.txt", "before anchors/\n"), change("a", ""), change("zzz", "last\n"), change(long, "x\n"),
	}
	contents := []string{"line 2\nmore\n", "{}\n", "before anchors/\n", "", "last\n", "x\n"}
	for i, c := range added {
		j.write(c.Path, contents[i])
		j.git("hash-object", "-w", filepath.Join(j.dir, filepath.FromSlash(c.Path)))
	}
	j.ok(os.Remove(filepath.Join(j.dir, "anchors/003_x/messages.jsonl")))
	j.ok(r.UpdateIndex(ctx, w, append(added, IndexChange{Path: "anchors/003_x/messages.jsonl", Remove: true})))
	j.staged(r, w)
	if out := j.git("diff", "--stat"); out != "" {
		t.Errorf("git diff: %s", out)
	}
	if out := j.git("diff-files"); out != "" {
		t.Errorf("git diff-files needs a refresh: %s", out)
	}
	if after := j.git("ls-files", "--debug", "anchors/001_x"); after != before {
		t.Errorf("an entry that was not touched changed:\n%s\n%s", before, after)
	}
	tree := j.git("write-tree")
	commit := j.git("commit-tree", tree, "-p", "HEAD", "-m", "next")
	j.git("update-ref", "HEAD", commit)
	if out := j.git("status", "--porcelain"); out != "" {
		t.Errorf("git status: %s", out)
	}
	j.fsck()
}

func TestFileThatGrewMeanwhile(t *testing.T) {
	j := newJudge(t)
	r, w := j.open(nil), j.main()
	for _, blob := range []string{"one\n", ""} {
		j.write("m.jsonl", blob)
		j.git("hash-object", "-w", "m.jsonl")
		j.write("m.jsonl", blob+"two\n") // appended after it was hashed
		j.ok(r.UpdateIndex(context.Background(), w, []IndexChange{change("m.jsonl", blob)}))
		if out := j.git("diff", "--numstat"); out != "1\t0\tm.jsonl" {
			t.Errorf("git diff: %q", out)
		}
		if out := j.git("status", "--porcelain"); out != "AM m.jsonl" {
			t.Errorf("git status: %q", out)
		}
	}
}

// TestRacilyClean changes a file, keeping size and time, right after git indexed it;
// our rewriting of the index must not hide that.
func TestRacilyClean(t *testing.T) {
	j := newJudge(t)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	j.write("racy", "aaaa\n")
	j.write("clean", "aaaa\n")
	j.write("other", "1\n")
	now := time.Now().Truncate(time.Second)
	for _, f := range []string{"racy", "clean"} {
		j.ok(os.Chtimes(filepath.Join(j.dir, f), now, now))
	}
	j.git("config", "core.trustctime", "false")
	j.git("add", ".")
	j.ok(os.Chtimes(filepath.Join(j.gitDir, "index"), now, now))
	j.write("racy", "bbbb\n")
	j.ok(os.Chtimes(filepath.Join(j.dir, "racy"), now, now))
	if out := j.git("diff-files", "--name-only"); out != "racy" {
		t.Fatalf("before: %q", out)
	}
	time.Sleep(1100 * time.Millisecond) // the new index gets a later second
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{change("other", "1\n")}))
	if out := j.git("diff", "--name-only"); out != "racy" {
		t.Errorf("after: %q", out)
	}
}

func TestIndexKeepsFlagsAndResolvesConflicts(t *testing.T) {
	j := newJudge(t)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	for _, f := range []string{"assume", "skip", "plain", "both/x", "new"} {
		j.write(f, "1\n")
	}
	j.git("add", "assume", "skip", "plain", "both")
	j.git("add", "-N", "new")
	j.git("update-index", "--assume-unchanged", "assume")
	j.git("update-index", "--skip-worktree", "skip")
	one, two := HashObject(KindBlob, []byte("1\n")), j.git("hash-object", "-w", os.DevNull)
	info := fmt.Sprintf("0 %s\tboth/x\n100644 %s 1\tboth/x\n100644 %s 2\tboth/x\n100644 %s 3\tboth/x\n", ZeroHash, one, one, two)
	if out, err := runStdin(j, info, "update-index", "--index-info"); err != nil {
		t.Fatal(out)
	}
	j.staged(r, w)
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{change("plain", "1\n"), change("both/x", "1\n")}))
	j.staged(r, w)
	if out := j.git("ls-files", "-v"); out != "h assume\nH both/x\nH new\nH plain\nS skip" {
		t.Errorf("flags: %s", out)
	}
	entries, err := r.ReadIndex(w)
	j.ok(err)
	if e := entries[2]; e.Path != "new" || !e.IntentToAdd || !entries[4].SkipWorktree || !entries[0].AssumeValid {
		t.Errorf("flags read: %+v", entries)
	}
	// A file takes the place of a folder, and the other way round.
	j.ok(os.RemoveAll(filepath.Join(j.dir, "both")))
	j.write("both", "1\n")
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{change("both", "1\n")}))
	j.staged(r, w)
	j.ok(os.RemoveAll(filepath.Join(j.dir, "both")))
	j.write("both/y/z", "1\n")
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{change("both/y/z", "1\n")}))
	j.staged(r, w)
	j.fsck()
}

func TestIndexUnreadable(t *testing.T) {
	j := newJudge(t)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	j.write("x", "1\n")
	j.git("add", ".")
	file := filepath.Join(j.gitDir, "index")
	good, err := os.ReadFile(file)
	j.ok(err)
	spoil := map[string]func(){
		"version 4": func() { j.git("update-index", "--index-version", "4") },
		"split":     func() { j.git("update-index", "--split-index") },
		"cut":       func() { j.ok(os.WriteFile(file, good[:40], 0o600)) },
		"empty":     func() { j.ok(os.WriteFile(file, nil, 0o600)) },
		"flipped":   func() { j.ok(os.WriteFile(file, append([]byte("DIRC\x00\x00\x00\x03"), good[8:]...), 0o600)) },
	}
	for name, f := range spoil {
		j.ok(os.WriteFile(file, good, 0o600))
		f()
		if err := r.UpdateIndex(ctx, w, []IndexChange{change("x", "1\n")}); !errors.Is(err, ErrIndexUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
		j.ok(r.RebuildIndex(ctx, w, []IndexChange{change("x", "1\n")}))
		if out := j.git("status", "--porcelain"); out != "A  x" {
			t.Errorf("%s: %s", name, out)
		}
	}
	for _, path := range []string{"", "/x", "../x", "a/../x", ".git/config", "a//b", "a\x00b", `a\b`} {
		if err := r.UpdateIndex(ctx, w, []IndexChange{{Path: path}}); err == nil {
			t.Errorf("path %q passes", path)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	x := &indexFile{version: 2}
	edits, err := x.edits(f.TempDir(), []IndexChange{change("a", "1"), change("a/b/c", "2"), change("b", "3")})
	if err != nil {
		f.Fatal(err)
	}
	raw := x.splice(edits)
	f.Add(raw[:len(raw)-trailerLength])
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := parseIndex(append(body, make([]byte, trailerLength)...)) // no checksum
		if err != nil {
			return
		}
		for i := range x.len() {
			e := x.entry(i)
			if from, to := x.find(e.Path); from > i || to <= i {
				t.Fatalf("%q is not found where it is", e.Path)
			}
		}
		if _, err := parseIndex(x.splice(nil)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestUpdateIndexFaults(t *testing.T) {
	j := newJudge(t)
	ctx, w := context.Background(), j.main()
	j.write("a", "1\n")
	j.write("b", "1\n")
	everyFault(t, func(t *testing.T, fsys *disk.FS) {
		_ = os.Remove(filepath.Join(j.gitDir, "index"))
		j.git("add", "a")
		_ = j.open(fsys).UpdateIndex(ctx, w, []IndexChange{change("b", "1\n")})
		if out, err := j.tryGit(j.dir, "ls-files"); out != "a" && out != "a\nb" || err != nil {
			t.Fatalf("git sees %s %v", out, err)
		}
		if err := j.open(nil).UpdateIndex(ctx, w, []IndexChange{change("b", "1\n")}); err != nil {
			t.Fatal(err)
		}
		if out := j.git("status", "--porcelain"); out != "A  a\nA  b" {
			t.Fatalf("git status: %s", out)
		}
	})
}

// TestIndexRandomly compares random changes with git doing the same.
func TestIndexRandomly(t *testing.T) {
	j := newJudge(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r, w := j.open(nil), j.main()
	for range 12 {
		var changes []IndexChange
		for range 1 + rnd.IntN(20) {
			path := fmt.Sprintf("%c%c/%c", 'a'+rnd.IntN(3), "-.0x"[rnd.IntN(4)], 'a'+rnd.IntN(4))
			if rnd.IntN(4) == 0 {
				j.ok(os.RemoveAll(filepath.Join(j.dir, path)))
				changes = append(changes, IndexChange{Path: path, Remove: true})
				continue
			}
			content := fmt.Sprint(rnd.IntN(1000))
			j.write(path, content)
			changes = append(changes, change(path, content))
		}
		j.ok(r.UpdateIndex(context.Background(), w, changes))
		got := j.git("ls-files", "--stage")
		if out := j.git("diff-files", "--name-only"); out != "" {
			t.Fatalf("differs from the files: %s", out)
		}
		j.git("read-tree", "--empty")
		j.git("add", "-A")
		if want := j.git("ls-files", "--stage"); got != want {
			t.Fatalf("after %v\nwe:\n%s\ngit:\n%s", changes, got, want)
		}
	}
}

func BenchmarkUpdateIndex50k(b *testing.B) {
	j := newJudge(b)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	entries := make([]IndexChange, 50_000)
	for i := range entries {
		entries[i] = change(fmt.Sprintf("anchors/%05d_phase/messages.jsonl", i), "x\n")
	}
	j.ok(r.RebuildIndex(ctx, w, entries))
	for b.Loop() {
		j.ok(r.UpdateIndex(ctx, w, entries[40_000:40_003]))
	}
}
