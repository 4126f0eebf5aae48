package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/testkit/gitjudge"
)

// Packing refs and expiring reflogs may fail anywhere: refs keep their values, and git and we can go
// on.
func TestCollectEveryFault(t *testing.T) {
	j := gitjudge.New(t)
	ctx := context.Background()
	c := j.Commits(2)
	j.OK(os.RemoveAll(filepath.Join(j.GitDir, "hooks")))
	full, day := filepath.Join(t.TempDir(), "full"), 24*time.Hour
	r := open(j, nil)
	for _, name := range []string{"refs/heads/tape/main", "refs/heads/packed", "refs/tape/remotes/a/heads/x", "refs/heads/one/two"} {
		for i, h := range c {
			who := gitjudge.Ann
			who.When = time.Now().Add(time.Duration(i-1) * 100 * day)
			old, _ := r.Ref(name)
			j.OK(r.UpdateRef(ctx, RefUpdate{Name: name, Old: old, New: h, Who: who}))
		}
	}
	j.Git("tag", "-a", "-m", "x", "v1")
	j.Git("pack-refs", "--all")
	j.Git("update-ref", "refs/heads/packed", c[0].String())
	j.Git("tag", "-a", "-m", "x", "v2")
	j.OK(os.CopyFS(full, os.DirFS(j.GitDir)))
	before := j.Git("show-ref", "--dereference", "--head")
	collect := func(r *Repo) error {
		if err := r.PackRefs(ctx); err != nil {
			return err
		}
		return r.ExpireReflogs(ctx, time.Now().Add(-90*day))
	}
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		j.OK(os.RemoveAll(j.GitDir))
		j.OK(os.CopyFS(j.GitDir, os.DirFS(full)))
		err := collect(open(j, fsys))
		if after := j.Git("show-ref", "--dereference", "--head"); after != before {
			t.Errorf("%v: refs are\n%s\nand were\n%s", err, after, before)
		}
		r := open(j, nil)
		j.OK(collect(r))
		if after := j.Git("show-ref", "--dereference", "--head"); after != before {
			t.Errorf("%v: refs are then\n%s\nand were\n%s", err, after, before)
		}
		if entries, err := r.Reflog("refs/heads/tape/main"); err != nil || len(entries) != 1 {
			t.Errorf("%d lines in the reflog, not 1; %v", len(entries), err)
		}
		_, err = r.RecoverLocks(ctx)
		j.OK(err)
		j.Git("gc", "-q")
		j.Git("branch", "-D", "packed")
		if list := j.Git("for-each-ref", "--format=%(refname)"); strings.Contains(list, "packed") {
			t.Errorf("the deleted branch is still listed:\n%s", list)
		}
	})
}
