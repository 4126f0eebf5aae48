package githooks

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
)

// The repository is found from every place in which git runs a hook.
func TestLocate(t *testing.T) {
	store := newStore(t)
	dir, err := filepath.EvalSymlinks(store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "worktree", "add", "-q", "-b", "fork/main/x", filepath.Join("forks", "main", "x"))
	common := filepath.Join(dir, ".git")
	linked := filepath.Join(common, "worktrees", "x")
	work := filepath.Join(dir, "forks", "main", "x")
	for _, c := range []struct {
		cwd, gitDir  string
		want, branch string
	}{
		{dir, "", common, "refs/heads/tape/main"},
		{filepath.Join(dir, "anchors"), "", common, "refs/heads/tape/main"},
		{dir, ".git", common, "refs/heads/tape/main"},
		{common, ".", common, "refs/heads/tape/main"},
		{work, "", linked, "refs/heads/fork/main/x"},
		{filepath.Join(work, "anchors"), "", linked, "refs/heads/fork/main/x"},
		{work, linked, linked, "refs/heads/fork/main/x"},
	} {
		t.Chdir(c.cwd)
		t.Setenv("GIT_DIR", c.gitDir)
		r, err := Locate()
		if err != nil || r.GitDir != c.want || r.CommonDir != common && filepath.Clean(r.CommonDir) != common || r.Dir != dir {
			t.Errorf("%s, GIT_DIR=%s: got %+v (%v), want the git folder %s of %s", c.cwd, c.gitDir, r, err, c.want, dir)
		}
		if branch, err := r.Branch(); branch != c.branch || err != nil {
			t.Errorf("%s: got branch %q (%v), want %q", c.cwd, branch, err, c.branch)
		}
	}
	git(t, work, "checkout", "-q", "--detach")
	t.Chdir(work)
	t.Setenv("GIT_DIR", "")
	if r, err := Locate(); err != nil {
		t.Error(err)
	} else if branch, err := r.Branch(); branch != "" || err != nil {
		t.Errorf("detached: got branch %q (%v), want none", branch, err)
	}
}

// The process in the background has a session of its own, none of our streams, and none of git's variables.
// Start does not wait for it.
func TestStart(t *testing.T) {
	needsShell(t)
	store := newStore(t)
	done := filepath.Join(t.TempDir(), "done")
	script := filepath.Join(t.TempDir(), "program")
	put(t, script, "#!/bin/sh\nsleep 0.3\n{ pwd; env; } >"+done+".tmp\nmv "+done+".tmp "+done+"\n", 0o755)
	t.Setenv("GIT_INDEX_FILE", "elsewhere")
	t.Setenv("GITHEAD_0123", "x")
	t.Setenv("KEPT", "yes")
	if err := Start(store, script); err != nil {
		t.Fatal(err)
	}
	testkit.Pause(50 * time.Millisecond)
	if _, err := os.Stat(done); err == nil {
		t.Fatal("a program was started although there is no index to bring up to date")
	}
	put(t, store.IndexFile(), "", 0o600)
	unlock, ok, err := LockSync(store)
	if !ok || err != nil {
		t.Fatalf("taking the lock: got %v, %v, want true", ok, err)
	}
	if _, second, err := LockSync(store); second || err != nil {
		t.Fatalf("taking the lock twice: got %v, %v, want false", second, err)
	}
	if err := Start(store, "/there/is/none"); err != nil {
		t.Errorf("while another process has the lock: got %v, want nothing started", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := Start(store, "/there/is/none"); err == nil {
		t.Error("starting a missing program succeeded, want an error")
	}
	if err := Start(store, script, "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(done); err == nil {
		t.Error("Start waited for the end of the program")
	}
	var got []byte
	testkit.Until(t, "the end of the program", func() bool {
		got, err = os.ReadFile(done)
		return err == nil
	})
	text := string(got)
	if !strings.Contains(text, "KEPT=yes") || strings.Contains(text, "GIT_INDEX_FILE") || strings.Contains(text, "GITHEAD") ||
		!strings.Contains(text, filepath.Base(store.Dir())+"\n") {
		t.Errorf("the program saw\n%s\nwant the folder %s, KEPT, and no variables of git", text, store.Dir())
	}
}

// Git also runs merge drivers to replay changes. IsMerge reports true only for merges.
func TestIsMerge(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the driver is a shell script that starts this test")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "config", "merge.t.driver", "TAPE_TEST_HELPER=ismerge TAPE_TEST_LOG="+log+" "+self)
	put(t, filepath.Join(dir, ".git", "info", "attributes"), "f merge=t\n", 0o600)
	commit := func(branch, line string) {
		git(t, dir, "checkout", "-q", "-B", branch, "main")
		old, _ := os.ReadFile(filepath.Join(dir, "f"))
		put(t, filepath.Join(dir, "f"), string(old)+line+"\n", 0o600)
		git(t, dir, "add", "f")
		git(t, dir, "commit", "-qm", line)
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	commit("main", "0")
	commit("main", "a")
	commit("ours", "b")
	commit("theirs", "c")
	commit("ahead", "d")
	for _, c := range []struct {
		want string
		args string
	}{
		{"true", "merge theirs"},
		{"true", "merge -s recursive --no-commit theirs"},
		{"true", "merge --squash theirs"},
		{"true", "pull --no-rebase . theirs"},
		{"false", "rebase theirs"},
		{"false", "rebase --apply theirs"},
		{"false", "pull --rebase . theirs"},
		{"false", "cherry-pick theirs"},
		{"false", "revert main"},
		{"false", "stash pop"},
		{"false", "merge --autostash ahead"},
		{"false", "merge --autostash --squash ahead"},
		{"true", "merge theirs"}, // whatever the commands before have left behind
	} {
		_ = os.Remove(log)
		git(t, dir, "checkout", "-q", "-f", "-B", "work", "ours")
		switch {
		case c.args == "stash pop":
			put(t, filepath.Join(dir, "f"), "0\na\nb\nkept\n", 0o600)
			git(t, dir, "stash", "-q")
			put(t, filepath.Join(dir, "f"), "0\na\nb\nmore\n", 0o600)
			git(t, dir, "commit", "-qam", "more")
		case strings.Contains(c.args, "--autostash"):
			git(t, dir, "checkout", "-q", "-B", "work", "main")
			put(t, filepath.Join(dir, "f"), "0\na\nnot committed\n", 0o600)
		}
		runGit(dir, strings.Fields(c.args)...)
		got, err := os.ReadFile(log)
		if strings.TrimSpace(string(got)) != c.want || err != nil {
			t.Errorf("git %s: IsMerge says %q (%v), want %s", c.args, got, err, c.want)
		}
		for _, undo := range []string{"merge --abort", "rebase --abort", "cherry-pick --abort", "revert --abort", "stash drop"} {
			runGit(dir, strings.Fields(undo)...)
		}
	}
}
