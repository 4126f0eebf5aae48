package gitstore

import (
	"bytes"
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
