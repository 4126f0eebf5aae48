package resume

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

const id = "11111111-1111-4111-8111-111111111111"

// transcriptHome makes a home directory with a session of Claude Code and its subagent's file, another session, and a file that
// is no transcript.
func transcriptHome(t *testing.T) (at Where, file, subagent string) {
	t.Helper()
	dir := t.TempDir()
	folder := storetest.Mkdir(t, dir, ".claude", "projects", "-p")
	line := func(session, text string) []byte {
		return fmt.Appendf(nil, `{"parentUuid":null,"cwd":"/p","sessionId":%q,"type":"user","message":{"role":"user","content":%q},"uuid":"u1","timestamp":"2026-03-01T10:00:00Z"}`+"\n", session, text)
	}
	file = filepath.Join(folder, id+".jsonl")
	storetest.WriteFile(t, file, line(id, "needle"))
	storetest.WriteFile(t, filepath.Join(folder, "22222222-2222-4222-8222-222222222222.jsonl"), line("22222222-2222-4222-8222-222222222222", "hay"))
	storetest.WriteFile(t, filepath.Join(folder, "notes.jsonl"), []byte("{}\n"))
	subagent = filepath.Join(storetest.Mkdir(t, folder, id, "subagents"), "agent-a1.jsonl")
	storetest.WriteFile(t, subagent, line(id, "sub"))
	storetest.WriteFile(t, filepath.Join(storetest.Mkdir(t, dir, ".gemini", "tmp", "p", "chats"), "session-2026-03-01T10-00-11111111.json"), []byte("{}\n"))
	return Where{User: record.Where{Home: dir, Getenv: func(string) string { return "" }}}, file, subagent
}

// imported is a workspace with the session of a transcript.
func imported(t *testing.T, file string) (*repo.Store, *repo.Tape) {
	t.Helper()
	s := storetest.New(t, nil)
	b := importer.NewBatch(s, "test", importer.OpenFile, func(_ importer.Result, err error) error { return err })
	defer b.Close()
	storetest.Must(t, b.File(t.Context(), file, importer.Options{}))
	storetest.Must(t, b.Flush(t.Context()))
	return s, storetest.Tape(t, s, id)
}

// Find finds a session's transcript and those of its subagents, and no other.
func TestFind(t *testing.T) {
	at, file, subagent := transcriptHome(t)
	s, tp := imported(t, file)
	session, err := SessionOf(t.Context(), s, id)
	storetest.Must(t, err)
	found, err := Find(t.Context(), session, at)
	storetest.Must(t, err)
	if want := []string{file, subagent}; !slices.Equal(found.Files, want) || len(found.Own) > 0 {
		t.Errorf("the files are %q, and %q of the recorder, not %q", found.Files, found.Own, want)
	}
	if got, err := TranscriptOf(t.Context(), s, tp, at); err != nil || got != file {
		t.Errorf("the transcript is %q, not %q: %v", got, file, err)
	}
	with, err := Containing(t.Context(), tp, at, func(line []byte) bool { return bytes.Contains(line, []byte("needle")) })
	if storetest.Must(t, err); !slices.Equal(with, []string{file}) {
		t.Errorf("%q have the text, not %q", with, file)
	}
}

// For a subagent's session, Find finds its own file, and not that of the session that started it.
func TestFindSubagent(t *testing.T) {
	at, _, subagent := transcriptHome(t)
	raw, err := os.ReadFile(subagent)
	storetest.Must(t, err)
	storetest.WriteFile(t, subagent, bytes.Replace(raw, []byte(`"type"`), []byte(`"isSidechain":true,"agentId":"a1","type"`), 1))
	found, err := Find(t.Context(), Session{IDs: []string{id + "/agent-a1"}}, at)
	storetest.Must(t, err)
	if !slices.Equal(found.Files, []string{subagent}) {
		t.Errorf("the files are %q, not %q", found.Files, subagent)
	}
}

// A tape that was not imported has no transcript, and a transcript that is gone is not found. A tape that is gone
// leaves its name as the session's only id.
func TestNone(t *testing.T) {
	at, file, _ := transcriptHome(t)
	s, tp := imported(t, file)
	storetest.Must(t, os.RemoveAll(filepath.Join(at.User.Home, ".claude")))
	if _, err := TranscriptOf(t.Context(), s, tp, at); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("the error about a transcript that is gone is %v", err)
	}
	main := storetest.Tape(t, s, "main")
	if _, err := TranscriptOf(t.Context(), s, main, at); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("the error about a tape that was not imported is %v", err)
	}
	session, err := SessionOf(t.Context(), s, "main")
	storetest.Must(t, err)
	if found, err := Find(t.Context(), session, at); err != nil || len(found.Files) > 0 {
		t.Errorf("main has the transcripts %q (error %v), want none", found.Files, err)
	}
	if session, err := SessionOf(t.Context(), s, "gone"); err != nil || !slices.Equal(session.IDs, []string{"gone"}) {
		t.Errorf("the ids of a tape that is gone are %q: %v", session.IDs, err)
	}
}

// Of a tape of Bub's in a clone, nothing says that it was imported. The error does not deny it.
func TestNoneOfBub(t *testing.T) {
	at, _, _ := transcriptHome(t)
	file := filepath.Join(t.TempDir(), "bub.jsonl")
	storetest.WriteFile(t, file, []byte(`{"id":1,"kind":"message","payload":{"role":"user","content":"hi"},"meta":{},"date":"2026-02-22T05:20:15+00:00"}`+"\n"))
	s := storetest.New(t, nil)
	b := importer.NewBatch(s, "test", importer.OpenFile, func(_ importer.Result, err error) error { return err })
	defer b.Close()
	storetest.Must(t, b.File(t.Context(), file, importer.Options{Tape: "b"}))
	storetest.Must(t, b.Flush(t.Context()))
	storetest.Must(t, importer.Forget(s, "b")) // what the workspace, but not a clone, knows
	var refused *layout.Error
	_, err := TranscriptOf(t.Context(), s, storetest.Tape(t, s, "b"), at)
	if !errors.As(err, &refused) || !strings.Contains(refused.Msg, `no transcript of tape "b" is known`) || len(refused.Way) != 1 || refused.Way[0].Kind != layout.ImportElsewhere {
		t.Errorf("the error is %v, want that no transcript is known, and how to name it", err)
	}
}
