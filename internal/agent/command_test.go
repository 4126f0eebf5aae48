package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
)

func TestCommands(t *testing.T) {
	s := newStore(t)
	var box *toolbox
	h := newHost(t, s, nil, func(o *Options) {
		with(tool("bash", `{"type":"object","properties":{"cmd":{"type":"string"},"background":{"type":"boolean"}},"required":["cmd"]}`,
			func(_ context.Context, a string) (string, error) { return "bash " + a, nil }),
			tool("tape.handoff", `{"type":"object","properties":{"name":{"type":"string"},"summary":{"type":"string"}}}`,
				func(_ context.Context, a string) (string, error) { return "handoff " + a, nil }),
			tool("tape.search", `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`,
				func(_ context.Context, a string) (string, error) { return "search " + a, nil }),
			tool("skill", `{"type":"object","properties":{"name":{"type":"string"}}}`, func(_ context.Context, a string) (string, error) { return "skill " + a, nil }),
			tool("tape.info", `{"type":"object","properties":{}}`, func(context.Context, string) (string, error) { return "part", errors.New("broken") }))(o)
		box = o.Tools.(*toolbox)
	})
	h.register(&hooks.Plugin{Name: "x", RegisterCommands: func() []hooks.Command {
		return []hooks.Command{{Name: "hi", Short: "greets", Run: func(_ context.Context, args []string, out io.Writer) error {
			fmt.Fprint(out, "hi ", strings.Join(args, "+"))
			return nil
		}}}
	}})
	for _, c := range [][2]string{
		{",help", help + "\n  ,hi                                        greets"},
		{" , ", help},
		{",tape.handoff name=phase-1 summary='done it'", `handoff {"name":"phase-1","summary":"done it"}`},
		{",tape.search what was limit=3 said", `search {"limit":3,"query":"what was said"}`},
		{`,tape.search "a = b"`, `search {"query":"a = b"}`},
		{",skill name=x", `skill {"name":"x"}`},
		{",skill x", `skill {"name":"x"}`},
		{",tape.info", "part\nerror: broken"},
		{",tape.info now", `error: write ,tape.info key=value: there is no argument for "now"`},
		{",tape.search 'open", "error: ,tape.search: a quote is not closed: 'open"},
		{`,tape.search open\`, `error: ,tape.search: nothing comes after the last backslash; write it twice: open\`},
		{",hi a 'b c'", "hi a+b c"},
		{",tools", ",bash                 bash\n,tape.handoff         tape.handoff\n,tape.search          tape.search\n,skill                skill\n,tape.info            tape.info\n,subagent             Give a task to a subagent, which works in its own context, with the same tools except subagent, han…"},
		{",quit", "What the session had left running was ended."},
		{",git log --format='%h %s'", `bash {"cmd":"git log --format='%h %s'"}`},
		{",fs_read x", `bash {"cmd":"fs_read x"}`},
		{",model", "test:one"},
	} {
		if r := h.mustTurn("", c[0]); r.Output != c[1] && !(c[0] == " , " && strings.HasPrefix(r.Output, help)) {
			t.Errorf("%s answers %q, want %q", c[0], r.Output, c[1])
		}
	}
	h.register(&hooks.Plugin{Name: "models", ProvideModelOptions: func(context.Context, string) ([]hooks.ModelOption, error) {
		return []hooks.ModelOption{{ID: "test:one", Label: "One"}, {ID: "test:two", Label: "Two"}, {ID: "x:y", Label: "x:y"}}, nil
	}})
	if r := h.mustTurn("", ",model"); r.Output != "test:one\n  ,model test:two  Two\n  ,model x:y" {
		t.Errorf(",model does not list the current model and both others: %s", r.Output)
	}
	if box.stopped != "s" {
		t.Errorf(",quit stopped the tools of session %q, want s", box.stopped)
	}
	h.mustTurn("again", ",hi once")
	before := len(h.entries())
	if r := h.mustTurn("again", ",hi once"); r.Output != "hi once" || len(h.entries()) != before {
		t.Errorf("the repeated command answers %q, want \"hi once\", and adds %d entries", r.Output, len(h.entries())-before)
	}
	if last := string(h.entries()[before-1].Payload); !strings.Contains(last, `"raw":"hi once"`) || !strings.Contains(last, `"output":"hi once"`) {
		t.Errorf("the event lacks the line or the output: %s", last)
	}
}

// A session keeps the model that was chosen, also in a later process, and after a subagent.
func TestChosenModel(t *testing.T) {
	s := newStore(t)
	answer := func(int, models.Request) hooks.Stream { return says("yes") }
	h := newHost(t, s, answer, nil)
	if r := h.mustTurn("", ",model bad"); !strings.Contains(r.Output, "error: ") {
		t.Errorf(",model bad answers %q, want an error", r.Output)
	}
	h.mustTurn("", ",model test:two")
	for range 2 {
		h = newHost(t, s, answer, nil)
		if h.mustTurn("", "hello"); h.model.requests[0].Model != "test:two" {
			t.Errorf("the model %q was asked, want test:two", h.model.requests[0].Model)
		}
		h.mustTurn("", ",subagent prompt=x model=test:three")
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		"a  b\tc": "a|b|c", `'a b' "c \"d"`: `a b|c "d`, `x='' ''`: "x=|", `a\ b`: "a b", `'\'`: `\`, "": "",
	} {
		if got, err := split(line); err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v; want %s", line, got, err, want)
		}
	}
	for _, line := range []string{`'a`, `"a`, `a\`} {
		if got, err := split(line); err == nil {
			t.Errorf("%s: %q, want an error", line, got)
		}
	}
}
