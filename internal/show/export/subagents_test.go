package export

import (
	"strings"
	"testing"

	"tape/repo"
)

// helped is a session in which a subagent reads a file between two calls of the main agent.
func helped(t *testing.T) Source {
	r := record(t)
	r.phases[0].State = []byte(`{"cwd":"/shop"}`)
	r.entries[0].Payload = []byte(`{"name":"session/start","state":{"cwd":"/shop","agent":"claude-code"}}`)
	r.say("user", "Fix the retry")
	r.add(repo.KindToolCall, `{"calls":[{"id":"1","type":"function","function":{"name":"Task","arguments":"{\"description\":\"Review <it>\",\"prompt\":\"Look\"}"}}]}`, `{}`)
	const of = `{"context":false,"origin":{"fork":"agent-7"}}`
	r.add(repo.KindEvent, `{"name":"agent"}`, of)
	r.add(repo.KindMessage, `{"role":"user","content":"Look"}`, of)
	r.add(repo.KindToolCall, `{"calls":[{"id":"2","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"/shop/very/long/way/retry.go\"}"}}]}`, of)
	r.add(repo.KindToolResult, `{"results":["the file"]}`, `{"call_ids":["2"],"context":false,"origin":{"fork":"agent-7"}}`)
	r.add(repo.KindEvent, `{"name":"run"}`, of)
	r.results(`{"call_ids":["1"]}`, "all is well")
	r.add(repo.KindEvent, `{"name":"tool.detail","data":{"call_id":"1","agentId":"7"}}`, `{}`)
	r.say("assistant", "Done.")
	src := r.source()
	src.AgentTitle = func(name string) string { return map[string]string{"claude-code": "Claude Code"}[name] }
	return src
}

// What a subagent did is folded under its task, and the agent has its usual name.
func TestSubagent(t *testing.T) {
	for _, published := range []bool{false, true} {
		src := helped(t)
		src.Published = published
		page := write(t, "html", src)
		checkPage(t, page)
		_, rest, ok := strings.Cut(page, `<details class="helper"><summary><strong>Subagent</strong>`)
		begins, rest, _ := strings.Cut(rest, "</summary>")
		inside := rest[:strings.LastIndex(rest[:strings.Index(rest, "Done.")], "</details>")]
		if !ok || !strings.Contains(begins, "Review &lt;it&gt;") || !strings.Contains(begins, "1 call") || !strings.Contains(inside, "the file") {
			t.Errorf("the page has no subagent: %q\n%s", begins, page)
		}
		if strings.Count(page, "Subagent</strong>") != 1 || strings.Contains(inside, "not in context") || !strings.Contains(page, "Claude Code") {
			t.Errorf("the page has two subagents, marks their entries as not in context, or lacks the agent's name:\n%s", page)
		}
		if want := `<span class="dir">very/long/way/</span><span class="base">retry.go</span>`; !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	doc := write(t, "markdown", helped(t))
	_, rest, ok := strings.Cut(doc, "\n"+FoldBegins+"<b>Subagent</b> Review &lt;it&gt; · 1 call</summary>\n")
	if !ok || strings.Index(rest, "the file") > strings.Index(rest, "Done.") || strings.Contains(rest, "not in context") {
		t.Errorf("the document has no subagent:\n%s", doc)
	}
}

// The pieces of a subagent say whose they are.
func TestPiecesOfSubagent(t *testing.T) {
	src := helped(t)
	top, err := TopOf(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	var of []string
	err = Pieces(t.Context(), src, top, PieceOptions{}, func(p Piece) error {
		if p.Helper != nil {
			of = append(of, string(p.Helper.Begin()))
		}
		return nil
	})
	if err != nil || len(of) < 2 || of[0] != of[1] || !strings.Contains(of[0], "Review &lt;it&gt;") {
		t.Errorf("the pieces of the subagent begin with %q: %v", of, err)
	}
}
