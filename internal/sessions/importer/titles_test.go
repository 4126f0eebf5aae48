package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// resumed is a session of Claude Code that was resumed, with the titles that the program had made.
var resumed = []string{
	`{"type":"summary","summary":"Of another session","leafUuid":"elsewhere"}`,
	userLn("u1", "", `"add retries"`),
	answerLn("a1", "u1", "m1", `{"type":"text","text":"done"}`),
	`{"type":"summary","summary":"Retries for the upload","leafUuid":"a1"}`,
	userLn("u2", "a1", `"now the tests"`),
	answerLn("a2", "u2", "m2", `{"type":"text","text":"done, too"}`),
}

// aboutTape returns what a tape's entries say about it.
func aboutTape(t *testing.T, s *repo.Store, name string) (a about.Tape) {
	t.Helper()
	tape, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range tape.Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		a.Add(e)
	}
	return a
}

// TestTitleIsNoAnchor: a title of Claude Code names the session, and is not an anchor. Titles of other sessions in the
// file do not count, even while it is recorded live.
func TestTitleIsNoAnchor(t *testing.T) {
	var stages []stage
	for n := range resumed {
		stages = append(stages, stage{b: lines(resumed[:n+1]...), Live: Live{TurnEnded: true}})
	}
	follows(t, ClaudeCode, "s.jsonl", stages)
	s := testStore(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, lines(resumed...), 0o644); err != nil {
		t.Fatal(err)
	}
	mustImport(t, s, path, Options{})
	if a := aboutTape(t, s, "s-1"); a.Title != "Retries for the upload" || a.Anchors != 1 {
		t.Errorf("%+v, want the title Retries for the upload and one anchor", a)
	}
}

// TestFormerTitleAnchors: a former version made anchors of titles. Its tapes keep these, and an import adds to them.
func TestFormerTitleAnchors(t *testing.T) {
	once, s := testStore(t), testStore(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, lines(resumed[:4]...), 0o644); err != nil {
		t.Fatal(err)
	}
	mustImport(t, once, path, Options{})
	tape, err := s.CreateTape(t.Context(), "s-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range tapeLines(t, once, "s-1")[1:] {
		e, err := jsonl.ParseDraft([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		title := jsonl.GetString(e.Payload, "data", "title") + jsonl.GetString(e.Payload, "data", "summary")
		if title == "" {
			_, err = tape.Append(t.Context(), nil, repo.Draft{Kind: e.Kind, Payload: e.Payload, Meta: e.Meta, Date: e.Date})
		} else {
			_, err = tape.Handoff(t.Context(), repo.Anchor{Name: title, State: []byte(`{"summary":"` + title + `","leaf":"x"}`), Meta: e.Meta, Date: e.Date})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, lines(resumed...), 0o644); err != nil {
		t.Fatal(err)
	}
	mustImport(t, once, path, Options{})
	mustImport(t, s, path, Options{})
	got, want := tapeLines(t, s, "s-1"), tapeLines(t, once, "s-1")
	if len(got) != len(want) || strings.Count(strings.Join(got, ""), `"kind":"anchor"`) != 3 {
		t.Errorf("%d entries, want %d:\n%s", len(got), len(want), strings.Join(got, ""))
	}
	if a := aboutTape(t, s, "s-1"); a.Title != "Retries for the upload" {
		t.Errorf("%+v, want the title Retries for the upload", a)
	}
}
