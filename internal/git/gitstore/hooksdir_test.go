package gitstore

import (
	"os"
	"path/filepath"
	"testing"

	"tape/internal/testkit/gitjudge"
)

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
			t.Errorf("core.hooksPath=%s: folder %s, own %v; want %s, %v", c.set, dir, own, c.dir, c.own)
		}
		// Git runs the hooks in that folder.
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
		t.Errorf("empty core.hooksPath: folder %q, own %v; want no hooks", dir, own)
	}
	bare := filepath.Join(t.TempDir(), "b.git")
	j.Git("init", "-q", "--bare", bare)
	j.GitIn(bare, "config", "core.hooksPath", "h")
	r, err := OpenBare(bare, nil)
	j.OK(err)
	if dir, own := r.HooksDir(); dir != filepath.Join(bare, "h") || !own {
		t.Errorf("bare: folder %s, own %v; want %s, true", dir, own, filepath.Join(bare, "h"))
	}
}
