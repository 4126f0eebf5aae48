package transport

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

// A fetch that deletes a packed ref syncs packed-refs, which git rewrites. Otherwise a power cut could
// leave it empty, and every tape would lose its branch.
func TestFetchSyncsPackedRefs(t *testing.T) {
	dir := gitjudge.Bare(t)
	peer := remotePeer{Transport: "path", Dir: dir, URL: dir}
	a, b := newSide(t, peer), newSide(t, peer)
	commits := growing(t, a.r, gitstore.ZeroHash, 2, "x")
	a.push([]PushRef{branch("tape/a", commits[0])}, []PushRef{branch("tape/b", commits[0])})
	b.fetch()

	git, err := exec.LookPath("git")
	a.OK(err)
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	a.OK(os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho \"$*\" >>'"+said+"'\nexec '"+git+"' \"$@\"\n"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	syncs := func() bool {
		t.Helper()
		a.OK(os.RemoveAll(said))
		if _, err := Fetch(context.Background(), b.r, "origin", mirror, Options{}); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(said)
		a.OK(err)
		return strings.Contains(string(raw), ",reference ")
	}
	if syncs() {
		t.Error("refs with files of their own are synced one by one")
	}
	b.Git("pack-refs", "--all")
	a.push([]PushRef{{Name: "refs/heads/tape/b", Old: commits[0]}})
	if !syncs() {
		t.Error("packed-refs was rewritten and not synced")
	}
	if refs, err := b.r.Refs(gitstore.RemoteRefs("origin")); err != nil || len(refs) != 1 {
		t.Errorf("left are %v, %v; want one ref", refs, err)
	}
}
