package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/disk"
)

func TestMergeState(t *testing.T) {
	j := newJudge(t)
	r, ctx := j.open(nil), context.Background()
	j.write("a", "1\n")
	j.git("add", ".")
	j.git("commit", "-qm", "one")
	var tips []Hash
	for _, name := range []string{"x", "y"} {
		j.git("checkout", "-q", "-b", name, "tape/main")
		j.write(name, "1\n")
		j.git("add", ".")
		j.git("commit", "-qm", name)
		tips = append(tips, j.hash(j.git("rev-parse", "HEAD")))
	}
	j.git("checkout", "-q", "tape/main")
	main := j.hash(j.git("rev-parse", "HEAD"))
	j.git("branch", "fork/main/z")
	w, err := r.AddWorktree(ctx, "refs/heads/fork/main/z", filepath.Join(j.dir, "forks", "main", "z"))
	j.ok(err)
	j.gitIn(w.Dir, "reset", "-q", "--hard")
	check := func(w Worktree, want ...Hash) {
		t.Helper()
		if got, err := r.MergeHeads(w); err != nil || !slices.Equal(got, want) {
			t.Errorf("in %s: %v %v, want %v", w.Dir, got, err, want)
		}
	}
	check(j.main())
	j.ok(r.ClearMerge(j.main()))
	for name, args := range map[string][]string{"no-ff": {"--no-ff", "x"}, "octopus": {"x", "y"}, "squash": {"--squash", "x"}} {
		want := tips[:len(args)]
		switch name {
		case "no-ff":
			want = tips[:1]
		case "squash":
			want = nil
		}
		everyFault(t, func(t *testing.T, fsys *disk.FS) {
			j.gitIn(w.Dir, append([]string{"merge", "-q", "--no-commit"}, args...)...)
			check(w, want...)
			check(j.main())
			_ = j.open(fsys).ClearMerge(w)
			if err := r.ClearMerge(w); err != nil {
				t.Fatal(err)
			}
			check(w)
			// What git commits next is no merge, and gets none of its message.
			out, err := j.tryGit(w.Dir, "-c", "core.editor=true", "commit", "-q")
			if err == nil {
				t.Fatalf("%s: git took a message from somewhere: %s", name, out)
			}
			j.gitIn(w.Dir, "commit", "-q", "-m", "concluded")
			if got := j.gitIn(w.Dir, "log", "-1", "--format=%P"); got != main.String() {
				t.Fatalf("%s: parents %s", name, got)
			}
			for _, file := range mergeFiles {
				if _, err := os.Stat(filepath.Join(w.GitDir, file)); err == nil {
					t.Fatalf("%s: %s is left", name, file)
				}
			}
			j.gitIn(w.Dir, "reset", "-q", "--hard", main.String())
		})
	}
	j.ok(os.WriteFile(filepath.Join(w.GitDir, "MERGE_HEAD"), []byte("x\n"), 0o600))
	if _, err := r.MergeHeads(w); err == nil {
		t.Error("garbage passes for a merge")
	}
}

func TestHooksDir(t *testing.T) {
	j := newJudge(t)
	elsewhere := t.TempDir()
	home := os.Getenv("HOME")
	j.write("a", "1\n")
	j.git("add", ".")
	for _, c := range []struct {
		set, dir string
		own      bool
	}{
		{"-", filepath.Join(j.gitDir, "hooks"), true},
		{elsewhere, elsewhere, false},
		{"h", filepath.Join(j.dir, "h"), false},
		{".git/h", filepath.Join(j.gitDir, "h"), true},
		{"~/h", filepath.Join(home, "h"), false},
		{".git", j.gitDir, false},
	} {
		if c.set != "-" {
			j.git("config", "core.hooksPath", c.set)
		}
		dir, own := j.open(nil).HooksDir()
		if dir != c.dir || own != c.own {
			t.Errorf("%s: %s %v", c.set, dir, own)
		}
		// Git runs what is there.
		hook := filepath.Join(dir, "pre-commit")
		j.ok(os.MkdirAll(dir, 0o700))
		j.ok(os.WriteFile(hook, []byte("#!/bin/sh\necho this one; exit 1\n"), 0o700))
		if out, err := j.tryGit(j.dir, "commit", "-qm", "x"); err == nil || out != "this one" {
			t.Errorf("%s: git does not run %s: %v %s", c.set, hook, err, out)
		}
		j.ok(os.Remove(hook))
	}
	j.git("config", "core.hooksPath", "")
	if dir, own := j.open(nil).HooksDir(); dir != "" || own {
		t.Errorf("%q %v", dir, own)
	}
	bare := filepath.Join(t.TempDir(), "b.git")
	j.git("init", "-q", "--bare", bare)
	j.gitIn(bare, "config", "core.hooksPath", "h")
	r, err := OpenBare(bare, nil)
	j.ok(err)
	if dir, own := r.HooksDir(); dir != filepath.Join(bare, "h") || !own {
		t.Errorf("bare: %s %v", dir, own)
	}
}
