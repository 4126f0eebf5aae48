package models

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"tape/hooks"
)

// chat makes the events of a chat completion of deltas, which ends with a reason.
func chat(reason string, deltas ...string) []string {
	var out []string
	for _, d := range deltas {
		out = append(out, `data: {"choices":[{"index":0,"delta":`+d+`}]}`)
	}
	if reason != "" {
		out = append(out, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`)
	}
	return append(out, "data: [DONE]")
}

// call makes a delta with a piece of a call. Members that are "" are left out.
func piece(index, id, name, arguments string) string {
	c := map[string]any{}
	if index != "" {
		c["index"] = json.RawMessage(index)
	}
	if id != "" {
		c["id"] = id
	}
	f := map[string]any{}
	if name != "" {
		f["name"] = name
	}
	if arguments != "" {
		f["arguments"] = arguments
	}
	c["function"] = f
	raw, _ := json.Marshal(map[string]any{"tool_calls": []any{c}})
	return string(raw)
}

// Servers send the pieces of calls in many ways. (ollama/ollama#15457, InternLM/lmdeploy#3412, SamSaffron/term-llm#314,
// ollama/ollama#7881, poolsideai/pool#9)
func TestCallsInPieces(t *testing.T) {
	a, b := `{"cmd":"echo A"}`, `{"cmd":"echo B"}`
	tools := []hooks.Tool{{Name: "bash"}, {Name: "now"}, {Name: "fs.read"}}
	for name, c := range map[string]struct {
		deltas []string
		want   []string // "id name arguments"
	}{
		"numbered":               {[]string{piece("0", "a", "bash", ""), piece("0", "", "", a[:5]), piece("1", "b", "bash", b), piece("0", "", "", a[5:])}, []string{"a bash " + a, "b bash " + b}},
		"all numbers are 0":      {[]string{piece("0", "a", "bash", a), piece("0", "b", "bash", b)}, []string{"a bash " + a, "b bash " + b}},
		"0, in pieces":           {[]string{piece("0", "a", "bash", ""), piece("0", "", "", a), piece("0", "b", "bash", ""), piece("0", "", "", b)}, []string{"a bash " + a, "b bash " + b}},
		"no numbers":             {[]string{piece("", "a", "bash", a), piece("", "b", "bash", b)}, []string{"a bash " + a, "b bash " + b}},
		"no numbers, in pieces":  {[]string{piece("", "a", "bash", ""), piece("", "", "", a[:4]), piece("", "", "", a[4:]), piece("", "b", "bash", b)}, []string{"a bash " + a, "b bash " + b}},
		"the first comes again":  {[]string{piece("", "a", "bash", a[:4]), piece("", "b", "bash", b), piece("", "a", "", a[4:])}, []string{"a bash " + a, "b bash " + b}},
		"neither number nor id":  {[]string{piece("", "", "bash", a), piece("", "", "bash", b)}, []string{" bash " + a, " bash " + b}},
		"null":                   {[]string{piece("null", "a", "bash", a), piece("null", "b", "bash", b)}, []string{"a bash " + a, "b bash " + b}},
		"the name in each piece": {[]string{piece("0", "a", "bash", a[:5]), piece("0", "a", "bash", a[5:9]), piece("0", "a", "bash", a[9:])}, []string{"a bash " + a}},
		"and without an id":      {[]string{piece("0", "", "bash", a[:5]), piece("0", "", "bash", a[5:])}, []string{" bash " + a}},
		"the name in pieces":     {[]string{piece("0", "a", "ba", ""), piece("0", "", "sh", ""), piece("0", "", "", a)}, []string{"a bash " + a}},
		"another id each time":   {[]string{piece("0", "a", "bash", ""), piece("0", "x", "", a[:5]), piece("0", "y", "", a[5:])}, []string{"a bash " + a}},
		"the same call twice":    {[]string{piece("0", "a", "bash", a), piece("1", "a", "bash", a)}, []string{"a bash " + a}},
		"and with one number":    {[]string{piece("0", "a", "bash", a), piece("0", "a", "bash", a)}, []string{"a bash " + a}},
		"one id for two calls":   {[]string{piece("0", "a", "bash", a), piece("1", "a", "bash", b)}, []string{"a bash " + a, "a bash " + b}},
		"all that came before":   {[]string{piece("0", "a", "bash", a[:5]), piece("0", "a", "", a[:9]), piece("0", "a", "", a)}, []string{"a bash " + a}},
		"without arguments":      {[]string{piece("0", "a", "now", ""), piece("0", "b", "fs_read", "")}, []string{"a now ", "b fs.read "}},
		"two without anything":   {[]string{piece("", "", "now", ""), piece("", "", "bash", a)}, []string{" now ", " bash " + a}},
		"and what follows":       {[]string{piece("0", "a", "bash", a+"}"), piece("1", "b", "bash", b+"\nThat is it.")}, []string{"a bash " + a, "b bash " + b}},
		"and a cut one":          {[]string{piece("0", "a", "bash", a+`{"cmd":"ec`)}, []string{"a bash " + a + `{"cmd":"ec`}},
		"a list":                 {[]string{piece("0", "a", "bash", "["+a+"]"), piece("1", "b", "bash", "["+a+","+b+"]")}, []string{"a bash " + a, "b bash [" + a + "," + b + "]"}},
		"not escaped":            {[]string{piece("0", "a", "bash", "{\\n\"cmd\":\"grep '\\d\\u00\t\\\"' C:\\x\n\"}")}, []string{`a bash {"cmd":"grep '\\d\\u00\u0009\"' C:\\x\u000a"}`}},
		"not escaped and cut":    {[]string{piece("0", "a", "bash", "{\"cmd\":\"rm \n")}, []string{"a bash {\"cmd\":\"rm \n"}},
		"an object":              {[]string{`{"tool_calls":[{"id":"a","function":{"name":"bash","arguments":{"cmd":"echo A"}}}]}`}, []string{"a bash " + a}},
		"a function_call":        {[]string{`{"function_call":{"name":"bash","arguments":""}}`, `{"function_call":{"arguments":"{\"cmd\":"}}`, `{"function_call":{"arguments":"\"echo A\"}"}}`}, []string{" bash " + a}},
		"arguments first":        {[]string{piece("0", "", "", a[:5]), piece("0", "a", "bash", a[5:])}, []string{"a bash " + a}},
		// ai-dynamo/dynamo#15054, openai/openai-python#3201
		"one number twice": {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":""}},{"index":0,"function":{"arguments":"{\"cmd\":"}}]}`, piece("0", "", "", `"echo A"}`)}, []string{"a bash " + a}},
		// NousResearch/hermes-agent#45164: Kimi, LM Studio
		"another id in each piece": {[]string{piece("0", "t1", "bash", ""), piece("0", "t2", "", `{"`), piece("0", "t3", "", `cmd":`), piece("0", "t4", "", `"echo A`), piece("0", "t5", "", `"}`)}, []string{"t1 bash " + a}},
		"numbers from 1":           {[]string{piece("1", "a", "bash", a), piece("2", "b", "bash", b)}, []string{"a bash " + a, "b bash " + b}},
		"one call, and no list":    {[]string{`{"tool_calls":{"id":"a","function":{"name":"bash","arguments":"{\"cmd\":\"echo A\"}"}}}`}, []string{"a bash " + a}},
		"without a function":       {[]string{`{"tool_calls":[{"id":"a","name":"bash","arguments":"{\"cmd\":\"echo A\"}"}]}`}, []string{"a bash " + a}},
		"in both forms":            {[]string{piece("0", "a", "bash", a), `{"function_call":{"name":"bash","arguments":"{\"cmd\":\"echo A\"}"}}`}, []string{"a bash " + a}},
		"null as arguments":        {[]string{piece("0", "a", "now", "null")}, []string{"a now "}},
		// vllm-project/vllm#54964, quarkiverse/quarkus-langchain4j#2642
		"encoded twice":      {[]string{piece("0", "a", "bash", `"{\"cmd\":\"echo A\"}"`)}, []string{"a bash " + a}},
		"in a block of code": {[]string{piece("0", "a", "bash", "```json\n"+a+"\n```")}, []string{"a bash " + a}},
		// BerriAI/litellm#21331, unslothai/unsloth#10059, google/adk-python#1038
		"objects in a row":    {[]string{piece("0", "a", "bash", a), piece("0", "", "", b)}, []string{"a bash " + a, " bash " + b}},
		"an object twice":     {[]string{piece("0", "a", "bash", a+`{ "cmd": "echo A" }`+a)}, []string{"a bash " + a}},
		"two large numbers":   {[]string{piece("0", "a", "bash", `{"n":9007199254740992}{"n":9007199254740993}`)}, []string{`a bash {"n":9007199254740992}`, ` bash {"n":9007199254740993}`}},
		"nothing at first":    {[]string{piece("0", "a", "bash", "{}"), piece("0", "", "", a)}, []string{"a bash " + a}},
		"a name space":        {[]string{piece("0", "a", "functions.bash", a)}, []string{"a bash " + a}},
		"a token in the name": {[]string{piece("0", "a", "bash<|channel|>commentary", a)}, []string{"a bash " + a}}, // NorthlandPositronics/Cogtrix#2023
		"together":            {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"cmd\":\"echo A\"}"}},{"index":0,"id":"b","function":{"name":"bash","arguments":"{\"cmd\":\"echo B\"}"}}]}`}, []string{"a bash " + a, "b bash " + b}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, _ int) { stream(w, 1<<20, chat("tool_calls", c.deltas...)...) })
			var got []string
			for e, err := range client(t, s, nil, Config{}).Stream(t.Context(), Request{Model: "openai:x", Tools: tools}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == hooks.EventToolCall {
					got = append(got, fmt.Sprintf("%s %s %s", e.Data["id"], e.Data["name"], e.Data["arguments"]))
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Thoughts in tags at the beginning of an answer are reasoning, wherever the pieces end. (HKUDS/nanobot#2621,
// sipeed/picoclaw#1233, continuedev/continue#3832)
func TestThinkTags(t *testing.T) {
	for text, want := range map[string][2]string{
		"<think>secret</think>\n\nthe answer":             {"secret", "the answer"},
		"\n<think>\nsecret\n</think>the answer":           {"secret", "the answer"},
		"<think>a</think><think>b</think>c":               {"ab", "c"},
		"[THINK]secret[/THINK]answer":                     {"secret", "answer"},
		"<thinking>a < b</thinking> c":                    {"a < b", "c"},
		"the tag <think> is not at the beginning</think>": {"", "the tag <think> is not at the beginning</think>"},
		"<thin answer":                          {"", "<thin answer"},
		"  indented":                            {"", "  indented"},
		"<":                                     {"", "<"},
		"<think></think>answer":                 {"", "answer"},
		"<|channel>thought\nhm<channel|>answer": {"hm", "answer"},
		"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>answer": {"hm", "answer"},
	} {
		for size := 1; size <= len(text); size += 3 {
			var tags thinkTags
			thought, said := "", ""
			for at := 0; at < len(text); at += size {
				a, b := tags.split(text[at:min(at+size, len(text))])
				thought, said = thought+a, said+b
			}
			a, b := tags.rest()
			if thought, said = strings.TrimSpace(thought+a), said+b; thought != want[0] || said != want[1] {
				t.Fatalf("%q in pieces of %d: thought %q, said %q", text, size, thought, said)
			}
		}
	}
}

// Content may be a list of parts, of which some are thoughts.
func TestPartsOfContent(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, chat("stop", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, `{"content":[{"type":"reasoning","text":"so"}]}`)...)
	})
	got, err := ask(t.Context(), client(t, s, nil, Config{}), "openai:x")
	if want := `reasoning {"delta":"hm"} text {"delta":"ab"} reasoning {"delta":"so"}`; err != nil || strings.Join(got[:3], " ") != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
}

// Of some models' thoughts only the end is marked: the template has the opening tag. Once that was seen, the next answer
// begins with thoughts. (vllm-project/vllm#31045, vllm-project/vllm#13125)
func TestThoughtsWithoutOpeningTag(t *testing.T) {
	for text, want := range map[string][2]string{
		"hm\n</think>\n\nthe answer":    {"hm", "the answer"},
		"hm</think>391":                 {"hm", "391"},
		"`</think>` ends them":          {"", "`</think>` ends them"},
		"it is (</think>), I think":     {"", "it is (</think>), I think"},
		"```\n</think>\n```":            {"", "```\n</think>\n```"},
		"a</think>b</think>c":           {"", "a</think>b</think>c"},
		"the tag <think> and\n</think>": {"", "the tag <think> and\n</think>"},
	} {
		if thought, said, _ := lateTag(text); thought != want[0] || said != want[1] {
			t.Errorf("%q: thought %q, said %q", text, thought, said)
		}
	}
	answers := []string{"hm\n</think>\n\none", "so\n</think>\n\ntwo", "<think>well</think>three", "four"}
	s := serve(t, func(w http.ResponseWriter, call int) {
		var deltas []string
		for _, c := range answers[call-1] {
			deltas = append(deltas, string(encode(map[string]string{"content": string(c)})))
		}
		stream(w, 1<<20, chat("stop", deltas...)...)
	})
	model := client(t, s, nil, Config{})
	for i, want := range []string{"one hm", "two so", "three well", "four <nil>"} {
		deltas, final := "", map[string]any(nil)
		for e, err := range model.Stream(t.Context(), Request{Model: "openai:x"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Kind {
			case hooks.EventText:
				deltas += e.Data["delta"].(string)
			case hooks.EventFinal:
				final = e.Data
			}
		}
		said := final["text"].(string)
		if got := said + " " + strings.TrimSpace(fmt.Sprint(final[FinalReasoning])); got != want || i > 0 && deltas != said {
			t.Errorf("answer %d: %q, want %q; in pieces %q", i, got, want, deltas)
		}
	}
}
