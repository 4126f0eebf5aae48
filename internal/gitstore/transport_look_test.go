//go:build unix

package gitstore

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit/gitpeer"
	corpus "tape/internal/testkit/hostile"
)

// goodFolder is a bare repository with a branch and a tag.
func goodFolder(t *testing.T) string {
	dir := gitpeer.Bare(t)
	s := newSide(t, gitpeer.Peer{Way: "path", Dir: dir, URL: dir})
	commits := growing(t, s.r, ZeroHash, 3, "good")
	s.push([]PushRef{branch("tape/main", commits[2]), tag("anchor/main/001", tagged(t, s.r, commits[0], "anchor/main/001"))})
	return dir
}

// A folder in which something never ends is refused by name, whoever would read it.
func TestFolderRemoteHostile(t *testing.T) {
	good := goodFolder(t)
	s := newSide(t, gitpeer.Peer{URL: good})
	for _, k := range corpus.Folders() {
		t.Run(k.Name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "evil.git")
			k.Build(t, dir, good)
			both(t, func(t *testing.T, builtin bool) {
				ctx, o := context.Background(), TransportOptions{Builtin: builtin}
				_, _, lerr := s.r.LsRemote(ctx, dir, []string{"refs/"}, o)
				_, ferr := s.r.Fetch(ctx, "file://"+dir, mirror, o)
				_, perr := s.r.PushTarget(ctx, dir, []string{"refs/"}, o)
				for what, err := range map[string]error{"listing": lerr, "fetch": ferr, "push": perr} {
					if !errors.Is(err, ErrHostile) || !strings.Contains(err.Error(), filepath.Join(dir, filepath.FromSlash(k.Want))) {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		})
	}
	s.tidy(s.gitDir)
}

// What people do to repositories that they share by a path is no reason to refuse them.
func TestFolderRemoteHarmless(t *testing.T) {
	good := goodFolder(t)
	within := func(dir string, args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for name, change := range map[string]func(t *testing.T, dir string) string{
		"as it is":   func(_ *testing.T, dir string) string { return dir },
		"packed":     func(_ *testing.T, dir string) string { within(dir, "gc", "-q"); return dir },
		"its suffix": func(_ *testing.T, dir string) string { return strings.TrimSuffix(dir, ".git") },
		"HEAD is a link": func(t *testing.T, dir string) string {
			mustDo(t, os.Remove(filepath.Join(dir, "HEAD")))
			mustDo(t, os.Symlink("refs/heads/tape/main", filepath.Join(dir, "HEAD")))
			return dir
		},
		"objects behind it": func(_ *testing.T, dir string) string {
			within(dir, "clone", "-q", "--bare", "--shared", dir, dir+".shared")
			within(dir, "clone", "-q", "--bare", "--shared", dir+".shared", dir+".again")
			return dir + ".again"
		},
		"objects linked": func(t *testing.T, dir string) string {
			mustDo(t, os.Rename(filepath.Join(dir, "objects"), dir+".objects"))
			mustDo(t, os.Symlink(dir+".objects", filepath.Join(dir, "objects")))
			return dir
		},
		"configuration included": func(t *testing.T, dir string) string {
			within(dir, "config", "include.path", "more")
			mustDo(t, os.WriteFile(filepath.Join(dir, "more"), []byte("[gc]\n\tauto = 0\n"), 0o600))
			return dir
		},
		"a file watcher's socket": func(t *testing.T, dir string) string {
			mustDo(t, os.WriteFile(filepath.Join(dir, "fsmonitor--daemon.ipc"), nil, 0o600))
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "copy.git")
			mustDo(t, os.CopyFS(dir, os.DirFS(good)))
			url := change(t, dir)
			both(t, func(t *testing.T, builtin bool) {
				s := newSide(t, gitpeer.Peer{Way: "path", Dir: dir, URL: url, Builtin: builtin})
				if f := s.fetch(); len(f.Changes) != 2 {
					t.Errorf("the fetch changed %v", f.Changes)
				}
			})
		})
	}
}

// A linked working tree stands for its repository, as it does for git.
func TestFolderRemoteLinked(t *testing.T) {
	j := newJudge(t)
	r := j.open(nil)
	h := growing(t, r, ZeroHash, 2, "linked")[1]
	j.git("update-ref", "refs/heads/tape/main", h.String())
	linked := filepath.Join(t.TempDir(), "linked")
	j.git("worktree", "add", "-q", "-b", "other", linked, h.String())
	s := newSide(t, gitpeer.Peer{Way: "path", Dir: linked, URL: linked})
	if f := s.fetch(); len(f.Changes) != 2 {
		t.Errorf("the fetch changed %v", f.Changes)
	}
	mustDo(t, os.Truncate(filepath.Join(j.gitDir, "config"), 1<<30))
	if _, err := s.r.Fetch(context.Background(), "origin", mirror, s.o()); !errors.Is(err, ErrHostile) {
		t.Errorf("its repository has a configuration of a gigabyte, and the fetch gave %v", err)
	}
}

// A file is no remote, unless git can tell at its beginning that it is a bundle.
func TestFileRemote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	mustDo(t, os.WriteFile(path, nil, 0o600))
	mustDo(t, os.Truncate(path, 1<<40))
	both(t, func(t *testing.T, builtin bool) {
		for _, url := range []string{path, "/dev/zero"} {
			s := newSide(t, gitpeer.Peer{URL: url, Builtin: builtin})
			if _, err := s.r.Fetch(context.Background(), "origin", mirror, s.o()); !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), url) {
				t.Errorf("%s: %v", url, err)
			}
		}
	})
}
