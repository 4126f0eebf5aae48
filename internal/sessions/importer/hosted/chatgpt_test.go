package hosted_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/hosted"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// node returns a message as the mapping has it.
func gptNode(id, parent, role, content, more string) string {
	return `"` + id + `":{"id":"` + id + `","parent":"` + parent + `","children":[],"message":{"id":"` + id + `","author":{"role":"` + role + `"},"create_time":1767225600.5,"content":` + content + `,"status":"finished_successfully"` + more + `}}`
}

func gptText(s string) string { return `{"content_type":"text","parts":["` + s + `"]}` }

func gptConversation(id, current string, nodes ...string) string {
	return `{"title":"Weather","create_time":1767225600,"update_time":1767225700,"mapping":{"root":{"id":"root","message":null,"parent":null,"children":[]},` +
		strings.Join(nodes, ",") + `},"moderation_results":[],"current_node":"` + current + `","conversation_id":"` + id + `","default_model_slug":"gpt-x","id":"` + id + `"}`
}

const to = `,"recipient":"`

// gptSample has a conversation whose first answer was made again, and one with tools and a picture.
var gptSample = []string{
	gptConversation("c-1", "b2",
		gptNode("a", "root", "user", gptText("sun?"), ""),
		gptNode("b1", "a", "assistant", gptText("No."), to+`all","metadata":{"model_slug":"gpt-x"}`),
		gptNode("b2", "a", "assistant", gptText("Yes."), to+`all","metadata":{"model_slug":"gpt-y"}`)),
	gptConversation("c-2", "g",
		gptNode("s", "root", "system", gptText(""), `,"weight":0`),
		gptNode("u", "s", "user", `{"content_type":"user_editable_context","user_profile":"I am Ada"}`, ""),
		gptNode("c", "u", "user", `{"content_type":"multimodal_text","parts":[{"content_type":"image_asset_pointer","asset_pointer":"file-service://file-1","width":3},"count"]}`, `,"metadata":{"attachments":[{"id":"file-1","name":"a.png"}]}`),
		gptNode("d", "c", "assistant", `{"content_type":"thoughts","thoughts":[{"summary":"Counting","content":"one, two"}]}`, to+`all"`),
		gptNode("e", "d", "assistant", `{"content_type":"code","language":"unknown","text":"print(2)"}`, to+`python"`),
		gptNode("f", "e", "tool", `{"content_type":"execution_output","text":"2"}`, `,"metadata":{"aggregate_result":{"status":"success"}}`),
		gptNode("e2", "f", "assistant", gptText(`{\"q\":\"two\"}`), to+`web.search"`),
		gptNode("f2", "e2", "tool", `{"content_type":"system_error","name":"Timeout","text":"slow"}`, ""),
		gptNode("g", "f2", "assistant", gptText("two"), to+`all"`)),
}

func FuzzChatGPT(f *testing.F) { imp.Fuzz(f, hosted.ChatGPT.Name, gptSample) }

// TestChatGPT: an abandoned branch is a fork; a message to a tool is a call.
func TestChatGPT(t *testing.T) {
	seen := formattest.Seen{}
	items, stats := imp.Items(t, hosted.ChatGPT.Name, "x.json", []byte(gptSample[0]), seen)
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
	items, _ = imp.Items(t, hosted.ChatGPT.Name, "x.json", []byte(gptSample[1]), seen)
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
func TestNewerChatGPT(t *testing.T) {
	seen := formattest.Seen{}
	imp.Items(t, hosted.ChatGPT.Name, "x.json", []byte(gptSample[0]), seen)
	newer := strings.Replace(gptSample[0], `"current_node":"b2"`, `"current_node":"d"`, 1)
	newer = strings.Replace(newer, `"b2":{`, gptNode("c", "b1", "user", gptText("sure?"), "")+`,`+gptNode("d", "c", "assistant", gptText("No."), to+`all"`)+`,"b2":{`, 1)
	newer = strings.Replace(newer, `"title":"Weather"`, `"title":"Sun"`, 1)
	seen["\x00b1"], seen["\x00b1/run"] = true, true // a store also knows the keys of forks
	items, _ := imp.Items(t, hosted.ChatGPT.Name, "x.json", []byte(newer), seen)
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
	bad := gptConversation("c-3", "x",
		gptNode("x", "y", "user", gptText("one"), ""), gptNode("y", "x", "user", gptText("two"), ""),
		gptNode("z", "nowhere", "user", gptText("three"), ""), gptNode("../w", "../w", "user", gptText("four"), ""))
	items, _ := imp.Items(t, hosted.ChatGPT.Name, "x.json", []byte(bad), formattest.Seen{})
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

func TestDetectedChatGPT(t *testing.T) {
	for _, b := range []string{gptSample[0], "[" + strings.Join(gptSample, ",") + "]", "[" + gptSample[0][:len(gptSample[0])-150], "[\n  " + strings.ReplaceAll(gptSample[0], ",", ",\n  ")} {
		if got, ok := imp.Detect("conversations.json", []byte(b)); !ok || got != hosted.ChatGPT.Name {
			t.Errorf("taken for %q, want %q: %s", got, hosted.ChatGPT.Name, b)
		}
	}
	info, err := imp.Describe(t.Context(), hosted.ChatGPT.Name, formattest.Source("conversations.json", []byte(gptSample[0])))
	if err != nil || info.Session != "c-1" || info.Started != "2026-01-01T00:00:00.000000+00:00" || string(info.State) != `{"model":"gpt-x"}` {
		t.Errorf("%+v, %v; want session c-1 with date and model", info, err)
	}
}
