package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/store/workspace"
	"tape/internal/testkit"
	"tape/repo"

	"golang.org/x/sync/errgroup"
)

// stage is the content of a file at some time, and how it is imported then.
type stage struct {
	b []byte
	Live
}

// allTapes returns the lines of each tape of a store, by name, without those of "main".
func allTapes(t *testing.T, s *repo.Store) map[string][]string {
	t.Helper()
	tapes, err := s.Tapes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, tape := range tapes {
		if tape.Name() != "main" { // it came with the workspace
			all[tape.Name()] = tapeLines(t, s, tape.Name())
		}
	}
	return all
}

// follows checks that importing a file live while it grows makes the same tapes as one import of the final file, and
// that another import of the final file adds nothing.
func follows(t *testing.T, format, name string, stages []stage) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	live, once := testStore(t), testStore(t)
	for i, st := range append(stages, stage{b: stages[len(stages)-1].b, Live: Live{SessionEnded: true}}) {
		if err := os.WriteFile(path, st.b, 0o644); err != nil {
			t.Fatal(err)
		}
		st.Format = format
		if _, err := Continue(t.Context(), live, path, st.Live); err != nil {
			t.Fatalf("%s: stage %d of %d: %v", name, i, len(stages), err)
		}
	}
	if _, err := importPath(once, path, Options{Format: format}); err != nil {
		t.Fatal(err)
	}
	got, want := allTapes(t, live), allTapes(t, once)
	for tape := range want {
		for i := range max(len(got[tape]), len(want[tape])) {
			g, w := at(got[tape], i), at(want[tape], i)
			if g != w {
				t.Fatalf("%s, %d stages: tape %s, entry %d:\n got %.600s\nwant %.600s", name, len(stages), tape, i+1, g, w)
			}
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d tapes, want %d", name, len(got), len(want))
	}
	if res, err := importPath(live, path, Options{Format: format}); err != nil || res.Imported > 0 {
		t.Fatalf("%s: another import: %+v, %v; want no new entry", name, res, err)
	}
}

func at(ls []string, i int) string {
	if i < len(ls) {
		return ls[i]
	}
	return "(none)"
}

// cuts returns n random stages of a file that grows, also cut in the middle of lines, and the whole file.
func cuts(rng *rand.Rand, b []byte, n int) (stages []stage) {
	sizes := []int{len(b)}
	for range n {
		size := rng.IntN(len(b))
		if rng.IntN(2) == 0 {
			size = strings.LastIndexByte(string(b[:size]), '\n') + 1
		}
		sizes = append(sizes, size)
	}
	slices.Sort(sizes)
	for _, size := range sizes {
		stages = append(stages, stage{b: b[:size]})
	}
	return stages
}

// TestContinue: sessions of current programs give the same tapes whether they are recorded live or imported at once.
func TestContinue(t *testing.T) {
	for _, format := range []string{ClaudeCode, Codex, Gemini, OpenCode} {
		t.Run(format, func(t *testing.T) {
			files := liveFiles(t, format)
			for _, name := range slices.Sorted(maps.Keys(files)) {
				for seed := range uint64(testkit.Size(1, 8)) {
					rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
					follows(t, format, name, cuts(rng, files[name], 1+rng.IntN(12)))
				}
				if format == OpenCode {
					follows(t, format, name, exports(t, files[name]))
				}
			}
			older, _ := filepath.Glob(filepath.Join(fixtures, format, "*"))
			for i, path := range older {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				follows(t, format, filepath.Base(path), cuts(rand.New(rand.NewPCG(1, uint64(i))), b, testkit.Size(1, 9)))
			}
		})
	}
}

// TestContinueAtOnce: hooks that run at the same time, and a person who imports and appends meanwhile,
// neither lose nor repeat an entry.
func TestContinueAtOnce(t *testing.T) {
	l := &long{format: ClaudeCode}
	path := filepath.Join(t.TempDir(), "s-1.jsonl")
	s := testStore(t)
	for range testkit.Size(3, 20) {
		l.turn(2)
		if err := os.WriteFile(path, l.b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				_, err := Continue(t.Context(), s, path, Live{Format: ClaudeCode})
				return err
			})
		}
		g.Go(func() error {
			_, err := importPath(s, path, Options{Format: ClaudeCode})
			return err
		})
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		tape, err := s.Tape(t.Context(), "s-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tape.Append(t.Context(), nil, repo.Draft{Kind: "note", Payload: []byte(`{"text":"by hand"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	once := testStore(t)
	mustImport(t, once, path, Options{Format: ClaudeCode})
	if got, want := identities(t, s, "s-1"), identities(t, once, "s-1"); !maps.Equal(got, want) {
		t.Errorf("the tape has %d keys, want the %d of one import", len(got), len(want))
	}
}

// TestContinueMisfits: a bookmark that is lost, old or damaged, or whose file or tape has changed, costs
// time and nothing else.
func TestContinueMisfits(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, s *repo.Store, mark, old, path string) error{
		"lost": func(_ *testing.T, _ *repo.Store, mark, _, _ string) error { return os.Remove(mark) },
		"damaged": func(_ *testing.T, _ *repo.Store, mark, _, _ string) error {
			return os.WriteFile(mark, []byte(`{"Version":1,`), 0o600)
		},
		"old": func(_ *testing.T, _ *repo.Store, mark, old, _ string) error {
			return os.WriteFile(mark, []byte(old), 0o600)
		},
		"tape removed": func(t *testing.T, s *repo.Store, _, _, _ string) error {
			tape, err := s.Tape(t.Context(), "s-1")
			if err == nil {
				_, err = tape.Reset(t.Context(), false)
			}
			return err
		},
		"file of another session": func(_ *testing.T, _ *repo.Store, _, _, path string) error {
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, bytes.ReplaceAll(b, []byte("ask"), []byte("beg")), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := &long{format: ClaudeCode}
			path := filepath.Join(t.TempDir(), "s-1.jsonl")
			s := testStore(t)
			mark, old := bookmarkPath((*workspace.Store)(s), path), ""
			grow := func() {
				l.turn(3)
				if err := os.WriteFile(path, l.b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			follow := func() {
				if _, err := Continue(t.Context(), s, path, Live{Format: ClaudeCode}); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 {
				raw, _ := os.ReadFile(mark)
				old = string(raw)
				grow()
				follow()
			}
			grow()
			if err := spoil(t, s, mark, old, path); err != nil {
				t.Fatal(err)
			}
			follow()
			once := testStore(t)
			mustImport(t, once, path, Options{Format: ClaudeCode})
			if got, want := identities(t, s, "s-1"), identities(t, once, "s-1"); !maps.Equal(got, want) {
				t.Errorf("the tape has %d keys, want the %d of one import", len(got), len(want))
			}
		})
	}
}

// TestTurns: each turn gets a commit, whose subject is the request and whose body says what was done, whether a session
// is imported at once or recorded while it runs. What a turn gets later goes on under the same subject.
func TestTurns(t *testing.T) {
	first := `{"type":"user","uuid":"u1","sessionId":"s-1","cwd":"/p","timestamp":"2026-11-20T10:00:00Z","message":{"role":"user","content":"fix the upload with ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R of large files, which stops after ten seconds without a word of why"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s-1","cwd":"/p","timestamp":"2026-11-20T10:01:00Z","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/p/up.go","content":"package up\n"}},{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"go test"}}]}}
{"type":"user","uuid":"r1","parentUuid":"a1","sessionId":"s-1","cwd":"/p","timestamp":"2026-11-20T10:01:10Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"tool_result","tool_use_id":"t2","content":"FAIL","is_error":true}]}}
{"type":"user","uuid":"u2","parentUuid":"r1","sessionId":"s-1","cwd":"/p","timestamp":"2026-11-20T10:02:00Z","message":{"role":"user","content":"Tape-Name: x"}}
`
	const more = `{"type":"assistant","uuid":"a2","parentUuid":"u2","sessionId":"s-1","cwd":"/p","timestamp":"2026-11-20T10:03:00Z","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"}]}}
`
	const want = "Tape-Name: x fix the upload with [redacted:github-token] of large files, which… Changed: up.go Failed calls: Bash (1)"
	path := filepath.Join(t.TempDir(), "s-1.jsonl")
	for name, read := range map[string]func(s *repo.Store){
		"import": func(s *repo.Store) { mustImport(t, s, path, Options{Format: ClaudeCode}) },
		"recording": func(s *repo.Store) {
			if _, err := Continue(t.Context(), s, path, Live{Format: ClaudeCode}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		s := testStore(t)
		for _, text := range []string{first, first + more} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			read(s)
		}
		out, err := exec.Command("git", "-C", s.Dir(), "log", "--format=%B", "tape/s-1").Output()
		got := regexp.MustCompile(`(?m)^Tape-(Name: s|Anchor|Entries|Format).*\n`).ReplaceAllString(string(out), "")
		got, _, _ = strings.Cut(got, "start: ")
		got = strings.Join(strings.Fields(got), " ")
		if got = strings.TrimPrefix(got, "continued: Tape-Name: x "); err != nil || got != want {
			t.Errorf("%s: %v, the messages are\n%s\nnot\n%s", name, err, got, want)
		}
	}
}

// TestContinueTakenBack: if a person takes prompts back, or a program writes a line twice or after its children, the
// order may differ from that of one import, but no entry is lost or repeated.
func TestContinueTakenBack(t *testing.T) {
	for seed := range uint64(testkit.Size(2, 40)) {
		b := lines(generate(seed, 40)...)
		rng := rand.New(rand.NewPCG(seed, 3))
		live, once := testStore(t), testStore(t)
		path := filepath.Join(t.TempDir(), "s-1.jsonl")
		stages := cuts(rng, b, 10)
		for i, st := range stages {
			if err := os.WriteFile(path, st.b, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Continue(t.Context(), live, path, Live{Format: ClaudeCode, SessionEnded: i == len(stages)-1}); err != nil {
				t.Fatal(err)
			}
		}
		mustImport(t, once, path, Options{Format: ClaudeCode})
		got, want := identities(t, live, "s-1"), identities(t, once, "s-1")
		if !maps.Equal(got, want) {
			t.Errorf("seed %d: the tape has %d keys, want the %d of one import", seed, len(got), len(want))
		}
	}
}

// TestContinueAnew: what a person takes back after it was recorded leaves the context, as if the file had been imported
// once. A tape with entries of one's own stays as it is.
func TestContinueAnew(t *testing.T) {
	claude := func(uuid, parent, role, text string) string {
		return fmt.Sprintf(`{"parentUuid":%s,"sessionId":"s","cwd":"/w","type":%q,"uuid":%q,"timestamp":"2026-03-01T10:00:01Z","message":{"role":%[2]q,"id":"m%[3]s","stop_reason":"end_turn","content":[{"type":"text","text":%[4]q}]}}`, parent, role, uuid, text)
	}
	codex := func(typ, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:01Z","type":%q,"payload":%s}`, typ, payload)
	}
	codexTurn := func(id string) string {
		return codex("event_msg", `{"type":"task_started","turn_id":"`+id+`"}`) + "\n" + codex("turn_context", `{"turn_id":"`+id+`","cwd":"/w","model":"x"}`) + "\n" +
			codex("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"ask `+id+`"}]}`) + "\n" +
			codex("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"re `+id+`"}]}`) + "\n" +
			codex("event_msg", `{"type":"task_complete","turn_id":"`+id+`"}`)
	}
	gemini := func(id, typ, text string) string {
		return fmt.Sprintf(`{"id":%q,"timestamp":"2026-03-01T10:00:01.000Z","type":%q,"content":[{"text":%q}]}`, id, typ, text)
	}
	pi := func(id, parent, role, text string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`, id, parent, role, text)
	}
	for format, parts := range map[string][2][]string{
		ClaudeCode: {
			{claude("u1", "null", "user", "one"), claude("a1", `"u1"`, "assistant", "1"), claude("u2", `"a1"`, "user", "wrong"), claude("a2", `"u2"`, "assistant", "2")},
			{claude("u3", `"a1"`, "user", "two"), claude("a3", `"u3"`, "assistant", "3")},
		},
		"codex": {
			{codex("session_meta", `{"id":"019f0000-0000-7000-8000-00000000000a","cwd":"/w"}`), codexTurn("1"), codexTurn("2")},
			{codex("event_msg", `{"type":"thread_rolled_back","num_turns":1}`), codexTurn("3")},
		},
		"gemini": {
			{`{"sessionId":"s","projectHash":"h","startTime":"2026-03-01T10:00:00.000Z"}`, gemini("1", "user", "one"), gemini("2", "gemini", "1"), gemini("3", "user", "wrong"), gemini("4", "gemini", "2")},
			{`{"$rewindTo":"3"}`, gemini("5", "user", "two"), gemini("6", "gemini", "3")},
		},
		"pi": {
			{`{"type":"session","version":3,"id":"p","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}`, pi("a", "null", "user", "one"), pi("b", `"a"`, "assistant", "1"), pi("c", `"b"`, "user", "wrong"), pi("d", `"c"`, "assistant", "2")},
			{pi("e", `"b"`, "user", "two"), pi("f", `"e"`, "assistant", "3")},
		},
	} {
		before, after := lines(parts[0]...), lines(append(parts[0], parts[1]...)...)
		path := filepath.Join(t.TempDir(), "s.jsonl")
		live, own, once := testStore(t), testStore(t), testStore(t)
		var tape string
		for i, b := range [][]byte{before, before, after, after} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*repo.Store{live, own} {
				res, err := Continue(t.Context(), s, path, Live{Format: format, TurnEnded: true, SessionEnded: i == 3})
				if err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				tape = res.Tape
			}
			if i == 0 {
				tp, err := own.Tape(t.Context(), tape)
				if err == nil {
					_, err = tp.Append(t.Context(), nil, repo.Message("user", "a note of one's own"))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		mustImport(t, once, path, Options{Format: format})
		if got, want := tapeLines(t, live, tape), tapeLines(t, once, tape); !slices.Equal(got, want) {
			t.Errorf("%s: recorded live:\n%s\nimported once:\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if !strings.Contains(strings.Join(tapeLines(t, own, tape), "\n"), "a note of one's own") {
			t.Errorf("%s: an entry that was not imported is gone", format)
		}
	}
}

// exports returns what opencode would have exported of a session while it grew.
func exports(t *testing.T, b []byte) (stages []stage) {
	var doc struct {
		Info     json.RawMessage   `json:"info"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	messages := doc.Messages
	for n := range messages {
		doc.Messages = messages[:n]
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(doc); err != nil {
			t.Fatal(err)
		}
		stages = append(stages, stage{b: out.Bytes()})
	}
	return append(stages, stage{b: b})
}

// TestContinueAtHooks: as TestContinue, with the file as it was at each hook of a real session. A session that has
// ended may go on.
func TestContinueAtHooks(t *testing.T) {
	for _, format := range []string{ClaudeCode, Codex, Gemini} {
		t.Run(format, func(t *testing.T) {
			for name, b := range liveFiles(t, format) {
				scenario, _, _ := strings.Cut(name, "/")
				if stages := atHooks(t, filepath.Join(live, format, scenario, "hooks.jsonl"), filepath.Base(name), b); len(stages) > 0 {
					follows(t, format, name, stages)
				}
			}
		})
	}
}

// atHooks returns the stages of a file at the hooks of a scenario, nil if its hooks were not recorded.
func atHooks(t *testing.T, hooks, base string, b []byte) (stages []stage) {
	raw, err := os.ReadFile(hooks)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(raw)) {
		var call struct {
			Event string
			Stdin struct {
				Path string `json:"transcript_path"`
			}
			Transcript struct{ Bytes int }
		}
		if json.Unmarshal([]byte(line), &call) != nil || filepath.Base(call.Stdin.Path) != base || call.Transcript.Bytes > len(b) {
			continue
		}
		stages = append(stages, stage{b[:call.Transcript.Bytes], Live{
			TurnEnded: call.Event == "Stop" || call.Event == "AfterAgent", SessionEnded: call.Event == "SessionEnd",
		}})
	}
	return stages
}

// long makes a transcript of many turns, as current programs write it.
type long struct {
	format string
	b      bytes.Buffer
	n      int // lines so far
}

// line adds a line, given what it has in each of the two formats.
func (l *long) line(claude, codex string) {
	parent := fmt.Sprintf(`"u%d"`, l.n)
	if l.n == 0 {
		parent = "null"
	}
	l.n++
	date := time.Date(2026, 3, 1, 0, 0, l.n, 0, time.UTC).Format(time.RFC3339)
	if l.format == Codex {
		fmt.Fprintf(&l.b, `{"timestamp":%q,"ordinal":%d,%s}`+"\n", date, l.n, codex)
		return
	}
	fmt.Fprintf(&l.b, `{"parentUuid":%s,"isSidechain":false,"cwd":"/w","sessionId":"s-1","version":"2.1.197",%s,"uuid":"u%d","timestamp":%q}`+"\n", parent, claude, l.n, date)
}

// turn adds a turn with some calls.
func (l *long) turn(calls int) {
	if l.n == 0 && l.format == Codex {
		l.line("", `"type":"session_meta","payload":{"id":"s-1","cwd":"/w"}`)
	}
	if l.format == Codex {
		l.line("", `"type":"event_msg","payload":{"type":"task_started"}`)
		l.line("", `"type":"turn_context","payload":{"cwd":"/w","model":"m"}`)
	}
	l.line(fmt.Sprintf(`"type":"user","message":{"role":"user","content":"ask %d"}`, l.n),
		fmt.Sprintf(`"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"ask %d"}]}`, l.n))
	out := strings.Repeat("func main() { fmt.Println(42) }\\n", 90)
	for range calls {
		id := l.n
		l.line(fmt.Sprintf(`"type":"assistant","message":{"id":"m%d","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":"run %d"}}],"stop_reason":"tool_use","usage":{"output_tokens":2}}`, id, id, id),
			fmt.Sprintf(`"type":"response_item","payload":{"type":"function_call","name":"exec","arguments":"{}","call_id":"t%d"}`, id))
		l.line(fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s %d"}]}`, id, out, id),
			fmt.Sprintf(`"type":"response_item","payload":{"type":"function_call_output","call_id":"t%d","output":"%s %d"}`, id, out, id))
	}
	id := l.n
	l.line(fmt.Sprintf(`"type":"assistant","message":{"id":"m%d","role":"assistant","model":"m","content":[{"type":"text","text":"done %d"}],"stop_reason":"end_turn","usage":{"output_tokens":2}}`, id, id),
		fmt.Sprintf(`"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done %d"}]}`, id))
}

// reads counts the bytes that are read of a file.
type reads struct {
	io.ReaderAt
	n int
}

func (r *reads) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.ReaderAt.ReadAt(p, off)
	r.n += n
	return n, err
}

// TestContinueCosts: if a long session grows by a turn, little of its file is read.
func TestContinueCosts(t *testing.T) {
	for _, format := range []string{ClaudeCode, Codex} {
		l := &long{format: format}
		for l.b.Len() < testkit.Size(4, 40)<<20 {
			l.turn(20)
		}
		path := filepath.Join(t.TempDir(), "s-1.jsonl")
		s := testStore(t)
		for i := range 4 {
			if i > 0 {
				l.turn(1)
			}
			src := source1(path, l.b.Bytes())
			in := &reads{ReaderAt: src.R}
			src.R = in
			res, err := importLive(t.Context(), s, path, src, Live{Format: format})
			if err != nil || res.Imported < 4 || i > 0 && res.Known > 0 {
				t.Fatalf("%s: %+v, %v", format, res, err)
			}
			if most := 256 << 10; i > 0 && in.n > most {
				t.Errorf("%s: for one more turn, %d of %d bytes were read, want at most %d", format, in.n, l.b.Len(), most)
			}
		}
	}
}
