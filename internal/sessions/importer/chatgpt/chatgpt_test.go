package chatgpt_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/chatgpt"
	"tape/internal/sessions/importer/formattest"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// node returns a message as the mapping has it.
func node(id, parent, role, content, more string) string {
	return `"` + id + `":{"id":"` + id + `","parent":"` + parent + `","children":[],"message":{"id":"` + id + `","author":{"role":"` + role + `"},"create_time":1767225600.5,"content":` + content + `,"status":"finished_successfully"` + more + `}}`
}

func text(s string) string { return `{"content_type":"text","parts":["` + s + `"]}` }

func conversation(id, current string, nodes ...string) string {
	return `{"title":"Weather","create_time":1767225600,"update_time":1767225700,"mapping":{"root":{"id":"root","message":null,"parent":null,"children":[]},` +
		strings.Join(nodes, ",") + `},"moderation_results":[],"current_node":"` + current + `","conversation_id":"` + id + `","default_model_slug":"gpt-x","id":"` + id + `"}`
}

const to = `,"recipient":"`

// sample has a conversation whose first answer was made again, and one with tools and a picture.
var sample = []string{
	conversation("c-1", "b2",
		node("a", "root", "user", text("sun?"), ""),
		node("b1", "a", "assistant", text("No."), to+`all","metadata":{"model_slug":"gpt-x"}`),
		node("b2", "a", "assistant", text("Yes."), to+`all","metadata":{"model_slug":"gpt-y"}`)),
	conversation("c-2", "g",
		node("s", "root", "system", text(""), `,"weight":0`),
		node("u", "s", "user", `{"content_type":"user_editable_context","user_profile":"I am Ada"}`, ""),
		node("c", "u", "user", `{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"file-service://file-1","width":3},"count"]}`, `,"metadata":{"attachments":[{"id":"file-1","name":"a.png"}]}`),
		node("d", "c", "assistant", `{"content_type":"thoughts","thoughts":[{"summary":"Counting","content":"one, two"}]}`, to+`all"`),
		node("e", "d", "assistant", `{"content_type":"code","language":"unknown","text":"print(2)"}`, to+`python"`),
		node("f", "e", "tool", `{"content_type":"execution_output","text":"2"}`, `,"metadata":{"aggregate_result":{"status":"success"}}`),
		node("e2", "f", "assistant", text(`{\"q\":\"two\"}`), to+`web.search"`),
		node("f2", "e2", "tool", `{"content_type":"system_error","name":"Timeout","text":"slow"}`, ""),
		node("g", "f2", "assistant", text("two"), to+`all"`)),
}

func FuzzChatGPT(f *testing.F) { imp.Fuzz(f, chatgpt.Format.Name, sample) }

// TestChatGPT: an abandoned branch is a fork; a message to a tool is a call.
func TestChatGPT(t *testing.T) {
	seen := formattest.Seen{}
	items, stats := imp.Items(t, chatgpt.Format.Name, "x.json", []byte(sample[0]), seen)
	formattest.Want(t, items,
		`event {"name":"session","data":{"conversation_id":"c-1","default_model_slug":"gpt-x"}}`,
		`event {"name":"tape.title","data":{"title":"Weather"}}`,
		`message {"role":"user","content":"sun?"}`,
		items[3].Fork+`message {"role":"assistant","content":"No."}`,
		items[3].Fork+`event {"name":"run","data":{"model":"gpt-x"}}`,
		`message {"role":"assistant","content":"Yes."}`,
		`event {"name":"run","data":{"model":"gpt-y"}}`)
	if !strings.HasPrefix(items[3].Fork, "branch-") || stats.Damaged > 0 {
		t.Errorf("want a fork named branch-… and no damage: fork %q, %+v", items[3].Fork, stats)
	}
	items, _ = imp.Items(t, chatgpt.Format.Name, "x.json", []byte(sample[1]), seen)
	formattest.Want(t, items[2:],
		`event {"name":"user_editable_context","data":{"user_profile":"I am Ada"}}`,
		`message {"role":"user","content":[{"type":"image_asset_pointer","asset_pointer":"file-service://file-1","width":3},{"type":"text","text":"count"}]}`,
		`event {"name":"thinking","data":{"thinking":"Counting\n\none, two"}}`,
		`tool_call {"calls":[{"id":"e","type":"function","function":{"name":"python","arguments":"{\"code\":\"print(2)\"}"}}]}`,
		`tool_result {"results":["2"]}`,
		`event {"name":"tool.detail","data":{"call_id":"e","aggregate_result":{"status":"success"}}}`,
		`tool_call {"calls":[{"id":"e2","type":"function","function":{"name":"web.search","arguments":"{\"q\":\"two\"}"}}]}`,
		`tool_result {"results":["slow"]}`,
		`event {"name":"tool.detail","data":{"call_id":"e2","name":"Timeout"}}`,
		`message {"role":"assistant","content":"two"}`)
	if date := items[3].Entry.Date; date != "2026-01-01T00:00:00.500000+00:00" || !strings.Contains(string(items[3].Entry.Meta), `"a.png"`) {
		t.Errorf("want the message's date, and its attachment in the meta: %s %s", date, items[3].Entry.Meta)
	}
}

// TestNewerExport: a newer export adds what is new at the end, and nothing twice, even if another branch has become
// the current one.
func TestNewerExport(t *testing.T) {
	seen := formattest.Seen{}
	imp.Items(t, chatgpt.Format.Name, "x.json", []byte(sample[0]), seen)
	newer := strings.Replace(sample[0], `"current_node":"b2"`, `"current_node":"d"`, 1)
	newer = strings.Replace(newer, `"b2":{`, node("c", "b1", "user", text("sure?"), "")+`,`+node("d", "c", "assistant", text("No."), to+`all"`)+`,"b2":{`, 1)
	newer = strings.Replace(newer, `"title":"Weather"`, `"title":"Sun"`, 1)
	seen["\x00b1"], seen["\x00b1/run"] = true, true // a store also knows the keys of forks
	items, _ := imp.Items(t, chatgpt.Format.Name, "x.json", []byte(newer), seen)
	var own []string
	for line := range strings.Lines(formattest.Show(items)) {
		if !strings.HasPrefix(line, "branch-") {
			own = append(own, line)
		}
	}
	want := `event {"name":"tape.title","data":{"title":"Sun"}}` + "\n" + `message {"role":"user","content":"sure?"}` + "\n" + `message {"role":"assistant","content":"No."}` + "\n"
	if got := strings.Join(own, ""); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestHostileMapping: no message is lost if parents are missing or form a circle.
func TestHostileMapping(t *testing.T) {
	bad := conversation("c-3", "x",
		node("x", "y", "user", text("one"), ""), node("y", "x", "user", text("two"), ""),
		node("z", "nowhere", "user", text("three"), ""), node("../w", "../w", "user", text("four"), ""))
	items, _ := imp.Items(t, chatgpt.Format.Name, "x.json", []byte(bad), formattest.Seen{})
	for _, word := range []string{"one", "two", "three", "four"} {
		if !strings.Contains(formattest.Show(items), `"`+word+`"`) {
			t.Errorf("%s is lost", word)
		}
	}
	for _, item := range items {
		if strings.ContainsAny(item.Fork, "./") {
			t.Errorf("the name of a fork has a dot or a slash: %q", item.Fork)
		}
	}
}

func TestDetected(t *testing.T) {
	for _, b := range []string{sample[0], "[" + strings.Join(sample, ",") + "]", "[" + sample[0][:len(sample[0])-150], "[\n  " + strings.ReplaceAll(sample[0], ",", ",\n  ")} {
		if got, ok := imp.Detect("conversations.json", []byte(b)); !ok || got != chatgpt.Format.Name {
			t.Errorf("taken for %q, want %q: %s", got, chatgpt.Format.Name, b)
		}
	}
	info, err := imp.Describe(t.Context(), chatgpt.Format.Name, formattest.Source("conversations.json", []byte(sample[0])))
	if err != nil || info.Session != "c-1" || info.Started != "2026-01-01T00:00:00.000000+00:00" || string(info.State) != `{"model":"gpt-x"}` {
		t.Errorf("%+v, %v; want session c-1 with date and model", info, err)
	}
}
