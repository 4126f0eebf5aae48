package merge_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
	"tape/merge"
	"tape/repo"
)

// TestSoakPullMany pushes, clones and pulls many tapes of eleven phases, and logs how long that takes.
func TestSoakPullMany(t *testing.T) {
	tapes := testkit.Size(10, 5000)
	ann := begins(t, gitjudge.Bare(t))
	for i := range 10 {
		ann.says("main", fmt.Sprint("text ", i))
		ann.handsOff("main", fmt.Sprint("phase ", i))
	}
	multiply(t, ann.s.Dir(), tapes)
	step := func(what string, do func() error) {
		start := time.Now()
		err := do()
		t.Logf("%s: %.2f s", what, time.Since(start).Seconds())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	remote := gitjudge.Bare(t)
	gitSays(t, ann.s.Dir(), "config", "remote.origin.url", remote)
	ann = scene{remote, ann.s.Dir()}.user(t)
	ann.ok(ann.s.RemoveRemote(t.Context(), "origin")) // with the refs of the first remote
	ann.ok(ann.s.AddRemote(t.Context(), "origin", remote))
	pushed := func(want int) func() error {
		return func() error {
			done, err := ann.s.Push(t.Context(), "origin", nil)
			if n := strings.Count(outcome(done)+",", ","); err == nil && n != want && (want > 0 || outcome(done) != "") {
				t.Errorf("%d tapes were pushed, want %d: %s", n, want, outcome(done))
			}
			return err
		}
	}
	step("push", pushed(tapes+1))
	step("push nothing", pushed(0))
	var bob *user
	step("clone", func() error {
		s, done, err := repo.Clone(t.Context(), remote, filepath.Join(t.TempDir(), "ws"), nil)
		if bob = (&user{t, s}); done.Tapes != tapes+1 || len(done.Rejected) > 0 {
			t.Errorf("the clone returns %+v, want %d tapes, none rejected", done, tapes+1)
		}
		return err
	})
	pulled := func(want string) func() error {
		return func() error {
			done, err := merge.Pull(t.Context(), bob.s, "origin", nil)
			if got := outcome(done); got != want {
				t.Errorf("pulled %q, want %q", got, want)
			}
			return err
		}
	}
	step("pull nothing", pulled(""))
	ann.says("main", "one more")
	step("push one", pushed(1))
	step("pull one", pulled("main fast_forward"))
	step("plain git fetch of nothing", func() error {
		return exec.Command("git", "-C", bob.s.Dir(), "fetch", "-q", "--no-tags", "origin",
			"+refs/heads/*:refs/plain/heads/*", "+refs/tags/*:refs/plain/tags/*").Run()
	})
	if here, there := refs(t, bob.s.Dir(), shared...), refs(t, remote, shared...); here != there {
		t.Error("the clone and the remote have different refs")
	}
	if !testkit.Soak() {
		sound(t, bob.s.Dir())
	}
}

// multiply copies the tape main n times, under names of the same length.
func multiply(t *testing.T, dir string, n int) {
	t.Helper()
	export := exec.Command("git", "-C", dir, "fast-export", "tape/main", "--tags")
	template, err := export.Output()
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	for i := range n {
		stream.Write(bytes.ReplaceAll(template, []byte("main"), fmt.Appendf(nil, "%c%03d", 'a'+i/1000, i%1000)))
	}
	load := exec.Command("git", "-C", dir, "fast-import", "--quiet")
	load.Stdin = &stream
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}
