package gitstore

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/testkit/gitpeer"
)

// httpPeer is a repository behind http, and how to make addresses that cut the line.
func httpPeer(t testing.TB, builtin bool) gitpeer.Peer {
	dir := gitpeer.Bare(t)
	return gitpeer.Peer{Way: "http", Dir: dir, URL: gitpeer.HTTP(t, filepath.Dir(dir), "ann", "pw") + "/" + filepath.Base(dir), Builtin: builtin}
}

// both runs a test with the git program and without.
func both(t *testing.T, test func(t *testing.T, builtin bool)) {
	for _, builtin := range []bool{false, true} {
		t.Run(map[bool]string{false: "git", true: "builtin"}[builtin], func(t *testing.T) { test(t, builtin) })
	}
}

// TestTransportCut cuts the line after n bytes, for many n, in a push and in a fetch: both
// sides are sound, refs hold what they held or what they were to get, and a retry works.
func TestTransportCut(t *testing.T) {
	both(t, func(t *testing.T, builtin bool) {
		for _, direction := range []gitpeer.Direction{gitpeer.FromServer, gitpeer.ToServer} {
			for _, cut := range cuts() {
				peer := httpPeer(t, builtin)
				a, b := newSide(t, peer), newSide(t, peer)
				commits := growing(t, a.r, ZeroHash, 20, "cut")
				groups := [][]PushRef{{branch("tape/a", commits[19]), tag("anchor/a/001", tagged(t, a.r, commits[3], "anchor/a/001"))}, {branch("tape/b", commits[10])}}
				short := gitpeer.Cut(t, peer.URL, cut, direction)
				results, err := a.r.Push(context.Background(), short, groups, a.o())
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
				if _, err := b.r.Fetch(context.Background(), gitpeer.Cut(t, peer.URL, cut, direction), mirror, b.o()); err != nil && !errors.Is(err, ErrRemote) {
					t.Errorf("fetch cut at %d: %v", cut, err)
				}
				b.sound()
				b.fetch()
				for name, want := range map[string]Hash{"heads/tape/a": commits[19], "heads/tape/b": commits[10]} {
					if h, err := b.r.Ref(RemoteRefs("origin") + name); err != nil || h != want {
						t.Errorf("fetch again after a cut at %d: %s holds %s, %v", cut, name, h, err)
					}
				}
				b.sound()
				if t.Failed() {
					return
				}
			}
		}
	})
}

func last(hashes []Hash) Hash { return hashes[len(hashes)-1] }

func cuts() (out []int64) {
	step := int64(testkit.Size(2500, 1700, 97))
	for n := int64(1); n < 5000; n += step {
		out = append(out, n)
	}
	return out
}

// TestTransportCancelled stops a transport in the middle: it ends soon, and leaves nothing.
func TestTransportCancelled(t *testing.T) {
	both(t, func(t *testing.T, builtin bool) {
		peer := httpPeer(t, builtin)
		a, b := newSide(t, peer), newSide(t, peer)
		a.push([]PushRef{branch("tape/a", last(growing(t, a.r, ZeroHash, testkit.Size(50, 80, 200), "much")))})
		for _, wait := range []int{0, 5, 20, 60} { // ms
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(wait)*time.Millisecond)
			_, err := b.r.Fetch(ctx, "origin", mirror, b.o())
			cancel()
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("stopped after %d ms: %v", wait, err)
			}
			b.sound()
		}
		b.fetch()
	})
}

// TestTransportFullDisk fetches to, and pushes to, a disk that is too small.
func TestTransportFullDisk(t *testing.T) {
	both(t, func(t *testing.T, builtin bool) {
		small := testkit.SmallDisk(t, 1<<20)
		dir := gitpeer.Bare(t)
		a := newSide(t, gitpeer.Peer{Way: "path", Dir: dir, URL: dir, Builtin: builtin})
		groups := [][]PushRef{{branch("tape/a", incompressible(t, a.r, 5<<18))}}
		full := gitpeer.BareIn(t, filepath.Join(small, "there.git"))
		if results, err := a.r.Push(context.Background(), full, groups, a.o()); err == nil {
			t.Errorf("the remote's disk is full, and the push gave %v", results)
		}
		a.gitIn(full, "fsck", "--strict")
		a.push(groups...)

		here := filepath.Join(small, "here")
		a.gitIn(small, "init", "-q", here)
		a.gitIn(here, "config", "gc.auto", "0")
		r, err := Open(filepath.Join(here, ".git"), nil)
		a.ok(err)
		if _, err := r.Fetch(context.Background(), dir, mirror, a.o()); err == nil {
			t.Error("the disk is full, and the fetch succeeded")
		} else if errors.Is(err, ErrHostile) {
			t.Errorf("a full disk is taken for an attack: %v", err)
		}
		a.gitIn(here, "fsck", "--strict")
		a.tidy(filepath.Join(here, ".git"))
		if refs, err := r.Refs("refs/"); err != nil || len(refs) != 0 {
			t.Errorf("refs were set: %v, %v", refs, err)
		}
	})
}

// incompressible makes a commit of a file of so many bytes.
func incompressible(t testing.TB, r *Repo, size int) Hash {
	t.Helper()
	random := testkit.Random(t)
	var content []byte
	for len(content) < size {
		content = binary.LittleEndian.AppendUint64(content, random.Uint64())
	}
	b := r.NewBatch()
	defer b.Discard()
	tree := b.Put(KindTree, EncodeTree([]TreeEntry{{Name: "a", Mode: ModeFile, Hash: b.Put(KindBlob, content)}}))
	h := b.Put(KindCommit, EncodeCommit(Commit{Tree: tree, Author: ann, Committer: ann, Message: "x\n"}))
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTransportTwoAtOnce pushes two histories of one tape at the same time: one is taken
// whole, the other not at all.
func TestTransportTwoAtOnce(t *testing.T) {
	both(t, func(t *testing.T, builtin bool) {
		for _, way := range []string{"path", "http"} {
			peer := httpPeer(t, builtin)
			if way == "path" {
				peer.Way, peer.URL = way, peer.Dir
			}
			for round := range testkit.Size(1, 2, 50) {
				name := fmt.Sprintf("tape-%d", round)
				var wait sync.WaitGroup
				var got [2]string
				for i := range 2 {
					s := newSide(t, peer)
					h := growing(t, s.r, ZeroHash, 3, fmt.Sprintf("side %d %d", i, round))[2]
					group := []PushRef{branch("tape/"+name, h), tag("anchor/"+name+"/001", tagged(t, s.r, h, fmt.Sprintf("n%d", i)))}
					wait.Go(func() {
						results, err := s.r.Push(context.Background(), "origin", [][]PushRef{group}, s.o())
						got[i] = statuses(results)
						if err != nil {
							got[i] = err.Error()
						}
					})
				}
				wait.Wait()
				if !(got[0] == "new new" && got[1] == "rejected rejected") && !(got[1] == "new new" && got[0] == "rejected rejected") {
					t.Errorf("%s: the one got %q, the other %q", way, got[0], got[1])
				}
			}
		}
	})
}

// TestTakePackHostile gives the indexer packs that are damaged at every byte: each is
// refused, and nothing is let in.
func TestTakePackHostile(t *testing.T) {
	j := newJudge(t)
	r := j.open(nil)
	commits := growing(t, r, ZeroHash, 12, "pack")
	pack, err := runStdin(j, commits[11].String()+"\n", "pack-objects", "--stdout", "--revs", "-q", "--delta-base-offset")
	j.ok(err)
	empty := newJudge(t)
	r = empty.open(nil)
	take := func(raw []byte) error {
		f, err := (&Batch{r: r}).create()
		empty.ok(err)
		defer removeFile(f.File)
		_, err = f.Write(raw)
		empty.ok(err)
		return r.takePack(context.Background(), f)
	}
	step := testkit.Size(29, 13, 1)
	for at := 0; at < len(pack); at += step {
		for _, raw := range [][]byte{[]byte(pack)[:at], damaged([]byte(pack), at)} {
			if err := take(raw); !errors.Is(err, ErrHostile) {
				t.Fatalf("damaged at byte %d: %v", at, err)
			}
		}
	}
	for at := 0; at < len(pack)-sha1.Size; at += step {
		// What is still a pack is one of other objects.
		if err := take(resummed(damaged([]byte(pack), at))); err != nil && !errors.Is(err, ErrHostile) {
			t.Fatalf("damaged at byte %d, with a right sum: %v", at, err)
		}
		empty.ok(os.RemoveAll(filepath.Join(empty.gitDir, "objects", "pack")))
	}
	if packs, _ := filepath.Glob(filepath.Join(empty.gitDir, "objects", "pack", "*")); len(packs) != 0 {
		t.Fatalf("let in: %v", packs)
	}
	empty.ok(take([]byte(pack)))
	empty.git("update-ref", "refs/heads/x", commits[11].String())
	empty.fsck()
	idx, _ := filepath.Glob(filepath.Join(empty.gitDir, "objects", "pack", "*.idx"))
	if len(idx) != 1 {
		t.Fatalf("indexes: %v", idx)
	}
	ours, err := os.ReadFile(idx[0])
	empty.ok(err)
	empty.git("index-pack", "-o", filepath.Join(empty.dir, "theirs.idx"), strings.TrimSuffix(idx[0], ".idx")+".pack")
	theirs, err := os.ReadFile(filepath.Join(empty.dir, "theirs.idx"))
	empty.ok(err)
	if !bytes.Equal(ours, theirs) {
		t.Error("git makes another index of the pack")
	}
}

// damaged flips a bit.
func damaged(pack []byte, at int) []byte {
	out := bytes.Clone(pack)
	out[at] ^= 0x10
	return out
}

// resummed gives a pack the checksum that it should have.
func resummed(pack []byte) []byte {
	body := pack[:len(pack)-sha1.Size]
	sum := sha1.Sum(body)
	return append(bytes.Clone(body), sum[:]...)
}

// A remote's words go to a terminal without what that would obey.
func TestRemoteWordsAreHarmless(t *testing.T) {
	said := "remote: \x1b]0;title\x07\x1b[2Jgone\x00\u009b31m\xff\nfatal: it\tdied\r\n"
	if got := explain(said); got != "remote: ]0;title[2Jgone31m\nfatal: it died" {
		t.Errorf("an error says %q", got)
	}
	if got := explain("fatal: unable to access 'https://h/x.git?key=token/': no\nfatal: https://token:@h/x"); strings.Contains(got, "token") {
		t.Errorf("a token is in %q", got)
	}
	var shown bytes.Buffer
	if n, err := (&tail{more: &shown}).Write([]byte(said)); n != len(said) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if got := shown.String(); strings.ContainsAny(got, "\x1b\x07\x00") || !strings.HasSuffix(got, "died\r\n") {
		t.Errorf("progress is %q", got)
	}
}

// TestCheckTree knows what git fsck knows.
func TestCheckTree(t *testing.T) {
	j := newJudge(t)
	blob := j.hash(j.git("hash-object", "-w", "-t", "blob", os.DevNull))
	tree := j.hash(j.git("hash-object", "-w", "-t", "tree", os.DevNull))
	entry := func(mode, name string) string {
		h := blob
		if strings.HasPrefix(mode, "4") {
			h = tree
		}
		return mode + " " + name + "\x00" + string(h[:])
	}
	for _, raw := range []string{
		"", entry("100644", "a"), entry("100644", "a") + entry("40000", "b"), entry("100644", "a.b") + entry("40000", "a"), entry("100644", "git"),
		entry("100644", "b") + entry("100644", "a"), entry("40000", "a") + entry("100644", "a.b"), entry("100644", "a") + entry("100644", "a"),
		entry("100644", "a") + entry("40000", "a"), entry("0100644", "a"), entry("100644", ".git"), entry("100644", ".GIT"), entry("40000", ".g\u200cit"),
		entry("40000", "git~1"), entry("40000", ".git. "), entry("40000", ".git::$INDEX_ALLOCATION"), entry("100644", ".."), entry("100644", ""),
		"100644 a\x00" + strings.Repeat("\x00", 20),
	} {
		path := filepath.Join(j.dir, "tree")
		j.ok(os.WriteFile(path, []byte(raw), 0o600))
		h := j.git("hash-object", "-w", "-t", "tree", "--literally", path)
		out, err := j.tryGit(j.dir, "fsck", "--strict", "--no-dangling")
		bad := err != nil && strings.Contains(out, h)
		if err := checkTree([]byte(raw)); (err != nil) != bad {
			t.Errorf("tree %q: %v, and git says %q", raw, err, out)
		}
		j.ok(os.Remove(filepath.Join(j.gitDir, "objects", h[:2], h[2:])))
	}
}
