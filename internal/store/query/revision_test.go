package query_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func revisionOf(t testing.TB, tp *repo.Tape, target string) *repo.Revision {
	t.Helper()
	p, err := tp.Store().Revision(t.Context(), tp, target)
	if err != nil {
		t.Fatalf("revision %q: %v", target, err)
	}
	return p
}

func linesFrom(t testing.TB, p *repo.Revision, from int64) []string {
	t.Helper()
	return storetest.Lines(entriesFrom(t, p, from))
}

func entriesFrom(t testing.TB, p *repo.Revision, from int64) []repo.Entry {
	t.Helper()
	var out []repo.Entry
	for e, err := range p.Entries(t.Context(), from) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// A revision has everything up to its target, and nothing later.
func TestRevision(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "two"), repo.Message("assistant", "three"))
	h := storetest.Handoff(t, tp, "plan") // @4
	storetest.Append(t, tp, repo.Message("user", "five"))
	commit := storetest.Checkpoint(t, tp)
	fork, err := tp.Fork(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Append(t, fork, repo.Message("user", "six of the fork"), repo.Message("user", "seven of the fork"))
	storetest.Append(t, tp, repo.Message("user", "six"))
	all := storetest.Lines(storetest.Entries(t, tp, repo.Query{}))
	for _, c := range []struct {
		target string
		last   int64
		tape   string
	}{
		{"", 6, "main"}, {"main", 6, "main"}, {"main/x", 7, "main/x"}, {"x", 7, "main/x"},
		{"plan", 4, "main"}, {"002", 4, "main"}, {"002_plan", 4, "main"}, {"latest", 4, "main"}, {"001", 1, "main"},
		{"@1", 1, "main"}, {"@6", 6, "main"}, {h.Tag, 4, "main"}, {commit, 5, "main"}, {commit[:8], 5, "main"},
		{"tape/main", 5, "main"}, {"refs/heads/tape/main", 5, "main"}, {"fork/main/x", 5, "main/x"}, {"HEAD", 5, "main"},
	} {
		p := revisionOf(t, tp, c.target)
		entries := entriesFrom(t, p, 0)
		if end := entries[len(entries)-1]; end.ID != c.last || end.Tape != c.tape {
			t.Errorf("%q ends with @%d of %s, not with @%d of %s", c.target, end.ID, end.Tape, c.last, c.tape)
		}
		got := storetest.Lines(entries)
		if int64(len(got)) != c.last {
			t.Errorf("%q has %d entries, not %d", c.target, len(got), c.last)
		}
		if n := min(5, len(got)); !slices.Equal(got[:n], all[:n]) {
			t.Errorf("%q does not begin as the tape does", c.target)
		}
		for from := int64(1); from <= c.last+1; from++ {
			if rest := linesFrom(t, p, from); !slices.Equal(rest, got[from-1:]) {
				t.Errorf("%q from @%d on: %d entries, not %d", c.target, from, len(rest), len(got[from-1:]))
			}
		}
		if c.last == 6 && got[5] != all[5] {
			t.Errorf("%q does not have the entry that is not committed", c.target)
		}
	}
	now := revisionOf(t, tp, "")
	storetest.Append(t, tp, repo.Message("user", "later"))
	storetest.Handoff(t, tp, "later")
	if got := linesFrom(t, now, 1); !slices.Equal(got, all) || len(got) != 6 {
		t.Errorf("a revision has grown to %d entries, or changed", len(got))
	}
}

func TestRevisionOfNothing(t *testing.T) {
	tp := storetest.Tape(t, storetest.New(t, nil), "")
	for target, want := range map[string]error{
		"@2": repo.ErrNotFound, "@0": repo.ErrInvalid, "@x": repo.ErrInvalid, "nothing": repo.ErrNotFound, "main/x": repo.ErrNotFound, "0000000": repo.ErrNotFound,
		"refs/heads/x": repo.ErrNotFound, "a..b": repo.ErrNotFound, "\xff": repo.ErrNotFound,
	} {
		if _, err := tp.Store().Revision(t.Context(), tp, target); !errors.Is(err, want) {
			t.Errorf("revision %q says %v, want %v", target, err, want)
		}
	}
}

// Two revisions have in common what CommonWith says. If both are committed, that is everything that they have
// in common.
func TestRevisionsInCommon(t *testing.T) {
	rnd := testkit.Random(t)
	s := storetest.New(t, nil)
	tapes := []*repo.Tape{storetest.Tape(t, s, "")}
	other, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	tapes = append(tapes, other)
	targets := []string{"main", "other"}
	for range testkit.Size(30, 400) {
		tp := tapes[rnd.IntN(len(tapes))]
		switch rnd.IntN(8) {
		case 0:
			targets = append(targets, storetest.Handoff(t, tp, "phase").Tag)
		case 1:
			targets = append(targets, storetest.Checkpoint(t, tp))
		case 2:
			f, err := tp.Fork(t.Context(), fmt.Sprintf("f%d", len(tapes)))
			if err != nil {
				t.Fatal(err)
			}
			tapes, targets = append(tapes, f), append(targets, f.Name())
		case 3:
			storetest.Append(t, tp, repo.Event("long", []byte(`{"x":"`+strings.Repeat("x", layout.SealSize/2)+`"}`)))
		default:
			storetest.Append(t, tp, repo.Message("user", "text"), repo.Event("e", nil))
		}
	}
	for range testkit.Size(20, 500) {
		a := revisionOf(t, tapes[0], targets[rnd.IntN(len(targets))])
		b := revisionOf(t, tapes[0], targets[rnd.IntN(len(targets))])
		common, err := a.CommonWith(b)
		if err != nil {
			t.Fatal(err)
		}
		all, others := linesFrom(t, a, 1), linesFrom(t, b, 1)
		n := int64(0)
		for n < int64(min(len(all), len(others))) && all[n] == others[n] {
			n++
		}
		if common > n {
			t.Errorf("%s and %s have %d entries in common, CommonWith says %d", a.Name(), b.Name(), n, common)
		}
		back, err := b.CommonWith(a)
		if err != nil || back != common {
			t.Errorf("%s has %d entries in common with %s, but %d the other way round, %v", a.Name(), common, b.Name(), back, err)
		}
		if a.V == a.Commit && b.V == b.Commit && common != n {
			t.Errorf("the commits %s and %s have %d entries in common, CommonWith says only %d", a.Name(), b.Name(), n, common)
		}
		if shared, err := a.SharedWith(t.Context(), b); err != nil || shared > n {
			t.Errorf("%s and %s have %d entries in common, SharedWith says %d, %v", a.Name(), b.Name(), n, shared, err)
		}
	}
}

// If somebody edited history, the entries before the edit are common, and everything recorded until then
// still counts as shared.
func TestRevisionsOfEditedHistory(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "two"))
	base := storetest.Checkpoint(t, tp)
	storetest.Append(t, tp, repo.Message("user", "three"), repo.Event("four", nil), repo.Message("user", "five"))
	was := storetest.Checkpoint(t, tp)
	file := filepath.Join(s.Dir(), "anchors", "001_session-start", "messages.jsonl")
	storetest.WriteFile(t, file, bytes.Replace(storetest.ReadFile(t, file), []byte("three"), []byte("drei"), 1))
	storetest.Git(t, s.Dir(), "-c", "user.name=Test", "-c", "user.email=test@example.org", "commit", "-q", "--no-verify", "--amend", "-a", "-m", "by hand")
	a, b := revisionOf(t, tp, was), revisionOf(t, tp, "HEAD")
	if common, err := a.CommonWith(b); common != 2 || err != nil {
		t.Errorf("common up to @%d, want @2, %v", common, err)
	}
	if shared, err := a.SharedWith(t.Context(), b); shared != 2 || err != nil {
		t.Errorf("shared up to @%d, want @2, %v", shared, err)
	}
	if common, err := revisionOf(t, tp, base).CommonWith(b); common != 2 || err != nil {
		t.Errorf("the base is common up to @%d, want @2, %v", common, err)
	}
	storetest.Git(t, s.Dir(), "reset", "-q", "--hard", was)
}
