package gitstore

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

	"tape/internal/gitstore/gitlock"
)

// GCPid is the file in which git notes who collects.
const GCPid = "gc.pid"

// GCProcess is a git gc that was begun on this host; the zero value is none.
type GCProcess struct{ PID int }

// ReadGCPid returns the git gc that the repository's gc.pid names, which may be dead. As to git,
// a note of more than twelve hours is none. What runs on other hosts is not seen.
func (r *Repo) ReadGCPid() (p GCProcess) {
	const longest = 12 * time.Hour
	path := filepath.Join(r.gitDir, GCPid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return p
	}
	st, err := os.Stat(path)
	host, _ := os.Hostname()
	pid, of, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	if n, perr := strconv.Atoi(pid); err == nil && perr == nil && n > 0 && of == host && time.Since(st.ModTime()) < longest {
		p.PID = n
	}
	return p
}

// OwnGC is where a collection of ours notes the process of its git gc: that one drops nothing
// that was written of late, and writers need not wait for it.
func (r *Repo) OwnGC() string { return filepath.Join(r.gitDir, gitlock.OwnDir, "gc.own") }

// runningGC returns the git gc of somebody else that is running, or none.
func (r *Repo) runningGC() GCProcess {
	p := r.ReadGCPid()
	if p.PID == 0 || !p.IsAlive() {
		return GCProcess{}
	}
	if own, err := os.ReadFile(r.OwnGC()); err == nil && string(own) == strconv.Itoa(p.PID) {
		return GCProcess{}
	}
	return p
}

// awaitGC waits for the end of somebody else's git gc, for as long as for a lock.
func (r *Repo) awaitGC(ctx context.Context) error {
	for deadline := time.Now().Add(r.locks.Wait); ; {
		p := r.runningGC()
		if p.PID == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: a git gc is running here, process %d, that may drop what is written meanwhile (%s names it)",
				ErrBusy, p.PID, filepath.Join(r.gitDir, GCPid))
		}
		if err := p.pause(ctx); err != nil {
			return err
		}
	}
}

// pause lets it run for a moment.
func (p GCProcess) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the git gc of process %d: %w", p.PID, ctx.Err())
	case <-time.After(5 * time.Millisecond):
		return nil
	}
}

// IsAlive reports whether the process is there, and is git's: its number may be another's by now.
func (p GCProcess) IsAlive() bool {
	process, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	if err := process.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.PID))
	return err != nil || IsGit(comm)
}

// IsGit reports whether a process is git's, by the name that Linux gives it.
func IsGit(comm []byte) bool {
	name := bytes.TrimSpace(comm)
	return string(name) == "git" || bytes.HasPrefix(name, []byte("git-"))
}
