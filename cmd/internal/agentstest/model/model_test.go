package model

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
)

func script() Script {
	return Script{
		"say hello": {{Think: "Hm.", Text: "I will.", Calls: []Call{{Shell, "echo hi"}}}, {Text: "It said hi."}},
		"fill it":   {{Text: "Full.", Tokens: 9e5, Calls: []Call{{Shell, "true"}}}, {Text: "Room again."}},
	}
}

func call(c Call, _ []Item) (string, any) { return c.Tool, map[string]any{"command": c.Arg} }

// dialects has one conversation in each of the four APIs: the first request, and the one with the result.
var dialects = []struct {
	name, path, first, second string
	want                      []string // parts of the answer to the first request
}{
	{
		"Anthropic", "/v1/messages?beta=true",
		`{"stream":true,"tools":[{}],"messages":[{"role":"user","content":"say hello"}]}`,
		`{"stream":true,"tools":[{}],"messages":[{"role":"user","content":[{"type":"text","text":"say hello"}]},
		  {"role":"assistant","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"I will."},{"type":"tool_use","id":"call_001_0","name":"shell","input":{"command":"echo hi"}}]},
		  {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_001_0","content":[{"type":"text","text":"hi"}]}]}]}`,
		[]string{"event: message_start", `"thinking":"Hm."`, `"text":"I will."`, `"id":"call_001_0"`, `"stop_reason":"tool_use"`, "event: message_stop"},
	},
	{
		"Responses", "/v1/responses",
		`{"stream":true,"tools":[{}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"say hello"}]}]}`,
		`{"stream":true,"tools":[{}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"say hello"}]},
		  {"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will."}]},
		  {"type":"function_call","call_id":"call_001_0","name":"shell","arguments":"{}"},{"type":"function_call_output","call_id":"call_001_0","output":"hi"}]}`,
		[]string{"event: response.created", `"text":"Hm."`, `"text":"I will."`, `"call_id":"call_001_0"`, "event: response.completed"},
	},
	{
		"Gemini", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
		`{"tools":[{}],"contents":[{"role":"user","parts":[{"text":"say hello"}]}]}`,
		`{"tools":[{}],"contents":[{"role":"user","parts":[{"text":"say hello"}]},
		  {"role":"model","parts":[{"text":"I will."},{"functionCall":{"id":"call_001_0","name":"shell","args":{"command":"echo hi"}}}]},
		  {"role":"user","parts":[{"functionResponse":{"id":"call_001_0","name":"shell","response":{"output":"hi"}}}]}]}`,
		[]string{`"thought":true`, `"text":"I will."`, `"id":"call_001_0"`, `"finishReason":"STOP"`},
	},
	{
		"chat", "/v1/chat/completions",
		`{"stream":true,"tools":[{}],"messages":[{"role":"system","content":"Be good."},{"role":"user","content":"say hello"}]}`,
		`{"stream":true,"tools":[{}],"messages":[{"role":"system","content":"Be good."},{"role":"user","content":"say hello"},
		  {"role":"assistant","content":"I will.","tool_calls":[{"id":"call_001_0","function":{"name":"shell","arguments":"{}"}}]},
		  {"role":"tool","tool_call_id":"call_001_0","content":"hi"}]}`,
		[]string{`"reasoning_content":"Hm."`, `"content":"I will."`, `"id":"call_001_0"`, `"finish_reason":"tool_calls"`, "data: [DONE]"},
	},
}

// Each API gets the answers of the script, and the exchanges are kept.
func TestDialects(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			s := New(script(), call)
			defer s.Close()
			got := post(t, s.URL+d.path, d.first)
			for _, want := range d.want {
				if !strings.Contains(got, want) {
					t.Errorf("the first answer has no %s:\n%s", want, got)
				}
			}
			if got = post(t, s.URL+d.path, d.second); !strings.Contains(got, "It said hi.") {
				t.Errorf("the second answer does not say \"It said hi.\":\n%s", got)
			}
			e := exchanges(s, 2)
			if e[0].Prompt != "say hello" || !e[0].First || e[1].First || !e[0].Done || !e[1].Done {
				t.Errorf("the exchanges should be done, and only the first one First: %+v", e)
			}
			if last := e[1].History[len(e[1].History)-1]; last.Kind != Result || last.ID != "call_001_0" || !strings.Contains(last.Text, "hi") {
				t.Errorf("the last item is %+v, want the result hi of call_001_0", last)
			}
		})
	}
}

// After a compaction, the answer that filled the context is not given again.
func TestCompacted(t *testing.T) {
	s := New(script(), call)
	defer s.Close()
	ask := func(messages string) string {
		return post(t, s.URL+"/v1/chat/completions", `{"tools":[{}],"messages":[`+messages+`]}`)
	}
	if got := ask(`{"role":"user","content":"fill it"}`); !strings.Contains(got, "Full.") {
		t.Errorf("want \"Full.\", got %s", got)
	}
	if got := ask(`{"role":"user","content":"fill it"},{"role":"user","content":"Now create a detailed summary."}`); !strings.Contains(got, s.Summary) {
		t.Errorf("want the summary, got %s", got)
	}
	if got := ask(`{"role":"user","content":"fill it"},{"role":"user","content":"So far: ` + s.Summary + `"}`); !strings.Contains(got, "Room again.") {
		t.Errorf("want \"Room again.\", got %s", got)
	}
}

// A request for another path is kept as unknown.
func TestUnknown(t *testing.T) {
	s := New(script(), call)
	defer s.Close()
	post(t, s.URL+"/v1/telemetry", `{}`)
	if got := s.Unknown(); !slices.Equal(got, []string{"POST /v1/telemetry"}) {
		t.Errorf("unknown requests: %v, want POST /v1/telemetry", got)
	}
}

// A text is cut into about a hundred pieces, never within a character.
func TestPieces(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("苹果", 5000)} {
		p := pieces(text)
		if strings.Join(p, "") != text || len(p) > 101 {
			t.Errorf("%d bytes become %d pieces, want at most 101 that make the text", len(text), len(p))
		}
		for _, piece := range p {
			if !json.Valid([]byte(`"` + piece + `"`)) {
				t.Errorf("%q is cut within a character", piece)
			}
		}
	}
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// exchanges waits until n exchanges are done, and returns them. One is done after the
// last byte of its answer.
func exchanges(s *Server, n int) []Exchange {
	testkit.Eventually(func() bool {
		e := s.Exchanges()
		return len(e) == n && e[n-1].Done
	})
	return s.Exchanges()
}
