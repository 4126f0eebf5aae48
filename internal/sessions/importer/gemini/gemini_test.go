package gemini_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/gemini"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var geminiSample = []string{
	`{"sessionId":"g-1","projectHash":"ff","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}`,
	`{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"read a"}]}`,
	`{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","thoughts":[{"subject":"S","description":"D","timestamp":"2026-01-01T00:00:02.000Z"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13},"model":"g-pro","toolCalls":[{"id":"t1","name":"read_file","args":{"path":"a"},"status":"executing"}]}`,
	`{"$set":{"lastUpdated":"2026-01-01T00:00:03.000Z"}}`,
	`{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","thoughts":[{"subject":"S","description":"D","timestamp":"2026-01-01T00:00:02.000Z"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13},"model":"g-pro","toolCalls":[{"id":"t1","name":"read_file","args":{"path":"a"},"result":[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"content of a"}}}],"status":"success","timestamp":"2026-01-01T00:00:04.000Z","resultDisplay":"content of a"}]}`,
	`{"id":"3","timestamp":"2026-01-01T00:00:05.000Z","type":"user","content":"wrong way"}`,
	`{"$rewindTo":"3"}`,
	`{"id":"4","timestamp":"2026-01-01T00:00:06.000Z","type":"user","content":"this way"}`,
	`{"id":"5","timestamp":"2026-01-01T00:00:07.000Z","type":"info","content":"a note"}`,
}

// TestGeminiWorkspace finds the directory, which is only in a message to the model.
func TestGeminiWorkspace(t *testing.T) {
	b := formattest.Lines(geminiSample[0], `{"$set":{"messages":[{"type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /home/dev/shop\n- **Directory Structure:**\n"}]}]}}`)
	info, err := importer.Describe(context.Background(), &gemini.Format, formattest.Source("/x/session-1.jsonl", b))
	if want := `{"projectHash":"ff","cwd":"/home/dev/shop"}`; err != nil || string(info.State) != want {
		t.Errorf("got %s, %v; want %s", info.State, err, want)
	}
}

// TestSubagentsFile: a subagent's own file names the session from its folder, whichever way the system writes paths.
func TestSubagentsFile(t *testing.T) {
	b := formattest.Lines(`{"sessionId":"sub","projectHash":"ff","kind":"subagent","startTime":"2026-01-01T00:00:00.000Z"}`, geminiSample[1])
	for _, name := range []string{"/h/.gemini/tmp/x/chats/g-1/sub.jsonl", `C:\h\.gemini\tmp\x\chats\g-1\sub.jsonl`} {
		info, err := importer.Describe(t.Context(), &gemini.Format, formattest.Source(name, b))
		if err != nil || info.Session != "g-1" || info.Agent != "agent-sub" {
			t.Errorf("%s is of session %q and subagent %q, %v; want g-1 and agent-sub", name, info.Session, info.Agent, err)
		}
	}
}

func TestGemini(t *testing.T) {
	wants := []string{
		`message {"role":"user","content":"read a"}`,
		`event {"name":"thinking","data":{"subject":"S","thinking":"D","timestamp":"2026-01-01T00:00:02.000Z"}}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}`,
		`event {"name":"run","data":{"model":"g-pro","usage":{"input_tokens":10,"output_tokens":2,"cached_input_tokens":4,"reasoning_output_tokens":1,"tool_tokens":0,"total_tokens":13}}}`,
		`tool_result {"results":["content of a"]}`,
		`message {"role":"user","content":"wrong way"} hidden`,
		`event {"name":"session.rewind","data":{"$rewindTo":"3"}}`,
		`message {"role":"user","content":"this way"}`,
		`event {"name":"gemini.info","data":{"content":"a note"}}`,
	}
	items, _ := imp.Items(t, gemini.Format.Name, "s.jsonl", formattest.Lines(geminiSample...), formattest.Seen{})
	formattest.Want(t, items[1:], wants...)

	seen := formattest.Seen{}
	imp.Items(t, gemini.Format.Name, "s.jsonl", formattest.Lines(geminiSample[:3]...), seen)
	items, _ = imp.Items(t, gemini.Format.Name, "s.jsonl", formattest.Lines(geminiSample...), seen)
	formattest.Want(t, items, wants[4:]...)

	doc := "{\n \"sessionId\": \"g-2\", \"startTime\": \"2026-01-01T00:00:00Z\",\n \"messages\": [\n" + strings.Join([]string{geminiSample[1], geminiSample[4]}, ",\n") + "\n]}\n"
	items, stats := imp.Items(t, gemini.Format.Name, "s.json", []byte(doc), formattest.Seen{})
	if stats.Damaged > 0 {
		t.Errorf("want no damage: %+v", stats)
	}
	formattest.Want(t, items[1:], wants[:5]...)
	info, err := importer.Describe(context.Background(), &gemini.Format, formattest.Source("s.json", []byte(doc)))
	if err != nil || info.Session != "g-2" {
		t.Errorf("%+v, %v; want session g-2", info, err)
	}
}

func FuzzGemini(f *testing.F) { imp.Fuzz(f, gemini.Format.Name, geminiSample) }

func TestDetected(t *testing.T) {
	if got, ok := imp.Detect("x", formattest.Lines(geminiSample...)); !ok || got != gemini.Format.Name {
		t.Errorf("taken for %q, want %q", got, gemini.Format.Name)
	}
}

// TestKeptOutput: the whole of a result is read from the session's own folder, whatever path the transcript gives.
func TestKeptOutput(t *testing.T) {
	const id, other = "9e1a0000-0000-4000-8000-000000000001", "9e1a0000-0000-4000-8000-000000000002"
	dir := t.TempDir()
	for name, text := range map[string]string{"tool-outputs/session-" + id + "/ls_1.txt": "the whole", "tool-outputs/session-" + other + "/ls_2.txt": "of another session", "secret.txt": "secret"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ session, named, want string }{
		{id, "/home/dev/.gemini/tmp/shop/tool-outputs/session-" + id + "/ls_1.txt", "the whole"},
		{id, "/elsewhere/ls_1.txt", "the whole"},
		{id, "/home/dev/.gemini/tmp/shop/tool-outputs/session-" + other + "/ls_2.txt", ""},
		{id, "../../secret.txt", ""},
		{"../..", "secret.txt", ""},
	} {
		data := formattest.Lines(`{"sessionId":"`+x.session+`","projectHash":"ff","startTime":"2026-01-01T00:00:00.000Z"}`,
			`{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"list"}]}`,
			`{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","model":"g","toolCalls":[{"id":"t1","name":"ls","args":{},"status":"success","result":[{"functionResponse":{"id":"t1","name":"ls","response":{"output":"Output too large. Showing first 2 and last 2 characters. For full output see: `+x.named+`\nab\n\n... [9 characters omitted] ...\n\nyz"}}}]}]}`)
		src := record.Source{Name: filepath.Join(dir, "chats", "session-1.jsonl"), R: bytes.NewReader(data), Size: int64(len(data))}
		got := ""
		_, err := importer.Read(t.Context(), &gemini.Format, src, func(string, string) bool { return false }, func(it record.Item) error {
			for _, w := range it.Whole {
				got += string(w)
			}
			return nil
		})
		if err != nil || got != x.want {
			t.Errorf("session %s names %s: %q, want %q (%v)", x.session, x.named, got, x.want, err)
		}
	}
}
