package recorder_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// live is where recorded runs of real agents are.
var live = filepath.Join("..", "..", "..", "..", "shared", "fixtures", "live")

// event is a line of a run: what a hook was given, and how long the transcript was then.
type event struct {
	Event      string          `json:"event"`
	Stdin      json.RawMessage `json:"stdin"`
	Transcript *struct {
		Bytes int64 `json:"bytes"`
	} `json:"transcript"`
	next *event
}

func (e *event) path() string { return jsonl.GetString(e.Stdin, "transcript_path") }

func events(t *testing.T, path string) (out []event) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	for i := range len(out) - 1 {
		out[i].next = &out[i+1]
	}
	return out
}

// world is a home with an agent's transcripts and a recorder.
type world struct {
	t     *testing.T
	home  string
	later time.Duration // how far its clock is ahead
	*recorder.Recorder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("TAPE_HOME", filepath.Join(home, ".tape"))
	t.Setenv("TAPE_AUTHOR", "Ada <ada@example.org>")
	if err := os.MkdirAll(filepath.Join(home, "shop"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home}
	places := spool.Places(filepath.Join(home, ".tape"), func(string) string { return filepath.Join(home, "run") })
	w.Recorder = &recorder.Recorder{Places: places, Now: func() time.Time { return time.Now().Add(w.later) }, Open: open,
		Push:     func(context.Context, *repo.Store, string) error { return errors.New("there is no remote") },
		Imported: func(context.Context, *repo.Store, string) error { return nil }}
	t.Cleanup(w.verify)
	return w
}

func open(ctx context.Context, dir, project string) (*repo.Store, error) {
	store, err := repo.Open(ctx, dir, nil)
	if errors.Is(err, repo.ErrNotFound) {
		store, _, err = repo.Init(ctx, dir, nil)
	}
	if err == nil {
		err = (*workspace.Store)(store).NoteProject(project)
	}
	return store, err
}

func (w *world) say(agent string, payload []byte) {
	w.t.Helper()
	// Most of the time to wait for a message has passed already, so that the test is quick.
	at := time.Now().Add(-1800 * time.Millisecond)
	if err := spool.Add(w.FS, w.Places, spool.Note{Agent: agent, At: at, Payload: payload}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) run() {
	w.t.Helper()
	if err := w.Run(context.Background(), false); err != nil {
		w.t.Fatal(err)
	}
}

// grow extends a transcript to the first size bytes of the one at from; -1: all of it. It does nothing if
// there is none.
func grow(t *testing.T, from, to string, size int64) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		if size >= 0 {
			raw = raw[:min(size, int64(len(raw)))]
		}
		err = appendRest(to, raw)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// appendRest appends to a file what raw has beyond it, as agents do.
func appendRest(path string, raw []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		_, err = f.Write(raw[min(st.Size(), int64(len(raw))):])
	}
	return errors.Join(err, f.Close())
}

// replay plays a run of an agent: its transcripts grow to what they were at each hook.
func (w *world) replay(agent, run string) (files []string) {
	w.t.Helper()
	from := filepath.Join(live, agent, run)
	stored := map[string]string{} // paths in the fixture, by the names of the files
	_ = filepath.WalkDir(filepath.Join(from, "session"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			stored[d.Name()] = path
		}
		return nil
	})
	here := func(path string) string { return strings.Replace(path, "/home/dev", w.home, 1) }
	grown := map[string]bool{} // the transcripts
	for _, e := range events(w.t, filepath.Join(from, "hooks.jsonl")) {
		var p struct {
			Path  string `json:"transcript_path"`
			Agent string `json:"agent_transcript_path"`
		}
		if e.Event == "-" || json.Unmarshal(e.Stdin, &p) != nil {
			continue
		}
		path, agentFile := here(p.Path), here(p.Agent)
		if e.Transcript != nil {
			grow(w.t, stored[filepath.Base(path)], path, e.Transcript.Bytes)
			grown[path] = true
		}
		if agentFile != "" && stored[filepath.Base(agentFile)] != "" {
			grow(w.t, stored[filepath.Base(agentFile)], agentFile, -1)
			grown[agentFile] = true
		}
		if !slices.Contains(hookEvents[agent], e.Event) {
			continue
		}
		w.say(agent, bytes.ReplaceAll(e.Stdin, []byte("/home/dev"), []byte(w.home)))
		// What came before the next hook is written while this one is handled.
		late := make(chan struct{})
		go func() {
			defer close(late)
			if next := e.next; next != nil && next.Transcript != nil && next.path() == e.path() {
				testkit.Pause(10 * time.Millisecond)
				grow(w.t, stored[filepath.Base(path)], path, next.Transcript.Bytes)
			}
		}()
		w.run()
		<-late
	}
	for path := range grown {
		grow(w.t, stored[filepath.Base(path)], path, -1)
		if stored[filepath.Base(path)] != "" {
			files = append(files, path)
		}
	}
	// The start of the next session finds what came after the last hook, and that the agent was killed.
	w.later = time.Hour
	w.say(agent, fmt.Appendf(nil, `{"session_id":"next","cwd":%q,"hook_event_name":"SessionStart"}`, filepath.Join(w.home, "shop")))
	w.run()
	slices.SortFunc(files, func(a, b string) int {
		return strings.Compare(fmt.Sprint(strings.Contains(a, "agent-"), a), fmt.Sprint(strings.Contains(b, "agent-"), b))
	})
	return files
}

// hookEvents are the events for which tape installs hooks, by agent.
var hookEvents = map[string][]string{
	"claude-code": {"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"},
	"codex":       {"SessionStart", "UserPromptSubmit", "Stop", "Interrupt", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"},
	"gemini":      {"SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"},
	"qwen":        {"SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"},
}

// different are runs whose recording and import differ, or that make no tape: whoever goes back in a session leaves
// a branch, which is already on the tape by then; and some runs have no hooks, or no session.
var different = []string{"qwen/rewind", "qwen/same_session_twice", "qwen/branch", "qwen/flush"}

// tapes are all entries of a workspace, by tape.
func tapes(t *testing.T, dir string) map[string][]string {
	t.Helper()
	ctx := context.Background()
	store, err := repo.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := store.Tapes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, tape := range list {
		if tape.Name() == repo.DefaultTape {
			continue
		}
		for e, err := range tape.Entries(ctx, repo.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			out[tape.Name()] = append(out[tape.Name()], string(e.Raw))
		}
	}
	return out
}

// verify checks every workspace of the world.
func (w *world) verify() {
	all, err := workspace.Workspaces()
	if err != nil {
		w.t.Error(err)
	}
	for _, dir := range all {
		store, err := repo.Open(context.Background(), dir, nil)
		if err != nil {
			w.t.Error(err)
			continue
		}
		if report, err := store.Verify(context.Background()); err != nil || !report.OK {
			w.t.Errorf("verify %s: %v %v", dir, err, report)
		}
	}
}

// TestLiveIsImport: a session that was recorded while it ran has the same tape as an import of it.
func TestLiveIsImport(t *testing.T) {
	if _, err := os.Stat(live); err != nil {
		t.Skip("there are no recorded runs")
	}
	for agent := range hookEvents {
		runs, _ := filepath.Glob(filepath.Join(live, agent, "*", "hooks.jsonl"))
		for _, path := range runs {
			run := filepath.Base(filepath.Dir(path))
			if slices.Contains(different, agent+"/"+run) {
				continue
			}
			t.Run(agent+"/"+run, func(t *testing.T) {
				w := newWorld(t)
				files := w.replay(agent, run)
				all, err := workspace.Workspaces()
				if err != nil || len(all) != 1 {
					t.Fatalf("there are %d workspaces: %v", len(all), err)
				}
				same(t, tapes(t, all[0]), tapes(t, imported(t, files)))
			})
		}
	}
}

// imported is a workspace into which the transcripts were imported at once.
func imported(t *testing.T, files []string) string {
	t.Helper()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "imported")
	store, _, err := repo.Init(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := importer.NewBatch(store, "", importer.OpenFile,
		func(_ importer.Result, err error) error { return err })
	defer batch.Close()
	for _, path := range files {
		if err := batch.File(ctx, path, importer.Options{Format: importer.Auto}); err != nil {
			t.Fatal(err)
		}
	}
	if err := batch.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	return dir
}

func same(t *testing.T, got, want map[string][]string) {
	t.Helper()
	for name, lines := range want {
		for i, line := range lines {
			if i >= len(got[name]) || got[name][i] != line {
				t.Errorf("tape %s has %d entries, not %d; entry %d is\n%.400s\nnot\n%.400s", name, len(got[name]), len(lines), i+1, append(got[name], make([]string, i+1)...)[i], line)
				break
			}
		}
		if len(got[name]) > len(lines) {
			t.Errorf("tape %s has %d entries, not %d", name, len(got[name]), len(lines))
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("there is a tape %s, which the import does not make", name)
		}
	}
}
