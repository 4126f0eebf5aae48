package writer_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// files returns the files below a folder with their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	storetest.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.Name() == layout.GitDirName && d.IsDir():
			return filepath.SkipDir
		case d.Name() != layout.GitDirName && !d.IsDir():
			rel, _ := filepath.Rel(dir, path)
			out[filepath.ToSlash(rel)] = string(storetest.ReadFile(t, path))
		}
		return err
	}))
	return out
}

// From any commit to any other, or from nothing, the working tree becomes what git would check out, and a file that
// both have is not rewritten.
func TestWrite(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	commits := []string{storetest.Checkpoint(t, m)}
	step := func(drafts ...repo.Draft) {
		storetest.Append(t, m, drafts...)
		commits = append(commits, storetest.Checkpoint(t, m))
	}
	step(repo.Message("user", "one"), repo.Event("e", nil))
	step(storetest.Big(layout.SealSize, "fills a file"), repo.Message("user", "the next file"))
	storetest.Handoff(t, m, "second")
	storetest.AppendArtifact(t, m, "an artifact")
	step(repo.Message("user", "two"))
	storetest.Handoff(t, m, "third")
	step(repo.Message("user", "three"))
	wt, _, err := storetest.InnerTape(m).Worktree()
	storetest.Must(t, err)
	tree := writer.WorkFiles{T: storetest.InnerTape(m), Wt: wt}
	for _, h := range commits {
		tree.Known = append(tree.Known, storetest.Hash(t, h))
	}
	write := func(from, to string) {
		t.Helper()
		v, err := snapshot.AtCommit(storetest.Inner(s), storetest.Hash(t, to))
		storetest.Must(t, err)
		storetest.Must(t, tree.Write(from, v))
		other := filepath.Join(t.TempDir(), "git")
		storetest.Git(t, s.Dir(), "worktree", "add", "-q", "--detach", other, to)
		want, got := files(t, other), files(t, s.Dir())
		storetest.Git(t, s.Dir(), "worktree", "remove", "--force", other)
		for name, text := range want {
			if got[name] != text {
				t.Errorf("from %.7s to %.7s: %s has %.60q, not %.60q", from, to, name, got[name], text)
			}
			delete(got, name)
		}
		for name := range got {
			t.Errorf("from %.7s to %.7s: %s is left", from, to, name)
		}
	}
	last := commits[len(commits)-1]
	first := filepath.Join(s.Dir(), layout.AnchorsDir, "001_session-start", "messages.jsonl")
	was, err := os.Stat(first)
	storetest.Must(t, err)
	write(last, commits[3])
	write(commits[3], last)
	if is, err := os.Stat(first); err != nil || !os.SameFile(was, is) {
		t.Errorf("%s is the same in both commits, but was written again (%v)", first, err)
	}
	at := last
	for _, to := range commits {
		write(at, to)
		write(to, last)
		write("", to)
		at = to
	}
	write("", last)
	storetest.Must(t, writer.RebuildIndex(t.Context(), storetest.Inner(s), wt))
	storetest.WantClean(t, s.Dir())

	storetest.Must(t, writer.EmptyWorkTree(t.Context(), storetest.InnerTape(m), wt, storetest.Hash(t, last)))
	if left := files(t, s.Dir()); len(left) > 0 {
		t.Errorf("Empty has left the files %v", left)
	}
	if out := storetest.Git(t, s.Dir(), "ls-files"); strings.TrimSpace(out) != "" {
		t.Errorf("after Empty, git's index still has %s", out)
	}
	write("", last)
	storetest.Must(t, writer.RebuildIndex(t.Context(), storetest.Inner(s), wt))
	storetest.WantClean(t, s.Dir())
}
