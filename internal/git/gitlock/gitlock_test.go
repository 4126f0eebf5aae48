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

// edited replaces the content of a file under git's lock.
func edited(j *gitjudge.Judge, k gitlock.Locks, path, content string) error {
	return k.Edit(context.Background(), filepath.Join(j.GitDir, gitlock.OwnDir, "guard"), path, func([]byte) ([]byte, error) { return []byte(content), nil })
}

// content reads a file; "" if it is missing.
func content(path string) string {
	raw, _ := os.ReadFile(path)
	return string(raw)
}

// A lock that a killed process of ours left is removed; one of anybody else stays.
func TestLockOfTheDead(t *testing.T) {
	j := gitjudge.New(t)
	k := gitlock.Locks{Wait: 10 * time.Millisecond}
	path := filepath.Join(j.GitDir, "file")
	j.OK(os.WriteFile(path+".lock", []byte("half"), gitlock.Perm)) // killed before the rename
	j.OK(edited(j, k, path, "one"))
	if got := content(path); got != "one" {
		t.Fatalf("the file has %q", got)
	}
	if _, err := os.Lstat(path + ".lock"); err == nil {
		t.Error("a lock is left")
	}
	for _, mode := range []os.FileMode{0o600, 0o644, 0o666} {
		j.OK(os.WriteFile(path+".lock", []byte("git"), 0o600))
		j.OK(os.Chmod(path+".lock", mode))
		err := edited(j, k, path, "two")
		if !errors.Is(err, gitlock.ErrBusy) || errors.Is(err, gitlock.ErrStale) || content(path) != "one" || content(path+".lock") != "git" {
			t.Errorf("beside a lock of the mode %v: %v, the file has %q", mode, err, content(path))
		}
		then := time.Now().Add(-time.Hour)
		j.OK(os.Chtimes(path+".lock", then, then))
		if err := edited(j, k, path, "two"); !errors.Is(err, gitlock.ErrStale) {
			t.Errorf("beside an old lock of the mode %v: %v", mode, err)
		}
		j.OK(os.Remove(path + ".lock"))
	}
}

// An edit keeps a file's mode and a link to it; a file that becomes empty is removed.
func TestEdit(t *testing.T) {
	j := gitjudge.New(t)
	k := gitlock.Locks{Wait: time.Second}
	path, link := filepath.Join(j.GitDir, "sub", "file"), filepath.Join(j.GitDir, "link")
	j.OK(edited(j, k, path, "one")) // creates the folder
	if runtime.GOOS != "windows" {
		j.OK(os.Chmod(path, 0o640))
		j.OK(os.Symlink(path, link))
		j.OK(edited(j, k, link, "two"))
		st, err := os.Lstat(path)
		j.OK(err)
		if to, err := os.Readlink(link); to != path || err != nil || content(path) != "two" || st.Mode().Perm() != 0o640 {
			t.Errorf("%q at %q, mode %v, %v", content(path), to, st.Mode(), err)
		}
		// A process that was killed right after its rename left the mode of a lock.
		j.OK(os.Chmod(path, gitlock.Perm))
		j.OK(edited(j, k, path, "two"))
		if st, err = os.Lstat(path); err != nil || st.Mode().Perm() == gitlock.Perm {
			t.Errorf("its mode is %v, %v", st.Mode(), err)
		}
	}
	was, err := os.Stat(path)
	j.OK(err)
	j.OK(edited(j, k, path, content(path)))
	if is, err := os.Stat(path); err != nil || !os.SameFile(was, is) {
		t.Errorf("a file that stays the same was written, %v", err)
	}
	refused := errors.New("refused")
	k.Check = func(string) error { return refused }
	if err := edited(j, k, path, "three"); !errors.Is(err, refused) {
		t.Errorf("the check says %v", err)
	}
	k.Check = nil
	j.OK(edited(j, k, path, ""))
	if _, err := os.Lstat(path); err == nil {
		t.Error("an empty file is there")
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
		t.Errorf("%d collects, not %d", got, pid)
	}
	if err := k.AwaitGC(t.Context(), j.GitDir); !errors.Is(err, gitlock.ErrBusy) {
		t.Errorf("beside it: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (gitlock.Locks{Wait: time.Hour}).AwaitGC(ctx, j.GitDir); !errors.Is(err, context.Canceled) {
		t.Errorf("beside it, cancelled: %v", err)
	}
	for _, text := range []string{"", "nonsense", "-1 " + host, fmt.Sprint(pid), fmt.Sprint(pid, " elsewhere"), fmt.Sprint(os.Getpid(), " ", host)} {
		if note(text); gitlock.RunningGC(j.GitDir) != 0 && (runtime.GOOS == "linux" || text != fmt.Sprint(os.Getpid(), " ", host)) {
			t.Errorf("%q is taken for a git gc that runs", text)
		}
	}
	note(fmt.Sprint(pid, " ", host))
	j.OK(os.MkdirAll(filepath.Dir(gitlock.OwnGC(j.GitDir)), 0o700))
	j.OK(os.WriteFile(gitlock.OwnGC(j.GitDir), fmt.Append(nil, pid), 0o600))
	if got := gitlock.RunningGC(j.GitDir); got != 0 {
		t.Errorf("our own collection, %d, is waited for", got)
	}
	j.OK(os.Remove(gitlock.OwnGC(j.GitDir)))
	j.OK(in.Close())
	j.OK(cmd.Wait())
	j.OK(k.AwaitGC(t.Context(), j.GitDir))
}
