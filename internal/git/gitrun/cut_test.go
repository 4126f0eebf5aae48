package gitrun

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

// The git gc that GC runs takes no lock on a ref; GC itself packs refs and expires reflogs.
func TestGCTakesNoRefLocks(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	c := j.Commits(3)
	day := 24 * time.Hour
	log := func(ref string, h gitstore.Hash, age time.Duration) {
		t.Helper()
		who := gitjudge.Ann
		who.When = time.Now().Add(-age)
		old, _ := r.Ref(ref)
		j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: ref, Old: old, New: h, Who: who, Message: fmt.Sprint(int(age / day))}))
	}
	log("refs/heads/tape/main", c[0], 100*day)
	log("refs/heads/tape/main", c[1], 80*day)
	log("refs/heads/tape/main", c[2], 0)
	log("refs/heads/old", c[0], 100*day)
	j.Git("update-ref", "--create-reflog", "refs/stash", c[0].String())
	j.OK(os.WriteFile(filepath.Join(j.GitDir, "logs/refs/stash"), fmt.Appendf(nil, "%s %s Ann <a@b> 1 +0000\tx\n", gitstore.ZeroHash, c[0]), 0o600))
	j.Git("tag", "-a", "-m", "x", "v1", c[0].String())
	j.Git("symbolic-ref", "refs/heads/alias", "refs/heads/old")
	j.Write(".git/refs/bisect/bad", c[0].String()+"\n")
	listed := func() string {
		out, _ := j.TryGit(j.Dir, "show-ref", "--dereference", "--head")
		return out
	}
	before := listed()
	trace := filepath.Join(t.TempDir(), "trace")
	t.Setenv("GIT_TRACE", trace)
	if err := GC(ctx, r, ""); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_TRACE", "")
	ran, err := os.ReadFile(trace)
	j.OK(err)
	for _, locks := range []string{"git pack-refs", "git reflog"} {
		if strings.Contains(string(ran), locks) || !strings.Contains(string(ran), "git repack") {
			t.Errorf("git gc should run git repack, and not %s; it ran\n%s", locks, ran)
		}
	}
	if after := listed(); after != before {
		t.Errorf("refs are\n%s\nand were\n%s", after, before)
	}
	var loose []string
	j.OK(filepath.WalkDir(filepath.Join(j.GitDir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			loose = append(loose, filepath.Base(path))
		}
		return err
	}))
	if got := fmt.Sprint(loose); got != "[bad alias]" {
		t.Errorf("the refs with files of their own are %s, not [bad alias]", got)
	}
	for ref, want := range map[string]string{"refs/heads/tape/main": "80 0", "HEAD": "80 0", "refs/heads/old": "", "refs/stash": "x"} {
		entries, err := r.Reflog(ref)
		j.OK(err)
		var got []string
		for _, e := range entries {
			got = append(got, e.Message)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the reflog of %s has %q, not %q", ref, got, want)
		}
	}
	j.Fsck()
	for gone, value := range []string{"never", "70.days", "now"} {
		j.Git("config", "gc.reflogExpire", value)
		err := GC(ctx, open(j, nil), "")
		j.OK(err)
		if entries, _ := r.Reflog("refs/heads/tape/main"); len(entries) != 2-gone {
			t.Errorf("with gc.reflogExpire=%s %d lines are left, not %d", value, len(entries), 2-gone)
		}
	}
}
