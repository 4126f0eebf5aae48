package codex_test

import (
	"os"
	"path/filepath"
	"testing"

	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

// TestName: the name of a session is also in a list beside the folder of sessions; the last line with one counts
// (openai/codex#16280, xintaofei/codeg#457, farion1231/cc-switch#4927).
func TestName(t *testing.T) {
	const id, other = "0199aaaa-0000-7000-8000-00000000000a", "0199aaaa-0000-7000-8000-00000000000b"
	home := t.TempDir()
	line := func(id, name, at string) string {
		return `{"id":"` + id + `","thread_name":"` + name + `","updated_at":"2026-02-01T09:00:0` + at + `Z"}` + "\n"
	}
	list := line(id, "First", "1") + line(other, "Other", "2") + line(id, "Cellar", "3") + `{"id":"` + id + `","thr` + "\n" + line(id, "", "4")
	if err := os.WriteFile(filepath.Join(home, "session_index.jsonl"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"sessions/2026/02/01/rollout-2026-02-01T08-00-00-" + id + ".jsonl":  "Cellar",
		"archived_sessions/rollout-2026-02-01T08-00-00-" + other + ".jsonl": "Other",
		"sessions/2026/02/01/rollout-2026-02-01T08-00-00-no-id.jsonl":       "",
		"elsewhere/rollout-2026-02-01T08-00-00-" + id + ".jsonl":            "",
	} {
		seen := formattest.Seen{}
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		items, _ := imp.Items(t, codex.Format.Name, path, formattest.Lines(codexSample...), seen)
		got := ""
		if last := items[len(items)-1].Entry.Payload; about.EventName(last) == "thread_name_updated" {
			got = jsonl.GetString(last, "data", "thread_name")
		}
		if got != want {
			t.Errorf("%s: name %q, want %q", path, got, want)
		}
		if again, _ := imp.Items(t, codex.Format.Name, path, formattest.Lines(codexSample...), seen); len(again) > 0 {
			t.Errorf("%s, read again: %s", path, formattest.Show(again))
		}
	}
}
