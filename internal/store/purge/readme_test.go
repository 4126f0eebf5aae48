package purge_test

import (
	"os"
	"path/filepath"
	"strings"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/store/writer"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"
)

// README.md shows the first request. If a purge takes that out whole, it also goes from README.md, even if the purge
// was interrupted and another command finishes it from the record.
func TestPurgeWholeInterrupted(t *testing.T) {
	const text = "the code word is platypus"
	dir, kept := filepath.Join(t.TempDir(), "ws"), filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	storetest.Must(t, err)
	first := layout.Entry{ID: 2, Kind: layout.KindMessage, Payload: []byte(`{"role":"user","content":"` + text + `"}`), Meta: []byte("{}")}
	var facts about.Tape
	facts.Add(first)
	_, err = writer.CreateTapeFrom(t.Context(), storetest.Inner(s), "asked", writer.TapeStart{First: repo.Anchor{Name: repo.FirstAnchor}, Readme: about.Readme(facts, first, secrets.New())})
	storetest.Must(t, err)
	storetest.Append(t, storetest.Tape(t, s, "asked"), repo.Message("user", text), repo.Message("assistant", "so be it"))
	storetest.Checkpoint(t, storetest.Tape(t, s, "asked"))
	if readme := storetest.Git(t, dir, "show", "tape/asked:README.md"); !strings.Contains(readme, text) {
		t.Fatalf("README.md does not show the request: %s", readme)
	}
	storetest.CopyTree(t, dir, kept)

	finished := 0
	for n := 1; ; n += testkit.Size(20, 3) {
		storetest.Must(t, os.RemoveAll(dir))
		storetest.CopyTree(t, kept, dir)
		f := &storetest.Faulty{N: n, Gap: 1}
		_, err := storetest.Tape(t, storetest.OpenFaulty(t, dir, f), "asked").Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}, Whole: true})
		if !f.Hit() {
			storetest.Must(t, err)
			storetest.WantNowhere(t, dir, "platypus")
			break
		}
		again := storetest.OpenFaulty(t, dir, nil)
		if !storetest.IsPurging(t, again) {
			continue // it had not begun to change anything, or was over
		}
		finished++
		storetest.Must(t, purge.FinishPurge(t.Context(), storetest.Inner(again), nil))
		storetest.WantNowhere(t, dir, "platypus")
		if t.Failed() {
			t.Fatalf("operation %d failed: %v", n, f.Log)
		}
	}
	if finished == 0 {
		t.Error("no purge was interrupted")
	}
}
