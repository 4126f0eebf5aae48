package web

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tape/internal/show/conversation"
	"tape/internal/show/outline"
	"tape/internal/show/prose"
	"tape/repo"
)

// sessionEntries makes an entry of each line: KIND | PAYLOAD | META, where META may be missing.
func sessionEntries(lines ...string) []repo.Entry {
	var out []repo.Entry
	for i, l := range lines {
		f := strings.SplitN(l+" | {}", " | ", 4)
		out = append(out, repo.Entry{ID: int64(i + 1), Kind: f[0], Payload: json.RawMessage(f[1]), Meta: json.RawMessage(f[2]), Anchor: "session/start", AnchorSeq: 1})
	}
	return out
}

// calling returns the line of an entry with one call.
func calling(id, name string, args any) string {
	text, _ := json.Marshal(args)
	quoted, _ := json.Marshal(string(text))
	return fmt.Sprintf(`tool_call | {"calls":[{"id":%q,"function":{"name":%q,"arguments":%s}}]}`, id, name, quoted)
}

// shown is what a page shows of all entries.
func shown(t *testing.T, list []repo.Entry, change func(*entryViewer)) []shownEntry {
	t.Helper()
	v := &entryViewer{Prose: prose.New(), Tape: "main", Dir: "/shop", First: 1, Last: int64(len(list))}
	if change != nil {
		change(v)
	}
	err := conversation.Each(t.Context(), func(yield func(repo.Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}, v.Item)
	if err != nil {
		t.Fatal(err)
	}
	return v.Entries()
}

// told returns a line for each entry: its kind, how it looks, its id, its group if it is one, and its calls.
func told(list []shownEntry) (out []string) {
	for _, e := range list {
		line := fmt.Sprintf("%s %s @%d", e.Kind, e.Look, e.ID)
		if e.GoesOn {
			line += " goes on"
		}
		if len(e.Events) > 0 {
			line += fmt.Sprintf(" %q %d inside, %d calls", e.Who, len(e.Events), e.CallsIn)
		}
		for _, c := range e.Calls {
			line += fmt.Sprintf(" [%s %s%s %s]", c.Verb, c.Dir, c.Base+strings.Repeat(c.Subject, b2i(c.Base == "")), c.Outcome)
		}
		out = append(out, line)
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSession: prompts and answers stand by themselves. What a subagent did is in a group with the name of its task.
// The events of a turn are in a group at its end. Somebody who goes on speaking is not named again.
func TestSession(t *testing.T) {
	list := sessionEntries(
		`anchor | {"name":"session/start","state":{}}`,
		`message | {"role":"user","content":"Fix it"}`,
		`event | {"name":"thinking","data":{"thinking":"Let me see."}}`,
		`message | {"role":"assistant","content":"I look."}`,
		calling("1", "Edit", map[string]string{"file_path": "/shop/cmd/a.go", "old_string": "x", "new_string": "y"}),
		`tool_result | {"results":["done"]} | {"call_ids":["1"]}`,
		calling("2", "exec_command", map[string]string{"cmd": "go test"}),
		`tool_result | {"results":["Chunk ID: 1\nProcess exited with code 1\nFAIL"]} | {"call_ids":["2"]}`,
		`message | {"role":"user","content":"Review it"} | {"context":false,"origin":{"fork":"agent-7"}}`,
		calling("3", "Bash", map[string]string{"command": "ls"})+` | {"context":false,"origin":{"fork":"agent-7"}}`,
		`event | {"name":"run","data":{"model":"opus"}}`,
		`message | {"role":"user","content":"Thanks"}`,
		`message | {"role":"user","content":"Taken back"} | {"context":false}`)
	o, err := outline.Of(t.Context(), func(yield func(repo.Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	got := shown(t, list, func(v *entryViewer) { v.Turns = o })
	want := []string{`group  @1 "" 1 inside, 0 calls`, `message user @2`, `event thinking @3`, `message assistant @4 goes on`, `calls  @5 goes on [Edit cmd/a.go ]`, `calls  @7 goes on [Run go test failed]`,
		`helper  @9 "Review it" 2 inside, 1 calls`, `group  @11 "" 1 inside, 0 calls`, `message user @12`, `message user @13`}
	if told := told(got); !slices.Equal(told, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if prompt := got[1]; prompt.Turn == nil || prompt.Turn.Calls != 3 || prompt.Turn.Failed != 1 {
		t.Errorf("the turn of the prompt is %+v, want 3 calls, 1 failed", prompt.Turn)
	}
	whole := shown(t, list, func(v *entryViewer) { v.Whole = true })
	if slices.ContainsFunc(whole, func(e shownEntry) bool { return e.Kind == "group" || e.Kind == "helper" }) {
		t.Errorf("with Whole, entries are in groups: %q", told(whole))
	}
}

// TestRoom: a page has the beginning of a long text. A full page has calls without their bodies.
func TestRoom(t *testing.T) {
	long := strings.Repeat("a line of the log ", 1000)
	lines := []string{`message | {"role":"assistant","content":"` + long + `"}`}
	for i := range 20 {
		id := fmt.Sprint("c", i)
		lines = append(lines, calling(id, "Bash", map[string]string{"command": "make"}), `tool_result | {"results":["`+long[:3000]+`"]} | {"call_ids":["`+id+`"]}`)
	}
	list := sessionEntries(lines...)
	got := shown(t, list, nil)
	if b := got[0].Body[0]; b.Rest != 18000-4095 || // before a word
		b.Link != "/t/main/-/entry/1" {
		t.Errorf("%d bytes are left out, want %d; the link is %s", b.Rest, 18000-4095, b.Link)
	}
	if first, last := got[1].Calls[0], got[20].Calls[0]; len(first.Body) != 2 || first.Link != "" || last.Body != nil || last.Link != "/t/main/-/entry/40" {
		t.Errorf("want the first call with its body, the last one with a link; got %+v and %+v", first, last)
	}
	for _, e := range shown(t, list, func(v *entryViewer) { v.Whole = true }) {
		if slices.ContainsFunc(e.Body, func(b entryBody) bool { return b.Rest > 0 }) || slices.ContainsFunc(e.Calls, func(c shownCall) bool { return c.Link != "" || len(c.Body) == 0 }) {
			t.Errorf("with Whole, @%d is not complete", e.ID)
		}
	}
}

// TestHostile: what was recorded stays text, whatever the shape of its call.
func TestHostile(t *testing.T) {
	const evil = "<script>alert(1)</script>"
	var lines []string
	for i, name := range []string{"Bash", "Edit", "Write", "Grep", "Task", "WebFetch", "TodoWrite", "Read", "apply_patch", evil} {
		id := fmt.Sprint("c", i)
		lines = append(lines, calling(id, name, map[string]any{"command": evil, "file_path": evil, "content": evil, "old_string": "x" + evil, "new_string": evil,
			"pattern": evil, "prompt": evil, "url": evil, "input": "*** Begin Patch\n*** Update File: " + evil + "\n@@\n-" + evil + "\n*** End Patch", "todos": []map[string]string{{"content": evil}}}),
			`tool_result | {"results":["`+evil+`:1:`+evil+`"]} | {"call_ids":["`+id+`"]}`)
	}
	lines = append(lines, `message | {"role":"user","content":"`+evil+`"}`, `event | {"name":"`+evil+`","data":{"`+evil+`":"`+evil+`"}}`, `error | {"kind":"`+evil+`","message":"`+evil+`"}`)
	texts := 0
	var check func(list []shownEntry)
	check = func(list []shownEntry) {
		for _, e := range list {
			check(e.Events)
			bodies := e.Body
			for _, c := range e.Calls {
				bodies = append(bodies, c.Body...)
			}
			for _, b := range bodies {
				if texts++; strings.Contains(string(b.HTML), "<script") {
					t.Errorf("@%d: %s", e.ID, b.HTML)
				}
			}
		}
	}
	if check(shown(t, sessionEntries(lines...), nil)); texts < 20 {
		t.Errorf("only %d texts are shown, want at least 20", texts)
	}
}

// TestPicture: pictures are found wherever they are in an entry.
func TestPicture(t *testing.T) {
	e := sessionEntries(`message | {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"aG8="}}]}`)[0]
	for n, want := range []string{"image/png aGk=", "image/gif aG8=", " "} {
		if mime, data := pictureOf(e, n); mime+" "+data != want {
			t.Errorf("picture %d: %s %s, want %s", n, mime, data, want)
		}
	}
	artifact := sessionEntries(`message | {"role":"user","content":[{"type":"image","mime_type":"image/png","artifact":"x"}]}`)[0] // its bytes are not in the entry
	if mime, _ := pictureOf(artifact, 0); mime != "" {
		t.Errorf("an artifact is shown as %s without data", mime)
	}
	if got := shown(t, []repo.Entry{e}, nil)[0].Images; !slices.Equal(got, []string{"/t/main/-/image/1/0", "/t/main/-/image/1/1"}) {
		t.Errorf("the addresses of the pictures are %q", got)
	}
}
