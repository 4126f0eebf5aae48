package recorder_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenCode: the transcripts that the plugin sends after each message become the same tape as an import
// of the exported session.
func TestOpenCode(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(live, "opencode", "*", "session", "*.json"))
	if len(files) == 0 {
		t.Skip("there are no recorded runs")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var session struct {
				Info     json.RawMessage   `json:"info"`
				Messages []json.RawMessage `json:"messages"`
			}
			if err := json.Unmarshal(raw, &session); err != nil {
				t.Fatal(err)
			}
			var info struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal(session.Info, &info); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			for n := range len(session.Messages) + 1 {
				var messages [][]byte
				for _, m := range session.Messages[:n] {
					messages = append(messages, m)
				}
				w.say("opencode", fmt.Appendf(nil, `{"session_id":%q,"cwd":%q,"hook_event_name":"Stop","transcript":{"info":%s,"messages":[%s]}}`,
					info.ID, filepath.Join(w.home, "shop"), session.Info, bytes.Join(messages, []byte(","))))
				w.run()
			}
			w.say("opencode", fmt.Appendf(nil, `{"session_id":%q,"cwd":%q,"hook_event_name":"SessionEnd"}`, info.ID, filepath.Join(w.home, "shop")))
			w.run()
			if k := w.known()[info.ID]; k.Trouble != "" {
				t.Fatal(k.Trouble)
			}
			same(t, tapes(t, w.workspaces(1)[0]), tapes(t, imported(t, []string{file})))
		})
	}
}
