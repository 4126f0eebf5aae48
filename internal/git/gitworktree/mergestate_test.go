package gitworktree

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

func TestMergeState(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	j.Write("a", "1\n")
	j.Git("add", ".")
	j.Git("commit", "-qm", "one")
	var tips []gitstore.Hash
	for _, name := range []string{"x", "y"} {
		j.Git("checkout", "-q", "-b", name, "tape/main")
		j.Write(name, "1\n")
		j.Git("add", ".")
		j.Git("commit", "-qm", name)
		tips = append(tips, j.Hash(j.Git("rev-parse", "HEAD")))
	}
	j.Git("checkout", "-q", "tape/main")
	main := j.Hash(j.Git("rev-parse", "HEAD"))
	j.Git("branch", "fork/main/z")
	j.Git("worktree", "add", "-q", filepath.Join(j.Dir, "forks", "main", "z"), "fork/main/z")
	w, err := r.WorktreeOf("refs/heads/fork/main/z")
	j.OK(err)
	check := func(w gitstore.Worktree, want ...gitstore.Hash) {
		t.Helper()
		if got, err := MergeHeads(w); err != nil || !slices.Equal(got, want) {
			t.Errorf("the merge heads in %s are %v, %v; want %v", w.Dir, got, err, want)
		}
	}
	check(mainTree(j))
	j.OK(ClearMerge(r, mainTree(j)))
	for name, args := range map[string][]string{"no-ff": {"--no-ff", "x"}, "octopus": {"x", "y"}, "squash": {"--squash", "x"}} {
		want := tips[:len(args)]
		switch name {
		case "no-ff":
			want = tips[:1]
		case "squash":
			want = nil
		}
		gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
			j.GitIn(w.Dir, append([]string{"merge", "-q", "--no-commit"}, args...)...)
			check(w, want...)
			check(mainTree(j))
			_ = ClearMerge(open(j, fsys), w)
			if err := ClearMerge(r, w); err != nil {
				t.Fatal(err)
			}
			check(w)
			// The next git commit is not a merge, and gets nothing of its message.
			out, err := j.TryGit(w.Dir, "-c", "core.editor=true", "commit", "-q")
			if err == nil {
				t.Fatalf("%s: git took a message from somewhere: %s", name, out)
			}
			j.GitIn(w.Dir, "commit", "-q", "-m", "concluded")
			if got := j.GitIn(w.Dir, "log", "-1", "--format=%P"); got != main.String() {
				t.Fatalf("%s: the parents are %s, want %s", name, got, main)
			}
			for _, file := range mergeFiles {
				if _, err := os.Stat(filepath.Join(w.GitDir, file)); err == nil {
					t.Fatalf("%s: %s is left", name, file)
				}
			}
			j.GitIn(w.Dir, "reset", "-q", "--hard", main.String())
		})
	}
	j.OK(os.WriteFile(filepath.Join(w.GitDir, "MERGE_HEAD"), []byte("x\n"), 0o600))
	if _, err := MergeHeads(w); err == nil {
		t.Error("garbage in MERGE_HEAD is accepted")
	}
}
