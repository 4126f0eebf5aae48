package gitstore

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tape/internal/disk"
	"tape/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// judge is a repository with the real git beside ours.
type judge struct {
	testing.TB
	dir, gitDir string
}

// newJudge makes an empty repository, away from the configuration of whoever runs it.
func newJudge(t testing.TB) *judge {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed; it is the judge of this test")
	}
	isolate(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j := &judge{TB: t, dir: filepath.Join(dir, "ws"), gitDir: filepath.Join(dir, "ws", ".git")}
	j.gitIn(dir, "init", "-q", "-b", "tape/main", j.dir)
	return j
}

type setenver interface{ Setenv(key, value string) }

func isolate(t testing.TB) {
	home := t.TempDir()
	env := t.(setenver)
	for _, e := range os.Environ() {
		if key, _, _ := strings.Cut(e, "="); strings.HasPrefix(key, "GIT_") || key == "EMAIL" || key == AuthorEnv {
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

func (j *judge) open(fsys *disk.FS) *Repo {
	j.Helper()
	r, err := Open(j.gitDir, &Options{FS: fsys, LockWait: 20 * time.Second})
	if err != nil {
		j.Fatal(err)
	}
	return r
}

// git runs git in the workspace and returns what it said, trimmed.
func (j *judge) git(args ...string) string { j.Helper(); return j.gitIn(j.dir, args...) }

func (j *judge) gitIn(dir string, args ...string) string {
	j.Helper()
	out, err := j.tryGit(dir, args...)
	if err != nil {
		j.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (j *judge) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// commits makes n commits, each the child of the one before, and no ref.
func (j *judge) commits(n int) []Hash {
	j.Helper()
	tree := j.git("hash-object", "-t", "tree", "-w", os.DevNull)
	out := make([]Hash, 0, n)
	parent := []string{}
	for range n {
		args := append([]string{"commit-tree", tree, "-m", "x"}, parent...)
		h := j.hash(j.git(args...))
		out = append(out, h)
		parent = []string{"-p", h.String()}
	}
	return out
}

func (j *judge) hash(s string) Hash {
	j.Helper()
	h, err := ParseHash(s)
	if err != nil {
		j.Fatal(err)
	}
	return h
}

func (j *judge) ok(err error) {
	j.Helper()
	if err != nil {
		j.Fatal(err)
	}
}

func (j *judge) fsck() {
	j.Helper()
	if out := j.git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") {
		j.Errorf("git fsck: %s", out)
	}
}

var errKilled = errors.New("killed here")

// killedAt is a disk on which the process dies at its n-th operation: that one and all
// that follow do nothing, cleaning up included. done tells whether it came to that.
func killedAt(n int64) (fsys *disk.FS, died func() bool) {
	var count atomic.Int64
	fsys = &disk.FS{Fault: func(disk.Op, string) error {
		if count.Add(1) >= n {
			return errKilled
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
			return errKilled
		}
		return nil
	}}
	return fsys, func() bool { return count.Load() >= n }
}

// everyFault runs body with the process killed at, and with an error in, each of its disk
// operations in turn, until one run gets through untouched.
func everyFault(t *testing.T, body func(t *testing.T, fsys *disk.FS)) {
	for name, make := range map[string]func(int64) (*disk.FS, func() bool){"killed": killedAt, "error": failingAt} {
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

func runStdin(j *judge, stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = j.dir, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
