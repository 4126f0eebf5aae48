package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	storetest "tape/internal/testkit/store"
)

func TestDetect(t *testing.T) {
	if got, _ := imp.Detect("x", lines(generate(2, 20)...)); got != ClaudeCode {
		t.Errorf("a session of Claude Code is taken for %q", got)
	}
	for _, format := range All().Names() {
		if format == OpenAI || format == Bub {
			continue
		}
		t.Run(format, func(t *testing.T) {
			for name, b := range fixture(t, format) {
				if got, _ := imp.Detect(name, b[:min(len(b), 64<<10)]); got != format {
					t.Errorf("%s is taken for %q", name, got)
				}
			}
		})
	}
	for head, format := range map[string]string{
		"[\n  {\n    \"role\": \"user\",":             OpenAI,
		"{\n  \"sessionId\": \"x\",\n \"messages\": ": Gemini,
		"[1,2]": "", "hello": "", "": "",
		`{"info":{"id":"ses_1"},"messages":[{"info":{"role":"user"},"parts":[]}]}`:                                    OpenCode,
		"{\n  \"info\": {},\n  \"messages\": [\n    {\n      \"info\": {\n        \"role\": \"user\"\n      }\n    }": OpenCode,
		// Messages of an unknown format, and a chat that is almost a session of Gemini.
		"[\n {\"info\": {\"role\": \"user\"}, \"parts\": []},\n {":      "",
		`{"sessionId":"x","messages":[{"role":"user","content":"hi"}]}`: OpenAI,
		`{"sessionId":"x","messages":[{"text":"hi"}]}`:                  "",
		// Claude Code's lines without ids, as other programs keep them (fixtures of kenn-io/agentsview and junhoyeo/tokscale).
		`{"type":"user","timestamp":"2026-01-01T10:00:00Z","message":{"content":"hi"},"cwd":"/p"}`:  ClaudeCode,
		`{"type":"event","timestamp":"2026-01-01T10:00:00Z","message":{"content":"hi"},"cwd":"/p"}`: "",
		`{"type":"user","timestamp":"2026-01-01T10:00:00Z","message":"logged in"}`:                  "",
		`{"messages":[]}`: "", "{\n\"messages\": [],\n\"role\": 1": "",
	} {
		if got, _ := imp.Detect("-", []byte(head)); got != format {
			t.Errorf("%q is taken for %q, want %q", head, got, format)
		}
	}
}

// TestNoMarks: what looks like a format only in part is in none (kenn-io/agentsview's fixtures of omnigent, amp and Grok).
func TestNoMarks(t *testing.T) {
	for name, text := range map[string]string{
		"a message of omnigent":     `{"role":"assistant","agent":"polly","content":[{"type":"output_text","text":"on it"}]}`,
		"messages without content":  `{"id":"thread-1","messages":[{"role":"user","text":"Hello"}]}`,
		"Grok's model history":      `{"type":"system","content":"You are Grok"}` + "\n" + `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Inspect"}]}`,
		"the same, pretty-printed":  "{\n \"id\": \"thread-1\",\n \"messages\": [\n {\"role\": \"user\", \"text\": \"Hello\"}\n ]\n}",
		"reasoning of another kind": `{"type":"reasoning","text":"hm"}`,
	} {
		if f := All().Detect("x.json", []byte(text)); f != nil {
			t.Errorf("%s: taken for %s", name, f.Name)
		}
	}
	if !All().isCompanion([]byte(`{"type":"system","content":"You are Grok"}`)) {
		t.Error("Grok's chat_history.jsonl is no companion of its sessions")
	}
	for path, want := range map[string]bool{"/w/conversations/1/events/event-00001-0a1b2c3d.json": false, "/w/events/event-party.json": true, "/w/events/event-1-party.json": true} {
		if got := All().IsTranscript(path); got != want {
			t.Errorf("%s may be a transcript: %v, want %v", path, got, want)
		}
	}
}

// Settings and other files beside the sessions of an agent are not taken for transcripts.
func TestDetectSettings(t *testing.T) {
	for _, name := range []string{"/home/ada/.copilot/session-state/1/rewind-file-snapshots/tracking.json", "/home/ada/.qwen/projects/p/chats/1.runtime.json", "/home/ada/.cline/data/settings/cli-notices.json", "/home/ada/.pi/agent/models.json"} {
		if got, _ := imp.Detect(name, []byte(`{"schema":1,"tracking":true}`)); got != "" {
			t.Errorf("%s is taken for %q", name, got)
		}
	}
}

// TestFormatsAreComplete: each format has the fields that others rely on.
func TestFormatsAreComplete(t *testing.T) {
	names := All().Names()
	for i, f := range All() {
		if f.Name == "" || f.Title == "" || f.Read == nil || f.Describe == nil || f.Record == nil || slices.Index(names, f.Name) != i || f.Name == Auto {
			t.Errorf("%q lacks a required field, or its name is used twice", f.Name)
		}
		if (f.HasFirst == nil) != (f.FirstIn == "") {
			t.Errorf("%s has only one of HasFirst and FirstIn", f.Name)
		}
		if a := f.Agent; a != nil {
			if a.Folder == nil || a.Hooks == "" && a.MCPFile == nil || a.MCP == nil && a.MCPFile != nil || (a.Review == nil) != (a.ReviewHint == "") {
				t.Errorf("%s lacks a field of Agent that another one needs", f.Name)
			}
			if a.Hooks == "" {
				continue // its sessions are imported, or watched
			}
			for _, is := range []record.Moment{record.TurnEnd, record.End} {
				if !slices.ContainsFunc(f.Events, func(e record.HookEvent) bool { return e.Is == is }) {
					t.Errorf("%s has no event for moment %d", f.Name, is)
				}
			}
		}
	}
}

// TestOddHome: sessions are also found in a home directory whose name has a bracket.
func TestOddHome(t *testing.T) {
	of := func(name string) (out []string) {
		home := filepath.Join(t.TempDir(), name)
		user := record.Where{Home: home, Getenv: func(string) string { return "" }}
		for _, file := range []string{
			".config/Code/User/workspaceStorage/1/chatSessions/x", ".config/Code/User/workspaceStorage/1/GitHub.copilot-chat/transcripts/x",
			".config/Claude/local-agent-mode-sessions/o/a/local_1/.claude/projects/x", ".gemini/antigravity-cli/brain/x",
			".local/share/opencode/opencode.db", ".local/share/kilo/kilo.db", ".hermes/profiles/work/state.db", ".cursor/chats/1/2/store.db",
		} {
			file = filepath.Join(home, file)
			storetest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
			storetest.WriteFile(t, file, nil)
		}
		for _, f := range All() {
			var found []string
			if f.Files.Folders != nil {
				found = f.Files.Folders(user)
			}
			if f.Files.Database != nil && f.Files.Database.All != nil {
				for _, db := range f.Files.Database.All(user) {
					found = append(found, db.Path)
				}
			}
			for _, path := range found {
				if _, err := os.Stat(path); err == nil {
					out = append(out, f.Name+" "+strings.TrimPrefix(path, home))
				}
			}
		}
		return out
	}
	want := of("home")
	if len(want) < 8 {
		t.Fatalf("a usual home directory has only %q", want)
	}
	if got := of("a[b]c"); !slices.Equal(got, want) {
		t.Errorf("the home directory a[b]c has\n%q\nof\n%q", got, want)
	}
}

// TestFixturesComplete: every string in the real sessions of Codex and Gemini is in an entry.
func TestFixturesComplete(t *testing.T) {
	for _, format := range []string{Codex, Gemini} {
		t.Run(format, func(t *testing.T) {
			for name, b := range fixture(t, format) {
				items, stats := read(t, format, name, b, tapeSeen{})
				if stats.Damaged > 0 {
					t.Errorf("%s has damaged lines: %+v", name, stats)
				}
				have := map[string]int{}
				for _, it := range items {
					leaves(decode(t, it.Entry.Payload), func(s string) { have[s]++ })
				}
				for line := range strings.Lines(string(b)) {
					rec := decode(t, []byte(line)).(map[string]any)
					for _, field := range []string{"content", "toolCalls", "payload"} {
						leaves(rec[field], func(s string) {
							switch s {
							case "message", "function_call", "input_text", "output_text":
							default:
								if have[s] == 0 {
									t.Errorf("%.80q is lost", s)
								}
							}
						})
					}
				}
			}
		})
	}
}

// TestFolders: transcripts are looked for where the environment of the agents says that they are.
func TestFolders(t *testing.T) {
	for _, x := range []struct{ format, variable, value, want string }{
		{"claude-code", "", "", "/h/.claude/projects /h/.config/claude/projects"},
		{"claude-code", "XDG_CONFIG_HOME", "/x", "/h/.claude/projects /x/claude/projects"},
		{"claude-code", "CLAUDE_CONFIG_DIR", "/a, /b", "/a/projects /b/projects"},
		{"codex", "CODEX_HOME", "/a,/b", "/a/sessions /a/archived_sessions /b/sessions /b/archived_sessions"},
		{"gemini", "GEMINI_CLI_HOME", "/g", "/g/.gemini/tmp"},
		{"qwen", "QWEN_HOME", "/q", "/q/projects"},
		{"qwen", "QWEN_RUNTIME_DIR", "/r", "/r/projects"},
		{"copilot", "COPILOT_HOME", "/c", "/c/session-state"},
		{"pi", "", "", "/h/.pi/agent/sessions /h/.omp/agent/sessions"},
		{"pi", "PI_CODING_AGENT_SESSION_DIR", "/s", "/s /h/.pi/agent/sessions /h/.omp/agent/sessions"},
		{"pi", "PI_CODING_AGENT_SESSION_DIR", "/h/.pi/agent/sessions/work", "/h/.pi/agent/sessions /h/.omp/agent/sessions"},
		{"pi", "PI_CODING_AGENT_SESSION_DIR", "/h/.omp/agent/sessions", "/h/.omp/agent/sessions /h/.pi/agent/sessions"},
		{"kiro", "KIRO_SESSIONS_DIR", "/h/.kiro/sessions/cli", "/h/.kiro/sessions /h/.config/Kiro/User/globalStorage/kiro.kiroagent/workspace-sessions /h/Library/Application Support/Kiro/User/globalStorage/kiro.kiroagent/workspace-sessions"},
	} {
		got := Folders(All().Find(x.format), func(name string) string { return map[string]string{"HOME": "/h", x.variable: x.value}[name] })
		if strings.Join(got, " ") != x.want {
			t.Errorf("%s with %s=%s: %q, want %s", x.format, x.variable, x.value, got, x.want)
		}
	}
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".pi", "agent"), 0o700); err != nil {
		t.Fatal(err)
	}
	storetest.WriteFile(t, filepath.Join(home, ".pi", "agent", "settings.json"), []byte(`{"sessionDir":"~/kept"}`))
	got := Folders(All().Find("pi"), func(name string) string { return map[string]string{"HOME": home}[name] })
	if want := filepath.Join(home, "kept"); len(got) != 3 || got[0] != want {
		t.Errorf("with a setting of pi: %q, want %s first", got, want)
	}
}

// TestSameDatabase: a setting may name a folder in which a program keeps its database anyway.
func TestSameDatabase(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "hermes", "state.db")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		t.Fatal(err)
	}
	storetest.WriteFile(t, db, []byte("x"))
	got, _ := Databases(All().Find("hermes"), func(name string) string {
		return map[string]string{"HERMES_HOME": filepath.Dir(db), "LOCALAPPDATA": dir}[name]
	})
	if len(got) != 1 || got[0].Path != db {
		t.Errorf("databases %v, want %s once", got, db)
	}
}
