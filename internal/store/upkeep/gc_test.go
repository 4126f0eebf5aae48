package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/upkeep"
	"tape/internal/store/writer"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// A working tree that is completely in git is removed, and the next write creates it again.
func TestGCWorktrees(t *testing.T) {
	s := storetest.New(t, nil)
	main := storetest.Tape(t, s, "main")
	storetest.Append(t, main, repo.Message("user", "one"))
	storetest.Handoff(t, main, "second")
	other, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	storetest.Append(t, other, repo.Message("user", "in other"), repo.Event("step", nil))
	storetest.Checkpoint(t, other)
	fork, err := main.Fork(t.Context(), "x")
	storetest.Must(t, err)
	storetest.Append(t, fork, repo.Message("user", "in the fork"))
	storetest.Checkpoint(t, fork)
	before, inFork := storetest.Picture(t, s), storetest.Lines(storetest.Entries(t, fork, repo.Query{}))

	if r := storetest.GC(t, s, &repo.GCOptions{WorktreesOnly: true}); len(r.Worktrees)+len(r.Kept) > 0 {
		t.Errorf("recently written working trees were handled as idle: %+v", r)
	}
	r := storetest.GC(t, s, &repo.GCOptions{WorktreesOnly: true, Idle: -1})
	if got := gcNames(r.Worktrees); !slices.Equal(got, []string{"main/x", "other"}) || len(r.Kept) > 0 || r.Before <= r.After {
		t.Errorf("gc: %+v, want main/x and other removed, none kept, and less disk space used", r)
	}
	for _, tp := range []*repo.Tape{other, fork} {
		if _, err := os.Stat(storetest.InnerTape(tp).TreeDir()); !errors.Is(err, os.ErrNotExist) || tp.WorkTree() != "" {
			t.Errorf("the working tree of %s is still there: %v", tp.Name(), err)
		}
	}
	if main.WorkTree() != s.Dir() {
		t.Error("the current tape has lost its working tree")
	}
	if out := storetest.Git(t, s.Dir(), "worktree", "list"); strings.Count(out, "\n") > 1 {
		t.Errorf("git knows of more than one working tree:\n%s", out)
	}
	if storetest.Picture(t, s) != before || !slices.Equal(storetest.Lines(storetest.Entries(t, fork, repo.Query{})), inFork) {
		t.Error("gc changed what readers see")
	}
	for _, tp := range []*repo.Tape{other, fork} {
		storetest.Append(t, tp, repo.Message("user", "again"))
		storetest.Checkpoint(t, tp)
		storetest.WantClean(t, tp.WorkTree())
	}
	if got := storetest.Lines(storetest.Entries(t, fork, repo.Query{})); !slices.Equal(got[:len(got)-1], inFork) {
		t.Errorf("after an append the fork has %q, want %q and one more", got, inFork)
	}
}

func gcNames(list []upkeep.GCWorktree) []string {
	var out []string
	for _, w := range list {
		out = append(out, w.Tape)
	}
	slices.Sort(out)
	return out
}

// A working tree with anything that is not in git stays.
func TestGCKeeps(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(t *testing.T, s *repo.Store, other *repo.Tape, dir string)
		reason string // "" if nothing is reported
		undo   func(t *testing.T, s *repo.Store, dir string)
	}{
		"an entry that is not committed": {do: func(t *testing.T, _ *repo.Store, other *repo.Tape, _ string) {
			storetest.Append(t, other, repo.Message("user", "loose"))
		}, reason: "not committed"},
		"a file": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			storetest.WriteFile(t, filepath.Join(dir, "NOTES"), []byte("mine"))
		}, reason: "NOTES", undo: func(t *testing.T, _ *repo.Store, dir string) { storetest.Remove(t, filepath.Join(dir, "NOTES")) }},
		"a file that git ignores": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			storetest.WriteFile(t, filepath.Join(dir, "index.db-mine"), []byte("mine"))
		}, reason: "index.db-mine", undo: func(t *testing.T, _ *repo.Store, dir string) {
			storetest.Remove(t, filepath.Join(dir, "index.db-mine"))
		}},
		"a file in a closed phase": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			storetest.WriteFile(t, filepath.Join(dir, "anchors/001_session-start/messages.jsonl~"), []byte("mine"))
		}, reason: "messages.jsonl~", undo: func(t *testing.T, _ *repo.Store, dir string) {
			storetest.Remove(t, filepath.Join(dir, "anchors/001_session-start/messages.jsonl~"))
		}},
		"a change in a closed phase": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			file := filepath.Join(dir, "anchors/001_session-start/messages.jsonl")
			storetest.WriteFile(t, file, []byte(strings.Replace(string(storetest.ReadFile(t, file)), "first", "FIRST", 1)))
		}, reason: "messages.jsonl is not as it was committed", undo: restoreAll},
		"a file that somebody took away": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			storetest.Remove(t, filepath.Join(dir, "anchors/001_session-start/messages.jsonl"))
		}, reason: "was removed", undo: restoreAll},
		"something staged": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			file := filepath.Join(dir, "tape.json")
			was := storetest.ReadFile(t, file)
			storetest.WriteFile(t, file, append(slices.Clone(was), ' '))
			storetest.Git(t, dir, "add", "tape.json")
			storetest.WriteFile(t, file, was)
		}, reason: "tape.json is staged", undo: restoreAll},
		"a lock of git's": {do: func(t *testing.T, _ *repo.Store, _ *repo.Tape, dir string) {
			storetest.Git(t, dir, "worktree", "lock", dir)
		}, reason: "locked"},
		"a place of its owner's": {do: func(t *testing.T, s *repo.Store, _ *repo.Tape, dir string) {
			storetest.Git(t, dir, "worktree", "move", dir, filepath.Join(filepath.Dir(s.Dir()), "mine"))
		}},
		"being the current one": {do: func(t *testing.T, s *repo.Store, _ *repo.Tape, _ string) {
			if _, err := s.Switch(t.Context(), "other"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t, nil)
			other, err := s.CreateTape(t.Context(), "other")
			storetest.Must(t, err)
			storetest.Append(t, other, repo.Message("user", "first"))
			storetest.Handoff(t, other, "second")
			dir := other.WorkTree()
			c.do(t, s, other, dir)
			files := filesBelow(t, s.Dir())
			r := storetest.GC(t, s, &repo.GCOptions{Idle: -1, WorktreesOnly: true})
			if len(r.Worktrees) > 0 || (c.reason == "") != (len(r.Kept) == 0) || c.reason != "" && !strings.Contains(r.Kept[0].Reason, c.reason) {
				t.Errorf("gc: %+v, want the working tree kept with the reason %q", r, c.reason)
			}
			if got := filesBelow(t, s.Dir()); got != files {
				t.Errorf("gc changed the files from\n%s\nto\n%s", files, got)
			}
			if c.undo != nil {
				c.undo(t, s, dir)
			}
		})
	}
}

func restoreAll(t *testing.T, _ *repo.Store, dir string) {
	storetest.Git(t, dir, "reset", "-q", "--hard")
}

// filesBelow lists a workspace's files outside of .git with their sizes.
func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == layout.GitDirName {
			return filepath.SkipDir
		}
		if st, err := d.Info(); err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path, st.Size())
		}
		return nil
	})
	storetest.Must(t, err)
	return b.String()
}

// A working tree is idle if it has not been written to for a day.
func TestGCIdle(t *testing.T) {
	s := storetest.New(t, nil)
	other, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	storetest.Append(t, other, repo.Message("user", "first"))
	storetest.Checkpoint(t, other)
	later, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Now: func() time.Time { return time.Now().Add(23 * time.Hour) }})
	storetest.Must(t, err)
	if r := storetest.GC(t, later, &repo.GCOptions{WorktreesOnly: true}); len(r.Worktrees) > 0 {
		t.Errorf("within a day, gc removed %+v", r.Worktrees)
	}
	if later, err = repo.Open(t.Context(), s.Dir(), &repo.Options{Now: func() time.Time { return time.Now().Add(25 * time.Hour) }}); err != nil {
		t.Fatal(err)
	}
	if r := storetest.GC(t, later, &repo.GCOptions{WorktreesOnly: true}); len(r.Worktrees) != 1 {
		t.Errorf("after a day, gc removed %+v, want one working tree", r.Worktrees)
	}
}

// While somebody writes to a tape its working tree stays.
func TestGCBesideWriter(t *testing.T) {
	s := storetest.New(t, nil)
	other, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	tx, err := writer.Begin(t.Context(), storetest.InnerTape(other))
	storetest.Must(t, err)
	if _, err := tx.AppendEntry(t.Context(), repo.Message("user", "under way")); err != nil {
		t.Fatal(err)
	}
	if r := storetest.GC(t, storetest.Reopen(t, s.Dir()), &repo.GCOptions{WorktreesOnly: true, Idle: -1}); len(r.Worktrees) > 0 || len(r.Kept) != 1 {
		t.Errorf("gc beside a writer: %+v, want the working tree kept", r)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Entries(t, other, repo.Query{}); len(got) != 2 {
		t.Errorf("the tape has %d entries, want 2", len(got))
	}
}

// Somebody who writes to a tape whose working tree is removed over and over loses nothing and gets no error.
func TestGCAgainAndAgain(t *testing.T) {
	s := storetest.New(t, nil)
	other, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	const times = 5
	var gone, added atomic.Int64
	done := make(chan error, 1)
	go func() {
		var err error
		for gone.Load() < times && err == nil {
			if _, err = other.Append(context.Background(), nil, repo.Event("step", nil)); err == nil {
				added.Add(1)
				_, _, err = other.Checkpoint(context.Background())
			}
			testkit.Pause(time.Millisecond) // in which the working tree is clean
		}
		done <- err
	}()
	collector := storetest.Reopen(t, s.Dir())
	for gone.Load() < times && len(done) == 0 {
		r, err := collector.GC(t.Context(), &repo.GCOptions{Idle: -1, WorktreesOnly: true})
		if err != nil {
			t.Error(err)
			gone.Store(times)
		}
		gone.Add(int64(len(r.Worktrees)))
	}
	storetest.Must(t, <-done)
	if got := storetest.Entries(t, other, repo.Query{}); int64(len(got)) != added.Load()+1 {
		t.Errorf("the tape has %d entries, want %d", len(got), added.Load()+1)
	}
}

// A GC interrupted at any step leaves a complete workspace, and the next writer continues without a warning.
func TestGCCutOff(t *testing.T) {
	for n := 1; ; n++ {
		s := storetest.New(t, nil)
		other, err := s.CreateTape(t.Context(), "other")
		storetest.Must(t, err)
		storetest.Append(t, other, repo.Message("user", "first"))
		storetest.Handoff(t, other, "second")
		before := storetest.Picture(t, s)
		f := &storetest.Faulty{N: n, Gap: 1}
		broken, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Fs: &disk.FS{Fault: f.Fault}})
		storetest.Must(t, err)
		r, err := broken.GC(t.Context(), &repo.GCOptions{WorktreesOnly: true, Idle: -1})
		if !f.Hit() {
			if len(r.Worktrees) != 1 || err != nil || n < 5 {
				t.Fatalf("without a fault at operation %d: %+v, %v; want one working tree removed after at least 5 operations", n, r, err)
			}
			return
		}
		if got := storetest.Picture(t, storetest.Reopen(t, s.Dir())); got != before {
			t.Fatalf("after the failure of %v readers see\n%s\nwant\n%s", f.Log, got, before)
		}
		var said []string
		again, err := repo.Open(t.Context(), s.Dir(), &repo.Options{Warn: func(m string) { said = append(said, m) }})
		storetest.Must(t, err)
		storetest.Append(t, storetest.Tape(t, again, "other"), repo.Message("user", "next"))
		if len(said) > 0 {
			t.Errorf("after the failure of %v the next write warns: %q", f.Log, said)
		}
		storetest.Checkpoint(t, storetest.Tape(t, again, "other"))
		storetest.WantClean(t, storetest.Tape(t, again, "other").WorkTree())
	}
}

// GC removes what killed processes left, and packs the repository. Forks, archives and commits that only a reflog names
// are not lost.
func TestGCPacks(t *testing.T) {
	s := storetest.New(t, nil)
	main := storetest.Tape(t, s, "main")
	for i := range 20 {
		storetest.Append(t, main, storetest.Big(1000, fmt.Sprint(i)))
		storetest.Checkpoint(t, main)
	}
	fork, err := main.Fork(t.Context(), "x")
	storetest.Must(t, err)
	storetest.Append(t, fork, repo.Message("user", "in the fork"))
	commit := storetest.Checkpoint(t, fork)
	storetest.Must(t, fork.Discard(t.Context()))
	if _, err := main.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-48 * time.Hour)
	torn := filepath.Join(s.Dir(), disk.TempPrefix+"1")
	fresh := filepath.Join(s.Dir(), disk.TempPrefix+"2")
	lock := filepath.Join(s.Dir(), ".git/refs/heads/tape/main.lock")
	for _, file := range []string{torn, fresh, lock} {
		storetest.WriteFile(t, file, []byte("{"))
	}
	storetest.Must(t, errors.Join(os.Chtimes(torn, old, old), os.Chmod(lock, 0o400)))
	var steps []string
	r := storetest.GC(t, s, &repo.GCOptions{Step: func(what string) { steps = append(steps, what) }})
	if r.Temporary != 1 || !slices.Equal(r.Locks, []string{lock}) || r.After >= r.Before || !slices.Contains(steps, "packing") {
		t.Errorf("gc: %+v with the steps %q, want one temporary file and %s removed, and less disk space used", r, steps, lock)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("gc removed a new temporary file, which may still be written to")
	}
	storetest.Remove(t, fresh)
	if packs, err := filepath.Glob(filepath.Join(s.Dir(), ".git/objects/pack/*.pack")); len(packs) != 1 || err != nil {
		t.Errorf("packs are %q, %v; want one", packs, err)
	}
	storetest.Git(t, s.Dir(), "cat-file", "-e", commit)
	if _, _, err := main.Restore(t.Context(), repo.Latest); err != nil {
		t.Error(err)
	}
	if got := storetest.Entries(t, main, repo.Query{}); len(got) != 21 {
		t.Errorf("the restored tape has %d entries, want 21", len(got))
	}
}

func TestGCInterrupted(t *testing.T) {
	s := storetest.New(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.GC(ctx, &repo.GCOptions{Step: func(what string) {
		if what == "packing" {
			cancel()
		}
	}})
	storetest.WantIs(t, err, context.Canceled)
}

// Tags of a closed fork that stayed because closing was interrupted are removed. Tags of a fork that is not known to be
// closed stay.
func TestGCForkTags(t *testing.T) {
	s := storetest.New(t, nil)
	main := storetest.Tape(t, s, "main")
	storetest.Append(t, main, repo.Message("user", "one"))
	tags := func() []string { return strings.Fields(storetest.Git(t, s.Dir(), "tag", "--list", "*/003_*")) }
	var made [2]string
	for i, name := range []string{"closed", "elsewhere"} {
		f := storetest.Fork(t, main, name, "")
		storetest.Handoff(t, f, "planned")
		storetest.Handoff(t, f, "done")
		made[i] = tags()[0]
		at := storetest.Git(t, s.Dir(), "rev-parse", "refs/tags/"+made[i])
		storetest.Must(t, f.Discard(t.Context()))
		storetest.Git(t, s.Dir(), "update-ref", "refs/tags/"+made[i], at)
		if i == 0 {
			storetest.GC(t, s, &repo.GCOptions{Idle: -1})
			if left := tags(); len(left) > 0 {
				t.Fatalf("the tags %q of the closed fork are left", left)
			}
		}
	}
	storetest.Git(t, s.Dir(), "reflog", "expire", "--expire=now", "--all")
	storetest.GC(t, s, &repo.GCOptions{Idle: -1})
	if left := tags(); !slices.Equal(left, made[1:]) {
		t.Errorf("the tags are %q, want %q", left, made[1:])
	}
}

// The sizes in a report are measured in the same way before and after: never larger afterwards, and equal if there was
// nothing to do.
func TestGCReportsSizes(t *testing.T) {
	s := storetest.New(t, nil)
	main := storetest.Tape(t, s, "main")
	for i := range 4 {
		storetest.Append(t, main, repo.Message("user", fmt.Sprint("message ", i)))
		storetest.Handoff(t, main, fmt.Sprint("phase ", i))
		first, again := storetest.GC(t, s, nil), storetest.GC(t, s, nil)
		if first.After >= first.Before || again.Before != first.After || again.After != again.Before {
			t.Errorf("round %d: the first gc goes from %d to %d bytes, the second from %d to %d; want fewer, then no change", i, first.Before, first.After, again.Before, again.After)
		}
	}
}
