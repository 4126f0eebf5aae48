package sharing

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/resume"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

const id = "11111111-1111-4111-8111-111111111111"

// prepared returns a Forgetting of a session whose transcript Claude Code still has.
func prepared(t *testing.T) (f *Forgetting, out *bytes.Buffer, transcript string) {
	t.Helper()
	home := t.TempDir()
	transcript = filepath.Join(storetest.Mkdir(t, home, ".claude", "projects", "-p"), id+".jsonl")
	storetest.WriteFile(t, transcript, []byte(`{"parentUuid":null,"cwd":"/p","sessionId":"`+id+`","type":"user","message":{"role":"user","content":"private"},"uuid":"u1","timestamp":"2026-03-01T10:00:00Z"}`+"\n"))
	s := storetest.New(t, nil)
	tp, err := s.CreateTape(t.Context(), id)
	storetest.Must(t, err)
	private := repo.Message("user", "private-text")
	private.Meta = []byte(`{"source":{"format":"claude-code","ids":["u0"]}}`)
	storetest.Append(t, tp, private)
	storetest.Checkpoint(t, tp)
	out = &bytes.Buffer{}
	streams := &stdio.Streams{Stdin: strings.NewReader(""), Stdout: out, Stderr: out, Out: bufio.NewWriter(out), Getenv: func(string) string { return "" }, Now: time.Now}
	return &Forgetting{Streams: streams, Store: s, Name: id, Yes: true, Derived: func(context.Context) error { return nil },
		Where: resume.Where{User: record.Where{Home: home, Getenv: streams.Getenv}}}, out, transcript
}

// The session is gone from the workspace's history, the agent's file is named, and stays.
func TestForget(t *testing.T) {
	f, out, transcript := prepared(t)
	storetest.Must(t, f.Run(t.Context()))
	storetest.Must(t, f.Flush())
	if _, err := f.Store.Tape(t.Context(), id); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("the tape: %v, want %v", err, repo.ErrNotFound)
	}
	storetest.WantNowhere(t, f.Store.Dir(), "session/start private-text")
	if !strings.Contains(out.String(), "~/.claude/projects/-p/"+id+".jsonl still has the text; to delete it: rm "+transcript+"\n") {
		t.Errorf("it does not name the transcript:\n%s", out)
	}
	if _, err := os.Stat(transcript); err != nil {
		t.Errorf("the transcript did not stay: %v", err)
	}
}

// With Transcripts, the agent's file goes, too.
func TestTranscripts(t *testing.T) {
	f, out, transcript := prepared(t)
	f.JSON, f.Transcripts = true, true
	storetest.Must(t, f.Run(t.Context()))
	storetest.Must(t, f.Flush())
	if _, err := os.Stat(transcript); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the transcript is not deleted: %v", err)
	}
	if want := `{"tape":"` + id + `","forgotten":true,"transcripts":[],"deleted":["` + transcript + `"],"remotes":[],"remaining":[]}` + "\n"; out.String() != want {
		t.Errorf("%s, not %s", out, want)
	}
}

// The sessions of subagents go with their session, and a tape of the user's own whose name is below it stays.
func TestSubagents(t *testing.T) {
	f, out, transcript := prepared(t)
	file := filepath.Join(storetest.Mkdir(t, filepath.Dir(transcript), id, "subagents"), "agent-a1.jsonl")
	storetest.WriteFile(t, file, []byte(`{"parentUuid":null,"isSidechain":true,"agentId":"a1","cwd":"/p","sessionId":"`+id+`","type":"user","message":{"role":"user","content":"private of the subagent"},"uuid":"u2","timestamp":"2026-03-01T10:00:01Z"}`+"\n"))
	b := importer.NewBatch(f.Store, "test", importer.OpenFile, func(_ importer.Result, err error) error { return err })
	defer b.Close()
	storetest.Must(t, b.File(t.Context(), file, importer.Options{}))
	storetest.Must(t, b.Flush(t.Context()))
	storetest.Tape(t, f.Store, id+"/agent-a1")
	mine, err := f.Store.CreateTape(t.Context(), id+"/notes")
	storetest.Must(t, err)
	storetest.Append(t, mine, repo.Message("user", "stays"))

	f.Transcripts = true
	storetest.Must(t, f.Run(t.Context()))
	storetest.Must(t, f.Flush())
	for _, name := range []string{id, id + "/agent-a1"} {
		if _, err := f.Store.Tape(t.Context(), name); !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("the tape %s: %v, want %v", name, err, repo.ErrNotFound)
		}
	}
	storetest.WantNowhere(t, f.Store.Dir(), "private of the subagent")
	storetest.WantTexts(t, mine, "session/start stays")
	if !strings.Contains(out.String(), "deleted ~/.claude/projects/-p/"+id+"/subagents/agent-a1.jsonl\n") {
		t.Errorf("it does not name the subagent's transcript:\n%s", out)
	}
}

// Without a terminal to ask on, or a remote to delete at, nothing is changed.
func TestRefused(t *testing.T) {
	f, _, _ := prepared(t)
	f.Yes = false
	if err := f.Run(t.Context()); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("without a terminal: %v, want %v", err, repo.ErrInvalid)
	}
	f.Yes, f.AtRemotes = true, true
	if err := f.Run(t.Context()); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "has no remote") {
		t.Errorf("without a remote: %v, want %v", err, repo.ErrInvalid)
	}
	storetest.WantTexts(t, storetest.Tape(t, f.Store, id), "session/start private-text")
}
