package gitstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func skipped(path, content string) IndexChange {
	c := change(path, content)
	c.Skip = true
	return c
}

// sparse makes a linked worktree at forks/main/x in which only what open names is there.
// Its commit has ten phases, of which 009 is open.
func (j *judge) sparse(r *Repo) (Worktree, []IndexChange) {
	j.Helper()
	var entries []IndexChange
	for i := range 10 {
		path := fmt.Sprintf("anchors/%03d_x/messages.jsonl", i)
		content := fmt.Sprintf("line %d\n", i)
		j.write(path, content)
		entries = append(entries, skipped(path, content))
	}
	j.git("add", ".")
	j.git("commit", "-qm", "start")
	j.git("branch", "fork/main/x")
	w, err := r.AddWorktree(context.Background(), "refs/heads/fork/main/x", filepath.Join(j.dir, "forks", "main", "x"))
	j.ok(err)
	entries[9].Skip = false
	j.writeIn(w, entries[9].Path, "line 9\n")
	j.ok(r.RebuildIndex(context.Background(), w, entries))
	return w, entries
}

func (j *judge) writeIn(w Worktree, path, content string) {
	j.Helper()
	file := filepath.Join(w.Dir, filepath.FromSlash(path))
	j.ok(os.MkdirAll(filepath.Dir(file), 0o700))
	j.ok(os.WriteFile(file, []byte(content), 0o600))
}

// stillSparse checks that the files that were skipped are neither there nor missed, and
// that history has them all.
func (j *judge) stillSparse(w Worktree, after string) {
	j.Helper()
	if out := j.gitIn(w.Dir, "status", "--porcelain"); out != "" {
		j.Errorf("after %s, git status: %s", after, out)
	}
	var flags []string
	for line := range strings.SplitSeq(j.gitIn(w.Dir, "ls-files", "-t"), "\n") {
		flags = append(flags, line[:1])
	}
	if got := strings.Join(flags[:10], ""); got != "SSSSSSSSSH" {
		j.Errorf("after %s, flags: %s", after, got)
	}
	found, err := filepath.Glob(filepath.Join(w.Dir, "anchors", "*", "messages.jsonl"))
	j.ok(err)
	if !slices.Equal(found, []string{filepath.Join(w.Dir, "anchors", "009_x", "messages.jsonl")}) {
		j.Errorf("after %s, files: %q", after, found)
	}
	tree := j.gitIn(w.Dir, "ls-tree", "-r", "--name-only", "HEAD")
	if strings.Count(tree, "messages.jsonl") != 10 {
		j.Errorf("after %s, in the commit:\n%s", after, tree)
	}
}

func TestSkippedFilesStayAway(t *testing.T) {
	j := newJudge(t)
	r, ctx := j.open(nil), context.Background()
	w, _ := j.sparse(r)
	j.git("config", "gc.auto", "0")
	j.staged(r, w)
	j.stillSparse(w, "the checkout")

	j.writeIn(w, "anchors/009_x/messages.jsonl", "line 9\nmore\n")
	j.gitIn(w.Dir, "commit", "-qam", "by hand")
	j.stillSparse(w, "git commit -a")
	j.writeIn(w, "anchors/009_x/messages.jsonl", "thrown away\n")
	j.gitIn(w.Dir, "reset", "-q", "--hard")
	j.stillSparse(w, "git reset --hard")
	j.gitIn(w.Dir, "reset", "-q", "--hard", "HEAD~1")
	j.stillSparse(w, "git reset --hard HEAD~1")
	j.writeIn(w, "anchors/009_x/messages.jsonl", "line 9\nput by\n")
	j.gitIn(w.Dir, "stash", "-q")
	j.stillSparse(w, "git stash")
	j.gitIn(w.Dir, "stash", "pop", "-q")
	j.gitIn(w.Dir, "commit", "-qam", "popped")
	j.stillSparse(w, "git stash pop")

	j.write("anchors/010_y/events.jsonl", "{}\n")
	j.git("add", ".")
	j.git("commit", "-qm", "the parent grows")
	j.gitIn(w.Dir, "merge", "-q", "-m", "merge", "tape/main")
	j.stillSparse(w, "git merge")
	if _, err := os.Stat(filepath.Join(w.Dir, "anchors", "010_y", "events.jsonl")); err != nil {
		t.Error(err)
	}

	// Ours: what is not named keeps its flag, what is named without it loses it.
	j.writeIn(w, "anchors/009_x/messages.jsonl", "line 9\nput by\nthree\n")
	j.gitIn(w.Dir, "hash-object", "-w", "anchors/009_x/messages.jsonl")
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{change("anchors/009_x/messages.jsonl", "line 9\nput by\nthree\n")}))
	j.gitIn(w.Dir, "commit", "-qm", "ours")
	j.stillSparse(w, "UpdateIndex")
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{change("anchors/000_x/messages.jsonl", "line 0\n")}))
	if out := j.gitIn(w.Dir, "status", "--porcelain"); out != " D anchors/000_x/messages.jsonl" {
		t.Errorf("git status: %q", out)
	}
	j.ok(r.UpdateIndex(ctx, w, []IndexChange{skipped("anchors/000_x/messages.jsonl", "line 0\n")}))
	j.stillSparse(w, "skipping it again")
	entries, err := r.ReadIndex(w)
	j.ok(err)
	for i, e := range entries[:10] {
		if e.SkipWorktree != (i < 9) || e.SkipWorktree && (e.Size != 0 || !e.ModTime.IsZero()) {
			t.Errorf("%+v", e)
		}
	}
	j.fsck()
}

// The version is 3 only as long as something needs it.
func TestIndexVersion(t *testing.T) {
	j := newJudge(t)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	for _, f := range []string{"a", "b"} {
		j.write(f, "1\n")
		j.git("hash-object", "-w", f)
	}
	for i, c := range []struct {
		changes []IndexChange
		version uint32
		flags   string
	}{
		{[]IndexChange{change("a", "1\n"), change("b", "1\n")}, 2, "H a\nH b"},
		{[]IndexChange{skipped("b", "1\n")}, 3, "H a\nS b"},
		{[]IndexChange{change("a", "1\n")}, 3, "H a\nS b"},
		{[]IndexChange{change("b", "1\n")}, 2, "H a\nH b"},
		{[]IndexChange{skipped("a", "1\n"), {Path: "b", Remove: true}}, 3, "S a"},
		{[]IndexChange{{Path: "a", Remove: true}, change("b", "1\n")}, 2, "H b"},
	} {
		j.ok(r.UpdateIndex(ctx, w, c.changes))
		raw, err := os.ReadFile(indexPath(w))
		j.ok(err)
		if got := binary.BigEndian.Uint32(raw[4:]); got != c.version {
			t.Errorf("%d: version %d", i, got)
		}
		if out := j.git("ls-files", "-t"); out != c.flags {
			t.Errorf("%d: %q", i, out)
		}
	}
}

func BenchmarkRebuildSkipped20k(b *testing.B) {
	j := newJudge(b)
	r, ctx, w := j.open(nil), context.Background(), j.main()
	entries := make([]IndexChange, 20_000)
	for i := range entries {
		entries[i] = skipped(fmt.Sprintf("anchors/%05d_phase/messages.jsonl", i), "x\n")
	}
	for b.Loop() {
		j.ok(r.RebuildIndex(ctx, w, entries))
	}
	if n := strings.Count(j.git("ls-files", "-t")+"\n", "S anchors/"); n != len(entries) {
		b.Errorf("git sees %d", n)
	}
}
