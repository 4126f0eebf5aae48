package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/agent/tools"
	"tape/internal/store/about"
	"tape/repo"
	"tape/repo/view"
)

// A turn with two parallel calls; the second turn does not record the system prompt again.
func TestTurn(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("I look.", `c1 fs_read {"text":"a"}`, `c2 fs.read {"text":"b"}`)
		}
		return says("It is fine.")
	}, with(echo("fs.read")))
	r := h.mustTurn("m1", "look")
	if r.Output != "I look.\n\nIt is fine." {
		t.Errorf("the output is %q, want both texts with a blank line between them", r.Output)
	}
	h.wantTape("anchor session/start", "system", "user: look", "assistant: I look.", "call c1 c2", `result fs.read {"text":"a"}`, `result fs.read {"text":"b"}`,
		"run ok", "loop.step continue", "assistant: It is fine.", "run ok", "loop.step ok")
	for _, e := range h.entries()[1:] {
		if !strings.Contains(string(e.Meta), `"message_id":"m1"`) {
			t.Errorf("%s has meta %s, without message_id m1", brief(e), e.Meta)
		}
	}
	if run := string(h.entries()[7].Payload); !strings.Contains(run, `"model":"test:one"`) || !strings.Contains(run, `"input_tokens":7`) {
		t.Errorf("the event run lacks the model or the usage: %s", run)
	}
	second := sent(h.model.requests[1])
	for _, want := range []string{"look", "I look.", `"tool_call_id":"c1"`, `"tool_call_id":"c2"`} {
		if !strings.Contains(second, want) {
			t.Errorf("the second call lacks %s:\n%s", want, second)
		}
	}
	if title := about.Prompt(h.entries()[2]); title != "look" {
		t.Errorf("the title is %q, want look", title)
	}
	if raw := string(h.entries()[2].Raw); !strings.Contains(raw, `"<message_context>\ndate`) {
		t.Errorf("the stored prompt lacks its heading: %s", raw)
	}
	kinds := ""
	for _, e := range h.events {
		kinds += e.Kind + " "
	}
	if want := "text text usage tool_call tool_call tool_result tool_result text text text usage final "; kinds != want {
		t.Errorf("the events are\n%s\nwant\n%s", kinds, want)
	}
	h.mustTurn("m2", "again")
	if n := len(h.entries()); n != 16 {
		t.Errorf("%d entries after the second turn, want 16", n)
	}
}

var errLong = fmt.Errorf("%w: 400 prompt is too long", models.ErrContextLength)

func TestAutoHandoff(t *testing.T) {
	for _, text := range []string{"", "I begin "} { // the error comes before the stream, or inside it
		h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
			switch n {
			case 1:
				return says("", `c1 look {"text":"a"}`)
			case 2:
				return fails(text, errLong)
			}
			return says("done")
		}, with(echo("look")))
		h.mustTurn("m", "work")
		h.wantTape("anchor session/start", "system", "user: work", "call c1", `result look {"text":"a"}`, "run ok", "loop.step continue",
			"anchor auto_handoff/context_overflow", "loop.step auto_handoff", "user: work", "assistant: done", "run ok", "loop.step ok")
		if a := string(h.entries()[7].Payload); !strings.Contains(a, `"state":{"error":"`+errLong.Error()+`","reason":"context_length_exceeded"}`) {
			t.Errorf("the anchor lacks the error and the reason: %s", a)
		}
		last := sent(h.model.requests[2])
		if strings.Contains(last, "c1") || !strings.Contains(last, "work") {
			t.Errorf("the new context is not the prompt alone:\n%s", last)
		}
	}
}

// If the model can summarize, the new context begins with the summary and the results of the turn's calls. If the
// context is too long for the summary's model, too, a part of it is summarized.
func TestAutoHandoffSummary(t *testing.T) {
	for _, form := range []view.Format{view.OpenAI, view.Anthropic} {
		h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
			switch n {
			case 1:
				return says("Noted: the code is 4711.")
			case 2:
				return says("", `c1 look {"text":"done once"}`)
			case 3:
				return fails("", errLong)
			}
			return says("done")
		}, func(o *Options) { with(echo("look"))(o); o.SummaryModel = "test:small" })
		h.model.form = form
		var asked []models.Request
		h.model.summary = func(r models.Request) hooks.Stream {
			if asked = append(asked, r); len(asked) == 1 {
				return fails("", errLong)
			}
			return says("They told me the code.")
		}
		h.mustTurn("m1", "the code is 4711")
		h.mustTurn("m2", "work")
		if len(asked) != 2 || asked[1].Model != "test:small" || len(asked[1].Tools) != 0 {
			t.Fatalf("want two requests for a summary, the second to test:small without tools: %+v", asked)
		}
		for _, want := range []string{"4711", "work", "done once"} {
			if !strings.Contains(sent(asked[1]), want) {
				t.Errorf("the summary's request lacks %q: %s", want, sent(asked[1]))
			}
		}
		last := sent(h.model.requests[3])
		at := -1
		for _, want := range []string{"They told me the code.", "begins anew", `- look {\"text\":\"done once\"}`, "work"} {
			next := strings.Index(last, want)
			if next <= at {
				t.Errorf("%q is not in its place in the new context:\n%s", want, last)
			}
			at = next
		}
		if strings.Contains(last, "4711") {
			t.Errorf("the old context is in the new one:\n%s", last)
		}
		runs := 0
		for _, e := range h.entries() {
			if e.Kind == repo.KindEvent && strings.Contains(string(e.Payload), `"model":"test:small"`) && strings.Contains(string(e.Payload), `"input_tokens":7`) {
				runs++
			}
		}
		if runs != 1 {
			t.Errorf("%d runs of the summary's model are on the tape, want 1", runs)
		}
	}
}

// A context that is too long again, right after the handoff, begins with less each time, and at last with the summary
// alone; then comes the error (aaif-goose/goose#11072, anomalyco/opencode#27924).
func TestAutoHandoffsAreLimited(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("", `c1 look {"text":"`+strings.Repeat("x", 60_000)+`"}`)
		}
		return fails("", errLong)
	}, with(echo("look")))
	h.model.summary = func(models.Request) hooks.Stream { return says(strings.Repeat("word ", 20_000)) }
	_, err := h.turn(t.Context(), "m", "work")
	if !errors.Is(err, models.ErrContextLength) || len(h.model.requests) != 5 || !strings.Contains(err.Error(), "3 new contexts") || !strings.Contains(err.Error(), "auto_handoffs") {
		t.Errorf("%v after %d calls, want an error about the context after 5, with what to do", err, len(h.model.requests))
	}
	refused := len(sent(h.model.requests[1]))
	for i, r := range h.model.requests[2:] {
		size := len(sent(r))
		if size > refused/4+1000 || i > 0 && size >= refused {
			t.Errorf("context %d has %d bytes after one of %d", i, size, refused)
		}
		if refused = size; i == 2 && strings.Contains(sent(r), "were made already") {
			t.Error("the last context has more than the summary")
		}
	}
	if n := strings.Count(h.tape(), "anchor auto_handoff/context_overflow\nloop.step auto_handoff"); n != 3 {
		t.Errorf("%d handoffs with their steps are on the tape, want 3:\n%s", n, h.tape())
	}
	if len(h.sent) != 1 || h.sent[0].Text(hooks.KeyKind) != hooks.KindError {
		t.Errorf("sent %v, want one error", h.sent)
	}
}

// An overflow later in the turn, after steps that worked, begins a new context again; the setting limits how often.
func TestAutoHandoffAgain(t *testing.T) {
	for limit, want := range map[int]string{3: "", -1: "context is too long"} {
		h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
			switch {
			case n == 7:
				return says("done")
			case n%2 == 0:
				return fails("", errLong)
			}
			return says("", fmt.Sprintf(`c%d look {"text":"a"}`, n))
		}, func(o *Options) { with(echo("look"))(o); o.AutoHandoffs = limit })
		_, err := h.turn(t.Context(), "m", "work")
		if want == "" && (err != nil || strings.Count(h.tape(), "auto_handoff/context_overflow") != 3) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("auto_handoffs %d: %v\n%s", limit, err, h.tape())
		}
	}
}

// Another error ends the turn, and the partial answer is on the tape.
func TestModelFails(t *testing.T) {
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream { return fails("I beg", errors.New("429 rate limit")) }, nil)
	if _, err := h.turn(t.Context(), "m", "work"); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("the turn gives %v, want the model's error", err)
	}
	h.wantTape("anchor session/start", "system", "user: work", "error model_error", "assistant: I beg", "run error", "loop.step error")
	if _, err := h.turn(t.Context(), "m", "work"); err == nil || !strings.Contains(err.Error(), "429") || len(h.model.requests) != 1 {
		t.Errorf("the repeated turn gives %v after %d calls, want the same error after 1", err, len(h.model.requests))
	}
	if n := len(h.entries()); n != 7 {
		t.Errorf("%d entries, want 7", n)
	}
}

func TestMaxSteps(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		return says("", fmt.Sprintf(`c%d look {"text":"a"}`, n))
	}, func(o *Options) { with(echo("look"))(o); o.MaxSteps = 2 })
	if _, err := h.turn(t.Context(), "m", "work"); err == nil || !strings.Contains(err.Error(), "max_steps_reached=2") {
		t.Errorf("the turn gives %v, want max_steps_reached=2", err)
	}
	h.wantTape("anchor session/start", "system", "user: work", "call c1", `result look {"text":"a"}`, "run ok", "loop.step continue",
		"call c2", `result look {"text":"a"}`, "error max_steps", "run ok", "loop.step error")
}

// A turn that is cancelled during the answer records that.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n > 1 {
			return says("here I am")
		}
		return func(yield func(hooks.Event, error) bool) {
			yield(hooks.Text("half"), nil)
			cancel()
			yield(hooks.Event{}, ctx.Err())
		}
	}, nil)
	if _, err := h.turn(ctx, "m", "work"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	tape := []string{"anchor session/start", "system", "user: work", "error cancelled", "assistant: half", "run cancelled", "loop.step error"}
	h.wantTape(tape...)
	if len(h.sent) != 0 {
		t.Errorf("sent %v, want nothing", h.sent)
	}
	// If the message is sent again, it is answered: the model sees it after the partial answer.
	h.mustTurn("m", "work")
	h.wantTape(append(tape, "user: work", "assistant: here I am", "run ok", "loop.step ok")...)
}

// A turn that was interrupted because the program ended goes on after the next start. The tape has its prompt
// once, and the model does not see the partial answer.
func TestEndsAndGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	store := newStore(t)
	h := newHost(t, store, func(int, models.Request) hooks.Stream {
		return func(yield func(hooks.Event, error) bool) {
			yield(hooks.Text("half"), nil)
			cancel(fmt.Errorf("the program ends: %w", context.Canceled))
			yield(hooks.Event{}, ctx.Err())
		}
	}, nil)
	if _, err := h.turn(ctx, "m", "work"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	tape := []string{"anchor session/start", "system", "user: work", "error cancelled", "assistant: half", "run cancelled", "loop.step error"}
	h.wantTape(tape...)
	h = newHost(t, store, func(int, models.Request) hooks.Stream { return says("here I am") }, nil)
	h.mustTurn("m", "work")
	h.wantTape(append(tape, "assistant: here I am", "run ok", "loop.step ok")...)
	if seen := sent(h.model.requests[0]); strings.Contains(seen, "half") || strings.Count(seen, "work") != 1 {
		t.Errorf("the model sees the partial answer, or the prompt not once: %s", seen)
	}
}

// A turn that is cancelled while tools run records that, and no tool outlives it.
func TestCancelledInTool(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var running atomic.Int32
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream {
		return says("", `c1 slow {}`, `c2 slow {}`)
	}, with(tool("slow", `{}`, func(ctx context.Context, _ string) (string, error) {
		if running.Add(1) == 2 {
			cancel()
		}
		<-ctx.Done()
		running.Add(-1)
		return "", ctx.Err()
	})))
	if _, err := h.turn(ctx, "m", "work"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := running.Load(); n != 0 {
		t.Errorf("%d tools still run", n)
	}
	h.wantTape("anchor session/start", "system", "user: work", "call c1 c2", "result interrupted: it may have been done in part", "result interrupted: it may have been done in part",
		"error cancelled", "run cancelled", "loop.step error")
}

// A message to a running turn is read before the next step, and causes one.
func TestSteering(t *testing.T) {
	var h *host
	say := func(id, text string) {
		if err := h.steer(id, text); err != nil {
			t.Error(err)
		}
	}
	h = newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		switch n {
		case 1:
			return says("", `c1 look {}`)
		case 2:
			say("s2", "and hurry")
			return says("done")
		}
		return says("done quickly")
	}, with(tool("look", `{}`, func(context.Context, string) (string, error) { say("s1", "not there"); return "seen", nil })))
	h.mustTurn("m", "work")
	want := []string{"anchor session/start", "system", "user: work", "call c1", "result seen", "run ok", "loop.step continue", "user: not there",
		"assistant: done", "run ok", "loop.step continue", "user: and hurry", "assistant: done quickly", "run ok", "loop.step ok"}
	h.wantTape(want...)
	// A steering message that is sent again is not read twice.
	h.mustTurn("s1", "not there")
	h.wantTape(want...)
}

// A message that the last step cannot answer is not announced as read, and waits for the next turn.
func TestSteeringTooLate(t *testing.T) {
	var h *host
	h = newHost(t, newStore(t), func(int, models.Request) hooks.Stream {
		if err := h.steer("s1", "and hurry"); err != nil {
			t.Error(err)
		}
		return says("done")
	}, func(o *Options) { o.MaxSteps = 1 })
	if _, err := h.turn(t.Context(), "m", "work"); err == nil || !strings.Contains(err.Error(), "max_steps_reached") {
		t.Errorf("the turn gives %v, want max_steps_reached", err)
	}
	for _, e := range h.events {
		if e.Kind == hooks.EventSteering {
			t.Errorf("the message is announced as read: %v", e)
		}
	}
	inbox, err := h.rt.SteeringInbox(t.Context())
	if err != nil || inbox.Len("s") != 1 {
		t.Errorf("%d messages wait, want 1, %v", inbox.Len("s"), err)
	}
}

// An answer is on the tape even if a message that came in during it cannot be read. The message waits for the next
// turn.
func TestSteeringUnreadable(t *testing.T) {
	var inbox hooks.SteeringInbox
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream {
		if err := inbox.Put(t.Context(), "s", hooks.Envelope{hooks.KeyMessageID: "s1", hooks.KeyMedia: "no list"}); err != nil {
			t.Error(err)
		}
		return says("done")
	}, nil)
	var err error
	if inbox, err = h.rt.SteeringInbox(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.turn(t.Context(), "m", "work"); err == nil || !strings.Contains(err.Error(), "the media of the message cannot be used") {
		t.Errorf("the turn gives %v, want that the media cannot be used", err)
	}
	h.wantTape("anchor session/start", "system", "user: work", "error turn_error", "assistant: done", "run error", "loop.step error")
	if n := inbox.Len("s"); n != 1 {
		t.Errorf("%d messages wait, want 1", n)
	}
}

// ,compact begins a new context with the model's summary; without one, nothing changes.
func TestCompact(t *testing.T) {
	summary := "the sum is fixed"
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream { return says("done") }, func(*Options) {})
	h.model.summary = func(models.Request) hooks.Stream { return says(summary) }
	h.mustTurn("m1", "fix the sum")
	if r := h.mustTurn("m2", ",compact"); !strings.Contains(r.Output, "A new context begins, with this summary:\n\nthe sum is fixed") {
		t.Errorf(",compact does not show the summary: %s", r.Output)
	}
	h.mustTurn("m3", "go on")
	last := h.model.requests[len(h.model.requests)-1]
	if all := fmt.Sprintf("%s", last.Messages); !strings.Contains(all, summary) || strings.Contains(all, "fix the sum") {
		t.Errorf("the new context is not the summary alone: %s", all)
	}
	summary = ""
	if r := h.mustTurn("m4", ",compact"); !strings.Contains(r.Output, "error: there is no summary: the model gave no answer; write one yourself") {
		t.Errorf(",compact without a summary answers %q", r.Output)
	}
	summary = strings.Repeat("x", 17<<20)
	if r := h.mustTurn("m5", ",compact"); !strings.HasPrefix(r.Output, "error: record the turn on s: ") {
		t.Errorf(",compact with a summary that is too long to be recorded answers %.200q", r.Output)
	}
}

func TestHooksAroundCalls(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		return says("", `c1 look {"text":"a"}`, `c2 look {"text":"b"}`, `c3 look {"text":"c"}`, `c4 nosuch {}`, `c5 look [1]`)
	}, with(echo("look")))
	models, results := 0, 0
	h.register(&hooks.Plugin{Name: "around",
		BeforeModelCall: func(_ context.Context, c hooks.ModelCall, _ hooks.State) (*hooks.ModelDecision, error) {
			if models++; models == 2 {
				text := "enough"
				return &hooks.ModelDecision{Finish: &text}, nil
			}
			c.MaxTokens, c.Model = 99, "test:other"
			return &hooks.ModelDecision{Call: &c}, nil
		},
		BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
			switch c.ID {
			case "c1":
				return &hooks.ToolDecision{Action: hooks.Replace, Result: "replaced"}, nil
			case "c2":
				return &hooks.ToolDecision{Action: hooks.Deny, Message: "denied"}, nil
			case "c3":
				return &hooks.ToolDecision{Action: hooks.Proceed, Arguments: []byte(`{"text":"changed"}`)}, nil
			}
			return nil, errors.New("skipped")
		},
		AfterToolCall: func(_ context.Context, _ hooks.ToolCall, r *hooks.ToolResult, _ hooks.State) error {
			results++
			r.Content += "!"
			return nil
		}})
	if r := h.mustTurn("m", "work"); r.Output != "enough" || h.model.requests[0].MaxTokens != 99 || results != 5 || h.model.requests[0].Model != "test:other" {
		t.Errorf("output %q, want enough; request %+v, want 99 tokens of test:other; %d results, want 5", r.Output, h.model.requests[0], results)
	}
	got := map[string]bool{}
	for _, e := range h.entries() {
		got[brief(e)] = true
	}
	for _, want := range []string{"result replaced!", "result denied", `result look {"text":"changed"}!`, `result there is no tool "nosuch"`, "result look: the arguments are not a JSON object"} {
		if !got[want] {
			t.Errorf("the tape lacks %s", want)
		}
	}
}

// A plugin can continue a turn, and build the messages from a tape.
func TestContinuePrompt(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("", `c1 look {"text":"a"}`)
		}
		return says("done")
	}, with(echo("look")))
	h.register(&hooks.Plugin{Name: "more", ContinuePrompt: func(context.Context, hooks.Prompt, *repo.Tape, hooks.State) (*hooks.Prompt, error) {
		return &hooks.Prompt{Text: "go on"}, nil
	}})
	h.mustTurn("m", "work")
	h.wantTape("anchor session/start", "system", "user: work", "call c1", `result look {"text":"a"}`, "run ok", "loop.step continue",
		"user: go on", "assistant: done", "run ok", "loop.step ok")
}

// If a tool ends a phase, the model still sees the prompt in the new context.
func TestHandoffByTool(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("", `c1 tape_handoff {}`)
		}
		return says("done")
	}, with(tool("tape.handoff", `{}`, func(ctx context.Context, _ string) (string, error) {
		tp, err := TapeOf(ctx)
		if err == nil {
			_, err = tp.Handoff(ctx, repo.Anchor{Name: "two", Summary: "half is done"})
		}
		return "anchor added", err
	})))
	h.mustTurn("m", "work")
	h.wantTape("anchor session/start", "system", "user: work", "call c1", "anchor two", "result anchor added", "run ok", "loop.step continue",
		"user: work", "assistant: done", "run ok", "loop.step ok")
	if last := sent(h.model.requests[1]); !strings.Contains(last, "half is done") || !strings.Contains(last, "work") {
		t.Errorf("the new context lacks the summary or the prompt:\n%s", last)
	}
}

// The built-in handoff is made at the end of the step, so that the new phase has no result
// without its call. The phase begins with a note that says so.
func TestHandoffOfTheLoop(t *testing.T) {
	store := newStore(t)
	set := tools.New(tools.Options{Dir: t.TempDir(), Tape: func(ctx context.Context, _ hooks.ToolContext) (*repo.Tape, error) { return TapeOf(ctx) }})
	t.Cleanup(set.Close)
	h := newHost(t, store, func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("", `c1 tape_handoff {"name":"two","summary":"half is done"}`, `c2 tape_handoff {"name":"two","summary":"half is done"}`, `c3 tape_anchors {}`)
		}
		return says("done")
	}, func(o *Options) { o.Tools = set })
	h.mustTurn("m", "work")
	var list []string
	for _, e := range h.entries() {
		list = append(list, brief(e))
	}
	i := slices.Index(list, "anchor two")
	if i < 0 || !slices.Equal(list[i:], []string{"anchor two", "user: " + textNewPhase, "user: work", "assistant: done", "run ok", "loop.step ok"}) {
		t.Fatalf("the tape has\n%s", strings.Join(list, "\n"))
	}
	before := strings.Join(list[:i], "\n")
	for _, want := range []string{"result anchor added: two", "this step already has a handoff", "loop.step continue"} {
		if !strings.Contains(before, want) {
			t.Errorf("before the anchor there is no %q in\n%s", want, before)
		}
	}
	if last := sent(h.model.requests[1]); !strings.Contains(last, "half is done") || strings.Contains(last, "anchor added") {
		t.Errorf("the new context lacks the summary, or has the old phase:\n%s", last)
	}
}

// The event run names the model that answered.
func TestRunNamesFallback(t *testing.T) {
	h := newHost(t, newStore(t), func(int, models.Request) hooks.Stream {
		return func(yield func(hooks.Event, error) bool) {
			_ = yield(hooks.Text("hi"), nil) &&
				yield(hooks.Event{Kind: hooks.EventFinal, Data: map[string]any{"text": "hi", "ok": true, "model": "openai:second"}}, nil)
		}
	}, nil)
	h.mustTurn("m", "hello")
	for _, e := range h.entries() {
		if name, data := eventOf(e); name == eventRun && data.Model != "openai:second" {
			t.Errorf("the event run names %q, want openai:second", data.Model)
		}
	}
}

func TestNoModel(t *testing.T) {
	h := newHost(t, newStore(t), nil, nil)
	if r := h.mustTurn("m", "hello"); !strings.HasSuffix(r.Output, "\nhello") {
		t.Errorf("the output is %q, which does not end with the prompt", r.Output)
	}
	h.mustTurn("m", "hello")
	h.wantTape("anchor session/start", "user: hello", "error no_model", "run error")
	if len(h.sent) < 2 || h.sent[0].Text(hooks.KeyKind) != hooks.KindError {
		t.Errorf("sent %v, want an error first", h.sent)
	}
	if r := h.mustTurn("e", " "); r.Output != "error: empty prompt" && strings.TrimSpace(r.Output) != "" {
		t.Errorf("an empty message is answered by %q", r.Output)
	}
}

// Keys of providers are never on a tape, whoever writes them.
func TestKeys(t *testing.T) {
	const key = "totally-secret-key-of-nobody"
	h := newHost(t, newStore(t), func(n int, _ models.Request) hooks.Stream {
		if n == 1 {
			return says("the key is "+key+" ", `c1 look {"text":"`+key+`"}`)
		}
		return fails("", errors.New("401: wrong key "+key))
	}, func(o *Options) { with(echo("look"))(o); o.Keys = []string{key} })
	_, _ = h.turn(t.Context(), "m", "use "+key)
	for _, e := range h.entries() {
		if strings.Contains(string(e.Raw), key) {
			t.Errorf("the key is on the tape: %s", e.Raw)
		}
	}
}
