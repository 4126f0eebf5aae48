package gitindex

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

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func change(path, content string) Change {
	return Change{Path: path, Hash: gitstore.HashObject(gitstore.KindBlob, []byte(content)), Mode: gitstore.ModeFile, Size: int64(len(content))}
}

func mainTree(j *gitjudge.Judge) gitstore.Worktree {
	return gitstore.Worktree{Dir: j.Dir, GitDir: j.GitDir, Branch: "refs/heads/tape/main"}
}

// wantStaged fails unless we read the same entries from the index as git.
func wantStaged(j *gitjudge.Judge, w gitstore.Worktree) {
	j.Helper()
	entries, err := Read(w)
	j.OK(err)
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%06o %s %d\t%s", e.Mode, e.Hash, e.Stage, e.Path))
	}
	want := j.GitIn(w.Dir, "-c", "core.quotePath=false", "ls-files", "--stage")
	if strings.Join(got, "\n") != want {
		j.Errorf("index:\n%s\ngit has:\n%s", strings.Join(got, "\n"), want)
	}
}

func TestUpdateIndexAsGitSeesIt(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	for i := range 50 {
		j.Write(fmt.Sprintf("anchors/%03d_x/messages.jsonl", i), fmt.Sprintf("line %d\n", i))
	}
	j.Write("tape.json", "{}\n")
	j.Git("add", ".")
	j.Git("commit", "-qm", "start")
	before := j.Git("ls-files", "--debug", "anchors/001_x")

	long := "anchors/" + strings.Repeat("ü", 60) + "/" + strings.Repeat("long-", 45) + "/messages.jsonl"
	added := []Change{
		change("anchors/002_x/messages.jsonl", "line 2\nmore\n"), change("anchors/050_x/events.jsonl", "{}\n"),
		change("anchors.txt", "before anchors/\n"), change("a", ""), change("zzz", "last\n"), change(long, "x\n"),
	}
	contents := []string{"line 2\nmore\n", "{}\n", "before anchors/\n", "", "last\n", "x\n"}
	for i, c := range added {
		j.Write(c.Path, contents[i])
		j.Git("hash-object", "-w", filepath.Join(j.Dir, filepath.FromSlash(c.Path)))
	}
	j.OK(os.Remove(filepath.Join(j.Dir, "anchors/003_x/messages.jsonl")))
	j.OK(Update(ctx, r, w, append(added, Change{Path: "anchors/003_x/messages.jsonl", Remove: true})))
	wantStaged(j, w)
	if out := j.Git("diff", "--stat"); out != "" {
		t.Errorf("git diff: %s", out)
	}
	if out := j.Git("diff-files"); out != "" {
		t.Errorf("git diff-files needs a refresh: %s", out)
	}
	if after := j.Git("ls-files", "--debug", "anchors/001_x"); after != before {
		t.Errorf("an entry that was not touched changed:\n%s\n%s", before, after)
	}
	tree := j.Git("write-tree")
	commit := j.Git("commit-tree", tree, "-p", "HEAD", "-m", "next")
	j.Git("update-ref", "HEAD", commit)
	if out := j.Git("status", "--porcelain"); out != "" {
		t.Errorf("git status: %s", out)
	}
	j.Fsck()
}

func TestFileThatGrewMeanwhile(t *testing.T) {
	j := gitjudge.New(t)
	r, w := open(j, nil), mainTree(j)
	for _, blob := range []string{"one\n", ""} {
		j.Write("m.jsonl", blob)
		j.Git("hash-object", "-w", "m.jsonl")
		j.Write("m.jsonl", blob+"two\n") // appended after it was hashed
		j.OK(Update(context.Background(), r, w, []Change{change("m.jsonl", blob)}))
		if out := j.Git("diff", "--numstat"); out != "1\t0\tm.jsonl" {
			t.Errorf("git diff: %q", out)
		}
		if out := j.Git("status", "--porcelain"); out != "AM m.jsonl" {
			t.Errorf("git status: %q", out)
		}
	}
}

// TestRacilyClean changes a file right after git indexed it, and keeps its size and time. When we write
// the index later, git must still find the change.
func TestRacilyClean(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	j.Write("racy", "aaaa\n")
	j.Write("clean", "aaaa\n")
	j.Write("other", "1\n")
	now := time.Now().Truncate(time.Second)
	for _, f := range []string{"racy", "clean"} {
		j.OK(os.Chtimes(filepath.Join(j.Dir, f), now, now))
	}
	j.Git("config", "core.trustctime", "false")
	j.Git("add", ".")
	j.OK(os.Chtimes(filepath.Join(j.GitDir, "index"), now, now))
	j.Write("racy", "bbbb\n")
	j.OK(os.Chtimes(filepath.Join(j.Dir, "racy"), now, now))
	if out := j.Git("diff-files", "--name-only"); out != "racy" {
		t.Fatalf("before the update git diff-files gives %q, not racy", out)
	}
	testkit.Until(t, "the next second, for the new index", func() bool { return time.Since(now) > 1100*time.Millisecond })
	j.OK(Update(ctx, r, w, []Change{change("other", "1\n")}))
	if out := j.Git("diff", "--name-only"); out != "racy" {
		t.Errorf("after the update git diff gives %q, not racy", out)
	}
}

func TestIndexKeepsFlagsAndResolvesConflicts(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	for _, f := range []string{"assume", "skip", "plain", "both/x", "new"} {
		j.Write(f, "1\n")
	}
	j.Git("add", "assume", "skip", "plain", "both")
	j.Git("add", "-N", "new")
	j.Git("update-index", "--assume-unchanged", "assume")
	j.Git("update-index", "--skip-worktree", "skip")
	one, two := gitstore.HashObject(gitstore.KindBlob, []byte("1\n")), j.Git("hash-object", "-w", os.DevNull)
	info := fmt.Sprintf("0 %s\tboth/x\n100644 %s 1\tboth/x\n100644 %s 2\tboth/x\n100644 %s 3\tboth/x\n", gitstore.ZeroHash, one, one, two)
	if out, err := gitjudge.GitStdin(j, info, "update-index", "--index-info"); err != nil {
		t.Fatal(out)
	}
	wantStaged(j, w)
	j.OK(Update(ctx, r, w, []Change{change("plain", "1\n"), change("both/x", "1\n")}))
	wantStaged(j, w)
	if out := j.Git("ls-files", "-v"); out != "h assume\nH both/x\nH new\nH plain\nS skip" {
		t.Errorf("flags: %s", out)
	}
	entries, err := Read(w)
	j.OK(err)
	x, err := readIndexFile(w.IndexPath())
	j.OK(err)
	if entries[2].Path != "new" || x.extended(2)&extIntent == 0 || !entries[4].SkipWorktree || x.flags(0)&flagValid == 0 {
		t.Errorf("flags are lost or misread: %+v", entries)
	}
	// A file takes the place of a folder, and the other way round.
	j.OK(os.RemoveAll(filepath.Join(j.Dir, "both")))
	j.Write("both", "1\n")
	j.OK(Update(ctx, r, w, []Change{change("both", "1\n")}))
	wantStaged(j, w)
	j.OK(os.RemoveAll(filepath.Join(j.Dir, "both")))
	j.Write("both/y/z", "1\n")
	j.OK(Update(ctx, r, w, []Change{change("both/y/z", "1\n")}))
	wantStaged(j, w)
	j.Fsck()
}

func TestIndexUnreadable(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	j.Write("x", "1\n")
	j.Git("add", ".")
	file := filepath.Join(j.GitDir, "index")
	good, err := os.ReadFile(file)
	j.OK(err)
	spoil := map[string]func(){
		"version 4":      func() { j.Git("update-index", "--index-version", "4") },
		"split":          func() { j.Git("update-index", "--split-index") },
		"cut":            func() { j.OK(os.WriteFile(file, good[:40], 0o600)) },
		"empty":          func() { j.OK(os.WriteFile(file, nil, 0o600)) },
		"wrong checksum": func() { j.OK(os.WriteFile(file, append([]byte("DIRC\x00\x00\x00\x03"), good[8:]...), 0o600)) },
	}
	for name, f := range spoil {
		j.OK(os.WriteFile(file, good, 0o600))
		f()
		if err := Update(ctx, r, w, []Change{change("x", "1\n")}); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v, want ErrUnreadable", name, err)
		}
		j.OK(Rebuild(ctx, r, w, []Change{change("x", "1\n")}))
		if out := j.Git("status", "--porcelain"); out != "A  x" {
			t.Errorf("%s: after Rebuild git status gives %q", name, out)
		}
	}
	for _, path := range []string{"", "/x", "../x", "a/../x", ".git/config", "a//b", "a\x00b", `a\b`} {
		if err := Update(ctx, r, w, []Change{{Path: path}}); err == nil {
			t.Errorf("path %q is accepted", path)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	x := &indexFile{version: 2}
	edits, err := x.edits(f.TempDir(), []Change{change("a", "1"), change("a/b/c", "2"), change("b", "3")})
	if err != nil {
		f.Fatal(err)
	}
	raw := x.splice(edits)
	f.Add(raw[:len(raw)-trailerLength])
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := parseIndex(append(body, make([]byte, trailerLength)...)) // zeros: no checksum
		if err != nil {
			return
		}
		for i := range x.len() {
			e := x.entry(i)
			if from, to := x.find(e.Path); from > i || to <= i {
				t.Fatalf("find(%q) returns %d to %d, without entry %d", e.Path, from, to, i)
			}
		}
		if _, err := parseIndex(x.splice(nil)); err != nil {
			t.Fatal(err)
		}
	})
}

func TestUpdateIndexFaults(t *testing.T) {
	j := gitjudge.New(t)
	ctx, w := context.Background(), mainTree(j)
	j.Write("a", "1\n")
	j.Write("b", "1\n")
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		_ = os.Remove(filepath.Join(j.GitDir, "index"))
		j.Git("add", "a")
		_ = Update(ctx, open(j, fsys), w, []Change{change("b", "1\n")})
		if out, err := j.TryGit(j.Dir, "ls-files"); out != "a" && out != "a\nb" || err != nil {
			t.Fatalf("git sees %s %v", out, err)
		}
		if err := Update(ctx, open(j, nil), w, []Change{change("b", "1\n")}); err != nil {
			t.Fatal(err)
		}
		if out := j.Git("status", "--porcelain"); out != "A  a\nA  b" {
			t.Fatalf("git status: %s", out)
		}
	})
}

// TestIndexRandomly makes random changes, and compares the index with the one that git builds from the files.
func TestIndexRandomly(t *testing.T) {
	j := gitjudge.New(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	r, w := open(j, nil), mainTree(j)
	for range 12 {
		var changes []Change
		for range 1 + rnd.IntN(20) {
			path := fmt.Sprintf("%c%c/%c", 'a'+rnd.IntN(3), "-.0x"[rnd.IntN(4)], 'a'+rnd.IntN(4))
			if rnd.IntN(4) == 0 {
				j.OK(os.RemoveAll(filepath.Join(j.Dir, path)))
				changes = append(changes, Change{Path: path, Remove: true})
				continue
			}
			content := fmt.Sprint(rnd.IntN(1000))
			j.Write(path, content)
			changes = append(changes, change(path, content))
		}
		j.OK(Update(context.Background(), r, w, changes))
		got := j.Git("ls-files", "--stage")
		if out := j.Git("diff-files", "--name-only"); out != "" {
			t.Fatalf("differs from the files: %s", out)
		}
		j.Git("read-tree", "--empty")
		j.Git("add", "-A")
		if want := j.Git("ls-files", "--stage"); got != want {
			t.Fatalf("after %v\nwe:\n%s\ngit:\n%s", changes, got, want)
		}
	}
}

func BenchmarkUpdateIndex50k(b *testing.B) {
	j := gitjudge.New(b)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	entries := make([]Change, 50_000)
	for i := range entries {
		entries[i] = change(fmt.Sprintf("anchors/%05d_phase/messages.jsonl", i), "x\n")
	}
	j.OK(Rebuild(ctx, r, w, entries))
	for b.Loop() {
		j.OK(Update(ctx, r, w, entries[40_000:40_003]))
	}
}
