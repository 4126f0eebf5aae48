// Package gitjudge sets the real git beside our own code in tests: it makes repositories, and
// disks that fail.
package gitjudge

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitobject"
)

// Judge is a repository with the real git beside ours.
type Judge struct {
	testing.TB
	Dir, GitDir string
}

// New makes an empty repository, away from the configuration of whoever runs it.
func New(t testing.TB) *Judge {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed; it is the judge of this test")
	}
	isolate(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j := &Judge{TB: t, Dir: filepath.Join(dir, "ws"), GitDir: filepath.Join(dir, "ws", ".git")}
	j.GitIn(dir, "init", "-q", "-b", "tape/main", j.Dir)
	return j
}

// Setenver is a test that can change the environment.
type Setenver interface{ Setenv(key, value string) }

func isolate(t testing.TB) {
	home := t.TempDir()
	env := t.(Setenver)
	for _, e := range os.Environ() {
		if key, _, _ := strings.Cut(e, "="); strings.HasPrefix(key, "GIT_") || key == "EMAIL" || key == "TAPE_AUTHOR" {
			env.Setenv(key, "") // so that it is put back afterwards
			_ = os.Unsetenv(key)
		}
	}
	env.Setenv("HOME", home)
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

// Git runs git in the workspace and returns what it said, trimmed.
func (j *Judge) Git(args ...string) string { j.Helper(); return j.GitIn(j.Dir, args...) }

// GitIn runs git in a folder.
func (j *Judge) GitIn(dir string, args ...string) string {
	j.Helper()
	out, err := j.TryGit(dir, args...)
	if err != nil {
		j.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryGit runs git, which may fail.
func (j *Judge) TryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// Ann is somebody who commits.
var Ann = gitobject.Signature{Name: "Ann", Email: "ann@example.org", When: time.Now().Truncate(time.Second).In(time.FixedZone("", 2*3600))}

// Leave makes a lock as a git that was killed leaves it, an hour old.
func (j *Judge) Leave(name, content string) string {
	j.Helper()
	path := filepath.Join(j.GitDir, filepath.FromSlash(name))
	j.OK(os.MkdirAll(filepath.Dir(path), 0o700))
	j.OK(os.WriteFile(path, []byte(content), 0o600))
	then := time.Now().Add(-time.Hour)
	j.OK(os.Chtimes(path, then, then))
	return path
}

// Write writes a file of the workspace.
func (j *Judge) Write(path, content string) {
	j.Helper()
	j.WriteIn(j.Dir, path, content)
}

// WriteIn writes a file in a folder.
func (j *Judge) WriteIn(dir, path, content string) {
	j.Helper()
	file := filepath.Join(dir, filepath.FromSlash(path))
	j.OK(os.MkdirAll(filepath.Dir(file), 0o700))
	j.OK(os.WriteFile(file, []byte(content), 0o600))
}

// Commits makes n commits, each the child of the one before, and no ref.
func (j *Judge) Commits(n int) []gitobject.Hash {
	j.Helper()
	tree := j.Git("hash-object", "-t", "tree", "-w", os.DevNull)
	out := make([]gitobject.Hash, 0, n)
	parent := []string{}
	for range n {
		args := append([]string{"commit-tree", tree, "-m", "x"}, parent...)
		h := j.Hash(j.Git(args...))
		out = append(out, h)
		parent = []string{"-p", h.String()}
	}
	return out
}

// Hash reads the name of an object.
func (j *Judge) Hash(s string) gitobject.Hash {
	j.Helper()
	h, err := gitobject.ParseHash(s)
	if err != nil {
		j.Fatal(err)
	}
	return h
}

// OK ends the test at an error.
func (j *Judge) OK(err error) {
	j.Helper()
	if err != nil {
		j.Fatal(err)
	}
}

// Fsck fails unless git finds nothing wrong.
func (j *Judge) Fsck() {
	j.Helper()
	if out := j.Git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") {
		j.Errorf("git fsck: %s", out)
	}
}

// ErrKilled is what a disk says on which the process was killed.
var ErrKilled = errors.New("killed here")

// KilledAt is a disk on which the process dies at its n-th operation: that one and all
// that follow do nothing, cleaning up included. done tells whether it came to that.
func KilledAt(n int64) (fsys *disk.FS, died func() bool) {
	var count atomic.Int64
	fsys = &disk.FS{Fault: func(disk.Op, string) error {
		if count.Add(1) >= n {
			return ErrKilled
		}
		return nil
	}}
	return fsys, func() bool { return count.Load() >= n }
}

// failingAt is a disk on which only the n-th operation fails.
func failingAt(n int64) (fsys *disk.FS, failed func() bool) {
	var count atomic.Int64
	fsys = &disk.FS{Fault: func(disk.Op, string) error {
		if count.Add(1) == n {
			return ErrKilled
		}
		return nil
	}}
	return fsys, func() bool { return count.Load() >= n }
}

// EveryFault runs body with the process killed at, and with an error in, each of its disk
// operations in turn, until one run gets through untouched.
func EveryFault(t *testing.T, body func(t *testing.T, fsys *disk.FS)) {
	for name, make := range map[string]func(int64) (*disk.FS, func() bool){"killed": KilledAt, "error": failingAt} {
		t.Run(name, func(t *testing.T) {
			for n := int64(1); n < 200; n++ {
				fsys, hit := make(n)
				body(t, fsys)
				if t.Failed() {
					t.Fatalf("at operation %d", n)
				}
				if !hit() {
					return
				}
			}
			t.Fatal("no end of disk operations")
		})
	}
}

// GitStdin runs git with something to read.
func GitStdin(j *Judge, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = j.Dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Worktrees are those that git lists, the folder of each with its branch.
func (j *Judge) Worktrees() map[string]string {
	j.Helper()
	want := map[string]string{}
	for block := range strings.SplitSeq(j.Git("worktree", "list", "--porcelain"), "\n\n") {
		dir, branch := "", ""
		for line := range strings.SplitSeq(block, "\n") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				dir = value
			case "branch":
				branch = value
			case "prunable":
				dir = ""
			}
		}
		if dir != "" {
			want[dir] = branch
		}
	}
	return want
}
