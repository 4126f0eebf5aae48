package gitlock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// edit replaces the content of a file under git's lock.
func edit(j *gitjudge.Judge, k gitlock.Locks, path, content string) error {
	return k.Edit(context.Background(), filepath.Join(j.GitDir, gitlock.OwnDir, "guard"), path, func([]byte) ([]byte, error) { return []byte(content), nil })
}

// content reads a file; "" if it is missing.
func content(path string) string {
	raw, _ := os.ReadFile(path)
	return string(raw)
}

// A lock that a killed process of ours left is removed; anybody else's lock stays.
func TestLockOfKilledProcess(t *testing.T) {
	j := gitjudge.New(t)
	k := gitlock.Locks{Wait: 10 * time.Millisecond}
	path := filepath.Join(j.GitDir, "file")
	j.OK(os.WriteFile(path+".lock", []byte("half"), gitlock.Perm)) // killed before the rename
	j.OK(edit(j, k, path, "one"))
	if got := content(path); got != "one" {
		t.Fatalf("the file has %q, not %q", got, "one")
	}
	if _, err := os.Lstat(path + ".lock"); err == nil {
		t.Error("a lock is left")
	}
	for _, mode := range []os.FileMode{0o600, 0o644, 0o666} {
		j.OK(os.WriteFile(path+".lock", []byte("git"), 0o600))
		j.OK(os.Chmod(path+".lock", mode))
		err := edit(j, k, path, "two")
		if !errors.Is(err, gitlock.ErrBusy) || errors.Is(err, gitlock.ErrStale) || content(path) != "one" || content(path+".lock") != "git" {
			t.Errorf("beside a lock of the mode %v: %v, want ErrBusy; the file has %q", mode, err, content(path))
		}
		then := time.Now().Add(-time.Hour)
		j.OK(os.Chtimes(path+".lock", then, then))
		if err := edit(j, k, path, "two"); !errors.Is(err, gitlock.ErrStale) {
			t.Errorf("beside an old lock of the mode %v: %v, want ErrStale", mode, err)
		}
		j.OK(os.Remove(path + ".lock"))
	}
}

// An edit keeps a file's mode and a link to it; a file that becomes empty is removed.
func TestEdit(t *testing.T) {
	j := gitjudge.New(t)
	k := gitlock.Locks{Wait: time.Second}
	path, link := filepath.Join(j.GitDir, "sub", "file"), filepath.Join(j.GitDir, "link")
	j.OK(edit(j, k, path, "one")) // creates the folder
	if runtime.GOOS != "windows" {
		j.OK(os.Chmod(path, 0o640))
		j.OK(os.Symlink(path, link))
		j.OK(edit(j, k, link, "two"))
		st, err := os.Lstat(path)
		j.OK(err)
		if to, err := os.Readlink(link); to != path || err != nil || content(path) != "two" || st.Mode().Perm() != 0o640 {
			t.Errorf("the link leads to %q (%v), and the file has %q and the mode %v", to, err, content(path), st.Mode())
		}
		// A process that was killed right after its rename left the mode of a lock.
		j.OK(os.Chmod(path, gitlock.Perm))
		j.OK(edit(j, k, path, "two"))
		if st, err = os.Lstat(path); err != nil || st.Mode().Perm() == gitlock.Perm {
			t.Errorf("the file still has the mode of a lock: %v, %v", st.Mode(), err)
		}
	}
	was, err := os.Stat(path)
	j.OK(err)
	j.OK(edit(j, k, path, content(path)))
	if is, err := os.Stat(path); err != nil || !os.SameFile(was, is) {
		t.Errorf("a file was written though its content stays the same, %v", err)
	}
	refused := errors.New("refused")
	k.Check = func(string) error { return refused }
	if err := edit(j, k, path, "three"); !errors.Is(err, refused) {
		t.Errorf("an edit that Check refuses: %v", err)
	}
	k.Check = nil
	j.OK(edit(j, k, path, ""))
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file is there though its new content is empty")
	}
}

// Writers wait for somebody else's running git gc, not for one that has ended, nor for our own.
func TestRunningGC(t *testing.T) {
	j := gitjudge.New(t)
	cmd := exec.Command("git", "cat-file", "--batch") // a git that does nothing
	cmd.Dir = j.Dir
	in, err := cmd.StdinPipe()
	j.OK(err)
	j.OK(cmd.Start())
	host, err := os.Hostname()
	j.OK(err)
	pid := cmd.Process.Pid
	note := func(text string) {
		j.Helper()
		j.OK(os.WriteFile(filepath.Join(j.GitDir, gitlock.GCPid), []byte(text), 0o600))
	}
	k := gitlock.Locks{Wait: time.Millisecond}
	note(fmt.Sprint(pid, " ", host))
	if got := gitlock.RunningGC(j.GitDir); got != pid {
		t.Errorf("RunningGC returns %d, not %d", got, pid)
	}
	if err := k.AwaitGC(t.Context(), j.GitDir); !errors.Is(err, gitlock.ErrBusy) {
		t.Errorf("AwaitGC beside a git gc: %v, want ErrBusy", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (gitlock.Locks{Wait: time.Hour}).AwaitGC(ctx, j.GitDir); !errors.Is(err, context.Canceled) {
		t.Errorf("AwaitGC, cancelled: %v, want context.Canceled", err)
	}
	for _, text := range []string{"", "nonsense", "-1 " + host, fmt.Sprint(pid), fmt.Sprint(pid, " elsewhere"), fmt.Sprint(os.Getpid(), " ", host)} {
		if note(text); gitlock.RunningGC(j.GitDir) != 0 && (runtime.GOOS == "linux" || text != fmt.Sprint(os.Getpid(), " ", host)) {
			t.Errorf("gc.pid with %q is taken for a running git gc", text)
		}
	}
	note(fmt.Sprint(pid, " ", host))
	j.OK(os.MkdirAll(filepath.Dir(gitlock.OwnGC(j.GitDir)), 0o700))
	j.OK(os.WriteFile(gitlock.OwnGC(j.GitDir), fmt.Append(nil, pid), 0o600))
	if got := gitlock.RunningGC(j.GitDir); got != 0 {
		t.Errorf("RunningGC returns our own gc, %d", got)
	}
	j.OK(os.Remove(gitlock.OwnGC(j.GitDir)))
	j.OK(in.Close())
	j.OK(cmd.Wait())
	j.OK(k.AwaitGC(t.Context(), j.GitDir))
}
