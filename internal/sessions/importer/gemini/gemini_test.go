package gemini_test

import (
	"context"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/gemini"
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
