package transport

//tape:race: another goroutine cuts connections

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// httpPeer is a repository behind http, with addresses that cut the connection.
func httpPeer(t testing.TB) remotePeer {
	dir := gitjudge.Bare(t)
	return remotePeer{Transport: "http", Dir: dir, URL: gitjudge.HTTP(t, filepath.Dir(dir), "ann", "pw") + "/" + filepath.Base(dir)}
}

// TestTransportCut cuts the connection after n bytes, for many n, in a push and in a fetch. Both
// repositories stay sound, refs have their old or new values, and a retry works.
func TestTransportCut(t *testing.T) {
	for _, direction := range []gitjudge.Direction{gitjudge.FromServer, gitjudge.ToServer} {
		for _, cut := range cuts() {
			peer := httpPeer(t)
			a, b := newSide(t, peer), newSide(t, peer)
			commits := growing(t, a.r, gitstore.ZeroHash, 20, "cut")
			groups := [][]PushRef{{branch("tape/a", commits[19]), tag("anchor/a/001", tagged(t, a.r, commits[3], "anchor/a/001"))}, {branch("tape/b", commits[10])}}
			short := gitjudge.Cut(t, peer.URL, cut, direction)
			results, err := Push(context.Background(), a.r, short, groups, Options{})
			if err != nil && !errors.Is(err, ErrRemote) {
				t.Errorf("push cut at %d: %v", cut, err)
			}
			if err == nil && strings.Contains(statuses(results), "rejected") {
				t.Errorf("push cut at %d: %v", cut, results)
			}
			a.sound()
			if got := a.push(groups...); strings.Contains(got, "rejected") {
				t.Errorf("push again after a cut at %d: %s", cut, got)
			}
			if _, err := Fetch(context.Background(), b.r, gitjudge.Cut(t, peer.URL, cut, direction), mirror, Options{}); err != nil && !errors.Is(err, ErrRemote) {
				t.Errorf("fetch cut at %d: %v", cut, err)
			}
			b.sound()
			b.fetch()
			for name, want := range map[string]gitstore.Hash{"heads/tape/a": commits[19], "heads/tape/b": commits[10]} {
				if h, err := b.r.Ref(gitstore.RemoteRefs("origin") + name); err != nil || h != want {
					t.Errorf("fetch again after a cut at %d: %s holds %s, %v", cut, name, h, err)
				}
			}
			b.sound()
			if t.Failed() {
				return
			}
		}
	}
}

func last(hashes []gitstore.Hash) gitstore.Hash { return hashes[len(hashes)-1] }

func cuts() (out []int64) {
	step := int64(testkit.Size(2500, 97))
	for n := int64(1); n < 5000; n += step {
		out = append(out, n)
	}
	return out
}

// TestTransportCancelled cancels a transfer: it ends soon, and leaves nothing.
func TestTransportCancelled(t *testing.T) {
	peer := httpPeer(t)
	a, b := newSide(t, peer), newSide(t, peer)
	a.push([]PushRef{branch("tape/a", last(growing(t, a.r, gitstore.ZeroHash, testkit.Size(50, 200), "much")))})
	for _, wait := range []int{0, 5, 20, 60} { // ms
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(wait)*time.Millisecond)
		_, err := Fetch(ctx, b.r, "origin", mirror, Options{})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("stopped after %d ms: %v", wait, err)
		}
		b.sound()
	}
	b.fetch()
}

// TestTransportFullDisk fetches to, and pushes to, a disk that is too small.
func TestTransportFullDisk(t *testing.T) {
	small := testkit.SmallDisk(t, 1<<20)
	dir := gitjudge.Bare(t)
	a := newSide(t, remotePeer{Transport: "path", Dir: dir, URL: dir})
	groups := [][]PushRef{{branch("tape/a", incompressible(t, a.r, 5<<18))}}
	full := gitjudge.BareIn(t, filepath.Join(small, "there.git"))
	if results, err := Push(context.Background(), a.r, full, groups, Options{}); err == nil {
		t.Errorf("the remote's disk is full, and the push gave %v", results)
	}
	a.GitIn(full, "fsck", "--strict")
	a.push(groups...)

	here := filepath.Join(small, "here")
	a.GitIn(small, "init", "-q", here)
	a.GitIn(here, "config", "gc.auto", "0")
	r, err := gitstore.Open(filepath.Join(here, ".git"), nil)
	a.OK(err)
	if _, err := Fetch(context.Background(), r, dir, mirror, Options{}); err == nil {
		t.Error("the disk is full, and the fetch succeeded")
	} else if errors.Is(err, ErrHostile) {
		t.Errorf("a full disk is taken for an attack: %v", err)
	}
	a.GitIn(here, "fsck", "--strict")
	a.tidy(filepath.Join(here, ".git"))
	if refs, err := r.Refs("refs/"); err != nil || len(refs) != 0 {
		t.Errorf("refs were set: %v, %v", refs, err)
	}
}

// incompressible makes a commit of a file with at least size random bytes.
func incompressible(t testing.TB, r *gitstore.Repo, size int) gitstore.Hash {
	t.Helper()
	random := testkit.Random(t)
	var content []byte
	for len(content) < size {
		content = binary.LittleEndian.AppendUint64(content, random.Uint64())
	}
	b := r.NewBatch()
	defer b.Discard()
	tree := b.Put(gitstore.KindTree, gitstore.EncodeTree([]gitstore.TreeEntry{{Name: "a", Mode: gitstore.ModeFile, Hash: b.Put(gitstore.KindBlob, content)}}))
	h := b.Put(gitstore.KindCommit, gitstore.EncodeCommit(gitstore.Commit{Tree: tree, Author: gitjudge.Ann, Committer: gitjudge.Ann, Message: "x\n"}))
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTransportTwoAtOnce pushes two histories of one tape at the same time: one is accepted
// completely, the other not at all.
func TestTransportTwoAtOnce(t *testing.T) {
	for _, way := range []string{"path", "http"} {
		peer := httpPeer(t)
		if way == "path" {
			peer.Transport, peer.URL = way, peer.Dir
		}
		for round := range testkit.Size(1, 50) {
			name := fmt.Sprintf("tape-%d", round)
			var wait sync.WaitGroup
			var got [2]string
			for i := range 2 {
				s := newSide(t, peer)
				h := growing(t, s.r, gitstore.ZeroHash, 3, fmt.Sprintf("side %d %d", i, round))[2]
				group := []PushRef{branch("tape/"+name, h), tag("anchor/"+name+"/001", tagged(t, s.r, h, fmt.Sprintf("n%d", i)))}
				wait.Go(func() {
					results, err := Push(context.Background(), s.r, "origin", [][]PushRef{group}, Options{})
					got[i] = statuses(results)
					if err != nil {
						got[i] = err.Error()
					}
				})
			}
			wait.Wait()
			if !(got[0] == "new new" && got[1] == "rejected rejected") && !(got[1] == "new new" && got[0] == "rejected rejected") {
				t.Errorf("%s: one push got %q, the other %q; want one new, one rejected", way, got[0], got[1])
			}
		}
	}
}

// A remote's words reach the terminal without control characters.
func TestRemoteWordsAreHarmless(t *testing.T) {
	said := "remote: \x1b]0;title\x07\x1b[2Jgone\x00\u009b31m\xff\nfatal: it\tdied\r\n"
	if got := explain(said); got != "remote: ]0;title[2Jgone31m\nfatal: it died" {
		t.Errorf("an error says %q", got)
	}
	if got := remoteLines("remote: missing TASK\x1b[K\nremote: see [BACK]   \n"); got != "missing TASK\nsee [BACK]" {
		t.Errorf("a hook's lines are %q, want them whole", got)
	}
	if got := explain("fatal: unable to access 'https://h/x.git?key=token/': no\nfatal: https://token:@h/x"); strings.Contains(got, "token") {
		t.Errorf("a token is in %q", got)
	}
	var shown bytes.Buffer
	if n, err := (&stderrTail{progress: &shown}).Write([]byte(said)); n != len(said) || err != nil {
		t.Errorf("%d of %d bytes were written, %v", n, len(said), err)
	}
	if got := shown.String(); strings.ContainsAny(got, "\x1b\x07\x00") || !strings.HasSuffix(got, "died\r\n") {
		t.Errorf("progress is %q", got)
	}
}

// Locks that a killed git leaves do not block the next fetch.
func TestFetchAfterKilledGit(t *testing.T) {
	dir := gitjudge.Bare(t)
	a := newSide(t, remotePeer{Transport: "path", Dir: dir, URL: dir})
	h := last(growing(t, a.r, gitstore.ZeroHash, 3, "a"))
	a.push([]PushRef{branch("tape/a", h)})
	for _, name := range []string{"shallow.lock", "FETCH_HEAD.lock", "packed-refs.lock", "objects/info/commit-graphs/commit-graph-chain.lock", "refs/tape/fetched/origin/heads/tape/a.lock"} {
		b := newSide(t, a.peer)
		b.Leave(name, "half")
		specs := []RefSpec{{Src: "refs/heads/*", Dst: gitstore.FetchedRefs("origin") + "heads/*"}}
		if f, err := Fetch(context.Background(), b.r, "origin", specs, Options{}); err != nil || len(f) != 1 {
			t.Errorf("%s: the fetch changed %v, %v; want one ref", name, f, err)
		}
	}
}
