package gitlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// GCPid is the file in which git notes who collects.
const GCPid = "gc.pid"

// ReadGCPid returns the process of the git gc that a repository's gc.pid names, which may be
// dead; 0 for none. As to git, a note of more than twelve hours is none. What runs on other
// hosts is not seen.
func ReadGCPid(gitDir string) int {
	const longest = 12 * time.Hour
	path := filepath.Join(gitDir, GCPid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	st, err := os.Stat(path)
	host, _ := os.Hostname()
	pid, of, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	if n, perr := strconv.Atoi(pid); err == nil && perr == nil && n > 0 && of == host && time.Since(st.ModTime()) < longest {
		return n
	}
	return 0
}

// OwnGC is where a collection of ours notes the process of its git gc: that one drops nothing
// that was written of late, and writers need not wait for it.
func OwnGC(gitDir string) string { return filepath.Join(gitDir, OwnDir, "gc.own") }

// RunningGC returns the process of somebody else's git gc that is running, or 0.
func RunningGC(gitDir string) int {
	pid := ReadGCPid(gitDir)
	if pid == 0 || !IsGitAlive(pid) {
		return 0
	}
	if own, err := os.ReadFile(OwnGC(gitDir)); err == nil && string(own) == strconv.Itoa(pid) {
		return 0
	}
	return pid
}

// AwaitGC waits for the end of somebody else's git gc, for as long as for a lock.
func (k Locks) AwaitGC(ctx context.Context, gitDir string) error {
	for deadline := time.Now().Add(k.Wait); ; {
		pid := RunningGC(gitDir)
		if pid == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: a git gc is running here, process %d, that may drop what is written meanwhile (%s names it)",
				ErrBusy, pid, filepath.Join(gitDir, GCPid))
		}
		if err := PauseForGC(ctx, pid); err != nil {
			return err
		}
	}
}

// PauseForGC lets a git gc run for a moment.
func PauseForGC(ctx context.Context, pid int) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the git gc of process %d: %w", pid, ctx.Err())
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// IsGitAlive reports whether a process is there, and is git's: its number may be another's by now.
func IsGitAlive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	if err := process.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err != nil || IsGit(comm)
}

// IsGit reports whether a process is git's, by the name that Linux gives it.
func IsGit(comm []byte) bool {
	name := bytes.TrimSpace(comm)
	return string(name) == "git" || bytes.HasPrefix(name, []byte("git-"))
}
