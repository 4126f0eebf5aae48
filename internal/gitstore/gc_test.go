package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/disk"
	"tape/internal/gitstore/gitlock"
)

// grow commits to a branch what a tape of that many phases commits: files that share a
// few names and get longer. It returns the last commit.
func (j *judge) grow(r *Repo, ref string, phases, commits int) Hash {
	j.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	ctx := context.Background()
	var parents []Hash
	var old Hash
	if h, err := r.Ref(ref); err == nil {
		parents, old = []Hash{h}, h
	}
	folders := []TreeEntry{}
	for p := range phases {
		files := map[string][]byte{}
		for range commits {
			b := r.NewBatch()
			name := []string{"messages.jsonl", "events.jsonl"}[rnd.IntN(2)]
			for range 20 {
				files[name] = fmt.Appendf(files[name], `{"id":%d,"payload":{"content":"%x words that come again %d"}}`+"\n", rnd.IntN(1000), rnd.Uint64(), rnd.IntN(50))
			}
			var entries []TreeEntry
			for name, data := range files {
				entries = append(entries, TreeEntry{Name: name, Mode: ModeFile, Hash: b.Put(KindBlob, slices.Clone(data))})
			}
			folder := TreeEntry{Name: fmt.Sprintf("%03d_x", p), Mode: ModeDir, Hash: b.Put(KindTree, EncodeTree(entries))}
			anchors := b.Put(KindTree, EncodeTree(append(slices.Clone(folders[:p]), folder)))
			root := b.Put(KindTree, EncodeTree([]TreeEntry{{Name: "anchors", Mode: ModeDir, Hash: anchors}}))
			commit := b.Put(KindCommit, EncodeCommit(Commit{Tree: root, Parents: parents, Author: ann, Committer: ann, Message: "checkpoint\n"}))
			j.ok(b.Flush(ctx))
			parents = []Hash{commit}
			if len(folders) == p {
				folders = append(folders, folder)
			}
			folders[p] = folder
		}
	}
	j.ok(r.UpdateRef(ctx, RefUpdate{Name: ref, Old: old, New: parents[0], Who: ann, Message: "checkpoint"}))
	return parents[0]
}

func (j *judge) copyOf(dir string) string {
	j.Helper()
	to := filepath.Join(j.TempDir(), "copy")
	j.ok(os.CopyFS(to, os.DirFS(dir)))
	return to
}

// unnamed lists files that no finished operation leaves.
func (j *judge) unnamed() (found []string) {
	j.Helper()
	j.ok(filepath.WalkDir(j.gitDir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		dirs := strings.Contains(path, "tape"+string(filepath.Separator)+"tmp"+string(filepath.Separator))
		if err == nil && !d.IsDir() && (dirs || strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp") || name == "gc.pid" ||
			strings.HasSuffix(name, ".lock") && filepath.Base(filepath.Dir(path)) != gitlock.OwnDir) {
			found = append(found, path)
		}
		return nil
	}))
	return found
}

func TestGCIsAsSmallAsAggressive(t *testing.T) {
	j := newJudge(t)
	r, ctx := j.open(nil), context.Background()
	j.grow(r, "refs/heads/tape/main", 25, 5)
	size := func(gitDir string) int64 {
		r, err := Open(gitDir, nil)
		j.ok(err)
		n, err := r.objectsSize()
		j.ok(err)
		return n
	}
	check := func(what string) {
		t.Helper()
		best := j.copyOf(j.gitDir)
		j.gitIn(best, "--git-dir=.", "gc", "-q", "--aggressive")
		res, err := r.GC(ctx)
		j.ok(err)
		t.Logf("%s: %d bytes before, %d after, git gc --aggressive %d", what, res.Before, res.After, size(best))
		if res.After != size(j.gitDir) || res.After*10 > size(best)*12 {
			t.Errorf("%s: %+v; git gc --aggressive gives %d", what, res, size(best))
		}
		j.fsck()
	}
	// What a plain git gc packed is larger, and is not left so.
	plain := j.copyOf(j.gitDir)
	j.gitIn(plain, "--git-dir=.", "gc", "-q")
	check("loose")
	if now := size(j.gitDir); size(plain)*10 < now*12 {
		t.Errorf("git gc alone gives %d, so this shows nothing beside %d", size(plain), now)
	}
	j.grow(r, "refs/heads/tape/main", 6, 5)
	check("grown")
	j.ok(os.RemoveAll(filepath.Join(j.gitDir, "objects")))
	j.ok(os.CopyFS(filepath.Join(j.gitDir, "objects"), os.DirFS(filepath.Join(plain, "objects"))))
	j.git("update-ref", "refs/heads/tape/main", j.gitIn(plain, "--git-dir=.", "rev-parse", "refs/heads/tape/main"))
	j.ok(os.RemoveAll(filepath.Join(j.gitDir, "logs")))
	check("packed elsewhere")
}

// What nothing leads to stays for two weeks, whatever the user has set, and then goes;
// what only a reflog, an index or a worktree leads to stays.
func TestGCKeeps(t *testing.T) {
	j := newJudge(t)
	r, ctx := j.open(nil), context.Background()
	j.git("config", "gc.pruneExpire", "now")
	main := j.grow(r, "refs/heads/tape/main", 3, 3)
	dropped := j.grow(r, "refs/heads/fork/main/x", 1, 2)
	j.ok(r.LogRef(ctx, "refs/heads/tape/main", ReflogEntry{New: dropped, Message: "discard"}, ReflogEntry{Old: dropped}))
	j.ok(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/fork/main/x", Old: dropped}))
	j.git("tag", "-a", "-m", "x", "of-a-blob", j.git("hash-object", "-w", "--stdin"))
	w, err := r.AddWorktree(ctx, "refs/heads/fork/main/y", filepath.Join(j.dir, "forks", "main", "y"))
	j.ok(err)
	j.writeIn(w, "staged", "only in an index\n")
	j.gitIn(w.Dir, "add", "staged")
	j.gitIn(w.Dir, "checkout", "-q", "--detach", j.git("commit-tree", main.String()+"^{tree}", "-m", "only a HEAD"))
	put := func(content string) (Hash, string) {
		b := r.NewBatch()
		h := b.Put(KindBlob, []byte(content))
		j.ok(b.Flush(ctx))
		return h, r.loosePath(h)
	}
	young, _ := put("young\n")
	old, path := put("old\n")
	then := time.Now().Add(-15 * 24 * time.Hour)
	j.ok(os.Chtimes(path, then, then))
	before := strings.Fields(j.git("rev-list", "--all", "--reflog", "--indexed-objects", "--objects", "--no-object-names"))
	if len(before) < 30 {
		t.Fatalf("only %d objects", len(before))
	}

	_, err = r.GC(ctx)
	j.ok(err)
	for _, id := range before {
		kind, data, err := r.Read(j.hash(id))
		if err != nil || HashObject(kind, data) != j.hash(id) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := r.Blob(young); err != nil {
		t.Errorf("a young object is gone: %v", err)
	}
	if _, err := r.Blob(old); !errors.Is(err, ErrNotFound) {
		t.Errorf("an old object: %v", err)
	}
	if loose := j.git("count-objects"); !strings.HasPrefix(loose, "1 objects,") {
		t.Errorf("still loose: %s", loose)
	}
	if found := j.unnamed(); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
	j.fsck()
	for _, pack := range mustGlob(t, filepath.Join(j.gitDir, "objects", "pack", "*.idx")) {
		j.git("verify-pack", pack)
	}
	if _, err := r.GC(ctx); err != nil {
		t.Errorf("once more: %v", err)
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %q %v", pattern, found, err)
	}
	return found
}

// A collection that is called off at any time leaves no files behind, and nothing lost.
func TestGCCancelled(t *testing.T) {
	j := newJudge(t)
	r := j.open(nil)
	tip := j.grow(r, "refs/heads/tape/main", 8, 4)
	j.ok(os.RemoveAll(filepath.Join(j.gitDir, "hooks"))) // less to copy
	full := j.copyOf(j.gitDir)
	for delay := 5 * time.Millisecond; ; delay *= 2 {
		j.ok(os.RemoveAll(j.gitDir))
		j.ok(os.CopyFS(j.gitDir, os.DirFS(full)))
		ctx, cancel := context.WithTimeout(context.Background(), delay)
		_, err := j.open(nil).GC(ctx)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %v: %v", delay, err)
		}
		if found := j.unnamed(); len(found) > 0 {
			t.Errorf("after %v: left %q", delay, found)
		}
		j.git("rev-list", "--objects", "--quiet", tip.String())
		if err == nil {
			break
		}
	}
}

// Writers and readers go on while a collection runs, and nothing is lost.
func TestGCBesideWriters(t *testing.T) {
	j := newJudge(t)
	r, ctx := j.open(nil), context.Background()
	done := make(chan struct{})
	var wg sync.WaitGroup
	tips := make([]Hash, 3)
	for i := range tips {
		wg.Go(func() {
			own := j.open(nil) // as another process
			for {
				ref := fmt.Sprintf("refs/heads/tape/%d", i)
				tips[i] = j.grow(own, ref, 2, 2)
				if c, err := r.Commit(tips[i]); err != nil || len(c.Parents) != 1 {
					t.Errorf("reader: %v", err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for range 8 {
		if _, err := j.open(nil).GC(ctx); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
	for i, tip := range tips {
		if got := j.git("rev-parse", fmt.Sprintf("tape/%d", i)); got != tip.String() {
			t.Errorf("%d: %s, not %s", i, got, tip)
		}
	}
	j.fsck()
}

func TestGCOneAtATime(t *testing.T) {
	j := newJudge(t)
	ctx := context.Background()
	r, err := Open(j.gitDir, &Options{LockWait: 10 * time.Millisecond})
	j.ok(err)
	host, err := os.Hostname()
	j.ok(err)
	j.ok(os.WriteFile(filepath.Join(j.gitDir, "gc.pid"), fmt.Appendf(nil, "%d %s", os.Getpid(), host), 0o600))
	if _, err := r.GC(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("beside a git gc: %v", err)
	}
	lock, err := (&disk.FS{}).Lock(ctx, filepath.Join(j.gitDir, gitlock.OwnDir, "gc.lock"), 0)
	j.ok(err)
	if _, err := r.GC(ctx); !errors.Is(err, ErrBusy) {
		t.Errorf("beside one of ours: %v", err)
	}
	j.ok(lock.Unlock())
	// The environment of a hook does not lead it astray.
	j.ok(os.Remove(filepath.Join(j.gitDir, "gc.pid")))
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "nowhere"))
	t.Setenv("GIT_INDEX_FILE", "nowhere")
	if _, err := r.GC(ctx); err != nil {
		t.Error(err)
	}
}
