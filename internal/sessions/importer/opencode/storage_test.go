package opencode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// storage writes the files of a session as versions before 1.2 did. info, message and part are their folders.
func storage(t *testing.T, info, message, part string) {
	t.Helper()
	for name, text := range map[string]string{
		info + "/ses_1.json":          "{\n  \"id\": \"ses_1\",\n  \"version\": \"1.0.138\",\n  \"projectID\": \"p\",\n  \"directory\": \"/w\",\n  \"title\": \"the title\",\n  \"time\": {\n    \"created\": 1765471505055,\n    \"updated\": 1765471509000\n  }\n}",
		message + "/ses_1/msg_2.json": `{"id":"msg_2","sessionID":"ses_1","role":"assistant","time":{"created":1765471506000,"completed":1765471507000},"modelID":"m","cost":0.25,"tokens":{"input":3,"output":2,"reasoning":1,"cache":{"read":4,"write":5}}}`,
		message + "/ses_1/msg_1.json": `{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1765471505100}}`,
		message + "/ses_1/msg_3.json": `{"id":"msg_3","sess`,
		part + "/msg_1/prt_1.json":    `{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"one"}`,
		part + "/msg_2/prt_3.json":    `{"id":"prt_3","messageID":"msg_2","sessionID":"ses_1","type":"text","text":"two"}`,
		part + "/msg_2/prt_2.json":    `{"id":"prt_2","messageID":"msg_2","sessionID":"ses_1","type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","time":{"start":1765471506100,"end":1765471506200}}}`,
		part + "/msg_2/prt_9.txt":     "no part",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStorage: sessions of versions before 1.2, of which each message and each part is a file, are found and read as an
// export is (AgentWorkforce/relayhistory#168).
func TestStorage(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	dir := filepath.Join(home, ".local", "share", "opencode")
	for _, x := range []struct{ name, info, message, part string }{
		{"versions to 1.1", "storage/session/p", "storage/message", "storage/part"},
		{"first versions", "project/w/storage/session/info", "project/w/storage/session/message", "project/w/storage/session/part/ses_1"},
	} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		storage(t, filepath.Join(dir, x.info), filepath.Join(dir, x.message), filepath.Join(dir, x.part))
		if err := os.Symlink("/etc/passwd", filepath.Join(dir, x.part, "msg_1", "prt_2.json")); err != nil {
			t.Skip("no symbolic links here")
		}
		found, err := importer.Discover(t.Context(), &opencode.Format, "/w", getenv)
		path := filepath.Join(dir, x.info, "ses_1.json")
		if err != nil || !slices.Equal(found, []string{path}) {
			t.Fatalf("%s: found %q, %v; want %q", x.name, found, err, path)
		}
		src, closer, err := importer.OpenSource(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var items []record.Item
		stats, err := importer.Read(t.Context(), &opencode.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
			items = append(items, i)
			return nil
		})
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || stats.Damaged != 2 || !strings.HasSuffix(stats.Problems[1].Msg, "ses_1/msg_3.json cannot be read") {
			t.Errorf("%s: %+v, %v; want a message that was cut and a link as damaged", x.name, stats, err)
		}
		formattest.Want(t, items,
			`event {"name":"session","data":{"id":"ses_1","projectID":"p","directory":"/w","version":"1.0.138"}}`,
			`message {"role":"user","content":"one"}`,
			`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`,
			`tool_result {"results":["a"]}`,
			`event {"name":"tool.detail","data":{"call_id":"c1","time":{"end":1765471506200,"start":1765471506100}}}`,
			`message {"role":"assistant","content":"two"}`,
			`event {"name":"run","data":{"model":"m","usage":{"input_tokens":3,"output_tokens":2,"reasoning_output_tokens":1,"cached_input_tokens":4,"cache_write_input_tokens":5},"cost":0.25}}`,
			`event {"name":"tape.title","data":{"title":"the title"}}`)
		list := importer.Formats{&opencode.Format}
		for _, name := range []string{x.message + "/ses_1/msg_1.json", x.part + "/msg_1/prt_1.json", "storage/session_diff/ses_1.json"} {
			if list.IsTranscript(filepath.Join(dir, name)) {
				t.Errorf("%s: %s counts as a session", x.name, name)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "opencode.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := importer.Folders(&opencode.Format, getenv); got != nil {
		t.Errorf("beside the database, sessions are looked for in %q", got)
	}
}

// TestDirectory: where a session has no directory, that of its project counts (kenn-io/agentsview#1436). A call that opencode
// could not make has failed (kenn-io/agentsview#1255).
func TestDirectory(t *testing.T) {
	for _, x := range []struct{ directory, worktree, want string }{
		{"", "/w", "/w"}, {"/", "/w", "/w"}, {"/w/sub", "/w", "/w/sub"}, {"/", "/", "/"}, {"", "", ""},
	} {
		dir := t.TempDir()
		storage(t, filepath.Join(dir, "session/p"), filepath.Join(dir, "message"), filepath.Join(dir, "part"))
		path := filepath.Join(dir, "session/p/ses_1.json")
		for name, text := range map[string]string{
			path: `{"id":"ses_1","version":"1.0","projectID":"p","directory":"` + x.directory + `","time":{"created":1765471505055}}`,
			filepath.Join(dir, "part/msg_2/prt_2.json"): `{"id":"prt_2","messageID":"msg_2","sessionID":"ses_1","type":"tool","callID":"c1","tool":"invalid","state":{"status":"completed","input":{"tool":"x","error":"no"},"output":"no","time":{"start":1765471506100,"end":1765471506200}}}`,
			filepath.Join(dir, "project/p.json"):        `{"id":"p","worktree":"` + x.worktree + `"}`,
		} {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		info, err := importer.Identify(t.Context(), path)
		if got := jsonl.GetString(info.State, "cwd"); err != nil || got != x.want {
			t.Errorf("%+v: directory %q, %v", x, got, err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		items, _ := imp.Items(t, opencode.Format.Name, path, data, formattest.Seen{})
		failed := slices.ContainsFunc(items, func(it record.Item) bool { return strings.Contains(string(it.Entry.Meta), `"is_error":["c1"]`) })
		if !failed {
			t.Errorf("the call has not failed in\n%s", formattest.Show(items))
		}
	}
}
