package repo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newStore creates a workspace that is verified, by this package and by git, when the
// test ends.
func testStore(t *testing.T, o *InitOptions) *Store {
	t.Helper()
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := Init(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s := testStore(t, nil)
	tp, err := s.Tape(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := tp.Append(ctx, nil, Message("user", fmt.Sprint("m", i))); err != nil {
			t.Fatal(err)
		}
	}
	h, err := tp.Handoff(ctx, Anchor{Name: "phase-1", Summary: "done", State: []byte(`{"n":1.0}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(h)
	if _, err := tp.Append(ctx, nil, Message("user", "a"), Event("x", nil), Message("user", "b")); err != nil {
		t.Fatal(err)
	}
	t.Log(git(t, s.Dir(), "log", "--stat", "--decorate"))
	t.Log(git(t, s.Dir(), "status", "--porcelain"))
	c, n, err := tp.Checkpoint(ctx)
	t.Log(c, n, err)
	if st := git(t, s.Dir(), "status", "--porcelain"); st != "" {
		t.Error(st)
	}
	for e, err := range tp.Entries(ctx, Query{}) {
		t.Log(string(e.JSON()), err)
	}
	ph, err := tp.Phases(ctx)
	t.Log(ph, err)
	info, err := tp.Info(ctx)
	t.Logf("%+v %v", info, err)
	o, err := s.CreateTape(ctx, "telegram:123")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Append(ctx, nil, Message("user", "hi")); err != nil {
		t.Fatal(err)
	}
	t.Log(git(t, s.Dir(), "worktree", "list"))
	ref, err := tp.Reset(ctx, true)
	t.Log(ref, err)
	t.Log(git(t, s.Dir(), "status", "--porcelain"))
	r, a, err := tp.Restore(ctx, "latest")
	t.Log(r, a, err)
	if st := git(t, s.Dir(), "status", "--porcelain"); st != "" {
		t.Error(st)
	}
	t.Log(git(t, s.Dir(), "for-each-ref"))
	t.Log(git(t, s.Dir(), "fsck", "--strict"))
	st, _ := os.ReadFile(tp.lockPath())
	t.Log(strings.TrimSpace(string(st)))
}
