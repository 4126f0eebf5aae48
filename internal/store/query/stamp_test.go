package query_test

import (
	"os"
	"path/filepath"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// Whatever anybody writes to a tape changes its stamp, and nothing else does.
func TestStamp(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp, err := s.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := repo.Open(t.Context(), s.Dir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := again.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Append(t, tp, repo.Message("user", "one"))
	var before string
	for _, step := range []struct {
		what    string
		do      func()
		changes bool
	}{
		{"an entry", func() { storetest.Append(t, tp, repo.Message("user", "two")) }, true},
		{"nothing", func() { storetest.Entries(t, tp, repo.Query{}) }, false},
		{"an entry of somebody else", func() { storetest.Append(t, other, repo.Message("user", "two")) }, true},
		{"several of another kind", func() { storetest.Append(t, other, repo.Event("a", nil), repo.Event("b", nil)) }, true},
		{"a handoff", func() { storetest.Handoff(t, other, "next") }, true},
		{"an entry after it", func() { storetest.Append(t, tp, repo.Message("user", "three")) }, true},
		{"a line by hand, which is not in the journal", func() {
			file := filepath.Join(tp.WorkTree(), "anchors", "002_next", "messages.jsonl")
			data, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, append(data, `{"id":9,"kind":"message","payload":{"role":"user","content":"four"},"meta":{},"date":"2026-01-01T00:00:00.000000+00:00"}`+"\n"...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, true},
		{"another tape", func() {
			if _, err := again.CreateTape(t.Context(), "other"); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a reset", func() {
			if _, err := other.Reset(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		step.do()
		now, last, err := tp.Stamp()
		if err != nil || now == "" {
			t.Fatalf("%s: %q, %v", step.what, now, err)
		}
		if (now != before) != step.changes {
			t.Errorf("%s: the stamp should change: %v; it was\n%s and is\n%s", step.what, step.changes, before, now)
		}
		before = now
		if r := revisionOf(t, tp, ""); r.Last() != int64(len(storetest.Entries(t, tp, repo.Query{}))) || last > r.Last() {
			t.Errorf("%s: the last entry of the revision is %d, of the stamp %d", step.what, r.Last(), last)
		}
	}
}
