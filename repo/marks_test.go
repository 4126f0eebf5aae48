package repo_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestSoakMarks follows random histories from mark to mark. The entries that are read at each mark add up
// to the tape, and Unchanged is true only if nothing was added.
func TestSoakMarks(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	wholes, parts := 0, 0
	tooFew := func() bool { return wholes == 0 || parts < wholes }
	for round := 0; round < testkit.Size(1, 40) || round < 20 && tooFew(); round++ {
		// Changes by git leave tags behind. Verify reports them, so storetest.New cannot be used.
		s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
		if err != nil {
			t.Fatal(err)
		}
		x := &simulation{t: t, rng: rng, m: newModel(), at: testkit.Clock(), s: s}
		x.reopen()
		f := &storetest.Follower{}
		f.CatchUp(t, x.tp)
		marked := storetest.Picture(t, x.s)
		for range testkit.Size(30, 300) {
			x.steps = append(x.steps, x.markStep())
			if marked != storetest.Picture(t, x.s) && query.Unchanged(storetest.InnerTape(x.tp), f.Mark) {
				t.Fatalf("Unchanged is true, but the tape has changed, after %v", x.steps)
			}
			if rng.IntN(3) == 0 {
				continue
			}
			if f.CatchUp(t, x.tp) {
				wholes++
			} else {
				parts++
			}
			f.Compare(t, x.tp)
			marked = storetest.Picture(t, x.s)
			if !query.Unchanged(storetest.InnerTape(x.tp), f.Mark) {
				t.Fatalf("Unchanged is false for a mark that was just made, after %v", x.steps)
			}
			if t.Failed() {
				t.Fatalf("after %v", x.steps)
			}
		}
	}
	t.Logf("%d times the whole tape was read, %d times a part", wholes, parts)
	if tooFew() {
		t.Errorf("the whole tape was read %d times, a part %d times; want each at least once, and parts not less often", wholes, parts)
	}
}

// markStep is a step of the simulation, or a change by git.
func (x *simulation) markStep() string {
	t, dir := x.t, x.s.Dir()
	switch x.rng.IntN(14) {
	case 0: // git goes back to the commit before the newest
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
	case 2: // somebody appends a line to a file
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
	if err != nil && what != "checkpoint" && what != "handoff" && !strings.HasPrefix(what, "restore") {
		// The others may differ from the model, which does not know what git did.
		t.Fatalf("%s: %v", what, err)
	}
	return what
}
