package gitlock

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/git/disk"
)

// OldLock is the age at which a lock of somebody else is looked at: programs hold locks for moments, or are seen to.
const OldLock = 10 * time.Second

// abandoned reports whether a lock of somebody else was left by a process that is gone: the lock is old, nobody has it open,
// and no git works in the repository, whose folders dirs are. (A git that waits for an editor has closed the file.) Without
// /proc nothing is known of processes, and the answer is false.
func abandoned(path string, dirs []string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || time.Since(st.ModTime()) < OldLock {
		return false
	}
	open := OpenFiles()
	return len(open) > 0 && !slices.ContainsFunc(open, func(o fs.FileInfo) bool { return os.SameFile(o, st) }) && !UsedByGit(dirs)
}

// takeAway removes an abandoned lock, and reports whether it did. The guard must be held.
func (k Locks) takeAway(path string) bool {
	then, err := os.Lstat(path)
	if err != nil || k.Dirs == nil || !abandoned(path, k.Dirs()) {
		return false
	}
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(now, then) || !now.ModTime().Equal(then.ModTime()) {
		return false
	}
	_ = os.Chmod(path, disk.FilePerm) // Windows cannot remove a read-only file
	return k.FS.Remove(path) == nil
}

// OpenFiles returns the files that processes have open, on Linux. Elsewhere it returns nothing; at
// least one of our own is always open.
func OpenFiles() (open []fs.FileInfo) {
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if st, err := os.Stat(link); err == nil && st.Mode().IsRegular() {
			open = append(open, st)
		}
	}
	return open
}

// UsedByGit reports whether a git process may be working in a repository with these folders, its .git the first, even one
// that has no lock open at the moment. A process whose folder cannot be read counts.
func UsedByGit(dirs []string) bool {
	gitDir := []byte(dirs[0])
	dirs = slices.Clone(dirs)
	for i, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs[i] = real
		}
	}
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		proc := filepath.Dir(name)
		if comm, err := os.ReadFile(name); err != nil || !IsGit(comm) {
			continue
		}
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		isIn := func(dir string) bool { return cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator)) }
		if errors.Is(err, fs.ErrPermission) || slices.ContainsFunc(dirs, isIn) || bytes.Contains(append(args, env...), gitDir) {
			return true
		}
	}
	return false
}
