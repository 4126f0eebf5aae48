package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/repo/view"
)

// ends is an answer whose last event has more data.
func ends(data map[string]any, text string, calls ...hooks.Event) hooks.Stream {
	return func(yield func(hooks.Event, error) bool) {
		if text != "" && !yield(hooks.Text(text), nil) {
			return
		}
		for _, c := range calls {
			if !yield(c, nil) {
				return
			}
		}
		yield(hooks.Event{Kind: hooks.EventFinal, Data: data}, nil)
	}
}

func wants(id, name, arguments string, cut bool) hooks.Event {
	data := map[string]any{"id": id, "name": name, "arguments": arguments}
	if cut {
		data[models.CallCut] = true
	}
	return hooks.Event{Kind: hooks.EventToolCall, Data: data}
}

// What the model has thought is on the tape as thinking. What its server wants back is there, too, and is in the
// requests of this turn and of later ones, also after a start of the program.
func TestThinkingIsKept(t *testing.T) {
	kept := models.Kept{By: "x@1", Calls: []string{"c1", "c1"}, Message: map[string]json.RawMessage{"reasoning_content": json.RawMessage(`"I think"`)}}
	answer := func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			k := kept
			k.Calls = slices.Clone(kept.Calls)
			return ends(map[string]any{models.FinalReasoning: "I think", models.FinalKept: k}, "I look.", wants("c1", "look", `{"text":"a"}`, false), wants("c1", "look", `{"text":"b"}`, false))
		}
		return ends(map[string]any{models.FinalReasoning: "So it is."}, "done")
	}
	store := newStore(t)
	h := newHost(t, store, answer, with(echo("look")))
	h.mustTurn("m1", "work")
	if tape := h.tape(); !strings.Contains(tape, "thinking\nassistant: I look.\ncall c1") || !strings.Contains(tape, "thinking\nassistant: done") {
		t.Errorf("the tape has no thoughts:\n%s", tape)
	}
	for i, e := range h.entries() {
		if brief(e) == "thinking" && !strings.Contains(string(e.Payload), `"thinking":"I think"`) && i < 5 {
			t.Errorf("the thoughts are %s", e.Payload)
		}
	}
	again := newHost(t, store, func(int, models.Request) hooks.Stream { return says("yes") }, with(echo("look")))
	again.mustTurn("m2", "more")
	for _, r := range []models.Request{h.model.requests[1], again.model.requests[0]} {
		if len(r.Kept) != 1 || string(r.Kept[0].Message["reasoning_content"]) != `"I think"` || r.Kept[0].Calls[0] != "c1" || r.Kept[0].Calls[1] == "c1" {
			t.Errorf("the request has %+v, want what was kept, with the ids that are on the tape", r.Kept)
		}
		if strings.Contains(sent(r), "I think") {
			t.Errorf("the thoughts are in the messages, which other servers get, too: %s", sent(r))
		}
	}
}

// An answer that has reached the limit of the model's output is marked as cut: for the person, on the tape and for the
// model. (letta-ai/letta-code#3508)
func TestCutAnswer(t *testing.T) {
	for _, form := range []view.Format{view.OpenAI, view.Anthropic} {
		h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
			if n == 1 {
				return ends(map[string]any{models.FinalCut: 8192}, "First, se")
			}
			return says("cond.")
		}, nil)
		h.model.form = form
		_, err := h.turn(t.Context(), "m1", "list")
		if err == nil || !strings.Contains(err.Error(), "8192 tokens") || !strings.Contains(err.Error(), "max_tokens") {
			t.Errorf("the turn gives %v", err)
		}
		if p, ok := errors.AsType[*hooks.PartialError](err); !ok || p.Said != "First, se" {
			t.Errorf("what was said is not with the error: %+v", p)
		}
		h.wantTape("anchor session/start", "system", "user: list", "error cut", "assistant: First, se", "run error", "loop.step error")
		h.mustTurn("m2", "go on")
		if got := sent(h.model.requests[1]); !strings.Contains(got, "First, se") || !strings.Contains(got, "The answer was cut off here") {
			t.Errorf("the model does not see that its answer was cut: %s", got)
		}
	}
}

// A call that was cut is not made, and the model is told why; the others are made. (mattmezza/humux#77)
func TestCutCall(t *testing.T) {
	counted := &counter{}
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return ends(map[string]any{models.FinalCut: 4096}, "", wants("a", "count", `{"text":"x"}`, false), wants("b", "count", `{"text":"lots of te`, true))
		}
		return says("done")
	}, with(counted.tool()))
	h.mustTurn("m", "write")
	if got := sent(h.model.requests[1]); counted.count() != 1 || !strings.Contains(got, "limit of 4096 tokens") || !strings.Contains(got, "Write less at once") {
		t.Errorf("%d calls were made, and the model sees %s", counted.count(), got)
	}
}

// A model that goes on to write too much at once ends the turn, and not only max_steps. (anomalyco/opencode#18108)
func TestCutAgain(t *testing.T) {
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream {
		return ends(map[string]any{models.FinalCut: 4096}, "", wants("a", "count", `{"text":"lots of te`, true))
	}, with((&counter{}).tool()))
	if _, err := h.turn(t.Context(), "m", "write"); err == nil || !strings.Contains(err.Error(), "4096 tokens") || len(h.model.requests) != maxCuts {
		t.Errorf("%v after %d requests, want an error after %d", err, len(h.model.requests), maxCuts)
	}
}

// Calls that may touch the same files run one after the other, in the order of the answer; others run side by side.
// (NousResearch/hermes-agent#1914, letta-ai/letta-code#377, google-gemini/gemini-cli#10287)
func TestOrderOfCalls(t *testing.T) {
	var mu sync.Mutex
	var order []string
	gate := make(chan struct{})
	var once sync.Once
	record := func(name string) hooks.Tool {
		return tool(name, `{"type":"object"}`, func(_ context.Context, arguments string) (string, error) {
			mu.Lock()
			order = append(order, name+" begins")
			mu.Unlock()
			if name == "fs.write" {
				<-gate // other calls get the time to begin
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name+" ends")
			return "ok", nil
		})
	}
	meets := make(chan struct{}, 2)
	meet := tool("meet", `{"type":"object"}`, func(ctx context.Context, _ string) (string, error) {
		meets <- struct{}{}
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		for len(meets) < 2 {
			select {
			case <-ctx.Done():
				return "", errors.New("the other call does not begin")
			case <-time.After(time.Millisecond):
			}
		}
		once.Do(func() { close(gate) })
		return "met", nil
	})
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("", `a fs.write {"path":"we.txt"}`, `b fs.edit {"path":"./we.txt"}`, `c bash {"cmd":"cat we.txt"}`, `d meet {}`, `e meet {}`)
		}
		return says("done")
	}, func(o *Options) {
		o.Tools = &toolbox{list: []hooks.Tool{record("fs.write"), record("fs.edit"), record("bash"), meet}}
	})
	h.mustTurn("m", "work")
	want := "fs.write begins, fs.write ends, fs.edit begins, fs.edit ends, bash begins, bash ends"
	if got := strings.Join(order, ", "); got != want || strings.Contains(sent(h.model.requests[1]), "does not begin") {
		t.Errorf("%s, want %s; %s", got, want, sent(h.model.requests[1]))
	}
}
