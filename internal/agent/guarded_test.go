package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
)

// If a required plugin fails, nothing runs: neither calls of the model, in parallel or in a
// subagent, nor a comma command. The reason is recorded and shown.
func TestRequiredPluginThatFails(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	bash := tool("bash", `{"type":"object","properties":{"cmd":{"type":"string"}},"required":["cmd"]}`, func(_ context.Context, a string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, a)
		return "ran", nil
	})
	h := newHost(t, newStore(t), func(_ int, r models.Request) hooks.Stream {
		all := sent(r)
		switch {
		case strings.Contains(all, "child") && !strings.Contains(all, "k1"):
			return says("", `c1 bash {"cmd":"in the child"}`)
		case strings.Contains(all, "k1"):
			return says("All done.")
		}
		return says("", `k1 bash {"cmd":"rm -rf /"}`, `k2 bash {"cmd":"ls"}`, `k3 server.tool {}`, `k4 bash {"cmd`)
	}, with(bash, echo("server.tool")))
	broken := true
	h.register(&hooks.Plugin{Name: "guard", Required: true, BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
		if broken && c.Tool != subagentTool {
			return nil, errors.New("out of order")
		}
		return nil, nil
	}})
	const why = `denied: the required plugin "guard" failed: out of order`
	h.mustTurn("m", "the work")
	var results []string
	for _, e := range h.entries() {
		if b := brief(e); strings.HasPrefix(b, "result") {
			results = append(results, b)
		}
	}
	slices.Sort(results)
	if got, want := strings.Join(results, "\n"), "result bash: the arguments are not a JSON object\nresult "+why+"\nresult "+why+"\nresult "+why; got != want {
		t.Errorf("results\n%s\nwanted\n%s", got, want)
	}
	var told []string
	for _, m := range h.sent {
		if m.Text(hooks.KeyKind) == hooks.KindError {
			told = append(told, m.Text(hooks.KeyContent))
		}
	}
	if want := []string{"Error: before_tool_call: " + why}; !slices.Equal(told, want) {
		t.Errorf("the person is told %q, wanted %q", told, want)
	}
	for _, line := range []string{",ls", ",bash cmd=ls"} {
		if r := h.mustTurn("", line); r.Output != "error: "+why {
			t.Errorf("%s answers %q, want the denial", line, r.Output)
		}
	}
	if r := h.mustTurn("", ",subagent prompt=child"); strings.Contains(r.Output, "ran") {
		t.Errorf("the subagent's call was not denied: %s", r.Output)
	}
	if len(ran) > 0 {
		t.Errorf("these commands ran: %q", ran)
	}
	broken = false
	if r := h.mustTurn("", ",ls"); r.Output != "ran" || len(ran) != 1 {
		t.Errorf("when the guard works, ,ls answers %q, and these commands ran: %q", r.Output, ran)
	}
}

func TestRequiredPluginDeniesTheModel(t *testing.T) {
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream { t.Error("the model was asked"); return says("x") }, nil)
	h.register(&hooks.Plugin{Name: "guard", Required: true, BeforeModelCall: func(context.Context, hooks.ModelCall, hooks.State) (*hooks.ModelDecision, error) {
		return nil, errors.New("out of order")
	}})
	_, err := h.turn(t.Context(), "m", "hi")
	const why = `the call of the model is denied: the required plugin "guard" failed: out of order`
	if err == nil || !strings.Contains(err.Error(), why) || len(h.sent) != 1 || !strings.Contains(h.sent[0].Text(hooks.KeyContent), why) {
		t.Errorf("the error is %v, and %v was sent; want %q in both", err, h.sent, why)
	}
}
