package site_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"tape/internal/show/export"
	"tape/internal/show/site"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// memory is a folder in memory that fails after some writes.
type memory struct {
	files map[string]string
	left  int // writes; negative: any number
}

var errFullDisk = errors.New("no space left on device")

func (m *memory) Read(name string) ([]byte, error) {
	data, ok := m.files[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(data), nil
}

func (m *memory) Size(name string) (int64, error) {
	data, err := m.Read(name)
	return int64(len(data)), err
}

func (m *memory) Write(name string, data []byte) error {
	if m.left == 0 {
		return errFullDisk
	}
	m.left--
	m.files[name] = string(data)
	return nil
}

func (m *memory) Remove(name string) error {
	delete(m.files, name)
	return nil
}

func (m *memory) Sync() error { return nil }

// session makes a session with a number of prompts, each with a call that has a long result.
func session(name string, prompts int) site.Source {
	entries := []repo.Entry{{ID: 1, Kind: repo.KindAnchor, Anchor: repo.FirstAnchor, AnchorSeq: 1, Payload: json.RawMessage(`{"name":"session/start"}`), Meta: json.RawMessage(`{}`)}}
	add := func(kind, payload string) {
		entries = append(entries, repo.Entry{ID: int64(len(entries) + 1), Kind: kind, AnchorSeq: 1, Payload: json.RawMessage(payload), Meta: json.RawMessage(`{}`), Date: "2026-11-20T09:30:00.000000+00:00"})
	}
	text := func(s string) string { return string(jsonl.AppendString(nil, s)) }
	for i := range prompts {
		add(repo.KindMessage, fmt.Sprintf(`{"role":"user","content":%s}`, text(fmt.Sprintf("prompt %d of %s <script>", i, name))))
		add(repo.KindToolCall, fmt.Sprintf(`{"calls":[{"id":"c%d","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"ls\"}"}}]}`, i))
		add(repo.KindToolResult, fmt.Sprintf(`{"results":[%s]}`, text(strings.Repeat("a line of a result\n", 1000))))
		add(repo.KindEvent, `{"name":"tick"}`)
	}
	all := func(yield func(repo.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	prose := func(text string, _ int) string { return "<p>" + strings.ReplaceAll(text, "<", "&lt;") + "</p>" }
	return site.Source{Session: site.Session{Tape: name, Folder: name, State: "1"}, Omitted: func() []string { return nil }, Masked: func() int { return 0 },
		Entries: export.Source{Tape: name, Phases: []repo.Phase{{Seq: 1, Name: repo.FirstAnchor, FirstID: 1}}, Entries: all, Whole: all, Prose: prose}}
}

// publish makes a site of sessions.
func publish(t *testing.T, m *memory, sources ...site.Source) (*site.Site, error) {
	t.Helper()
	s, err := site.Open(m)
	for _, src := range sources {
		if err == nil {
			err = s.Put(t.Context(), src)
		}
	}
	if err == nil {
		err = s.End()
	}
	return s, err
}

// A long session is in pages of limited size, which lead to each other and to whole texts; the list leads to it.
func TestPages(t *testing.T) {
	m := &memory{files: map[string]string{"mine.txt": "stays"}, left: -1}
	if _, err := publish(t, m, session("long", 300), session("short", 1), session("none", 0)); err != nil {
		t.Fatal(err)
	}
	for name, text := range m.files {
		if strings.HasSuffix(name, ".html") && !strings.Contains(name, "whole") && len(text) >= 150_000 {
			t.Errorf("%s has %d bytes, want less than 150,000", name, len(text))
		}
		if strings.Contains(text, "<script>") && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has recorded markup", name)
		}
		if strings.HasSuffix(name, ".html") && strings.Contains(text, `="/`) {
			t.Errorf("%s has links that are not relative", name)
		}
	}
	first := m.files["sessions/long/index.html"]
	for _, part := range []string{`href="2.html"`, `href="1-whole.html#e`, `href="../../style.css"`, "300 events", "prompt 0 of long"} {
		if !strings.Contains(first, part) {
			t.Errorf("the first page lacks %s", part)
		}
	}
	for name, part := range map[string]string{"index.html": `href="sessions/short/index.html"`, "README.md": "(sessions/short/README.md)",
		"sessions/short/README.md": "prompt 0 of short", "search/5.js": "prompt 0 of short", "mine.txt": "stays", "sessions/long/1-whole.html": "a line of a result"} {
		if !strings.Contains(m.files[name], part) {
			t.Errorf("%s lacks %s", name, part)
		}
	}
}

// A subagent's work that is longer than a page is folded on each of its pages.
func TestLongSubagent(t *testing.T) {
	src := session("long", 300)
	inner := src.Entries.Entries
	all := func(yield func(repo.Entry, error) bool) {
		for e, err := range inner {
			if e.ID > 2 {
				e.Meta = json.RawMessage(`{"context":false,"origin":{"fork":"agent-7"}}`)
			}
			if !yield(e, err) {
				return
			}
		}
	}
	src.Entries.Entries, src.Entries.Whole = all, all
	m := &memory{files: map[string]string{}, left: -1}
	if _, err := publish(t, m, src); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "2.html", "2-whole.html"} {
		page := m.files["sessions/long/"+name]
		if strings.Count(page, `<details class="helper">`) != 1 || strings.Count(page, "<details") != strings.Count(page, "</details>") {
			t.Errorf("%s does not fold the subagent once", name)
		}
	}
	if doc := m.files["sessions/long/README.md"]; strings.Count(doc, "<details>") != strings.Count(doc, "</details>") || !strings.Contains(doc, "<b>Subagent</b>") {
		t.Error("the document does not fold the subagent")
	}
}

// After each failed write the next run completes the site, and then there is nothing to write. What is taken out
// leaves nothing.
func TestInterrupted(t *testing.T) {
	whole := &memory{files: map[string]string{}, left: -1}
	if _, err := publish(t, whole, session("one", 2), session("two", 2)); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole.files) {
		m := &memory{files: map[string]string{}, left: n}
		if _, err := publish(t, m, session("one", 2), session("two", 2)); !errors.Is(err, errFullDisk) {
			t.Fatalf("with room for %d writes, want errFullDisk, got %v", n, err)
		}
		m.left = -1
		if _, err := publish(t, m, session("one", 2), session("two", 2)); err != nil {
			t.Fatalf("the run after %d writes: %v", n, err)
		}
		if fmt.Sprint(m.files) != fmt.Sprint(whole.files) {
			t.Errorf("after %d writes the next run did not complete the site", n)
		}
	}
	s, err := publish(t, whole)
	if err != nil || s.Written != 0 || !s.IsComplete("one", "1") || s.IsComplete("one", "2") {
		t.Errorf("publishing nothing wrote %d files, want 0, or the site does not know which sessions are complete (%v)", s.Written, err)
	}
	if _, err := s.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	for name, text := range whole.files {
		if strings.Contains(name, "/one") || strings.Contains(text, "of one") {
			t.Errorf("%s still has the session", name)
		}
	}
	if s, err = site.Open(whole); err != nil || !s.WasRemoved("one") || s.WasRemoved("two") {
		t.Errorf("the site does not know that one was taken out, and two was not (%v)", err)
	}
}

// Files of others stay, and a list that somebody else has written cannot lead out of the site.
func TestOfOthers(t *testing.T) {
	for name, want := range map[string]bool{"index.html": false, "index-2.html": false, "search/a.js": false, "style.css": false, site.ListFile: false, "README.md": true} {
		m := &memory{files: map[string]string{name: "mine"}, left: -1}
		s, err := publish(t, m, session("one", 1))
		if (err == nil) != want || m.files[name] != "mine" {
			t.Errorf("publishing beside somebody's %s: success %v, want %v, and the file must stay (%v)", name, err == nil, want, err)
		}
		if want && (len(s.Skipped()) != 1 || s.Skipped()[0] != name) {
			t.Errorf("Skipped returns %q, want %s", s.Skipped(), name)
		}
	}
	m := &memory{files: map[string]string{site.ListFile: `{"made_by":"made by tape publish","format":1,"sessions":[{"tape":"x","folder":"..","files":{"index.html":1}},{"tape":"y","folder":"y","files":{"../../mine":1}}]}`, "mine": "stays"}, left: -1}
	s, err := site.Open(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Find("x"); ok {
		t.Error("a folder led out of the site")
	}
	if _, err := s.Remove("y"); err != nil || m.files["mine"] != "stays" {
		t.Errorf("a file of somebody else is gone (%v)", err)
	}
}

// A session whose files could not all be written leaves none, and the list names those that were written before.
func TestStopped(t *testing.T) {
	for left := range 12 {
		m := &memory{files: map[string]string{}, left: -1}
		s, err := site.Open(m)
		if err == nil {
			err = s.Put(t.Context(), session("one", 1))
		}
		if err != nil {
			t.Fatal(err)
		}
		m.left = left
		err = s.Put(t.Context(), session("two", 400))
		m.left = -1
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
		for name := range m.files {
			if err != nil && strings.HasPrefix(name, "sessions/two/") {
				t.Errorf("after %d writes, %s is there, and the list does not name it", left, name)
			}
		}
		if !strings.Contains(m.files["index.html"], "sessions/one/") {
			t.Errorf("after %d writes, the list lacks the session that was written", left)
		}
	}
}
