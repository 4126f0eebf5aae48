package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	storetest "tape/internal/testkit/store"
)

// TestSameName: files of one name in two folders are two tapes, and each is imported into its own again.
func TestSameName(t *testing.T) {
	s := testStore(t)
	dir := t.TempDir()
	write := func(name, more string) string {
		path := filepath.Join(dir, name, "chat.json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"messages":[{"role":"user","content":"hi"}`+more+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const one, two = `,{"role":"assistant","content":"one"}`, `,{"role":"assistant","content":"two"}`
	for _, x := range []struct {
		dir, more, tape string
		imported        int
	}{
		{"a", one, "chat", 2}, {"b", two, "b-chat", 2}, {"c", "", "c-chat", 1}, {"x/b", two + two, "b-chat.2", 3},
		{"a", one + two, "chat", 1}, {"b", two, "b-chat", 0}, {"x/b", two + two, "b-chat.2", 0}, // a has grown
		{"copy", one + two, "chat", 0}, // of a
	} {
		if got := mustImport(t, s, write(x.dir, x.more), Options{}); got.Tape != x.tape || got.Imported != x.imported {
			t.Errorf("%s: %d entries into %s, want %d into %s", x.dir, got.Imported, got.Tape, x.imported, x.tape)
		}
	}
	// A file that was moved is the same chat.
	if err := os.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	if got := mustImport(t, s, filepath.Join(dir, "moved", "chat.json"), Options{}); got.Imported > 0 || got.Tape != "b-chat" {
		t.Errorf("%d entries into %s", got.Imported, got.Tape)
	}
}

// TestFormer: a session that was imported from Copilot Chat's transcript, before VS Code had saved it, goes on with the
// transcript, also where it is recorded. Of Cursor's sessions, the database comes before the transcript.
func TestFormer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "workspaceStorage", "abc")
	transcript, saved := filepath.Join(dir, "GitHub.copilot-chat", "transcripts", "c-1.jsonl"), filepath.Join(dir, "chatSessions", "c-1.json")
	for _, path := range []string{transcript, saved} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	began := []string{
		`{"type":"session.start","data":{"sessionId":"c-1","version":1,"producer":"copilot-agent","copilotVersion":"0.55.0"},"id":"a","timestamp":"2026-06-02T23:06:54.049Z","parentId":null}`,
		`{"type":"user.message","data":{"content":"list"},"id":"b","timestamp":"2026-06-02T23:07:00.000Z","parentId":"a"}`,
	}
	storetest.WriteFile(t, transcript, lines(began...))
	s := testStore(t)
	importOne(t, s, transcript)
	before := len(tapeLines(t, s, "c-1"))
	request := `{"requestId":"r1","message":{"text":"list"},"response":[],"timestamp":1780441620000}`
	storetest.WriteFile(t, saved, []byte(`{"version":3,"responderUsername":"GitHub Copilot","sessionId":"c-1","creationDate":1780441614049,"requests":[`+request+`]}`))
	for i, text := range []string{"more", "even more"} {
		id := string(rune('c' + i))
		began = append(began, `{"type":"user.message","data":{"content":"`+text+`"},"id":"`+id+`","timestamp":"2026-06-02T23:08:00.000Z","parentId":"b"}`)
		storetest.WriteFile(t, transcript, lines(began...))
		if i == 0 {
			if res := importOne(t, s, saved); res.File != transcript || res.Imported != 1 {
				t.Errorf("%+v, want one entry of the transcript", res)
			}
		} else if res, err := Continue(t.Context(), s, saved, Live{TurnEnded: true}); err != nil || res.File != transcript {
			t.Errorf("recorded: %+v, %v; want the transcript", res, err)
		}
		if got := len(tapeLines(t, s, "c-1")); got != before+i+1 {
			t.Errorf("%d entries, want %d", got, before+i+1)
		}
	}
	// A tape that began with what VS Code has saved goes on with that.
	other := testStore(t)
	importOne(t, other, saved)
	if res := importOne(t, other, transcript); res.File != saved || res.Imported > 0 {
		t.Errorf("%+v, want nothing new of what VS Code has saved", res)
	}
	if err := os.Remove(transcript); err != nil {
		t.Fatal(err)
	}
	if _, err := importPath(s, saved, Options{}); !strings.Contains(fmt.Sprint(err), "is another one") {
		t.Errorf("without the transcript: %v", err)
	}
	const id = "84000000-0000-4000-8000-00000000000a"
	for other, want := range map[string]bool{"/h/chats/x/" + id + "/store.db/" + id: true, "/h/state.vscdb/" + id: true, "/h/state.vscdb/other": false, "/h/" + id + ".jsonl": false} {
		if got := All().Find("cursor").Files.Former(filepath.FromSlash("/h/agent-transcripts/"+id+".jsonl"), filepath.FromSlash(other)); got != want {
			t.Errorf("%s is a former place: %v, want %v", other, got, want)
		}
	}
}
