package gitrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/testkit/gitjudge"
)

// grow adds the commits of a tape with n phases to a branch: files that share a few names and
// grow. It returns the last commit.
func grow(j *gitjudge.Judge, r *gitstore.Repo, ref string, phases, commits int) gitstore.Hash {
	j.Helper()
	rnd := rand.New(rand.NewPCG(1, 2))
	ctx := context.Background()
	var parents []gitstore.Hash
	var old gitstore.Hash
	if h, err := r.Ref(ref); err == nil {
		parents, old = []gitstore.Hash{h}, h
	}
	folders := []gitstore.TreeEntry{}
	for p := range phases {
		files := map[string][]byte{}
		for range commits {
			b := r.NewBatch()
			name := []string{"messages.jsonl", "events.jsonl"}[rnd.IntN(2)]
			for range 20 {
				files[name] = fmt.Appendf(files[name], `{"id":%d,"payload":{"content":"%x words that come again %d"}}`+"\n", rnd.IntN(1000), rnd.Uint64(), rnd.IntN(50))
			}
			var entries []gitstore.TreeEntry
			for name, data := range files {
				entries = append(entries, gitstore.TreeEntry{Name: name, Mode: gitstore.ModeFile, Hash: b.Put(gitstore.KindBlob, slices.Clone(data))})
			}
			folder := gitstore.TreeEntry{Name: fmt.Sprintf("%03d_x", p), Mode: gitstore.ModeDir, Hash: b.Put(gitstore.KindTree, gitstore.EncodeTree(entries))}
			anchors := b.Put(gitstore.KindTree, gitstore.EncodeTree(append(slices.Clone(folders[:p]), folder)))
			root := b.Put(gitstore.KindTree, gitstore.EncodeTree([]gitstore.TreeEntry{{Name: "anchors", Mode: gitstore.ModeDir, Hash: anchors}}))
			commit := b.Put(gitstore.KindCommit, gitstore.EncodeCommit(gitstore.Commit{Tree: root, Parents: parents, Author: gitjudge.Ann, Committer: gitjudge.Ann, Message: "checkpoint\n"}))
			j.OK(b.Flush(ctx))
			b.Discard()
			parents = []gitstore.Hash{commit}
			if len(folders) == p {
				folders = append(folders, folder)
			}
			folders[p] = folder
		}
	}
	j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: ref, Old: old, New: parents[0], Who: gitjudge.Ann, Message: "checkpoint"}))
	return parents[0]
}

func copyOf(j *gitjudge.Judge, dir string) string {
	j.Helper()
	to := filepath.Join(j.TempDir(), "copy")
	j.OK(os.CopyFS(to, os.DirFS(dir)))
	return to
}

// leftovers lists temporary files, locks and gc.pid.
func leftovers(j *gitjudge.Judge) (found []string) {
	j.Helper()
	j.OK(filepath.WalkDir(j.GitDir, func(path string, d fs.DirEntry, err error) error {
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
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	grow(j, r, "refs/heads/tape/main", 25, 5)
	size := func(gitDir string) int64 {
		r, err := gitstore.Open(gitDir, nil)
		j.OK(err)
		var n int64
		j.OK(eachObjectFile(r, func(_ string, st fs.FileInfo) { n += st.Size() }))
		return n
	}
	check := func(what string) {
		t.Helper()
		best := copyOf(j, j.GitDir)
		j.GitIn(best, "--git-dir=.", "gc", "-q", "--aggressive")
		before := size(j.GitDir)
		j.OK(GC(ctx, r, ""))
		t.Logf("%s: %d bytes before, %d after, git gc --aggressive %d", what, before, size(j.GitDir), size(best))
		if size(j.GitDir)*10 > size(best)*12 {
			t.Errorf("%s: GC leaves %d bytes, git gc --aggressive %d", what, size(j.GitDir), size(best))
		}
		j.Fsck()
	}
	// What a plain git gc packed is larger, and gets packed again.
	plain := copyOf(j, j.GitDir)
	j.GitIn(plain, "--git-dir=.", "gc", "-q")
	check("loose")
	if now := size(j.GitDir); size(plain)*10 < now*12 {
		t.Errorf("git gc alone gives %d, so this shows nothing beside %d", size(plain), now)
	}
	grow(j, r, "refs/heads/tape/main", 6, 5)
	check("grown")
	j.OK(os.RemoveAll(filepath.Join(j.GitDir, "objects")))
	j.OK(os.CopyFS(filepath.Join(j.GitDir, "objects"), os.DirFS(filepath.Join(plain, "objects"))))
	j.Git("update-ref", "refs/heads/tape/main", j.GitIn(plain, "--git-dir=.", "rev-parse", "refs/heads/tape/main"))
	j.OK(os.RemoveAll(filepath.Join(j.GitDir, "logs")))
	check("packed elsewhere")
}

// Unreachable objects stay for two weeks, whatever the user has set, and are deleted then. What only
// a reflog, an index or a worktree leads to stays.
func TestGCKeeps(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	j.Git("config", "gc.pruneExpire", "now")
	main := grow(j, r, "refs/heads/tape/main", 3, 3)
	dropped := grow(j, r, "refs/heads/fork/main/x", 1, 2)
	j.OK(r.LogRef(ctx, "refs/heads/tape/main", gitstore.ReflogEntry{New: dropped, Message: "discard"}, gitstore.ReflogEntry{Old: dropped}))
	j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: "refs/heads/fork/main/x", Old: dropped}))
	j.Git("tag", "-a", "-m", "x", "of-a-blob", j.Git("hash-object", "-w", "--stdin"))
	w, err := gitworktree.Add(ctx, r, "refs/heads/fork/main/y", filepath.Join(j.Dir, "forks", "main", "y"))
	j.OK(err)
	j.WriteIn(w.Dir, "staged", "only in an index\n")
	j.GitIn(w.Dir, "add", "staged")
	j.GitIn(w.Dir, "checkout", "-q", "--detach", j.Git("commit-tree", main.String()+"^{tree}", "-m", "only a HEAD"))
	put := func(content string) (gitstore.Hash, string) {
		b := r.NewBatch()
		h := b.Put(gitstore.KindBlob, []byte(content))
		j.OK(b.Flush(ctx))
		return h, r.LoosePath(h)
	}
	young, _ := put("young\n")
	old, path := put("old\n")
	then := time.Now().Add(-15 * 24 * time.Hour)
	j.OK(os.Chtimes(path, then, then))
	before := strings.Fields(j.Git("rev-list", "--all", "--reflog", "--indexed-objects", "--objects", "--no-object-names"))
	if len(before) < 30 {
		t.Fatalf("only %d objects", len(before))
	}

	err = GC(ctx, r, "")
	j.OK(err)
	for _, id := range before {
		kind, data, err := r.Read(j.Hash(id))
		if err != nil || gitstore.HashObject(kind, data) != j.Hash(id) {
			t.Errorf("object %s cannot be read after GC: %v", id, err)
		}
	}
	if _, err := r.Blob(young); err != nil {
		t.Errorf("a young object is gone: %v", err)
	}
	if _, err := r.Blob(old); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("an old object: %v, want ErrNotFound", err)
	}
	if loose := j.Git("count-objects"); !strings.HasPrefix(loose, "1 objects,") {
		t.Errorf("still loose: %s", loose)
	}
	if found := leftovers(j); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
	j.Fsck()
	for _, pack := range mustGlob(t, filepath.Join(j.GitDir, "objects", "pack", "*.idx")) {
		j.Git("verify-pack", pack)
	}
	if err := GC(ctx, r, ""); err != nil {
		t.Errorf("a second GC: %v", err)
	}
}

func mustGlob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	return found
}

// A gc that is cancelled at any moment leaves no files and loses nothing.
func TestGCCancelled(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	tip := grow(j, r, "refs/heads/tape/main", 8, 4)
	j.OK(os.RemoveAll(filepath.Join(j.GitDir, "hooks"))) // less to copy
	full := copyOf(j, j.GitDir)
	for delay := 5 * time.Millisecond; ; delay *= 2 {
		j.OK(os.RemoveAll(j.GitDir))
		j.OK(os.CopyFS(j.GitDir, os.DirFS(full)))
		ctx, cancel := context.WithTimeout(context.Background(), delay)
		err := GC(ctx, open(j, nil), "")
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %v: %v", delay, err)
		}
		if found := leftovers(j); len(found) > 0 {
			t.Errorf("after %v: left %q", delay, found)
		}
		j.Git("rev-list", "--objects", "--quiet", tip.String())
		if err == nil {
			break
		}
	}
}

// Writers and readers go on during a gc, and nothing is lost.
func TestGCBesideWriters(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	done := make(chan struct{})
	var wg sync.WaitGroup
	tips := make([]gitstore.Hash, 3)
	for i := range tips {
		wg.Go(func() {
			own := open(j, nil) // as another process
			for {
				ref := fmt.Sprintf("refs/heads/tape/%d", i)
				tips[i] = grow(j, own, ref, 2, 2)
				if c, err := r.Commit(tips[i]); err != nil || len(c.Parents) != 1 {
					t.Errorf("a reader beside GC gets a commit with %d parents, %v", len(c.Parents), err)
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
		if err := GC(ctx, open(j, nil), ""); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
	for i, tip := range tips {
		if got := j.Git("rev-parse", fmt.Sprintf("tape/%d", i)); got != tip.String() {
			t.Errorf("tape/%d is at %s, not %s", i, got, tip)
		}
	}
	j.Fsck()
}

// startGit starts a git process in the repository that waits until the test ends.
func startGit(j *gitjudge.Judge) *exec.Cmd {
	j.Helper()
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir = j.Dir
	in, err := cmd.StdinPipe()
	j.OK(err)
	j.OK(cmd.Start())
	j.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return cmd
}

// notePid writes gc.pid as git gc does.
func notePid(j *gitjudge.Judge, pid int) {
	j.Helper()
	host, err := os.Hostname()
	j.OK(err)
	j.OK(os.WriteFile(filepath.Join(j.GitDir, "gc.pid"), fmt.Appendf(nil, "%d %s", pid, host), 0o600))
}

func TestGCOneAtATime(t *testing.T) {
	j := gitjudge.New(t)
	ctx := context.Background()
	r, err := gitstore.Open(j.GitDir, &gitstore.Options{LockWait: 10 * time.Millisecond})
	j.OK(err)
	gitgc := startGit(j)
	notePid(j, gitgc.Process.Pid)
	if err := GC(ctx, r, ""); !errors.Is(err, gitstore.ErrBusy) {
		t.Errorf("beside a git gc: %v, want ErrBusy", err)
	}
	if runtime.GOOS == "linux" {
		notePid(j, os.Getpid())
		if err := GC(ctx, r, ""); err != nil {
			t.Errorf("with the gc.pid of a dead git gc, whose process id another process now has: %v", err)
		}
		notePid(j, gitgc.Process.Pid)
	}
	lock, err := (&disk.FS{}).Lock(ctx, filepath.Join(j.GitDir, gitlock.OwnDir, "gc.lock"), 0)
	j.OK(err)
	if err := GC(ctx, r, ""); !errors.Is(err, gitstore.ErrBusy) {
		t.Errorf("beside a GC of ours: %v, want ErrBusy", err)
	}
	j.OK(lock.Unlock())
	// The environment of a hook does not point gc to another repository.
	_ = os.Remove(filepath.Join(j.GitDir, "gc.pid"))
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "nowhere"))
	t.Setenv("GIT_INDEX_FILE", "nowhere")
	if err := GC(ctx, r, ""); err != nil {
		t.Errorf("with the environment of a hook in another repository: %v", err)
	}
}
