package importer

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// committing has, by format, a session in which the agent commits once in the project: DIR stands for the project's
// folder, ID for the commit's id.
var committing = map[string][]string{
	ClaudeCode: {
		`{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","cwd":"DIR","timestamp":"2026-03-01T10:00:00Z","message":{"role":"user","content":"commit it"}}`,
		`{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"s","cwd":"DIR","timestamp":"2026-03-01T10:00:01Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"git commit -m x"}}]}}`,
		`{"type":"user","uuid":"r","parentUuid":"a","sessionId":"s","cwd":"DIR","timestamp":"2026-03-01T10:00:02Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"[main ID] the subject\n 1 file changed"}]}}`,
		`{"type":"assistant","uuid":"b","parentUuid":"r","sessionId":"s","cwd":"DIR","timestamp":"2026-03-01T10:00:03Z","message":{"id":"n","role":"assistant","content":[{"type":"text","text":"done"}]}}`,
	},
	Codex: {
		`{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-03-01T10:00:00Z","cwd":"DIR"}}`,
		`{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"commit it"}]}}`,
		`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"git\",\"commit\",\"-m\",\"x\"]}","call_id":"c"}}`,
		`{"timestamp":"2026-03-01T10:00:02Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"output\":\"[main ID] the subject\\n 1 file changed\",\"metadata\":{\"exit_code\":0}}"}}`,
		`{"timestamp":"2026-03-01T10:00:03Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}`,
	},
	Gemini: {
		`{"sessionId":"s","startTime":"2026-03-01T10:00:00.000Z","kind":"main"}`,
		`{"id":"1","timestamp":"2026-03-01T10:00:00.000Z","type":"user","content":"- **Workspace Directories:**\n  - DIR\ncommit it"}`,
		`{"id":"2","timestamp":"2026-03-01T10:00:01.000Z","type":"gemini","content":"","toolCalls":[{"id":"t","name":"run_shell_command","args":{"command":"git commit -m x"},"result":[{"functionResponse":{"id":"t","name":"run_shell_command","response":{"output":"Output: [main ID] the subject\n 1 file changed"}}}],"status":"success","timestamp":"2026-03-01T10:00:02.000Z"}]}`,
		`{"id":"3","timestamp":"2026-03-01T10:00:03.000Z","type":"gemini","content":"done"}`,
	},
	OpenAI: {
		`{"role":"user","content":"commit it"}`,
		`{"role":"assistant","content":null,"tool_calls":[{"id":"k","type":"function","function":{"name":"bash","arguments":"{\"cmd\":\"git commit -m x\"}"}}]}`,
		`{"role":"tool","tool_call_id":"k","content":"[main ID] the subject\n 1 file changed"}`,
		`{"role":"assistant","content":"done"}`,
	},
}

// A commit that the agent made is an event right after the tool's result. It has the full id and the files if the
// project is there. When the file is imported again, the project may be gone.
func TestCommits(t *testing.T) {
	project := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", project, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(project, "f.go"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-qm", "the subject")
	full, short := git("rev-parse", "HEAD"), git("rev-parse", "--short", "HEAD")
	s := testStore(t)
	for format, ls := range committing {
		for _, c := range []struct{ name, dir, want string }{
			{"there", project, `{"name":"project.commit","data":{"id":"` + full + `","subject":"the subject","files":["f.go"]}}`},
			{"gone", filepath.Join(project, "gone"), `{"name":"project.commit","data":{"id":"` + short + `","subject":"the subject"}}`},
		} {
			if format == OpenAI && c.dir == project {
				continue // it does not say where the session ran
			}
			tape := format + "-" + c.name
			path := filepath.Join(t.TempDir(), "s.jsonl")
			for _, dir := range []string{c.dir, c.dir, t.TempDir()} {
				whole := strings.NewReplacer("DIR", dir, "ID", short).Replace(string(lines(ls...)))
				if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
					t.Fatal(err)
				}
				mustImport(t, s, path, Options{Format: format, Tape: tape})
				if got := commitsOf(t, s, tape); got != c.want {
					t.Errorf("%s: the commits are %s, want %s", tape, got, c.want)
				}
			}
		}
		grows(t, format, ls, 1)
	}
}

// A session recorded live has the same events as one that is imported later.
func TestCommitsRecordedLive(t *testing.T) {
	project := t.TempDir()
	commit := exec.Command("sh", "-c", `git init -q; echo x >f; git add .; git -c user.name=a -c user.email=a@b commit -qm "the subject"; git rev-parse --short HEAD`)
	commit.Dir = project
	id, err := commit.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{ClaudeCode, Codex, Gemini} {
		whole := strings.NewReplacer("DIR", project, "ID", strings.TrimSpace(string(id))).Replace(string(lines(committing[format]...)))
		for seed := range uint64(testkit.Size(5, 40)) {
			rng := rand.New(rand.NewPCG(seed, 5))
			follows(t, format, "s.jsonl", cuts(rng, []byte(whole), 1+rng.IntN(12)))
		}
	}
}

// commitsOf returns the payloads of a tape's commit events, and fails if one does not follow a tool's result.
func commitsOf(t *testing.T, s *repo.Store, name string) string {
	t.Helper()
	tape, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	before := ""
	for e, err := range tape.Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if jsonl.GetString(e.Payload, "name") == "project.commit" {
			if found = append(found, string(e.Payload)); before != repo.KindToolResult {
				t.Errorf("%s: a commit event is after a %s, want a tool's result", name, before)
			}
		}
		before = e.Kind
	}
	return strings.Join(found, " ")
}
