package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/agents"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// scribe is a format that tape does not know: lines {session, dir, who, text}.
var scribe = record.Format{
	Name: "scribe",
	Read: func(ctx context.Context, r *record.Reading) error {
		return record.Each(ctx, r.Source, isScribe, nil, &scribeReader{record.Conversation{Reading: r}})
	},
	Describe: func(ctx context.Context, src record.Source, info *record.Info) error {
		return record.Scan(ctx, src, isScribe, nil, func(_ record.Span, raw []byte) bool {
			info.Session, info.Complete = jsonl.GetString(raw, "session"), true
			info.State = record.With(nil, "cwd", jsonl.Get(raw, "dir"))
			return false
		})
	},
	Record: func(m record.Members) record.Confidence { return record.Certain.If(m.Has("session", "dir", "who")) },
	Files: record.Files{
		Folders: func(user record.Where) []string { return []string{user.Folder(".scribe", "SCRIBE_HOME")} },
	},
	Events: []record.HookEvent{{Name: "Opened", Is: record.Start, Timeout: 7}, {Name: "Spoke", Is: record.TurnEnd}, {Name: "Closed", Is: record.End}},
	Agent: &record.Agent{Hooks: "scribe.json", MCP: record.MCPServer,
		Folder: func(w record.Where) string { return w.Folder(".scribe", "SCRIBE_HOME") }},
}

func isScribe(raw []byte) bool { return jsonl.Get(raw, "who") != nil }

type scribeReader struct{ record.Conversation }

func (r *scribeReader) Record(_ record.Span, raw []byte) {
	r.Stats.Records++
	r.Put(record.Message(r.Counts.Key(raw), "", jsonl.GetString(raw, "who"), bytes.Clone(jsonl.Get(raw, "text"))))
}

func scribeLines(dir string, texts ...string) []byte {
	var out []byte
	for i, text := range texts {
		out = fmt.Appendf(out, `{"session":"note-1","dir":%q,"who":%q,"text":%q}`+"\n", dir, []string{"user", "assistant"}[i%2], text)
	}
	return out
}

// TestInventedFormat: a format is one value in the list. Nothing else has to know it: its files are
// recognised, found and imported, and its agent's sessions are recorded while they run.
func TestInventedFormat(t *testing.T) {
	w := newWorld(t)
	w.Formats = append(importer.All(), &scribe)
	project, file := filepath.Join(w.home, "shop"), filepath.Join(w.home, ".scribe", "2026", "a.jsonl")
	write := func(texts ...string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, scribeLines(project, texts...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hello", "good day")

	if f := w.Formats.Detect("x", scribeLines(project, "hello")); f != &scribe {
		t.Errorf("a file of scribe is taken for %v", f)
	}
	if f := importer.All().Detect("x", scribeLines(project, "hello")); f != nil {
		t.Errorf("without scribe in the list, its file is taken for %s", f.Name)
	}
	if names := w.Formats.WithFolders().Names(); !slices.Contains(names, "scribe") {
		t.Errorf("the formats with folders are %q, without scribe", names)
	}
	for dir, want := range map[string][]string{project: {file}, filepath.Join(w.home, "other"): nil} {
		found, err := importer.Discover(t.Context(), &scribe, dir, os.Getenv)
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("the transcripts of %s are %q, not %q: %v", dir, found, want, err)
		}
	}

	store, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got importer.Result
	batch := importer.NewBatch(store, "test", importer.OpenFile,
		func(res importer.Result, err error) error { got = res; return err })
	defer batch.Close()
	if err := batch.File(t.Context(), file, importer.Options{Formats: w.Formats}); err != nil {
		t.Fatal(err)
	}
	if err := batch.Flush(t.Context()); err != nil || got.Format != "scribe" || got.Tape != "note-1" || got.Imported != 2 {
		t.Errorf("the import returned %+v, %v, not 2 entries of scribe on tape note-1", got, err)
	}

	// The workspace becomes an own one. So the session, which it already has, is recorded in it.
	if err := workspace.Trust(store.Dir(), false); err != nil {
		t.Fatal(err)
	}

	w.installScribe()
	say := func(event string) {
		t.Helper()
		w.say("scribe", fmt.Appendf(nil, `{"session_id":"note-1","transcript_path":%q,"cwd":%q,"hook_event_name":%q}`, file, project, event))
		w.run()
	}
	say("Opened")
	write("hello", "good day", "and now?", "nothing")
	say("Spoke")
	if s := w.known()["note-1"]; s == nil || s.Trouble != "" || !s.Files[0].Idle || s.Ended {
		t.Errorf("after a turn, the session is %+v, not idle", s)
	}
	say("Closed")
	if s := w.known()["note-1"]; s == nil || !s.Ended {
		t.Errorf("at the end, the session is %+v, not ended", s)
	}
	text := strings.Join(tapes(t, w.workspaces(1)[0])["note-1"], "\n")
	for _, want := range []string{"hello", "good day", "and now?", "nothing"} {
		if strings.Count(text, `"`+want+`"`) != 1 {
			t.Errorf("%q is not on the tape exactly once:\n%s", want, text)
		}
	}
}

// installScribe writes the hooks of scribe, and checks that Uninstall would remove them all.
func (w *world) installScribe() {
	w.t.Helper()
	where := record.Where{Home: w.home, Getenv: os.Getenv}
	file := filepath.Join(w.home, ".scribe", "scribe.json")
	change := func(list []agents.Change, err error) []byte {
		w.t.Helper()
		if err != nil || len(list) != 1 || list[0].File != file {
			w.t.Fatalf("the changes are %+v, not one of %s: %v", list, file, err)
		}
		return list[0].After
	}
	after := change(agents.Install(&scribe, where, agents.Options{Program: "/opt/tape"}))
	for _, event := range scribe.Events {
		if !bytes.Contains(after, []byte(`"`+event.Name+`"`)) {
			w.t.Errorf("there is no hook for %s in\n%s", event.Name, after)
		}
	}
	if !bytes.Contains(after, []byte("tape hook scribe")) || !bytes.Contains(after, []byte(`"timeout": 7`)) {
		w.t.Errorf("the hooks lack the command or the timeout:\n%s", after)
	}
	if err := os.WriteFile(file, after, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if st := agents.Inspect(&scribe, where, w.home, "/opt/tape"); !st.Installed || len(st.Missing) > 0 || st.Program != "/opt/tape" {
		w.t.Errorf("after the installation, Inspect returns %+v", st)
	}
	if after := change(agents.Uninstall(&scribe, where, w.home)); bytes.Contains(after, []byte("tape")) {
		w.t.Errorf("Uninstall leaves a hook of tape:\n%s", after)
	}
}
