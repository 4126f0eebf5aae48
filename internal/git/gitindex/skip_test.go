package gitindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/testkit/gitjudge"
)

func skipped(path, content string) Change {
	c := change(path, content)
	c.Skip = true
	return c
}

// sparse makes a linked worktree at forks/main/x that has only the open phase, the last of ten
// in its commit.
func sparse(j *gitjudge.Judge, r *gitstore.Repo) (gitstore.Worktree, []Change) {
	j.Helper()
	var entries []Change
	for i := range 10 {
		path := fmt.Sprintf("anchors/%03d_x/messages.jsonl", i)
		content := fmt.Sprintf("line %d\n", i)
		j.Write(path, content)
		entries = append(entries, skipped(path, content))
	}
	j.Git("add", ".")
	j.Git("commit", "-qm", "start")
	j.Git("branch", "fork/main/x")
	w, err := gitworktree.Add(context.Background(), r, "refs/heads/fork/main/x", filepath.Join(j.Dir, "forks", "main", "x"))
	j.OK(err)
	entries[9].Skip = false
	j.WriteIn(w.Dir, entries[9].Path, "line 9\n")
	j.OK(Rebuild(context.Background(), r, w, entries))
	return w, entries
}

// stillSparse checks that the skipped files are absent, that git status does not miss them, and
// that the commit has them all.
func stillSparse(j *gitjudge.Judge, w gitstore.Worktree, after string) {
	j.Helper()
	if out := j.GitIn(w.Dir, "status", "--porcelain"); out != "" {
		j.Errorf("after %s, git status: %s", after, out)
	}
	var flags []string
	for line := range strings.SplitSeq(j.GitIn(w.Dir, "ls-files", "-t"), "\n") {
		flags = append(flags, line[:1])
	}
	if got := strings.Join(flags[:10], ""); got != "SSSSSSSSSH" {
		j.Errorf("after %s, flags: %s", after, got)
	}
	found, err := filepath.Glob(filepath.Join(w.Dir, "anchors", "*", "messages.jsonl"))
	j.OK(err)
	if !slices.Equal(found, []string{filepath.Join(w.Dir, "anchors", "009_x", "messages.jsonl")}) {
		j.Errorf("after %s, files: %q", after, found)
	}
	tree := j.GitIn(w.Dir, "ls-tree", "-r", "--name-only", "HEAD")
	if strings.Count(tree, "messages.jsonl") != 10 {
		j.Errorf("after %s, in the commit:\n%s", after, tree)
	}
}

func TestSkippedFilesStayAway(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	w, _ := sparse(j, r)
	j.Git("config", "gc.auto", "0")
	wantStaged(j, w)
	stillSparse(j, w, "the checkout")

	j.WriteIn(w.Dir, "anchors/009_x/messages.jsonl", "line 9\nmore\n")
	j.GitIn(w.Dir, "commit", "-qam", "by hand")
	stillSparse(j, w, "git commit -a")
	j.WriteIn(w.Dir, "anchors/009_x/messages.jsonl", "thrown away\n")
	j.GitIn(w.Dir, "reset", "-q", "--hard")
	stillSparse(j, w, "git reset --hard")
	j.GitIn(w.Dir, "reset", "-q", "--hard", "HEAD~1")
	stillSparse(j, w, "git reset --hard HEAD~1")
	j.WriteIn(w.Dir, "anchors/009_x/messages.jsonl", "line 9\nput by\n")
	j.GitIn(w.Dir, "stash", "-q")
	stillSparse(j, w, "git stash")
	j.GitIn(w.Dir, "stash", "pop", "-q")
	j.GitIn(w.Dir, "commit", "-qam", "popped")
	stillSparse(j, w, "git stash pop")

	j.Write("anchors/010_y/events.jsonl", "{}\n")
	j.Git("add", ".")
	j.Git("commit", "-qm", "the parent grows")
	j.GitIn(w.Dir, "merge", "-q", "-m", "merge", "tape/main")
	stillSparse(j, w, "git merge")
	if _, err := os.Stat(filepath.Join(w.Dir, "anchors", "010_y", "events.jsonl")); err != nil {
		t.Errorf("the merged file is missing: %v", err)
	}

	// Our updates: files that are not named keep their flag; a file named without the flag loses it.
	j.WriteIn(w.Dir, "anchors/009_x/messages.jsonl", "line 9\nput by\nthree\n")
	j.GitIn(w.Dir, "hash-object", "-w", "anchors/009_x/messages.jsonl")
	j.OK(Update(ctx, r, w, []Change{change("anchors/009_x/messages.jsonl", "line 9\nput by\nthree\n")}))
	j.GitIn(w.Dir, "commit", "-qm", "ours")
	stillSparse(j, w, "Update")
	j.OK(Update(ctx, r, w, []Change{change("anchors/000_x/messages.jsonl", "line 0\n")}))
	if out := j.GitIn(w.Dir, "status", "--porcelain"); out != " D anchors/000_x/messages.jsonl" {
		t.Errorf("git status: %q", out)
	}
	j.OK(Update(ctx, r, w, []Change{skipped("anchors/000_x/messages.jsonl", "line 0\n")}))
	stillSparse(j, w, "skipping it again")
	entries, err := Read(w)
	j.OK(err)
	x, err := readIndexFile(w.IndexPath())
	j.OK(err)
	for i, e := range entries[:10] {
		if e.SkipWorktree != (i < 9) || e.SkipWorktree && (x.stat(i).size != 0 || x.stat(i).mtimeSec != 0) {
			t.Errorf("entry %d of the rebuilt index is %+v", i, e)
		}
	}
	j.Fsck()
}

// The version of the index is 3 only while an entry has the flag skip-worktree.
func TestIndexVersion(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	for _, f := range []string{"a", "b"} {
		j.Write(f, "1\n")
		j.Git("hash-object", "-w", f)
	}
	for i, c := range []struct {
		changes []Change
		version uint32
		flags   string
	}{
		{[]Change{change("a", "1\n"), change("b", "1\n")}, 2, "H a\nH b"},
		{[]Change{skipped("b", "1\n")}, 3, "H a\nS b"},
		{[]Change{change("a", "1\n")}, 3, "H a\nS b"},
		{[]Change{change("b", "1\n")}, 2, "H a\nH b"},
		{[]Change{skipped("a", "1\n"), {Path: "b", Remove: true}}, 3, "S a"},
		{[]Change{{Path: "a", Remove: true}, change("b", "1\n")}, 2, "H b"},
	} {
		j.OK(Update(ctx, r, w, c.changes))
		raw, err := os.ReadFile(w.IndexPath())
		j.OK(err)
		if got := binary.BigEndian.Uint32(raw[4:]); got != c.version {
			t.Errorf("after update %d the version is %d, not %d", i, got, c.version)
		}
		if out := j.Git("ls-files", "-t"); out != c.flags {
			t.Errorf("after update %d git lists %q, not %q", i, out, c.flags)
		}
	}
}

func BenchmarkRebuildSkipped20k(b *testing.B) {
	j := gitjudge.New(b)
	r, ctx, w := open(j, nil), context.Background(), mainTree(j)
	entries := make([]Change, 20_000)
	for i := range entries {
		entries[i] = skipped(fmt.Sprintf("anchors/%05d_phase/messages.jsonl", i), "x\n")
	}
	for b.Loop() {
		j.OK(Rebuild(ctx, r, w, entries))
	}
	if n := strings.Count(j.Git("ls-files", "-t")+"\n", "S anchors/"); n != len(entries) {
		b.Errorf("git sees %d skipped files, not %d", n, len(entries))
	}
}
