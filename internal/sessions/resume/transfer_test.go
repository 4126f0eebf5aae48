package resume

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/testkit"
	"tape/repo"
)

// writers returns the formats that sessions can be written in, changed so that none needs its agent's program.
func writers(home string) (out []*record.Format) {
	for _, f := range importer.All() {
		if f.Writer == nil {
			continue
		}
		own, w := *f, *f.Writer
		if own.Writer = &w; w.Import != nil {
			w.Import = nil
			w.Files = func(user record.Where, s *record.Session) ([]record.File, error) {
				files, err := f.Writer.Files(user, s)
				files[0].Path = filepath.Join(home, files[0].Path)
				return files, err
			}
		}
		out = append(out, &own)
	}
	return out
}

func newStore(t *testing.T) *repo.Store {
	t.Helper()
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// talk puts a random conversation onto a tape: texts, pictures, calls side by side, results late or missing.
func talk(t *testing.T, s *repo.Store, seed uint64) *repo.Tape {
	t.Helper()
	tape, err := s.CreateTape(t.Context(), "talk")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	texts := []string{"Fix it", "  two\n\nparagraphs ", "Äpfel 苹果 🍎 <b>", `{"json": "quoted"}`, "/not a command", "a\u2028b\tc", strings.Repeat("long ", 5000)}
	text := func() string { return texts[rng.IntN(len(texts))] + fmt.Sprint(rng.IntN(100)) }
	add := func(d repo.Draft) {
		if _, err := tape.Append(t.Context(), nil, d); err != nil {
			t.Fatal(err)
		}
	}
	for turn := range 6 {
		if rng.IntN(3) == 0 {
			add(repo.Draft{Kind: repo.KindMessage, Payload: raw(t, map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "text", "text": text()},
				map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png", "data": "aGk="}},
			}})})
		} else {
			add(repo.Message("user", text()))
		}
		for step := range rng.IntN(4) {
			if rng.IntN(2) == 0 {
				add(repo.Message("assistant", text()))
			}
			var calls, results []any
			var ids, failed []string
			for i := range 1 + rng.IntN(3) {
				id := fmt.Sprintf("c%d_%d_%d", turn, step, i)
				calls = append(calls, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "Bash", "arguments": string(raw(t, map[string]any{"command": text(), "n": i}))}})
				if rng.IntN(8) > 0 {
					results, ids = append(results, text()), append(ids, id)
				}
				if len(ids) > 0 && ids[len(ids)-1] == id && rng.IntN(4) == 0 {
					failed = append(failed, id)
				}
			}
			add(repo.Draft{Kind: repo.KindToolCall, Payload: raw(t, map[string]any{"calls": calls})})
			add(repo.Draft{Kind: repo.KindEvent, Payload: raw(t, map[string]any{"name": "thinking", "data": map[string]any{"thinking": "hm", "signature": "s"}})})
			if results != nil {
				add(repo.Draft{Kind: repo.KindToolResult, Payload: raw(t, map[string]any{"results": results}), Meta: raw(t, map[string]any{"call_ids": ids, "is_error": failed})})
			}
		}
		if rng.IntN(4) > 0 {
			add(repo.Message("assistant", text()))
		}
	}
	return tape
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func user(home string) record.Where {
	return record.Where{Home: home, Getenv: func(string) string { return "" }}
}

func importInto(t *testing.T, s *repo.Store, file string) (res importer.Result) {
	t.Helper()
	var failed error
	b := importer.NewBatch(s, "test", importer.OpenFile,
		func(r importer.Result, err error) error { res, failed = r, err; return nil })
	defer b.Close()
	if err := b.File(t.Context(), file, importer.Options{Format: importer.Auto}); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(t.Context()); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return res
}

// TestRoundTrip: each agent's own importer reads what was written as the same messages, calls and results. The
// workspace that wrote it knows it already, and adds to the same tape what the agent adds.
func TestRoundTrip(t *testing.T) {
	home := t.TempDir()
	for _, f := range writers(home) {
		for seed := range uint64(testkit.Size(3, 20)) {
			t.Run(fmt.Sprint(f.Name, seed), func(t *testing.T) {
				s := newStore(t)
				tape := talk(t, s, seed)
				want, _, err := conversation(t.Context(), tape, "")
				if err != nil {
					t.Fatal(err)
				}
				now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
				done, err := WriteAs(t.Context(), tape, f, WriteOptions{Dir: "/home/dev/shop", User: user(home), Now: now})
				if err != nil {
					t.Fatal(err)
				}
				if st, err := os.Stat(done.File); err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("the transcript is not a file for the user alone: %v, %v", st, err)
				}
				if res := importInto(t, s, done.File); res.Tape != tape.Name() || res.Imported != 0 || res.Format != f.Name {
					t.Errorf("the import into the workspace that wrote it is %+v, not nothing new on tape %s", res, tape.Name())
				}
				other := newStore(t)
				res := importInto(t, other, done.File)
				same(t, f, read(t, other, res.Tape), want)

				more := []record.WrittenMessage{{Blocks: []record.Block{{Text: "Go on"}}}, {Model: true, Blocks: []record.Block{{Text: "I go on."}}}}
				goOn(t, f, home, done, append(want, more...), now)
				res = importInto(t, s, done.File)
				if res.Tape != tape.Name() || res.Imported == 0 {
					t.Errorf("the import of what the agent added is %+v, not something new on tape %s", res, tape.Name())
				}
				got, _, err := conversation(t.Context(), tape, "")
				if err != nil {
					t.Fatal(err)
				}
				same(t, f, got, joined(append(want, more...)))
			})
		}
	}
}

// goOn writes a session again with more messages, as if the agent had added them.
func goOn(t *testing.T, f *record.Format, home string, done Written, said []record.WrittenMessage, now time.Time) {
	t.Helper()
	s := &record.Session{ID: done.Session, Dir: "/home/dev/shop", Began: now, Messages: said}
	files, err := f.Writer.Files(user(home), s)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(done.File)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(files[len(files)-1].Data, bytes.TrimSuffix(before, []byte("]}"))) { // where a document ends
		t.Fatal("the longer session does not begin with what was written before")
	}
	if err := os.WriteFile(done.File, files[len(files)-1].Data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// joined joins messages of the same side, which follow each other if the last answer is missing.
func joined(said []record.WrittenMessage) (out []record.WrittenMessage) {
	for _, m := range said {
		if n := len(out); n > 0 && out[n-1].Model == m.Model {
			out[n-1].Blocks = append(out[n-1].Blocks[:len(out[n-1].Blocks):len(out[n-1].Blocks)], m.Blocks...)
			continue
		}
		out = append(out, m)
	}
	return out
}

func read(t *testing.T, s *repo.Store, name string) []record.WrittenMessage {
	t.Helper()
	tape, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	said, _, err := conversation(t.Context(), tape, "")
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func same(t *testing.T, f *record.Format, got, want []record.WrittenMessage) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w record.WrittenMessage
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		g, w = plain(g, f.Name != "codex"), plain(w, f.Name != "codex") // Codex does not store failures
		if !reflect.DeepEqual(g, w) {
			t.Fatalf("message %d of %d and %d:\n%s\nwant\n%s", i, len(got), len(want), record.JSON(g), record.JSON(w))
		}
	}
}

// plain joins neighbouring texts, because some agents store them as one. Without failures, no result has failed.
func plain(m record.WrittenMessage, failures bool) record.WrittenMessage {
	out := record.WrittenMessage{Model: m.Model}
	for _, b := range m.Blocks {
		if b.Result != nil {
			r := *b.Result
			r.Failed = r.Failed && failures
			b.Result = &r
		}
		if n := len(out.Blocks); n > 0 && b.Text != "" && out.Blocks[n-1].Text != "" {
			out.Blocks[n-1].Text += "\n\n" + b.Text
			continue
		}
		out.Blocks = append(out.Blocks, b)
	}
	return out
}

// TestKeepsFiles: a file that exists stays as it is, and no temporary file is left.
func TestKeepsFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := create(record.File{Path: path, Data: []byte("other")})
	if text, _ := os.ReadFile(path); err == nil || string(text) != "mine" {
		t.Errorf("the file is now %s; the error is %v", text, err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("the folder has %v, not one file", list)
	}
}

// TestFrom: if an anchor is named, the session begins there, with the anchor's state.
func TestFrom(t *testing.T) {
	s := newStore(t)
	tape := talk(t, s, 1)
	if _, err := tape.Handoff(t.Context(), repo.Anchor{Name: "half", State: json.RawMessage(`{"summary":"half is done"}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Append(t.Context(), nil, repo.Message("user", "the rest")); err != nil {
		t.Fatal(err)
	}
	for from, most := range map[string]int{"": 1, "half": 1, repo.FirstAnchor: 1000} {
		said, told, err := conversation(t.Context(), tape, from)
		if all := string(record.JSON(said)); err != nil || told.Messages > most || !strings.Contains(all, "half is done") || !strings.Contains(all, "the rest") {
			t.Errorf("from %q: %d messages, not at most %d, or a text is missing: %v", from, told.Messages, most, err)
		}
	}
}

// TestEmpty: a tape without messages is refused before anything is written.
func TestEmpty(t *testing.T) {
	s, home := newStore(t), t.TempDir()
	tape, err := s.CreateTape(t.Context(), "empty")
	if err != nil {
		t.Fatal(err)
	}
	_, err = WriteAs(t.Context(), tape, writers(home)[0], WriteOptions{Dir: "/x", User: user(home), Now: time.Now()})
	if list, _ := os.ReadDir(home); err == nil || len(list) > 0 {
		t.Errorf("written: %v; the error is %v", list, err)
	}
}
