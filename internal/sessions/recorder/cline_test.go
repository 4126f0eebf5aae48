package recorder_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/importer/cline"
	"tape/internal/sessions/importer/record"
)

// TestCline: recording gives the same tape as an import, although Cline rewrites its files and its hooks name
// no file.
func TestCline(t *testing.T) {
	runs, _ := filepath.Glob(filepath.Join(live, "cline", "*", "hooks.jsonl"))
	if len(runs) == 0 {
		t.Skip("there are no recorded runs")
	}
	for _, run := range runs {
		t.Run(filepath.Base(filepath.Dir(run)), func(t *testing.T) { replayCline(t, run) })
	}
}

// clineRun replays a recorded run in a HOME of its own.
type clineRun struct {
	*world
	from, to string // the folders of the sessions: of the run, and of this test
}

func replayCline(t *testing.T, run string) {
	w := newWorld(t)
	r := &clineRun{w, filepath.Join(filepath.Dir(run), "session", ".cline", "data", "sessions"), filepath.Join(w.home, ".cline", "data", "sessions")}
	user := record.Where{Home: w.home, Getenv: func(string) string { return "" }}
	hooks, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	for raw := range bytes.Lines(hooks) {
		var e struct {
			Event string          `json:"event"`
			Stdin json.RawMessage `json:"stdin"`
			Files map[string]struct {
				Messages int `json:"messages"`
			} `json:"session_files"`
		}
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		for name, f := range e.Files {
			r.write(name, f.Messages)
		}
		if bytes.Contains(e.Stdin, []byte(`"/compact"`)) {
			r.write("*.compaction.json", -1)
		}
		if !slices.ContainsFunc(cline.Format.Events, func(h record.HookEvent) bool { return h.Name == e.Event }) {
			continue
		}
		if told := cline.Format.Agent.TranslateInput(bytes.ReplaceAll(e.Stdin, []byte("/home/dev"), []byte(w.home)), user); told != nil {
			w.say("cline", told)
			w.run()
		}
	}
	r.write("*.messages.json", -1)
	w.later = time.Hour
	w.say("cline", fmt.Appendf(nil, `{"session_id":"next","cwd":%q,"hook_event_name":"TaskStart"}`, filepath.Join(w.home, "shop")))
	w.run()
	files, _ := filepath.Glob(filepath.Join(r.to, "*", "1*.messages.json"))
	agents, _ := filepath.Glob(filepath.Join(r.to, "*", "agent_*.messages.json"))
	if len(files) == 0 {
		t.Skip("no session was kept")
	}
	same(t, tapes(t, w.workspaces(1)[0]), tapes(t, imported(t, append(files, agents...))))
}

// write copies the files of the sessions from the run. Of messages, it writes the first n, or all if n is -1. ID.json is
// written together with them.
func (r *clineRun) write(name string, n int) {
	r.t.Helper()
	list, _ := filepath.Glob(filepath.Join(r.from, "*", name))
	for _, from := range list {
		raw, err := os.ReadFile(from)
		if err == nil && n >= 0 {
			raw, err = firstMessages(raw, n)
		}
		to := filepath.Join(r.to, strings.TrimPrefix(from, r.from))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o700)
		}
		if err == nil {
			err = os.WriteFile(to, raw, 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		id := filepath.Base(filepath.Dir(from)) + ".json"
		facts, err := os.ReadFile(filepath.Join(filepath.Dir(from), id))
		if err == nil {
			err = os.WriteFile(filepath.Join(filepath.Dir(to), id), bytes.ReplaceAll(facts, []byte("/home/dev"), []byte(r.home)), 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// firstMessages returns a document as it was when it had n messages.
func firstMessages(raw []byte, n int) ([]byte, error) {
	var doc struct {
		Version  int               `json:"version"`
		Updated  string            `json:"updated_at"`
		Agent    string            `json:"agent"`
		Session  string            `json:"sessionId"`
		Origin   json.RawMessage   `json:"origin"`
		Messages []json.RawMessage `json:"messages"`
		System   string            `json:"system_prompt,omitempty"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	if doc.Messages = doc.Messages[:n]; n == 0 {
		doc.System = ""
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	return out.Bytes(), err
}
