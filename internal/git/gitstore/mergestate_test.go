package gitstore

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/testkit/gitjudge"
)

func TestMergeState(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	j.Write("a", "1\n")
	j.Git("add", ".")
	j.Git("commit", "-qm", "one")
	var tips []Hash
	for _, name := range []string{"x", "y"} {
		j.Git("checkout", "-q", "-b", name, "tape/main")
		j.Write(name, "1\n")
		j.Git("add", ".")
		j.Git("commit", "-qm", name)
		tips = append(tips, j.Hash(j.Git("rev-parse", "HEAD")))
	}
	j.Git("checkout", "-q", "tape/main")
	main := j.Hash(j.Git("rev-parse", "HEAD"))
	j.Git("branch", "fork/main/z")
	j.Git("worktree", "add", "-q", filepath.Join(j.Dir, "forks", "main", "z"), "fork/main/z")
	w, err := r.WorktreeOf("refs/heads/fork/main/z")
	j.OK(err)
	check := func(w Worktree, want ...Hash) {
		t.Helper()
		if got, err := r.MergeHeads(w); err != nil || !slices.Equal(got, want) {
			t.Errorf("in %s: %v %v, want %v", w.Dir, got, err, want)
		}
	}
	check(mainTree(j))
	j.OK(r.ClearMerge(mainTree(j)))
	for name, args := range map[string][]string{"no-ff": {"--no-ff", "x"}, "octopus": {"x", "y"}, "squash": {"--squash", "x"}} {
		want := tips[:len(args)]
		switch name {
		case "no-ff":
			want = tips[:1]
		case "squash":
			want = nil
		}
		gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
			j.GitIn(w.Dir, append([]string{"merge", "-q", "--no-commit"}, args...)...)
			check(w, want...)
			check(mainTree(j))
			_ = open(j, fsys).ClearMerge(w)
			if err := r.ClearMerge(w); err != nil {
				t.Fatal(err)
			}
			check(w)
			// What git commits next is no merge, and gets none of its message.
			out, err := j.TryGit(w.Dir, "-c", "core.editor=true", "commit", "-q")
			if err == nil {
				t.Fatalf("%s: git took a message from somewhere: %s", name, out)
			}
			j.GitIn(w.Dir, "commit", "-q", "-m", "concluded")
			if got := j.GitIn(w.Dir, "log", "-1", "--format=%P"); got != main.String() {
				t.Fatalf("%s: parents %s", name, got)
			}
			for _, file := range mergeFiles {
				if _, err := os.Stat(filepath.Join(w.GitDir, file)); err == nil {
					t.Fatalf("%s: %s is left", name, file)
				}
			}
			j.GitIn(w.Dir, "reset", "-q", "--hard", main.String())
		})
	}
	j.OK(os.WriteFile(filepath.Join(w.GitDir, "MERGE_HEAD"), []byte("x\n"), 0o600))
	if _, err := r.MergeHeads(w); err == nil {
		t.Error("garbage passes for a merge")
	}
}

func TestHooksDir(t *testing.T) {
	j := gitjudge.New(t)
	elsewhere := t.TempDir()
	home := os.Getenv("HOME")
	j.Write("a", "1\n")
	j.Git("add", ".")
	for _, c := range []struct {
		set, dir string
		own      bool
	}{
		{"-", filepath.Join(j.GitDir, "hooks"), true},
		{elsewhere, elsewhere, false},
		{"h", filepath.Join(j.Dir, "h"), false},
		{".git/h", filepath.Join(j.GitDir, "h"), true},
		{"~/h", filepath.Join(home, "h"), false},
		{".git", j.GitDir, false},
	} {
		if c.set != "-" {
			j.Git("config", "core.hooksPath", c.set)
		}
		dir, own := open(j, nil).HooksDir()
		if dir != c.dir || own != c.own {
			t.Errorf("%s: %s %v", c.set, dir, own)
		}
		// Git runs what is there.
		hook := filepath.Join(dir, "pre-commit")
		j.OK(os.MkdirAll(dir, 0o700))
		j.OK(os.WriteFile(hook, []byte("#!/bin/sh\necho this one; exit 1\n"), 0o700))
		if out, err := j.TryGit(j.Dir, "commit", "-qm", "x"); err == nil || out != "this one" {
			t.Errorf("%s: git does not run %s: %v %s", c.set, hook, err, out)
		}
		j.OK(os.Remove(hook))
	}
	j.Git("config", "core.hooksPath", "")
	if dir, own := open(j, nil).HooksDir(); dir != "" || own {
		t.Errorf("%q %v", dir, own)
	}
	bare := filepath.Join(t.TempDir(), "b.git")
	j.Git("init", "-q", "--bare", bare)
	j.GitIn(bare, "config", "core.hooksPath", "h")
	r, err := OpenBare(bare, nil)
	j.OK(err)
	if dir, own := r.HooksDir(); dir != filepath.Join(bare, "h") || !own {
		t.Errorf("bare: %s %v", dir, own)
	}
}
