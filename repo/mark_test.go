package repo_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// follower reads a tape from mark to mark.
type follower struct {
	mark    snapshot.Mark
	entries []repo.Entry
}

// catchUp reads what has come since. It reports whether that was the whole tape.
func (f *follower) catchUp(t testing.TB, tp *repo.Tape) (whole bool) {
	t.Helper()
	s, err := query.Since(t.Context(), storetest.InnerTape(tp), f.mark)
	if err != nil {
		t.Fatal(err)
	}
	if s.Whole() {
		f.entries = nil
	}
	for e, err := range s.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		f.entries = append(f.entries, e)
	}
	mark, ok := s.Mark()
	if !ok {
		t.Fatal("there is no mark behind the last entry")
	}
	f.mark = mark
	return s.Whole()
}

// compare fails unless the follower has what the tape holds, positions included.
func (f *follower) compare(t testing.TB, tp *repo.Tape) {
	t.Helper()
	want := storetest.Entries(t, tp, repo.Query{})
	if len(f.entries) != len(want) || f.mark.LastID != int64(len(want)) {
		t.Fatalf("%d entries, marked up to @%d; the tape has %d", len(f.entries), f.mark.LastID, len(want))
	}
	for i := range want {
		got := f.entries[i]
		got.Attached = nil // for the index alone: the text of its artifacts
		if !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("entry %d is\n%+v, want\n%+v", i+1, got, want[i])
		}
	}
}

// TestSoakMarks follows random histories from mark to mark: what was read at each, put
// together, is the tape; and a mark says rightly that nothing came since.
func TestSoakMarks(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	wholes, parts := 0, 0
	rare := func() bool { return wholes == 0 || parts < wholes }
	for round := 0; round < testkit.Size(1, 40) || round < 20 && rare(); round++ {
		// What git does by hand here leaves tags behind, which Verify does not like.
		s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
		if err != nil {
			t.Fatal(err)
		}
		x := &simulation{t: t, rng: rng, m: newModel(), at: testkit.Clock(), s: s}
		x.reopen()
		f := &follower{}
		f.catchUp(t, x.tp)
		marked := storetest.MustPicture(t, x.s)
		for range testkit.Size(30, 300) {
			x.steps = append(x.steps, x.markStep())
			if marked != storetest.MustPicture(t, x.s) && query.Unchanged(storetest.InnerTape(x.tp), f.mark) {
				t.Fatalf("unchanged, says the mark, after %v", x.steps)
			}
			if rng.IntN(3) == 0 {
				continue
			}
			if f.catchUp(t, x.tp) {
				wholes++
			} else {
				parts++
			}
			f.compare(t, x.tp)
			marked = storetest.MustPicture(t, x.s)
			if !query.Unchanged(storetest.InnerTape(x.tp), f.mark) {
				t.Fatalf("changed, says the mark, right after it was made, after %v", x.steps)
			}
			if t.Failed() {
				t.Fatalf("after %v", x.steps)
			}
		}
	}
	t.Logf("%d times the whole tape was read, %d times a part", wholes, parts)
	if rare() {
		t.Errorf("%d times the whole tape was read, %d times a part", wholes, parts)
	}
}

// markStep is a step of the simulation, or one that git makes.
func (x *simulation) markStep() string {
	t, dir := x.t, x.s.Dir()
	switch x.rng.IntN(14) {
	case 0: // back behind the newest commit
		storetest.Checkpoint(t, x.tp)
		if exec.Command("git", "-C", dir, "rev-parse", "--verify", "-q", "HEAD~1").Run() != nil {
			return "nothing"
		}
		storetest.Git(t, dir, "reset", "-q", "--hard", "HEAD~1")
		storetest.Git(t, dir, "clean", "-q", "-f", "-d", layout.AnchorsDir)
		return "git reset"
	case 1: // the same entries in another commit
		storetest.Checkpoint(t, x.tp)
		message := storetest.Git(t, dir, "log", "-1", "--format=%B")
		subject, rest, _ := strings.Cut(message, "\n")
		storetest.Git(t, dir, "-c", "user.name=Test", "-c", "user.email=test@example.org", "commit", "-q", "--amend", "--allow-empty",
			"-m", fmt.Sprintf("%s, amended %d\n%s", subject, x.rng.IntN(1000), rest))
		return "git commit --amend"
	case 2: // lines by hand
		storetest.Checkpoint(t, x.tp)
		list, err := snapshot.ListPhases(dir)
		if err != nil {
			t.Fatal(err)
		}
		phases, err := x.tp.Phases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		files, err := (&snapshot.Snapshot{Dir: dir}).Ends(list[len(list)-1])
		if err != nil {
			t.Fatal(err)
		}
		n := max(1, len(files[0]))
		file, err := os.OpenFile(filepath.Join(dir, layout.AnchorsDir, list[len(list)-1].Folder, layout.SegmentName(0, n)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(file, `{"kind":"message","id":%d,"payload":{"role":"user","content":"by hand"},"date":"2026-11-20"}`+"\n", phases[len(phases)-1].LastID+1)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		return "a line by hand"
	}
	what, err := x.step()
	if err != nil && !strings.HasPrefix(what, "checkpoint") && what != "restore" && what != "handoff" && !strings.HasPrefix(what, "restore") {
		// The model does not know of what git did, the tape does.
		t.Fatalf("%s: %v", what, err)
	}
	return what
}

// TestMarkWithoutWorkTree follows a tape that loses its working tree and gets it back.
func TestMarkWithoutWorkTree(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{}
	look := func(what string, whole bool) {
		t.Helper()
		if query.Unchanged(storetest.InnerTape(tp), f.mark) {
			t.Errorf("%s: unchanged, says the mark", what)
		}
		if got := f.catchUp(t, tp); got != whole {
			t.Errorf("%s: read the whole tape is %v, want %v", what, got, whole)
		}
		f.compare(t, tp)
		if !query.Unchanged(storetest.InnerTape(tp), f.mark) {
			t.Errorf("%s: changed, says the mark", what)
		}
	}
	look("at first", true)
	storetest.Append(t, tp, repo.Message("user", "a"), repo.Event("b", nil))
	look("with a working tree", false)
	storetest.Handoff(t, tp, "next")
	storetest.Append(t, tp, repo.Message("user", "c"))
	storetest.Checkpoint(t, tp)
	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
	look("without one", false)
	storetest.Append(t, tp, repo.Message("user", "d"))
	look("with one again", false)
	storetest.Git(t, s.Dir(), "worktree", "remove", "--force", tp.WorkTree())
	_, err = storetest.Collect(t.Context(), tp, repo.Query{})
	storetest.WantIs(t, err, repo.ErrCorrupt)
	_, err = s.Repair(t.Context())
	storetest.Must(t, err)
	if !f.catchUp(t, tp) {
		t.Error("what was lost with the working tree was not noticed")
	}
	f.compare(t, tp)
}

// TestMarkSeesCutBack cuts a tape back to exactly where a mark is, by hand, while the
// writer's note knows of more: that is a damage, not a tape without news.
func TestMarkSeesCutBack(t *testing.T) {
	t.Parallel()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "kept"))
	storetest.Checkpoint(t, tp)
	f := &follower{}
	f.catchUp(t, tp)
	storetest.Append(t, tp, repo.Message("user", "lost"))
	storetest.Git(t, s.Dir(), "restore", "--", layout.AnchorsDir)
	if query.Unchanged(storetest.InnerTape(tp), f.mark) {
		t.Error("unchanged, says the mark, though an acknowledged entry is gone")
	}
	_, err = query.Since(t.Context(), storetest.InnerTape(tp), f.mark)
	storetest.WantIs(t, err, repo.ErrCorrupt)
}

// TestMarkAndTornLine is about a line without its end: it is not there yet.
func TestMarkAndTornLine(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "whole"))
	file := filepath.Join(s.Dir(), layout.AnchorsDir, "001_session-start", "messages.jsonl")
	good := storetest.ReadFile(t, file)
	storetest.WriteFile(t, file, append(good, `{"id":3,"kind":"mess`...))
	f := &follower{}
	f.catchUp(t, tp)
	f.compare(t, tp)
	if len(f.entries) != 2 {
		t.Errorf("%d entries, want 2", len(f.entries))
	}
	storetest.WriteFile(t, file, append(good, `{"id":3,"kind":"message","payload":{"role":"user","content":"now whole"},"date":"2026-11-20"}`+"\n"...))
	if f.catchUp(t, tp) {
		t.Error("the whole tape was read again")
	}
	f.compare(t, tp)
	storetest.Append(t, tp, repo.Event("e", nil))
	f.catchUp(t, tp)
	f.compare(t, tp)
}

// TestReader reads entries back by their positions, from files and from git; positions
// of nothing are errors, whatever they are.
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
