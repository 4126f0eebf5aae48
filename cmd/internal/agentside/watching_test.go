package agentside

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

const id = "11111111-1111-4111-8111-111111111111"

// watch returns a watch that records into s, and a transcript of one session in a new folder.
func watch(t *testing.T, s *repo.Store, place string) (w *Watch, transcript string, out *bytes.Buffer) {
	t.Helper()
	transcript = filepath.Join(t.TempDir(), id+".jsonl")
	storetest.WriteFile(t, transcript, []byte(`{"parentUuid":null,"cwd":"/p","sessionId":"`+id+`","type":"user","message":{"role":"user","content":"add a menu"},"uuid":"u1","timestamp":"2026-03-01T10:00:00Z"}`+"\n"+
		`{"parentUuid":"u1","cwd":"/p","sessionId":"`+id+`","type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"It has tea."}],"stop_reason":"end_turn"},"uuid":"u2","timestamp":"2026-03-01T10:01:00Z"}`+"\n"))
	out = &bytes.Buffer{}
	places := []string{place}
	r := &recorder.Recorder{Formats: importer.All(), Places: places, Now: time.Now,
		Open:     func(context.Context, string, string) (*repo.Store, error) { return s, nil },
		Push:     func(context.Context, *repo.Store, string) error { return nil },
		Imported: func(context.Context, *repo.Store, string) error { return nil }}
	streams := &stdio.Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Out: bufio.NewWriter(out), Getenv: func(string) string { return "" }, Now: time.Now, Verbose: true}
	return &Watch{Streams: streams, Recorder: r, Places: places, Workspace: s.Dir()}, transcript, out
}

// The first watch of a named folder records everything in it; later ones record what was written since.
func TestFolder(t *testing.T) {
	s, place := storetest.New(t, nil), t.TempDir()
	w, transcript, out := watch(t, s, place)
	dir := filepath.Dir(transcript)
	since, err := w.Begin([]string{dir})
	if err != nil || len(since) != 1 || !since[dir].IsZero() {
		t.Fatalf("watching a named folder: got %v, %v, want everything from the zero time", since, err)
	}
	began := time.Now()
	storetest.Must(t, w.Changed(t.Context(), []string{transcript, filepath.Join(dir, "other.txt")}))
	tp, err := s.Tape(t.Context(), id)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if lines := strings.Join(storetest.Lines(storetest.Entries(t, tp, repo.Query{})), "\n"); !strings.Contains(lines, "add a menu") {
		t.Errorf("recorded\n%s\nwant \"add a menu\"", lines)
	}
	again, _, _ := watch(t, s, place)
	if since, err = again.Begin([]string{dir}); err != nil || since[dir].Before(began.Add(-time.Second)) {
		t.Errorf("watching again: got %v, %v, want the time of the first watch, %v", since, err, began)
	}
}

// A transcript that does not name its project is not recorded, unless --workspace is given.
func TestNoProject(t *testing.T) {
	s := storetest.New(t, nil)
	w, transcript, out := watch(t, s, t.TempDir())
	w.Workspace = ""
	storetest.WriteFile(t, transcript, []byte(`{"parentUuid":null,"sessionId":"`+id+`","type":"user","message":{"role":"user","content":"add a menu"},"uuid":"u1","timestamp":"2026-03-01T10:00:00Z"}`+"\n"))
	_, err := w.Begin([]string{filepath.Dir(transcript)})
	storetest.Must(t, err)
	storetest.Must(t, w.Changed(t.Context(), []string{transcript}))
	if _, err := s.Tape(t.Context(), id); err == nil || !strings.Contains(out.String(), "record it with tape import or --workspace") {
		t.Errorf("opening the tape: %v, want an error; output:\n%s\nwant how to record the transcript", err, out)
	}
}

// In the agents' own folders, only what is written from now on is recorded.
func TestOwnFolders(t *testing.T) {
	w, _, _ := watch(t, storetest.New(t, nil), t.TempDir())
	home := t.TempDir()
	w.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	t.Setenv("HOME", home)
	since, err := w.Begin(nil)
	if err != nil || len(since) == 0 {
		t.Fatalf("watching the agents' folders: got %v, %v, want some folders", since, err)
	}
	for dir, at := range since {
		if time.Since(at) > time.Minute {
			t.Errorf("%s is watched from %s, want from now", dir, at)
		}
	}
	if is := MayHaveSessions(filepath.Join(home, ".claude", "projects", "-p", id+".jsonl")); !is || MayHaveSessions(filepath.Join(home, "notes.txt")) {
		t.Errorf("MayHaveSessions says %v for a transcript, want true, and false for notes.txt", is)
	}
	// A task of Claude Desktop has a folder of its own.
	task := filepath.Join(home, ".config", "Claude", "local-agent-mode-sessions", "o", "a", "local_1", ".claude", "projects")
	storetest.Must(t, os.MkdirAll(task, 0o700))
	if later := w.Later(); len(later) != 1 || later[task].IsZero() || len(w.Later()) != 0 {
		t.Errorf("after a new folder: got %v, want only %s, once", later, task)
	}
}
