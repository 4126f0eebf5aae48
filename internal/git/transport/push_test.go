package transport

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

// FindTarget sees the same refs as git, for every kind of address.
func TestPushTarget(t *testing.T) {
	eachPeer(t, func(t *testing.T, peer remotePeer) {
		s := newSide(t, peer)
		local := peer.Transport == "path" || peer.Transport == "file"
		target := func(prefixes ...string) Target {
			t.Helper()
			got, err := FindTarget(context.Background(), s.r, "origin", prefixes, Options{})
			s.OK(err)
			return got
		}
		if got := target("refs/"); len(got.Refs) != 0 || got.Headless != local {
			t.Errorf("an empty remote is %+v", got)
		}
		commits := growing(t, s.r, gitstore.ZeroHash, 3, "main")
		note := tagged(t, s.r, commits[1], "anchor/main/001_x")
		s.push([]PushRef{branch("tape/main", commits[2]), tag("anchor/main/001_x", note)}, []PushRef{branch("other", commits[0])})
		want := s.GitIn(peer.Dir, "--git-dir="+peer.Dir, "for-each-ref", "--format=%(objectname) %(refname)")
		var got []string
		for _, ref := range target("refs/").Refs {
			got = append(got, ref.Hash.String()+" "+ref.Name)
		}
		if slices.Sort(got); strings.TrimSpace(strings.Join(got, "\n")) != sortedLines(want) {
			t.Errorf("the remote has\n%s\nand git says\n%s", strings.Join(got, "\n"), want)
		}
		if got := target("refs/tags/").Refs; len(got) != 1 || got[0] != (gitstore.Ref{Name: "refs/tags/anchor/main/001_x", Hash: note}) {
			t.Errorf("the tags are %v, want only the one of the anchor", got)
		}
		s.OK(SetRemoteHead(context.Background(), s.r, "origin", "refs/heads/tape/main"))
		if target("refs/").Headless {
			t.Error("the remote is headless after its HEAD was set")
		}
	})
}

func sortedLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// FindTarget looks where pushes go: a push URL, another receive-pack program, a rewritten address.
func TestPushTargetElsewhere(t *testing.T) {
	old, next := gitjudge.Bare(t), gitjudge.Bare(t)
	s := newSide(t, remotePeer{Transport: "path", URL: old, Dir: old})
	commits := growing(t, s.r, gitstore.ZeroHash, 2, "main")
	s.push([]PushRef{branch("old", commits[0])})
	s.Git("config", "remote.origin.pushurl", next)
	s.push([]PushRef{branch("next", commits[1])})
	names := func() (out []string) {
		t.Helper()
		got, err := FindTarget(context.Background(), s.r, "origin", []string{"refs/"}, Options{})
		s.OK(err)
		for _, ref := range got.Refs {
			out = append(out, ref.Name)
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"refs/heads/next"}) {
		t.Errorf("at the address for pushes there is %v", got)
	}
	s.Git("config", "--unset", "remote.origin.pushurl")
	s.Git("config", "url."+next+".pushInsteadOf", old)
	if got := names(); !slices.Equal(got, []string{"refs/heads/next"}) {
		t.Errorf("at the rewritten address there is %v", got)
	}
	s.OK(SetRemoteHead(context.Background(), s.r, "origin", "refs/heads/next"))
	for dir, want := range map[string]string{next: "refs/heads/next", old: "refs/heads/main"} {
		if got := strings.TrimSpace(s.GitIn(dir, "--git-dir="+dir, "symbolic-ref", "HEAD")); got != want {
			t.Errorf("HEAD of %s is %s, want %s", dir, got, want)
		}
	}
	s.Git("config", "--unset", "url."+next+".pushInsteadOf")
	asked := filepath.Join(t.TempDir(), "asked")
	program := filepath.Join(t.TempDir(), "receive")
	s.OK(os.WriteFile(program, []byte("#!/bin/sh\n: >'"+asked+"'\nexec git-receive-pack \"$@\"\n"), 0o700))
	s.Git("config", "remote.origin.receivepack", program)
	s.r = open(s.Judge, nil)
	if got := names(); !slices.Equal(got, []string{"refs/heads/old"}) {
		t.Errorf("another receive-pack program lists %v, want refs/heads/old", got)
	}
	if _, err := os.Stat(asked); err != nil {
		t.Errorf("remote.origin.receivepack was not run: %v", err)
	}
	s.Git("config", "--add", "remote.origin.pushurl", next)
	s.Git("config", "--add", "remote.origin.pushurl", old)
	if _, err := FindTarget(context.Background(), s.r, "origin", []string{"refs/"}, Options{}); err == nil {
		t.Error("two addresses to push to are taken for one")
	}
}

// Many refs are sent in several pushes, which split no group. A rejected ref rejects its group, and no
// other.
func TestPushInParts(t *testing.T) {
	var groups [][]PushRef
	for i := range maxPushRefs/3 + 500 {
		var g []PushRef
		for k := range 1 + i%11 {
			g = append(g, branch(fmt.Sprintf("b%d-%d", i, k), gitstore.Hash{1}))
		}
		groups = append(groups, g)
	}
	bad := map[string]bool{"refs/heads/b10-3": true, "refs/heads/b2000-2": true}
	largest, accepted := 0, map[string]bool{}
	p := &push{results: map[string]PushResult{}, send: func(_ context.Context, refs []PushRef, atomic bool) (out []PushResult, _ error) {
		largest = max(largest, len(refs))
		refused := slices.ContainsFunc(refs, func(ref PushRef) bool { return bad[ref.Name] })
		for _, ref := range refs {
			r := PushResult{Name: ref.Name, Status: PushedNew}
			switch {
			case bad[ref.Name]:
				r.Status, r.Reason = PushRejected, "no"
			case refused:
				r.Status, r.Reason = PushRejected, PushCollateral
			default:
				accepted[ref.Name] = true
			}
			out = append(out, r)
		}
		return out, nil
	}}
	if err := p.sendAll(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	if largest > maxPushRefs || largest < maxPushRefs*9/10 {
		t.Errorf("the largest push had %d refs, want almost %d", largest, maxPushRefs)
	}
	for i, g := range p.all() {
		if len(g) != len(groups[i]) {
			t.Fatalf("group %d has %d results, not %d", i, len(g), len(groups[i]))
		}
		for k, r := range g {
			if r.Name != groups[i][k].Name || (r.Status == PushRejected) != (i == 10 || i == 2000) || accepted[r.Name] == (r.Status == PushRejected) {
				t.Fatalf("ref %d of group %d: %+v", k, i, r)
			}
		}
	}
}

// More refs than fit on git's command line arrive just as a few do.
func TestPushManyRefs(t *testing.T) {
	dir := gitjudge.Bare(t)
	s := newSide(t, remotePeer{Transport: "path", URL: dir, Dir: dir})
	commits := growing(t, s.r, gitstore.ZeroHash, 2, "main")
	other := growing(t, s.r, gitstore.ZeroHash, 1, "other")
	s.push([]PushRef{branch("b7", other[0])})
	var groups [][]PushRef
	for i := range gitstore.FewRefs {
		groups = append(groups, []PushRef{branch(fmt.Sprint("b", i), commits[1]), tag(fmt.Sprint("t/", i), commits[0])})
	}
	results, err := Push(context.Background(), s.r, "origin", groups, Options{})
	s.OK(err)
	for i, g := range results {
		if (g[0].Status == PushRejected) != (i == 7) || (g[1].Status == PushRejected) != (i == 7) || i == 7 && g[0].Reason != "non-fast-forward" {
			t.Errorf("group %d: %+v", i, g)
		}
	}
	got := len(strings.Fields(s.GitIn(dir, "--git-dir="+dir, "for-each-ref", "--format=%(refname)")))
	if want := 2*(len(groups)-1) + 1; got != want {
		t.Errorf("the remote has %d refs, not %d", got, want)
	}
	s.sound()
}

// Since git 2.46 an empty address clears those before it.
func TestEmptyAddress(t *testing.T) {
	s := newSide(t, remotePeer{Transport: "path", URL: "/a"})
	s.Git("config", "--add", "remote.origin.url", "")
	s.Git("config", "--add", "remote.origin.url", "/b")
	if got := Remotes(s.r); len(got) != 1 || got[0].URL != "/b" {
		t.Errorf("the remotes are %+v, want one at /b", got)
	}
}
