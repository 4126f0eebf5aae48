// Package gitjudge compares our code with the real git in tests. It makes repositories, and disks that
// fail.
package gitjudge

import (
	"errors"
	"math"
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

// Judge is a repository in which tests run the real git.
type Judge struct {
	testing.TB
	Dir, GitDir string
}

// New makes an empty repository. The user's own configuration of git has no effect.
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

func isolate(t testing.TB) {
	home := t.TempDir()
	for _, e := range os.Environ() {
		if key, _, _ := strings.Cut(e, "="); strings.HasPrefix(key, "GIT_") || key == "EMAIL" || key == "TAPE_AUTHOR" {
			t.Setenv(key, "") // so that the test restores it
			_ = os.Unsetenv(key)
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ann\n\temail = ann@example.org\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

// Git runs git in the workspace and returns its output, without the last newline.
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

// Ann is an author.
var Ann = gitobject.Signature{Name: "Ann", Email: "ann@example.org", When: time.Now().Truncate(time.Second).In(time.FixedZone("", 2*3600))}

// Leave makes a lock file that is an hour old, like one left by a killed git.
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

// Commits makes n commits, each the parent of the next, without a ref, and returns them oldest first.
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

// Hash parses the name of an object.
func (j *Judge) Hash(s string) gitobject.Hash {
	j.Helper()
	h, err := gitobject.ParseHash(s)
	if err != nil {
		j.Fatal(err)
	}
	return h
}

// OK ends the test if there is an error.
func (j *Judge) OK(err error) {
	j.Helper()
	if err != nil {
		j.Fatal(err)
	}
}

// Fsck fails if git finds something wrong.
func (j *Judge) Fsck() {
	j.Helper()
	if out := j.Git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") {
		j.Errorf("git fsck: %s", out)
	}
}

// ErrKilled is the error of the disks of KilledAt and FailingAt.
var ErrKilled = errors.New("killed here")

// KilledAt returns a disk on which the process dies at the n-th operation: that one and all later ones,
// those of cleaning up included, do nothing. died reports whether that happened.
func KilledAt(n int64) (fsys *disk.FS, died func() bool) { return failing(n, math.MaxInt64) }

// FailingAt returns a disk on which only the n-th operation fails. failed reports whether that happened.
func FailingAt(n int64) (fsys *disk.FS, failed func() bool) { return failing(n, n) }

func failing(first, last int64) (fsys *disk.FS, failed func() bool) {
	var count atomic.Int64
	fsys = &disk.FS{Fault: func(disk.Op, string) error {
		if n := count.Add(1); first <= n && n <= last {
			return ErrKilled
		}
		return nil
	}}
	return fsys, func() bool { return count.Load() >= first }
}

// EveryFault repeats body with a fault at each of its disk operations in turn, until a run ends before
// the fault. The fault is either an error, or the end of the process.
func EveryFault(t *testing.T, body func(t *testing.T, fsys *disk.FS)) {
	for name, make := range map[string]func(int64) (*disk.FS, func() bool){"killed": KilledAt, "error": FailingAt} {
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
			t.Fatal("none of 199 runs ended before its fault: body has too many disk operations")
		})
	}
}

// GitStdin runs git with standard input.
func GitStdin(j *Judge, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = j.Dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Worktrees returns the worktrees that git lists, from folder to branch.
func (j *Judge) Worktrees() map[string]string {
	j.Helper()
	out := map[string]string{}
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
			out[dir] = branch
		}
	}
	return out
}
