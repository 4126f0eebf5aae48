package importer

import (
	"bytes"
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/cline"
	"tape/internal/sessions/importer/copilot"
	"tape/internal/sessions/importer/crush"
	"tape/internal/sessions/importer/pi"
	"tape/internal/sessions/importer/qwen"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// live is the folder of sessions of current versions of the programs, with the inputs of their
// hooks.
const live = fixtures + "/live"

// liveFiles returns the session files of an agent in live, by their paths relative to the agent's folder.
func liveFiles(t testing.TB, agent string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	root := filepath.Join(live, agent)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/session/") || !All().IsTranscript(path) || isNote(path) {
			return err
		}
		name, _ := filepath.Rel(root, path)
		b, err := os.ReadFile(path)
		files[name] = b
		return err
	})
	if err != nil {
		t.Skipf("no sessions in %s", root)
	}
	return files
}

// isNote reports whether a program keeps something other than a session in a file.
func isNote(path string) bool {
	if strings.Contains(path, "/live/cline/") {
		return !strings.HasSuffix(path, cline.Format.Files.Ext)
	}
	return filepath.Ext(path) == ".json" && strings.Contains(path, "/live/") && !strings.Contains(path, "/gemini/") && !strings.Contains(path, "/opencode/") ||
		filepath.Base(path) == "usage_record.jsonl"
}

// shape writes a conversation in letters: u is what a person asked, x what the program wrote in the user's name, s a
// system message, a an answer of the model, c and r calls and results with their number, A an anchor. ! stands before
// what is hidden from the context. Events have no letter.
func shape(t testing.TB, items []record.Item) string {
	t.Helper()
	var b strings.Builder
	for _, it := range items {
		p := it.Entry.Payload
		if strings.Contains(string(it.Entry.Meta), `"context":false`) && it.Entry.Kind != record.KindEvent {
			b.WriteByte('!')
		}
		switch role := jsonl.GetString(p, "role"); {
		case it.Entry.Kind == record.KindMessage && role == "user":
			content := string(jsonl.Get(p, "content"))
			if strings.HasPrefix(content, `"<`) || strings.Contains(content, `"text":"<`) || strings.Contains(content, `"[Request`) {
				b.WriteByte('x')
			} else {
				b.WriteByte('u')
			}
		case it.Entry.Kind == record.KindMessage:
			b.WriteByte('a')
		case it.Entry.Kind == record.KindSystem:
			b.WriteByte('s')
		case it.Entry.Kind == record.KindToolCall:
			fmt.Fprintf(&b, "c%d", count(p, "calls"))
		case it.Entry.Kind == record.KindToolResult:
			fmt.Fprintf(&b, "r%d", count(p, "results"))
		case it.Entry.Kind == record.KindAnchor:
			b.WriteByte('A')
		}
	}
	return b.String()
}

func count(payload []byte, member string) (n int) {
	for range jsonl.Elements(jsonl.Get(payload, member)) {
		n++
	}
	return n
}

// shapes checks the shapes of an agent's sessions, by scenario, and that each file is recognised by its content.
func shapes(t *testing.T, format string, want map[string]string) {
	got := map[string][]string{}
	for name, b := range liveFiles(t, format) {
		if f, ok := imp.Detect("x", b[:min(len(b), 1<<16)]); f != format {
			t.Errorf("%s is taken for %q, %v; want %q", name, f, ok, format)
		}
		items, stats := read(t, format, filepath.Join(live, format, name), b, tapeSeen{})
		if stats.Damaged > 0 || len(stats.Problems) > 0 {
			t.Errorf("%s: %+v", name, stats)
		}
		scenario, _, _ := strings.Cut(name, "/")
		got[scenario] = append(got[scenario], cmp.Or(shape(t, items), "-"))
	}
	for scenario := range got {
		slices.Sort(got[scenario])
		if shapes := strings.Join(got[scenario], " "); shapes != want[scenario] {
			t.Errorf("%s: got %q, want %q", scenario, shapes, want[scenario])
		}
	}
	if len(got) != len(want) {
		t.Errorf("sessions of %d scenarios, want %d", len(got), len(want))
	}
}

// TestLiveGemini: no entry is repeated, although the program writes calls twice, results also as a user's record, the
// history again on each resume, and after a cancelled tool again under other ids (terminal). A compression is an
// anchor. A resume in another minute leaves a file that adds nothing.
func TestLiveGemini(t *testing.T) {
	shapes(t, Gemini, map[string]string{
		"tools":        "xuac1r1auc1r1c1r1c1r1axuac3r3a",
		"subagent":     "uc1r1c1r1aua xuac1r1a",
		"terminal":     "- xuac1r1auc1r1c1r1c1r1uac1r1uxAaua xuaua",
		"auto_compact": "xuac1r1auauauac1r1Aaa",
		"mcp":          "xuc1r1a",
		"auth_error":   "xu",
		"signals":      "xua",
		"errors":       "xuac1r1auauua",
		"flush":        "xuac1r1aua",
	})
}

// TestLiveCodex: what was only shown on the screen is not a second message (tools). A subagent's file repeats its
// parent's history, which adds nothing (code_mode). What one agent says to another is a message. A fork begins with
// its own entries.
func TestLiveCodex(t *testing.T) {
	shapes(t, Codex, map[string]string{
		"tools":        "sxuac1r1auc1r1c1r1c1r1auac3r3a",
		"code_mode":    "ssssuc1r1a ssssxuac1r1auc1r1c1r1c1r1auac1r1c1r1ua",
		"subagent":     "sxuac1r1c1r1xa sxuc1r1a",
		"fork":         "sxuac1r1a ua",
		"terminal":     "sxuac1r1a sxuac1r1auc1r1auc1r1xuac1r1xxaAuaua",
		"auto_compact": "sxuac1r1auaaAuauac1r1aAa",
		"mcp":          "sxuc1r1a",
		"signals":      "sxuac1",
		"flush":        "sxuac1r1aua",
		"errors":       "sxuac1r1auauua",
		"auth_error":   "sxu",
	})
}

// TestLiveOpenCode: a step is a message, a compaction is two (auto_compact). A refused call and an interrupted call
// have results (terminal). A subagent is a session.
func TestLiveOpenCode(t *testing.T) {
	shapes(t, OpenCode, map[string]string{
		"tools":        "uac1r1auc1r1c1r1c1r1auac3r3a",
		"subagent":     "uac1r1a uc1r1a",
		"terminal":     "uac1r1auac1r1uac1r1Aua uaua",
		"auto_compact": "uac1r1auaAuauauac1r1Aua",
		"fork":         "uac1r1a uac1r1aua",
		"errors":       "uac1r1auauAuaua",
		"auth_error":   "u",
		"mcp":          "uc1r1a",
	})
}

// TestLiveClaude: a subagent has a file of its own. One in the background ends with a note in the session (subagents).
// A compaction within a turn is an anchor between call and answer (auto_compact). What a person runs in the shell is
// not a prompt (terminal).
func TestLiveClaude(t *testing.T) {
	shapes(t, ClaudeCode, map[string]string{
		"tools":         "uac1r1auc1r1c1r1c1r1auac3r3a",
		"subagent":      "uac1r1a uc1r1a",
		"subagents":     "uac2r2auc1r1axa uc1r1a uc1r1a uc1r1a",
		"terminal":      "uac1r1auc1r1c1r1c1r1auac3r3xuac1r1xxxaAxxxua xAuac1r1axxxaua",
		"auto_compact":  "uac1r1auauAauac1r1Aa",
		"fork":          "uac1r1a uac1r1aua",
		"errors":        "uac1r1auauAaua",
		"rare":          "uc1r1c1r1axuauc1r1a",
		"notifications": "uc1r1c1r1c1r1a",
		"auth_error":    "ua",
		"mcp":           "uc1r1a",
		"flush":         "uac1r1aua",
		"signals":       "uac1",
	})
}

// TestLiveTapes: each session is a tape, a subagent's tape is below its session's, and a fork says what it was forked
// from. Importing again adds nothing.
func TestLiveTapes(t *testing.T) {
	s := testStore(t)
	for _, format := range []string{ClaudeCode, Codex, Gemini, OpenCode} {
		files := liveFiles(t, format)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			path, _ := filepath.Abs(filepath.Join(live, format, name))
			tape, forked := placeOf(t, format, path, files[name])
			res, err := importPath(s, path, Options{Format: Auto})
			if err != nil || res.Tape != tape || res.Format != format {
				t.Fatalf("%s: %+v, %v; want %s", name, res, err, tape)
			}
			if again, err := importPath(s, path, Options{Format: Auto}); err != nil || again.Imported > 0 {
				t.Errorf("%s, again: %+v, %v", name, again, err)
			}
			if res.Imported == 0 {
				continue // a stub of a session in another file
			}
			if got := jsonl.GetString([]byte(tapeLines(t, s, tape)[0]), "payload", "state", "forked_from"); got != forked {
				t.Errorf("%s was forked from %q, want %q", name, got, forked)
			}
			identities(t, s, tape)
		}
	}
}

// placeOf returns the tape where a session belongs and the session that it was forked from, by what the program wrote.
func placeOf(t *testing.T, format, path string, b []byte) (tape, forked string) {
	dir, stem := filepath.Dir(path), strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	head := b[:max(0, bytes.IndexByte(b, '\n'))]
	switch format {
	case ClaudeCode:
		if filepath.Base(dir) == "subagents" {
			return filepath.Base(filepath.Dir(dir)) + "/" + stem, ""
		}
		if strings.HasPrefix(stem, "3473829f") {
			return stem, "159ea978-1173-4842-99c6-071212072625"
		}
		return stem, ""
	case Codex:
		meta := jsonl.Get(head, "payload")
		if jsonl.Get(meta, "parent_thread_id") != nil {
			return jsonl.GetString(meta, "session_id") + "/agent-" + jsonl.GetString(meta, "id"), ""
		}
		return jsonl.GetString(meta, "id"), jsonl.GetString(meta, "forked_from_id")
	case Gemini:
		if id := jsonl.GetString(head, "sessionId"); jsonl.GetString(head, "kind") != "subagent" {
			return id, ""
		}
		return filepath.Base(dir) + "/agent-" + stem, ""
	}
	info := jsonl.Get(b, "info")
	if parent := jsonl.GetString(info, "parentID"); parent != "" {
		return parent + "/agent-" + jsonl.GetString(info, "id"), ""
	}
	return jsonl.GetString(info, "id"), ""
}

// TestLivePi: abandoned branches are hidden (tree). If two processes write a session, the entries of one of them are
// hidden (same_session_twice).
func TestLivePi(t *testing.T) {
	shapes(t, pi.Format.Name, map[string]string{
		"0.73.1":              "ua uac1!r1!a!u!a!u!a!u!aua uac1r1aua uac1r1auaua uac1r1auauaAuauac1r1aua uac1r1auc1r1c1r1c1r1auac3r3auac1r1a",
		"auto_compact":        "uac1r1auauaAuauac1r1aua",
		"errors":              "uac1r1auauua",
		"fork":                "uac1r1a uac1r1auaua",
		"killed":              "uac1ua",
		"long":                "uauc1r1a",
		"rpc":                 "uac1r1a",
		"same_session_twice":  "uac1r1a!u!a!c1u!r1!aac1r1a",
		"signal_SIGINT_wait":  "uac1",
		"signal_SIGTERM_wait": "uac1",
		"subagent":            "uac1r1a",
		"terminal":            "uac1r1aua uac1r1auac1r1uauaAuaua",
		"tools":               "uac1r1auc1r1c1r1c1r1auac3r3auac1r1a",
		"tree":                "uac1!r1!a!u!a!u!a!u!aua uac1r1aua uac1r1auaua",
		"trust":               "ua",
		"two_at_once":         "uac1r1a uac1r1a",
	})
}

// TestLiveQwen: what was taken back is hidden (rewind); subagents have files of their own.
func TestLiveQwen(t *testing.T) {
	shapes(t, qwen.Format.Name, map[string]string{
		"0.15.10":             "uac1r1auauauAauac1r1Aa uac1r1auc1r1c1r1c1r1auac3r3auac1r1a",
		"auto_compact":        "uac1r1auauauAauac1r1Aa",
		"branch":              "uaua",
		"ctrl_c":              "uac1r1",
		"errors":              "uac1r1auauua",
		"fork":                "uac1r1a uac1r1auaua",
		"killed":              "uac1ua",
		"long":                "uauc1r1a",
		"mcp":                 "uc1r1c1r1a",
		"rewind":              "uc1r1c1r1c1r1a!u!a!u!auaua",
		"same_session_twice":  "uac1r1a!u!a!c1uac1!r1!ar1a",
		"signal_SIGINT_slow":  "ua",
		"signal_SIGINT_wait":  "uac1r1a",
		"signal_SIGKILL_slow": "u",
		"signal_SIGTERM_slow": "ua",
		"signal_SIGTERM_wait": "uac1r1a",
		"subagent":            "uac1r1axaxuac2r2axaxa uc1r1a uc1r1a uc1r1a",
		"terminal":            "ua uac1r1auc1r1uac1r1uaAua",
		"tools":               "uac1r1auc1r1c1r1c1r1auac3r3auac1r1a",
		"two_at_once":         "uac1r1a uac1r1a",
	})
}

// TestLiveCopilot: subagents are in their session's file. After a rewind, nothing is left of what was taken back.
func TestLiveCopilot(t *testing.T) {
	shapes(t, copilot.Format.Name, map[string]string{
		"compact":             "usac1r1auauaua",
		"errors":              "usau",
		"interrupted_resumed": "usac1ua",
		"killed_resumed":      "usac1r1ua",
		"killed_streaming":    "us",
		"long":                "usa",
		"mcp":                 "usc1r1a",
		"subagent":            "usac1!u!s!c1!r1!ar1a",
		"terminal":            "usa usac1r1auc1uac1uaAusaua usac1r1auc1uac1uaAusausa",
		"tools":               "usac1r1auc1r1c1r1c1r1auac3r3a",
		"twins":               "usac1r1a usac1r1a",
	})
}

// TestLiveCline: a compaction is an anchor. /undo makes a session with a copy of the messages that it keeps (terminal).
// An error is an event (errors). A session that was killed before its first answer has only its prompt
// (killed_streaming).
func TestLiveCline(t *testing.T) {
	shapes(t, cline.Format.Name, map[string]string{
		"errors":           "su",
		"interrupted":      "suac1r1",
		"killed":           "suac1",
		"killed_streaming": "u",
		"long":             "sua",
		"mcp":              "suc1r1a",
		"subagent":         "suac1r1a uc1r1a",
		"terminal":         "sua suc1r1c1r1c1r1auac1r1uaAuaua suc1r1c1r1c1r1auac1r1uaua",
		"tools":            "suac1r1a suac3r3a suc1r1c1r1c1r1a",
		"twins":            "suac1r1a suac1r1a",
	})
}

// TestLiveCrush: a subagent is in its session. What a person ran in the shell is not a prompt, and a summary is an
// anchor (compact, terminal). If the program was killed within an answer, what had come of it is kept
// (killed_streaming). Importing again adds nothing.
func TestLiveCrush(t *testing.T) {
	want := map[string]string{
		"compact":             "uac1r1auaAua",
		"errors":              "uau",
		"interrupted_resumed": "uac1r1ua",
		"killed":              "uac1",
		"killed_resumed":      "uac1ua",
		"killed_streaming":    "ua",
		"long":                "ua",
		"mcp":                 "uc1r1a",
		"subagent":            "uac1!u!c1!r1!ar1a",
		"terminal":            "uac1r1auc1r1uac1r1Aua uaua",
		"tools":               "uac1r1auc1r1c1r1c1r1auac3r3a",
		"twins":               "uac1r1a uac1r1a",
	}
	dumps, _ := filepath.Glob(filepath.Join(live, crush.Format.Name, "*", "session", "shop", ".crush", "crush.db.sql"))
	if len(dumps) == 0 {
		t.Skip("no sessions of Crush")
	}
	for _, dump := range dumps {
		s := testStore(t) // two scenarios may have one session, each in a project of its own
		scenario := strings.Split(filepath.ToSlash(dump), "/live/crush/")[1]
		scenario, _, _ = strings.Cut(scenario, "/")
		files, err := Files(t.Context(), restored(t, dump))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			src, closer, err := OpenSource(f.Name, nil)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, src.Size)
			if _, err := src.R.ReadAt(b, 0); err != nil || closer.Close() != nil {
				t.Fatal(err)
			}
			items, stats := read(t, crush.Format.Name, f.Name, b, tapeSeen{})
			if stats.Damaged > 0 || len(stats.Problems) > 0 {
				t.Errorf("%s: %+v", f.Name, stats)
			}
			got = append(got, shape(t, items))
			res, err := importPath(s, f.Name, Options{Format: Auto})
			if err != nil || res.Tape != filepath.Base(f.Name) || res.Format != crush.Format.Name {
				t.Fatalf("%s: %+v, %v", f.Name, res, err)
			}
			if again, err := importPath(s, f.Name, Options{Format: Auto}); err != nil || again.Imported > 0 {
				t.Errorf("%s, again: %+v, %v", f.Name, again, err)
			}
		}
		slices.Sort(got)
		if shapes := strings.Join(got, " "); shapes != want[scenario] {
			t.Errorf("%s: got %q, want %q", scenario, shapes, want[scenario])
		}
	}
}

// restored makes a database from a dump, and returns its path.
func restored(t *testing.T, dump string) string {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "shop", ".crush")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "crush.db")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(string(text))
	}
	if err != nil || db.Close() != nil {
		t.Fatal(dump, err)
	}
	return path
}
