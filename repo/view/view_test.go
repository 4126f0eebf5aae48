package view

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"tape/repo"
)

const (
	anchorA = `anchor {"name":"a","state":{"n":1.0, "数":"\u6570"}}`
	hello   = `message {"role":"user","content":"hello"}`
	callsF  = `tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	toldF   = `{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	useF    = `{"type":"tool_use","id":"c1","name":"f","input":{}}`
)

func results(list string) string { return `tool_result {"results":` + list + `}` }

// TestMapping lists what each kind of entry becomes. The arrays are compared byte for byte.
func TestMapping(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []string
		options Options
		want    string
	}{
		{"nothing", nil, Options{}, `[]`},
		{
			"state is compacted, not reformatted", []string{anchorA}, Options{},
			`[{"role":"assistant","content":"[Anchor created: a]: {\"n\":1.0,\"数\":\"数\"}"}]`,
		},
		{
			"a hidden anchor", []string{anchorA + "\t" + `{"context":false}`, hello}, Options{},
			`[{"role":"user","content":"hello"}]`,
		},
		{
			"members that the provider does not know are dropped",
			[]string{`message {"role":"user","content":"x","name":"ada","id":"7","usage":{}}`, `message {"role":"user","content":"y","name":"a b"}`}, Options{},
			`[{"role":"user","content":"x","name":"ada"},{"role":"user","content":"y"}]`,
		},
		{
			"raw keeps unknown members and repeated system messages", []string{`message {"role": "user","content":"x","id":7}`, `message {"role":"system","content":"s"}`, `message {"role":"system","content":"s"}`},
			Options{Raw: true},
			`[{"role":"user","content":"x","id":7},{"role":"system","content":"s"},{"role":"system","content":"s"}]`,
		},
		{
			"raw uses the ids that an import noted", []string{callsF, results(`["r"]`) + "\t" + `{"call_ids":["zz"]}`}, Options{Raw: true},
			`[` + toldF + `,{"role":"tool","content":"r","tool_call_id":"zz"}]`,
		},
		{
			"repeated system messages are shown once", []string{`message {"role":"system","content":"s"}`, hello, `message {"role":"system","content":"s"}`, `message {"role":"system","content":"s2"}`}, Options{},
			`[{"role":"system","content":"s"},{"role":"user","content":"hello"},{"role":"system","content":"s2"}]`,
		},
		{
			"a late result is placed after its call", []string{callsF, hello, results(`["late"]`) + "\t" + `{"call_ids":["c1"]}`}, Options{},
			`[` + toldF + `,{"role":"tool","content":"late","tool_call_id":"c1"},{"role":"user","content":"hello"}]`,
		},
		{
			"results in two entries, by position", []string{
				`tool_call {"calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":{"k": 1}}}]}`,
				results(`["one"]`), results(`[{"two": 2}]`),
			}, Options{},
			`[{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"k\":1}"}}]},` +
				`{"role":"tool","content":"one","tool_call_id":"a"},{"role":"tool","content":"{\"two\":2}","tool_call_id":"b"}]`,
		},
		{
			"an interrupted call", []string{callsF, hello}, Options{},
			`[` + toldF + `,{"role":"tool","content":"` + textInterrupted + `","tool_call_id":"c1"},{"role":"user","content":"hello"}]`,
		},
		{
			"a second answer", []string{callsF, results(`["r"]`), `message {"role":"tool","tool_call_id":"c1","content":"r"}`, `message {"role":"tool","tool_call_id":"c1","content":"r2"}`}, Options{},
			`[` + toldF + `,{"role":"tool","content":"r","tool_call_id":"c1"},{"role":"user","content":"` + textAgain + `\nr2"}]`,
		},
		{
			"calls recorded in a message and apart", []string{`message {"role":"assistant","content":"hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, callsF, results(`["r"]`)}, Options{},
			`[{"role":"assistant","content":"hm",` + strings.TrimPrefix(toldF, `{"role":"assistant","content":"",`) + `,{"role":"tool","content":"r","tool_call_id":"c1"}]`,
		},
		{
			"one of two calls recorded in a message and apart", []string{
				`message {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
				`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]}`,
				results(`["r1","r2"]`),
			}, Options{},
			`[` + strings.Replace(toldF, `""`, "null", 1) + `,{"role":"tool","content":"r1","tool_call_id":"c1"},` +
				strings.NewReplacer("c1", "c2", `"f"`, `"g"`).Replace(toldF) + `,{"role":"tool","content":"r2","tool_call_id":"c2"}]`,
		},
		{
			"an empty result without its call is left out", []string{results(`["",7]`)}, Options{},
			`[{"role":"user","content":"` + textOrphan + `\n7"}]`,
		},
		{
			"an interrupted call that is made again later", []string{callsF, `tool_call {"calls":[{"id":"c2","name":"f"}]}`, callsF, results(`["r"]`)}, Options{},
			`[` + toldF + `,{"role":"tool","content":"` + textInterrupted + `","tool_call_id":"c1"},` + strings.Replace(toldF, "c1", "c2", 1) +
				`,{"role":"tool","content":"` + textInterrupted + `","tool_call_id":"c2"},` + toldF + `,{"role":"tool","content":"r","tool_call_id":"c1"}]`,
		},
		{
			"tool messages without ids, by position", []string{
				`tool_call {"calls":[{"id":"c1","name":"f"},{"id":"c2","name":"f"}]}`, `message {"role":"tool","content":"r1"}`, `message {"role":"tool","content":"r2"}`,
			}, Options{},
			`[{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","content":"r1","tool_call_id":"c1"},{"role":"tool","content":"r2","tool_call_id":"c2"}]`,
		},
		{
			"function calls in the old form", []string{`message {"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}`, `message {"role":"function","name":"f","content":"r"}`}, Options{},
			`[` + strings.NewReplacer("c1", "call_1_0", `""`, "null").Replace(toldF) + `,{"role":"tool","content":"r","tool_call_id":"call_1_0"}]`,
		},
		{
			"results without ids, by position", []string{`tool_call {"calls":[{"name":"f"}]}`, results(`["r"]`) + "\t" + `{"call_ids":[""]}`}, Options{},
			`[` + strings.Replace(toldF, "c1", "call_1_0", 1) + `,{"role":"tool","content":"r","tool_call_id":"call_1_0"}]`,
		},
		{
			"other names of roles, and other forms of content", []string{`message {"role":"model","parts":[{"text":"m"}]}`, `message {"role":"human","text":"h"}`, `message {"role":"user","content":7}`}, Options{},
			`[{"role":"assistant","content":[{"type":"text","text":"m"}]},{"role":"user","content":"h"},{"role":"user","content":"7"}]`,
		},
		{
			"refusals and free input", []string{`message {"role":"assistant","content":null,"refusal":"no"}`, `tool_call {"calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls"}}]}`, results(`["r"]`)}, Options{},
			`[{"role":"assistant","content":null,"refusal":"no"},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls"}}]},{"role":"tool","content":"r","tool_call_id":"c"}]`,
		},
		{
			"Anthropic: input that is not an object", []string{hello, `tool_call {"calls":[{"id":"c","function":{"name":"f","arguments":"[1]"}},{"id":"d","type":"custom","custom":{"name":"sh","input":"ls"}}]}`, results(`["",""]`)}, Options{Format: Anthropic},
			`[{"role":"user","content":[{"type":"text","text":"hello"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{"arguments":"[1]"}},{"type":"tool_use","id":"d","name":"sh","input":{"input":"ls"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"},{"type":"tool_result","tool_use_id":"d"}]}]`,
		},
		{
			"an assistant that says nothing", []string{`message {"role":"assistant","content":""}`, `message {"role":"assistant","content":[{"type":"thinking","thinking":"t"}]}`, `message {"role":"assistant"}`}, Options{}, `[]`,
		},
		{
			"Anthropic's messages for OpenAI", []string{
				`message {"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"I call"},{"type":"tool_use","id":"c1","name":"f","input":{}}]}`,
				`message {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"},{"type":"text","text":"more"}]}`,
			}, Options{},
			`[{"role":"assistant","content":[{"type":"text","text":"I call"}],` + strings.TrimPrefix(toldF, `{"role":"assistant","content":"",`) +
				`,{"role":"tool","content":"r","tool_call_id":"c1"},{"role":"user","content":[{"type":"text","text":"more"}]}]`,
		},
		{
			"halves of surrogate pairs", []string{`message {"role":"user","content":"a\ud800b"}`, `tool_call {"calls":[{"id":"c1","name":"f","input":{"\uDFFF\udfff":"\\ud800"}}]}`, results(`[1]`)}, Options{Format: Anthropic},
			`[{"role":"user","content":[{"type":"text","text":"a�b"}]},{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{"\ufffd\ufffd":"\\ud800"}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"1"}]}]`,
		},
		{
			"Anthropic: one message for each change of the role, results first", []string{`anchor {"name":"a"}`, hello, `message {"role":"assistant","content":"I call \n"}`, callsF, results(`["r"]`), hello}, Options{Format: Anthropic},
			`[{"role":"user","content":[{"type":"text","text":"[Anchor created: a]: null"},{"type":"text","text":"hello"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"I call"},` + useF + `]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"},{"type":"text","text":"hello"}]}]`,
		},
		{
			"Anthropic: the user begins", []string{`anchor {"name":"a"}`, callsF, results(`["r"]`) + "\t" + `{"call_ids":["c1"],"is_error":["c1"]}`}, Options{Format: Anthropic, NoAnchor: true},
			`[{"role":"user","content":[{"type":"text","text":"` + textOpening + `"}]},{"role":"assistant","content":[` + useF + `]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r","is_error":true}]}]`,
		},
		{
			"Anthropic: results with images stay as they are", []string{callsF, results(`[[{"type":"text","text":"t"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]]`)}, Options{Format: Anthropic},
			`[{"role":"user","content":[{"type":"text","text":"` + textOpening + `"}]},{"role":"assistant","content":[` + useF + `]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"t"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mustMessages(t, tape(c.entries...), c.options)
			if string(got.JSON()) != c.want {
				t.Errorf("got  %s\nwant %s", got.JSON(), c.want)
			}
		})
	}
}

// Anthropic has no system messages; their texts are returned separately, each once.
func TestSystem(t *testing.T) {
	entries := tape(`system {"content":"a record of the prompt"}`, `message {"role":"system","content":"one"}`, hello, `message {"role":"system","content":"one"}`, `message {"role":"developer","content":"two"}`)
	c := mustMessages(t, entries, Options{Format: Anthropic})
	if want := `[{"type":"text","text":"one"},{"type":"text","text":"two"}]`; string(c.System) != want {
		t.Errorf("the system parameter is %s, want %s", c.System, want)
	}
	if c = mustMessages(t, entries, Options{}); c.System != nil || strings.Contains(string(c.JSON()), "a record") {
		t.Errorf("OpenAI: system parameter %s, want none; messages %s, want none from a system entry", c.System, c.JSON())
	}
}

func TestOptions(t *testing.T) {
	minus := -1
	for _, o := range []Options{{Format: "x"}, {Raw: true, Format: Anthropic}, {MaxTokens: -1}, {MaxBytes: -1}, {Tail: &minus}} {
		if _, err := Messages(nil, o); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%+v: error %v, want ErrInvalid", o, err)
		}
	}
	tp := newTape(t)
	if _, err := Build(t.Context(), tp, Options{From: "nowhere"}); !errors.Is(err, repo.ErrNotFound) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v, want ErrNotFound that names the anchor", err)
	}
}

// Entries before the last anchor are not read.
func TestOldEntriesAreNotRead(t *testing.T) {
	tp := newTape(t)
	var drafts []repo.Draft
	for range 2000 {
		drafts = append(drafts, repo.Message("user", strings.Repeat("old ", 250)))
	}
	if _, err := tp.Append(t.Context(), nil, drafts...); err != nil {
		t.Fatal(err)
	}
	if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tp.Append(t.Context(), nil, repo.Message("user", "new")); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c, err := Build(t.Context(), tp, Options{})
	runtime.ReadMemStats(&after)
	if err != nil || len(c.Messages) != 2 {
		t.Fatal(c, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("Build took %d bytes of memory, want 1 MiB at most, with 2 MB of older entries", used)
	}
}
