package merge_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"tape/internal/text/jsonl"
	"tape/merge"
	"tape/repo"
)

func workspace(t *testing.T) *repo.Tape {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		report, err := s.Verify(t.Context())
		if err == nil && !report.OK {
			t.Error(report.Problems)
		}
	})
	main, err := s.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return main
}

func add(t *testing.T, tp *repo.Tape, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := tp.Append(t.Context(), nil, repo.Message("user", text)); err != nil {
			t.Fatal(err)
		}
	}
}

func fork(t *testing.T, tp *repo.Tape, name string) *repo.Tape {
	t.Helper()
	f, err := tp.Fork(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// texts returns a tape's messages, with their ids and origins.
func texts(t *testing.T, tp *repo.Tape) string {
	t.Helper()
	out := ""
	for e, err := range tp.Entries(t.Context(), repo.Query{Kinds: []string{repo.KindMessage}}) {
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%d %s", e.ID, jsonl.GetString(e.Payload, "content"))
		if origin := jsonl.Get(e.Meta, "origin"); origin != nil {
			out += " " + string(origin)
		}
		out += "\n"
	}
	return out
}

func TestBack(t *testing.T) {
	main := workspace(t)
	add(t, main, "one")
	f := fork(t, main, "x")
	add(t, f, "two", "three")
	if _, err := f.Handoff(t.Context(), repo.Anchor{Name: "next"}); err != nil {
		t.Fatal(err)
	}
	add(t, main, "ours")
	r, err := merge.Back(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	commit := r.Commit
	if r.Commit = ""; r != (merge.Result{Merged: 3, FirstID: 4, LastID: 6, Anchors: 1, Into: "main", Closed: true}) || len(commit) != 40 {
		t.Errorf("got %+v with the commit %q, want 3 entries merged and the fork closed", r, commit)
	}
	want := "2 one\n3 ours\n" + `4 two {"tape":"main","fork":"x","id":3}` + "\n" + `5 three {"tape":"main","fork":"x","id":4}` + "\n"
	if got := texts(t, main); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := main.Store().Tape(t.Context(), "main/x"); err == nil {
		t.Error("the fork is still open")
	}
}

// A fork that is kept can be merged again, with its new entries only.
func TestBackKeep(t *testing.T) {
	main := workspace(t)
	f := fork(t, main, "x")
	for i, want := range []merge.Result{{Merged: 1, FirstID: 2, LastID: 2, Into: "main"}, {Merged: 1, FirstID: 3, LastID: 3, Into: "main"}} {
		add(t, f, fmt.Sprint("text ", i))
		r, err := merge.BackWith(t.Context(), f, merge.Options{Keep: true})
		if r.Commit = ""; r != want || err != nil {
			t.Errorf("got %+v, %v, want %+v", r, err, want)
		}
	}
	r, err := merge.BackWith(t.Context(), f, merge.Options{Keep: true})
	if r != (merge.Result{Into: "main"}) || err != nil {
		t.Errorf("got %+v, %v, want no entries merged", r, err)
	}
}

func TestBackSummary(t *testing.T) {
	main := workspace(t)
	f := fork(t, main, "x")
	add(t, f, "a", "b", "c")
	r, err := merge.BackWith(t.Context(), f, merge.Options{Summary: "abc"})
	if err != nil || r.Merged != 1 || !r.Closed {
		t.Fatalf("got %+v, %v, want one entry merged and the fork closed", r, err)
	}
	closed, err := main.ClosedForks(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Status != repo.ForkSummarized || closed[0].Into != r.Commit {
		t.Fatalf("closed forks %+v, %v, want one that is summarized in %s", closed, err, r.Commit)
	}
	want := fmt.Sprintf("2 abc {\"tape\":\"main\",\"fork\":\"x\",\"commit\":%q,\"entries\":3}\n", closed[0].Commit)
	if got := texts(t, main); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
