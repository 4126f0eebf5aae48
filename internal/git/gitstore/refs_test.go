package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/testkit/gitjudge"
)

func TestCheckRefName(t *testing.T) {
	j := gitjudge.New(t)
	for _, name := range []string{
		"refs/heads/a", "refs/heads/tape/ü", "refs/heads/a.b", "refs/heads/a/b.", "refs/heads/-a", "refs/heads/@", "refs/a",
		"refs/heads/", "refs/heads//a", "refs/heads/.a", "refs/heads/a/.b", "refs/heads/a..b", "refs/heads/a.lock",
		"refs/heads/a.lock/b", "refs/heads/a b", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?",
		"refs/heads/a*", "refs/heads/[a", `refs/heads/a\b`, "refs/heads/a@{1}", "refs/heads/a\x01", "refs/heads/a\x7f", "refs/heads/a./b",
	} {
		_, err := j.TryGit(j.Dir, "check-ref-format", name)
		if ours := CheckRefName(name); (ours == nil) != (err == nil) {
			t.Errorf("%q: git says %v, we say %v", name, err, ours)
		}
	}
	for _, name := range []string{"", "HEAD", "heads/a", "../refs/heads/a", "refs/../../x"} {
		if CheckRefName(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}

func TestUpdateRefAsGitSeesIt(t *testing.T) {
	j := gitjudge.New(t)
	r, c, ctx := open(j, nil), j.Commits(3), context.Background()
	const name = "refs/heads/tape/main"
	update := func(from, to Hash, message string) error {
		return r.UpdateRef(ctx, RefUpdate{Name: name, Old: from, New: to, Message: message, Who: gitjudge.Ann})
	}
	if _, err := r.Ref(name); !errors.Is(err, ErrNotFound) {
		t.Fatalf("before the first commit: %v", err)
	}
	if branch, h, err := r.Head(j.GitDir); branch != name || !h.IsZero() || err != nil {
		t.Fatalf("HEAD before the first commit: %s, %s, %v; want %s without a commit", branch, h, err, name)
	}
	j.OK(update(ZeroHash, c[0], "start: main"))
	j.OK(update(c[0], c[1], "handoff:\n\n one "))
	if err := update(c[0], c[2], "late"); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), c[1].String()) {
		t.Fatalf("wrong old value: %v", err)
	}
	if err := update(ZeroHash, c[2], "late"); !errors.Is(err, ErrConflict) {
		t.Fatalf("exists already: %v", err)
	}
	j.OK(update(c[1], c[1], "nothing"))
	j.Git("pack-refs", "--all")
	if h, err := r.Ref(name); h != c[1] || err != nil {
		t.Fatalf("the packed ref holds %s, %v; want %s", h, err, c[1])
	}
	j.OK(update(c[1], c[2], "over a packed one"))
	if got := j.Git("rev-parse", name); got != c[2].String() {
		t.Fatalf("git reads %s, not %s", got, c[2])
	}
	if h, err := r.Ref("HEAD"); h != c[2] || err != nil {
		t.Fatalf("HEAD is %s, %v; want %s", h, err, c[2])
	}
	for _, log := range []string{name, "HEAD"} {
		want := j.Git("reflog", "--format=%H %gn <%ge> %gs", log)
		entries, err := r.Reflog(log)
		j.OK(err)
		var got []string
		for _, e := range entries {
			got = append([]string{fmt.Sprintf("%s %s <%s> %s", e.New, e.Who.Name, e.Who.Email, e.Message)}, got...)
		}
		if strings.Join(got, "\n") != want || len(got) != 3 {
			t.Errorf("reflog of %s\ngit: %s\nwe:  %s", log, want, strings.Join(got, "\n"))
		}
	}
	st, err := os.Stat(filepath.Join(j.GitDir, "refs/heads/tape/main"))
	j.OK(err)
	if st.Mode().Perm() != disk.FilePerm && os.PathSeparator == '/' {
		t.Errorf("the ref's file has the mode %v, not %v", st.Mode(), disk.FilePerm)
	}
	j.Fsck()
}

func TestDeleteRef(t *testing.T) {
	j := gitjudge.New(t)
	r, c, ctx := open(j, nil), j.Commits(2), context.Background()
	j.Git("tag", "-a", "-m", "x", "t1", c[0].String())
	for _, packed := range []string{"no", "yes", "older"} {
		const name = "refs/heads/fork/a/b"
		j.Git("update-ref", name, c[0].String())
		if packed != "no" {
			j.Git("pack-refs", "--all")
		}
		old, wrong := c[0], c[1]
		if packed == "older" {
			j.Git("update-ref", name, c[1].String())
			old, wrong = wrong, old
		}
		if err := r.UpdateRef(ctx, RefUpdate{Name: name, Old: wrong}); !errors.Is(err, ErrConflict) {
			t.Fatalf("packed %s: deletion with a wrong old value: %v, want ErrConflict", packed, err)
		}
		j.OK(r.UpdateRef(ctx, RefUpdate{Name: name, Old: old, Who: gitjudge.Ann}))
		if out := j.Git("for-each-ref", "refs/heads/"); out != "" {
			t.Fatalf("packed %s: git still has %s", packed, out)
		}
		for _, left := range []string{"refs/heads/fork", "logs/refs/heads/fork", "packed-refs.lock"} {
			if _, err := os.Lstat(filepath.Join(j.GitDir, left)); err == nil {
				t.Errorf("packed %s: %s is left", packed, left)
			}
		}
		if got := j.Git("rev-parse", "t1^{}"); got != c[0].String() {
			t.Errorf("packed %s: the tag peels to %s", packed, got)
		}
	}
	j.Fsck()
}

// A packed-refs without a header, as some programs write it, does not say which tags have peeled lines.
// After one of its refs was deleted, git still peels its tags.
func TestDeleteRefPackedWithoutHeader(t *testing.T) {
	j := gitjudge.New(t)
	r, c := open(j, nil), j.Commits(1)[0]
	j.Git("tag", "-a", "-m", "x", "v1", c.String())
	tag := j.Git("rev-parse", "v1")
	j.OK(os.Remove(filepath.Join(j.GitDir, "refs", "tags", "v1")))
	packed := c.String() + " refs/heads/x\n" + tag + " refs/tags/v1\n"
	j.OK(os.WriteFile(filepath.Join(j.GitDir, "packed-refs"), []byte(packed), 0o600))
	j.OK(r.UpdateRef(context.Background(), RefUpdate{Name: "refs/heads/x", Old: c}))
	if got, want := j.Git("show-ref", "-d", "--tags"), tag+" refs/tags/v1\n"+c.String()+" refs/tags/v1^{}"; got != want {
		t.Errorf("git finds\n%s\nnot\n%s", got, want)
	}
}

func TestRefsList(t *testing.T) {
	j := gitjudge.New(t)
	r, c := open(j, nil), j.Commits(2)
	for i := range 3000 { // enough for a bisection of packed-refs
		f := filepath.Join(j.GitDir, "refs/tape/archive", fmt.Sprintf("x%d", i%7), fmt.Sprintf("%04d", i))
		_ = os.MkdirAll(filepath.Dir(f), 0o700)
		j.OK(os.WriteFile(f, []byte(c[i%2].String()+"\n"), 0o600))
	}
	j.Git("tag", "-a", "-m", "x", "anchor/main/001_x", c[0].String())
	j.Git("update-ref", "refs/heads/tape/main", c[0].String())
	j.Git("update-ref", "refs/heads/tape/other", c[0].String())
	j.Git("pack-refs", "--all")
	j.Git("update-ref", "refs/heads/tape/main", c[1].String())
	j.Git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/tape/other")
	j.Git("symbolic-ref", "refs/remotes/origin/gone", "refs/heads/nowhere")
	j.OK(os.WriteFile(filepath.Join(j.GitDir, "refs/heads/tape/main.lock"), nil, 0o600))
	for _, prefix := range []string{"refs/", "refs/heads/tape/", "refs/tape/archive/x3/", "refs/tape/archive/x3", "refs/tags/", "refs/remotes/", "refs/z/"} {
		refs, err := r.Refs(prefix)
		j.OK(err)
		var got []string
		for _, ref := range refs {
			got = append(got, ref.Hash.String()+" "+ref.Name)
		}
		var want []string
		for line := range strings.SplitSeq(j.Git("for-each-ref", "--format=%(objectname) %(refname)"), "\n") {
			if strings.HasPrefix(line[41:], prefix) && !strings.HasSuffix(line, "/gone") && !strings.HasPrefix(line, "warning") {
				want = append(want, line)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d refs, git has %d", prefix, len(got), len(want))
		}
	}
	for i := range 3000 {
		name := fmt.Sprintf("refs/tape/archive/x%d/%04d", i%7, i)
		if h, err := r.Ref(name); h != c[i%2] || err != nil {
			t.Fatalf("%s holds %s, %v; want %s", name, h, err, c[i%2])
		}
		if _, err := r.Ref(name + "x"); !errors.Is(err, ErrNotFound) {
			t.Fatalf("%sx: %v, want ErrNotFound", name, err)
		}
	}
	broken := filepath.Join(j.GitDir, "refs/heads/tape/broken")
	for _, content := range []string{"", "\n", "xyz\n"} {
		j.OK(os.WriteFile(broken, []byte(content), 0o600))
		if _, err := r.Refs("refs/heads/"); err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("list with the broken ref %q: %v, want an error with its path", content, err)
		}
		err := r.UpdateRef(context.Background(), RefUpdate{Name: "refs/heads/tape/broken", New: c[0]})
		if err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("update of the broken ref %q: %v, want an error with its path", content, err)
		}
	}
}

func TestClashingRefNames(t *testing.T) {
	j := gitjudge.New(t)
	r, c, ctx := open(j, nil), j.Commits(1), context.Background()
	create := func(name string) error {
		return r.UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann})
	}
	j.OK(create("refs/heads/tape/a"))
	for _, packed := range []bool{false, true} {
		if packed {
			j.Git("pack-refs", "--all")
		}
		for _, name := range []string{"refs/heads/tape/a/b", "refs/heads/tape/a/b/c", "refs/heads/tape"} {
			if err := create(name); err == nil || !strings.Contains(err.Error(), "exists") {
				t.Errorf("packed %v: %s beside refs/heads/tape/a: %v", packed, name, err)
			}
		}
	}
	// Empty folders of deleted refs, in refs and in logs, are not in the way.
	for _, dir := range []string{"refs/heads/x/y/z", "logs/refs/heads/x/y"} {
		j.OK(os.MkdirAll(filepath.Join(j.GitDir, dir), 0o700))
	}
	j.OK(create("refs/heads/x"))
	j.Fsck()
}

func TestUpdateRefFaults(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(3), context.Background()
	n := 0
	check := func(t *testing.T, fsys *disk.FS, u RefUpdate) {
		err := open(j, fsys).UpdateRef(ctx, u)
		after := open(j, nil)
		h, rerr := after.Ref(u.Name)
		if rerr != nil && !errors.Is(rerr, ErrNotFound) {
			t.Fatal(rerr)
		}
		if h != u.Old && h != u.New || err == nil && h != u.New {
			t.Fatalf("UpdateRef said %v, the ref holds %v", err, h)
		}
		if err := after.UpdateRef(ctx, RefUpdate{Name: u.Name, Old: h, New: c[2], Who: gitjudge.Ann}); err != nil {
			t.Fatalf("the next update: %v", err)
		}
		if got := j.Git("rev-parse", u.Name); got != c[2].String() {
			t.Fatalf("git reads %s", got)
		}
		if got := j.Git("reflog", "-1", "--format=%H", u.Name); got != c[2].String() {
			t.Fatalf("git's reflog ends in %s", got)
		}
		if left := findLocks(t, j.GitDir); left != "" {
			t.Fatalf("a lock is left: %s", left)
		}
	}
	t.Run("existing", func(t *testing.T) {
		gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
			const name = "refs/heads/tape/main" // HEAD has a log too
			j.Git("update-ref", name, c[0].String())
			check(t, fsys, RefUpdate{Name: name, Old: c[0], New: c[1], Who: gitjudge.Ann, Message: "x"})
		})
	})
	t.Run("new", func(t *testing.T) {
		gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
			n++
			check(t, fsys, RefUpdate{Name: fmt.Sprintf("refs/heads/new%d/a/b", n), New: c[1], Who: gitjudge.Ann})
		})
	})
	j.Fsck()
}

func TestDeleteRefFaults(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(3), context.Background()
	const name = "refs/heads/tape/a/b"
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		j.Git("update-ref", name, c[0].String())
		j.Git("update-ref", "refs/heads/tape/other", c[0].String())
		j.Git("pack-refs", "--all")
		j.Git("update-ref", name, c[1].String())
		err := open(j, fsys).UpdateRef(ctx, RefUpdate{Name: name, Old: c[1], Who: gitjudge.Ann})
		after := open(j, nil)
		h, rerr := after.Ref(name)
		if gone := errors.Is(rerr, ErrNotFound); rerr != nil && !gone || !gone && h != c[1] || err == nil && !gone {
			t.Fatalf("deletion said %v, the ref holds %v %v", err, h, rerr)
		}
		if err := after.UpdateRef(ctx, RefUpdate{Name: name, Old: h, New: c[2], Who: gitjudge.Ann}); err != nil {
			t.Fatalf("the next update: %v", err)
		}
		if err := after.UpdateRef(ctx, RefUpdate{Name: name, Old: c[2], Who: gitjudge.Ann}); err != nil {
			t.Fatalf("the next deletion: %v", err)
		}
		if out := j.Git("for-each-ref", "--format=%(refname)"); out != "refs/heads/tape/other" {
			t.Fatalf("git sees %s", out)
		}
		if left := findLocks(t, j.GitDir); left != "" {
			t.Fatalf("a lock is left: %s", left)
		}
	})
	j.Fsck()
}

// findLocks looks for lock files on refs.
func findLocks(t *testing.T, gitDir string) string {
	t.Helper()
	var found []string
	for _, root := range []string{"refs", "packed-refs.lock", "HEAD.lock", "index.lock"} {
		_ = filepath.Walk(filepath.Join(gitDir, root), func(path string, _ os.FileInfo, err error) error {
			if err == nil && strings.HasSuffix(path, ".lock") {
				found = append(found, path)
			}
			return nil
		})
	}
	return strings.Join(found, " ")
}

// A lock of git is waited for. If it is old, nobody has it open, and no git works here, it is taken away at once, as far
// as the system tells (forecast-bio/crosslink#456, avelino/chrondb#86).
func TestGitsLock(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(1), context.Background()
	r, err := Open(j.GitDir, &Options{LockWait: 50 * time.Millisecond})
	j.OK(err)
	const name = "refs/heads/tape/main"
	lock := filepath.Join(j.GitDir, "refs/heads/tape/main.lock")
	j.OK(os.MkdirAll(filepath.Dir(lock), 0o700))
	for _, content := range []string{"", c[0].String() + "\n"} {
		for _, mode := range []os.FileMode{0o600, 0o644, 0o666, 0o660} {
			j.OK(os.WriteFile(lock, []byte(content), mode))
			j.OK(os.Chmod(lock, mode))
			if err := r.UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), lock) {
				t.Fatalf("beside git's lock of mode %v: %v, want ErrBusy with its path", mode, err)
			}
		}
	}
	old := time.Now().Add(-time.Hour)
	j.OK(os.Chtimes(lock, old, old))
	held, err := os.Open(lock)
	j.OK(err)
	if err := r.UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}); !errors.Is(err, gitlock.ErrStale) {
		t.Fatalf("beside git's old lock: %v, want ErrStale", err)
	}
	if removed, err := r.RecoverLocks(ctx); err != nil || len(removed) != 0 {
		t.Fatalf("git's lock was removed: %v, %v", removed, err)
	}
	j.OK(held.Close())
	if runtime.GOOS == "linux" {
		patient := open(j, nil)
		began := time.Now()
		j.OK(patient.UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}))
		if time.Since(began) > DefaultLockWait/2 {
			t.Error("an old lock that nobody holds was waited for")
		}
		j.OK(patient.UpdateRef(ctx, RefUpdate{Name: name, Old: c[0], Who: gitjudge.Ann}))
	}
	j.OK(os.MkdirAll(filepath.Dir(lock), 0o700))
	j.OK(os.WriteFile(lock, nil, 0o600))
	// A wait ends with the context, and succeeds when the lock is released.
	slow := open(j, nil)
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if err := slow.UpdateRef(short, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("with a context that ends first: %v, want context.DeadlineExceeded", err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = os.Remove(lock) })
	j.OK(slow.UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}))
}

func TestRecoverLocks(t *testing.T) {
	j := gitjudge.New(t)
	r, c, ctx := open(j, nil), j.Commits(1), context.Background()
	fsys := &disk.FS{Fault: func(op disk.Op, _ string) error {
		if op == disk.OpSync || op == disk.OpRemove {
			return gitjudge.ErrKilled
		}
		return nil
	}}
	for _, name := range []string{"refs/heads/tape/a", "refs/tags/x"} {
		if err := open(j, fsys).UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}); !errors.Is(err, gitjudge.ErrKilled) {
			t.Fatalf("the update of %s should be killed: %v", name, err)
		}
	}
	if removed, err := r.RecoverLocks(ctx); err != nil || len(removed) != 2 {
		t.Fatalf("removed %v, %v; want two locks", removed, err)
	}
	j.Git("update-ref", "refs/heads/tape/a", c[0].String())
}

func TestSetHead(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(1), context.Background()
	j.Git("update-ref", "refs/heads/tape/b", c[0].String())
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		j.Git("symbolic-ref", "HEAD", "refs/heads/tape/main")
		err := open(j, fsys).SetHead(ctx, j.GitDir, "refs/heads/tape/b")
		after := open(j, nil)
		branch, h, herr := after.Head(j.GitDir)
		if herr != nil || err == nil && (branch != "refs/heads/tape/b" || h != c[0]) {
			t.Fatalf("SetHead returned %v, and HEAD is %s at %s, %v", err, branch, h, herr)
		}
		if err := after.SetHead(ctx, j.GitDir, "refs/heads/tape/b"); err != nil {
			t.Fatal(err)
		}
		if got := j.Git("symbolic-ref", "HEAD"); got != "refs/heads/tape/b" {
			t.Fatalf("git reads HEAD as %s, not refs/heads/tape/b", got)
		}
	})
	j.Git("checkout", "-q", "--detach", c[0].String())
	if branch, h, err := open(j, nil).Head(j.GitDir); branch != "" || h != c[0] || err != nil {
		t.Fatalf("a detached HEAD: branch %q, %s, %v; want no branch and %s", branch, h, err, c[0])
	}
}
