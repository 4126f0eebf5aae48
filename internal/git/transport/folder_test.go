//go:build unix

package transport

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// Reading a folder in which a file is endless, or is no file, ends soon, and no incomplete history is accepted.
func TestFolderRemoteHostile(t *testing.T) {
	good := gitjudge.Bare(t)
	s := newSide(t, remotePeer{Transport: "path", Dir: good, URL: good})
	commits := growing(t, s.r, gitstore.ZeroHash, 3, "good")
	s.push([]PushRef{branch("tape/main", commits[2]), tag("anchor/main/001", tagged(t, s.r, commits[0], "anchor/main/001"))})
	for i, k := range evilFolders() {
		if i%testkit.Size(7, 1) != 0 {
			continue // each takes a second
		}
		t.Run(k.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "evil.git")
			k.build(t, dir, good)
			s := newSide(t, remotePeer{Transport: "path", Dir: dir, URL: dir})
			ctx, o := context.Background(), Options{Idle: 300 * time.Millisecond}
			_, _, lerr := LsRemote(ctx, s.r, "origin", []string{"refs/"}, o)
			_, ferr := Fetch(ctx, s.r, "origin", mirror, o)
			_, perr := FindTarget(ctx, s.r, "origin", []string{"refs/"}, o)
			for what, err := range map[string]error{"listing": lerr, "fetch": ferr, "push": perr} {
				if err != nil && !errors.Is(err, ErrRemote) && !errors.Is(err, ErrHostile) {
					t.Errorf("%s: %v, want ErrRemote or ErrHostile", what, err)
				}
			}
			s.Fsck()
			s.tidy(s.GitDir)
		})
	}
}

// A file is not a remote, unless it begins like a bundle.
func TestFileRemote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	mustDo(t, os.WriteFile(path, nil, 0o600))
	mustDo(t, os.Truncate(path, 1<<40))
	for _, url := range []string{path, "/dev/zero"} {
		s := newSide(t, remotePeer{URL: url})
		if _, err := Fetch(context.Background(), s.r, "origin", mirror, Options{Idle: 300 * time.Millisecond}); !errors.Is(err, ErrRemote) {
			t.Errorf("%s: %v, want ErrRemote", url, err)
		}
	}
}
