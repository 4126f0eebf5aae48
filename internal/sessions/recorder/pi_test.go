package recorder_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// piEvents are the events of pi that its extension reports, as it calls them.
var piEvents = map[string]string{"session_start": "SessionStart", "turn_end": "TurnEnd", "agent_end": "Stop", "agent_settled": "Stop",
	"session_compact": "Compact", "session_tree": "Tree", "session_shutdown": "SessionEnd"}

// piBranches are runs in which somebody went back in the session. The branch that they left is already on the
// tape by then, and an import hides it.
var piBranches = []string{"tree", "fork", "same_session_twice", "two_at_once"}

// TestPi: a session whose extension tells when it has grown becomes the same tape as an import of its file.
func TestPi(t *testing.T) {
	runs, _ := filepath.Glob(filepath.Join(live, "pi", "*", "hooks.jsonl"))
	if len(runs) == 0 {
		t.Skip("there are no recorded runs")
	}
	for _, run := range runs {
		name := filepath.Base(filepath.Dir(run))
		if slices.Contains(piBranches, name) {
			continue
		}
		t.Run(name, func(t *testing.T) { replayPi(t, run) })
	}
}

// piEvent is a line of a run: the extension's context, if the run has it, and the length of the transcript.
type piEvent struct {
	Event string `json:"event"`
	Ctx   struct {
		ID   string `json:"sessionId"`
		File string `json:"sessionFile"`
	} `json:"ctx"`
	Transcript *struct {
		Lines int `json:"lines"`
	} `json:"transcript"`
}

func replayPi(t *testing.T, run string) {
	stored := map[string]string{} // the files of sessions by their names
	_ = filepath.WalkDir(filepath.Join(filepath.Dir(run), "session"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			stored[d.Name()] = path
		}
		return nil
	})
	w := newWorld(t)
	var id, file string
	var files []string
	say := func(event string) {
		w.say("pi", fmt.Appendf(nil, `{"session_id":%q,"hook_event_name":%q,"cwd":%q,"transcript_path":%q}`, id, event, filepath.Join(w.home, "shop"), file))
		w.run()
	}
	hooks, err := os.ReadFile(run)
	if err != nil {
		t.Fatal(err)
	}
	for raw := range bytes.Lines(hooks) {
		var e piEvent
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		if e.Ctx.File != "" {
			id, file = e.Ctx.ID, filepath.Join(w.home, "pi", filepath.Base(e.Ctx.File))
		}
		from := stored[filepath.Base(file)]
		if from == "" || piEvents[e.Event] == "" {
			continue
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
		if e.Transcript != nil {
			grow(t, from, file, linesEnd(t, from, e.Transcript.Lines))
		}
		say(piEvents[e.Event])
	}
	if len(files) == 0 {
		t.Skip("no session was kept")
	}
	for _, f := range files {
		grow(t, stored[filepath.Base(f)], f, -1)
	}
	say("SessionEnd")
	same(t, tapes(t, w.workspaces(1)[0]), tapes(t, imported(t, files)))
}

// linesEnd returns the size of the first n lines of a file.
func linesEnd(t *testing.T, path string, n int) (size int64) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		if n--; n < 0 {
			break
		}
		size += int64(len(line))
	}
	return size
}
