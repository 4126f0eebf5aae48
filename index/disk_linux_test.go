package index

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// TestFullDisk searches when the disk has no space for an index, or for new entries in the index.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := testkit.SmallDisk(t, 3<<20)
	s, _, err := repo.Init(t.Context(), filepath.Join(disk, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tp := openTape(t, s, "")
	d := &drafter{rng: testkit.Random(t), at: testkit.Clock()}
	var drafts []repo.Draft
	for range 1200 {
		draft := d.draft()
		draft.Meta = nil
		drafts = append(drafts, draft)
	}
	mustAppend(t, tp, append(drafts, repo.Message("user", "the needle"))...)
	ballast := filepath.Join(disk, "ballast")
	fill := func() {
		t.Helper()
		f, err := os.Create(ballast)
		if err != nil {
			t.Fatal(err)
		}
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(what string, inMemory bool, want int64) {
		t.Helper()
		fresh, warned := reopen(t, s.Dir())
		x := testIndex(t, fresh)
		tapes := []*repo.Tape{openTape(t, fresh, "")}
		wantIDs(t, what, mustSearch(t, x, Search{Text: "needle", Tapes: named(tapes...), Exact: true, NoFold: true}).Hits, want)
		if x.memory != inMemory {
			t.Errorf("%s: the index is in memory: %v, want %v", what, x.memory, inMemory)
		}
		if said := strings.Join(warned.take(), "; "); strings.Contains(said, "in memory") != inMemory {
			t.Errorf("%s: the warnings are %q, want one about memory: %v", what, said, inMemory)
		}
		wantNoScratch(t, fresh)
	}
	fill()
	ask("no room for an index", true, 1202)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	ask("with room", false, 1202)
	if _, err := tp.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	drafts[600] = repo.Message("user", "another needle")
	mustAppend(t, tp, drafts...)
	fill()
	ask("no room to catch up", true, 602)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	ask("with room again", false, 602)
	wantSound(t, s.IndexFile())
	storetest.Healthy(t, s.Dir())
}
