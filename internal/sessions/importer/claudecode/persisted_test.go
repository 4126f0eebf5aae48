package claudecode_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

// TestPersistedOutput: the whole of a result is read from the session's own folder, whatever path the transcript gives
// (anthropics/claude-code#45982).
func TestPersistedOutput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("s-1/tool-results/c1.txt", "the whole")
	write("s-1/secret.txt", "secret")
	write("other/tool-results/c1.txt", "of another session")
	write("s-2/x", "")
	if err := os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, "linked")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := os.Symlink("/etc", filepath.Join(dir, "s-2", "tool-results")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ file, named, want string }{
		{"s-1.jsonl", "/home/dev/s-1/tool-results/c1.txt", "the whole"},
		{"s-1.jsonl", `C:\\Users\\dev\\s-1\\tool-results\\c1.txt`, "the whole"},
		{"s-1.jsonl", "/elsewhere/c1.txt", "the whole"},
		{"s-1.jsonl", "../secret.txt", ""},
		{"s-1.jsonl", "/etc/passwd", ""},
		{"s-1.jsonl", "..", ""},
		{"s-1.jsonl", "gone.txt", ""},
		{"s-2.jsonl", "/etc/passwd", ""},
		{"s-1/subagents/agent-x.jsonl", "c1.txt", "the whole"},
	} {
		content := `"<persisted-output>\nOutput too large (1MB). Full output saved to: ` + x.named + `\n\nPreview (first 2KB):\nthe\n</persisted-output>"`
		data := formattest.Lines(formattest.ClaudeUser("u1", "", `"go"`), formattest.ClaudeAnswer("a1", "u1", "m1", callBlock("c1")), formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", content)))
		src := record.Source{Name: filepath.Join(dir, x.file), R: bytes.NewReader(data), Size: int64(len(data))}
		got, results := "", 0
		_, err := importer.Read(t.Context(), &claudecode.Format, src, func(string, string) bool { return false }, func(it record.Item) error {
			if it.Entry.Kind == record.KindToolResult {
				results++
				if !strings.Contains(string(it.Entry.Payload), "Preview (first 2KB)") {
					t.Errorf("%s: the result has lost what the model saw: %s", x.named, it.Entry.Payload)
				}
				for _, w := range it.Whole {
					got += string(w)
				}
			}
			return nil
		})
		if err != nil || got != x.want || results != 1 {
			t.Errorf("%s names %s: %q, want %q (%d results, %v)", x.file, x.named, got, x.want, results, err)
		}
	}
}
