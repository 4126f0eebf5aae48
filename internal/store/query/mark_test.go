package query_test

import (
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestMarkWithoutWorkTree follows a tape that loses its working tree and gets it back.
func TestMarkWithoutWorkTree(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	f := &storetest.Follower{}
	catchUp := func(what string, whole bool) {
		t.Helper()
		if query.Unchanged(storetest.InnerTape(tp), f.Mark) {
			t.Errorf("%s: Unchanged is true before the change is read", what)
		}
		if got := f.CatchUp(t, tp); got != whole {
			t.Errorf("%s: the whole tape was read: %v, want %v", what, got, whole)
		}
		f.Compare(t, tp)
		if !query.Unchanged(storetest.InnerTape(tp), f.Mark) {
			t.Errorf("%s: Unchanged is false after everything was read", what)
		}
	}
	catchUp("at first", true)
	storetest.Append(t, tp, repo.Message("user", "a"), repo.Event("b", nil))
	catchUp("with a working tree", false)
	storetest.Handoff(t, tp, "next")
	storetest.Append(t, tp, repo.Message("user", "c"))
	storetest.Checkpoint(t, tp)
	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
	catchUp("without one", false)
	storetest.Append(t, tp, repo.Message("user", "d"))
	catchUp("with one again", false)
	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
	_, err = storetest.Collect(t.Context(), tp, repo.Query{})
	storetest.WantIs(t, err, repo.ErrCorrupt)
	_, err = s.Repair(t.Context())
	storetest.Must(t, err)
	if !f.CatchUp(t, tp) {
		t.Error("the whole tape was not read again, although entries were lost with the working tree")
	}
	f.Compare(t, tp)
}

// TestMarkSeesCutBack cuts a tape back by hand to exactly where a mark is, although the writer's
// record has more entries. That is damage, not a tape without new entries.
func TestMarkSeesCutBack(t *testing.T) {
	t.Parallel()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "kept"))
	storetest.Checkpoint(t, tp)
	f := &storetest.Follower{}
	f.CatchUp(t, tp)
	storetest.Append(t, tp, repo.Message("user", "lost"))
	storetest.Git(t, s.Dir(), "restore", "--", layout.AnchorsDir)
	if query.Unchanged(storetest.InnerTape(tp), f.Mark) {
		t.Error("Unchanged is true although an acknowledged entry is gone")
	}
	_, err = query.Since(t.Context(), storetest.InnerTape(tp), f.Mark)
	storetest.WantIs(t, err, repo.ErrCorrupt)
}

// TestMarkAndTornLine: an unfinished line does not count yet.
func TestMarkAndTornLine(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "whole"))
	file := filepath.Join(s.Dir(), layout.AnchorsDir, "001_session-start", "messages.jsonl")
	good := storetest.ReadFile(t, file)
	storetest.WriteFile(t, file, append(good, `{"id":3,"kind":"mess`...))
	f := &storetest.Follower{}
	f.CatchUp(t, tp)
	f.Compare(t, tp)
	if len(f.Entries) != 2 {
		t.Errorf("%d entries, want 2", len(f.Entries))
	}
	storetest.WriteFile(t, file, append(good, `{"id":3,"kind":"message","payload":{"role":"user","content":"now whole"},"date":"2026-11-20"}`+"\n"...))
	if f.CatchUp(t, tp) {
		t.Error("the whole tape was read again")
	}
	f.Compare(t, tp)
	storetest.Append(t, tp, repo.Event("e", nil))
	f.CatchUp(t, tp)
	f.Compare(t, tp)
}

// TestReader reads entries back by their positions, from files and from git. Invalid positions are
// errors.
func TestReader(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Append(t, tp, repo.Message("user", "a"), repo.Event("b", nil), storetest.Big(layout.SealSize, "fills a file "), repo.Message("user", "in the next file"))
	storetest.Handoff(t, tp, "next")
	storetest.Append(t, tp, repo.Message("user", "c"))
	storetest.Checkpoint(t, tp)
	for _, disk := range []bool{true, false} {
		if !disk {
			storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
		}
		all := storetest.Entries(t, tp, repo.Query{})
		r, err := query.NewReader(t.Context(), storetest.InnerTape(tp))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, want := range all {
				got, err := r.Entry(want.At, want.Anchor, want.AnchorSeq)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("disk %v: at %+v is %+v, %v; want %+v", disk, want.At, got, err, want)
				}
			}
		}
		good := all[1].At
		for _, change := range []func(at *layout.Position){
			func(at *layout.Position) { at.Offset = -1 },
			func(at *layout.Position) { at.Length = -1 },
			func(at *layout.Position) { at.Length = 0 },
			func(at *layout.Position) { at.Length = math.MaxInt },
			func(at *layout.Position) { at.Offset = math.MaxInt64 },
			func(at *layout.Position) { at.Offset++ },
			func(at *layout.Position) { at.Length-- },
			func(at *layout.Position) { at.File = "messages.9.jsonl" },
			func(at *layout.Position) { at.File = "../../../config.json" },
			func(at *layout.Position) { at.File = "" },
			func(at *layout.Position) { at.Folder = ".." },
			func(at *layout.Position) { at.Folder = "" },
			func(at *layout.Position) { at.Folder = "009_none" },
		} {
			at := good
			change(&at)
			if e, err := r.Entry(at, "session/start", 1); !errors.Is(err, repo.ErrCorrupt) {
				t.Errorf("disk %v: at %+v is %s, %v", disk, at, e.Raw, err)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
