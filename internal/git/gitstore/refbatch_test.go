package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/testkit/gitjudge"
)

// batchSetup makes refs of every kind: loose, packed, both with different values, and a tag.
func batchSetup(j *gitjudge.Judge) (c []Hash, updates []RefUpdate, before, after map[string]string) {
	j.Helper()
	c = j.Commits(4)
	j.Git("update-ref", "refs/x/packed", c[0].String())
	j.Git("update-ref", "refs/x/both", c[0].String())
	j.Git("update-ref", "refs/x/gone-packed", c[0].String())
	j.Git("update-ref", "refs/x/gone-both", c[0].String())
	j.Git("tag", "-a", "-m", "kept", "kept", c[0].String())
	j.Git("tag", "-a", "-m", "moved", "moved", c[0].String())
	j.Git("pack-refs", "--all")
	j.Git("update-ref", "refs/x/loose", c[0].String())
	j.Git("update-ref", "refs/x/both", c[1].String())
	j.Git("update-ref", "refs/x/gone-both", c[1].String())
	j.Git("update-ref", "refs/x/gone-loose", c[0].String())
	moved := j.Hash(j.Git("rev-parse", "refs/tags/moved"))
	kept := j.Hash(j.Git("rev-parse", "refs/tags/kept"))
	updates = []RefUpdate{
		{Name: "refs/x/packed", Old: c[0], New: c[2]},
		{Name: "refs/x/both", Old: c[1], New: c[2]},
		{Name: "refs/x/loose", Old: c[0], New: c[2]},
		{Name: "refs/x/new/deep/er", New: c[2]},
		{Name: "refs/heads/logged", New: c[2], Message: "made"},
		{Name: "refs/tags/moved", Old: moved, New: kept},
		{Name: "refs/x/gone-packed", Old: c[0]},
		{Name: "refs/x/gone-loose", Old: c[0]},
		{Name: "refs/x/gone-both", Old: c[1]},
	}
	before, after = map[string]string{}, map[string]string{}
	for _, u := range updates {
		before[u.Name], after[u.Name] = u.Old.String(), u.New.String()
	}
	return c, updates, before, after
}

// listedRefs returns the values of refs that git sees.
func listedRefs(j *gitjudge.Judge, names map[string]string) map[string]string {
	j.Helper()
	out := map[string]string{}
	for name := range names {
		out[name] = ZeroHash.String()
	}
	for line := range strings.Lines(j.Git("for-each-ref", "--format=%(objectname) %(refname)")) {
		h, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, ok := names[name]; ok {
			out[name] = h
		}
	}
	return out
}

func TestUpdateRefsPacked(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	_, updates, _, after := batchSetup(j)
	j.OK(r.UpdateRefsAtOnce(context.Background(), updates))
	if got := listedRefs(j, after); fmt.Sprint(got) != fmt.Sprint(after) {
		t.Errorf("git sees\n%v, not\n%v", got, after)
	}
	if got := j.Git("for-each-ref", "--format=%(refname) %(*objectname)", "refs/tags"); strings.Count(got, j.Git("rev-parse", "kept^{}")) != 2 {
		t.Errorf("tags peel to %s", got)
	}
	if log, err := r.Reflog("refs/heads/logged"); err != nil || len(log) != 1 {
		t.Errorf("the reflog has %v, %v", log, err)
	}
	left, _ := os.ReadDir(filepath.Join(j.GitDir, "refs", "x"))
	if len(left) != 0 {
		t.Errorf("left in refs/x: %v", left)
	}
	j.Git("show-ref", "--verify", "refs/x/new/deep/er")
	j.Git("pack-refs", "--all")
	j.Fsck()
}

func TestUpdateRefsPackedRefuses(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	c, _, _, _ := batchSetup(j)
	all := func() string { return j.Git("for-each-ref") }
	before := all()
	for name, u := range map[string]RefUpdate{
		"other value":  {Name: "refs/x/both", Old: c[0], New: c[3]}, // the packed value, which the loose one hides
		"exists":       {Name: "refs/x/loose", New: c[3]},
		"does not":     {Name: "refs/x/nothing", Old: c[0], New: c[3]},
		"below a ref":  {Name: "refs/x/packed/a", New: c[3]},
		"below loose":  {Name: "refs/x/loose/a", New: c[3]},
		"above a ref":  {Name: "refs/x", New: c[3]},
		"a bad name":   {Name: "refs/x/..", New: c[3]},
		"in the batch": {Name: "refs/x/fine/below", New: c[3]},
	} {
		updates := []RefUpdate{{Name: "refs/x/fine", New: c[3]}, u}
		err := r.UpdateRefsAtOnce(context.Background(), updates)
		if name == "a bad name" {
			err = r.UpdateRefs(context.Background(), updates)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if strings.HasPrefix(name, "other") && !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v, want ErrConflict", name, err)
		}
		if got := all(); got != before {
			t.Errorf("%s: refs changed to\n%s", name, got)
		}
	}
	// A lock that git has on one of the refs is respected.
	lock := filepath.Join(j.GitDir, "refs", "x", "loose.lock")
	j.OK(os.WriteFile(lock, nil, 0o600))
	short, err := Open(j.GitDir, &Options{LockWait: 50_000_000})
	j.OK(err)
	err = short.UpdateRefsAtOnce(context.Background(), []RefUpdate{{Name: "refs/x/loose", Old: c[0], New: c[1]}, {Name: "refs/x/a", New: c[1]}})
	if !errors.Is(err, ErrBusy) || all() != before {
		t.Errorf("beside git's lock: %v, want ErrBusy and unchanged refs", err)
	}
}

// Whatever fails, each ref has its old or its new value, and the same call then succeeds for those
// with the old one.
func TestUpdateRefsPackedFaults(t *testing.T) {
	made := gitjudge.New(t)
	_, updates, before, after := batchSetup(made)
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		j := &gitjudge.Judge{TB: t, Dir: t.TempDir()}
		j.GitDir = filepath.Join(j.Dir, ".git")
		j.OK(os.CopyFS(j.GitDir, os.DirFS(made.GitDir)))
		err := open(j, fsys).UpdateRefsAtOnce(context.Background(), updates)
		got := listedRefs(j, before)
		for name, h := range got {
			if h != before[name] && h != after[name] {
				t.Errorf("%s holds %s, neither old nor new (%v)", name, h, err)
			}
			if err == nil && h != after[name] {
				t.Errorf("the update succeeded, and %s holds %s, not the new value", name, h)
			}
		}
		var rest []RefUpdate
		for _, u := range updates {
			if got[u.Name] == u.Old.String() {
				rest = append(rest, u)
			}
		}
		j.OK(open(j, nil).UpdateRefsAtOnce(context.Background(), rest))
		if got := listedRefs(j, after); fmt.Sprint(got) != fmt.Sprint(after) {
			t.Errorf("after another try git sees\n%v, not\n%v", got, after)
		}
		j.Git("pack-refs", "--all") // no lock blocks git
	})
}
