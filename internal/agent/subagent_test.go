package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/repo"
	"tape/repo/view"
)

// One of two parallel subagents fails. What the other one recorded is on the tape, also after its context was
// too long, and the session's model sees only the answers of both.
func TestSubagents(t *testing.T) {
	for _, form := range view.Formats() {
		t.Run(string(form), func(t *testing.T) { testSubagents(t, form) })
	}
}

func testSubagents(t *testing.T, form view.Format) {
	var both sync.WaitGroup // each waits in its first call until the other is there
	both.Add(2)
	var mu sync.Mutex
	long := false
	h := newHost(t, newStore(t), func(_ int, r models.Request) hooks.Stream {
		all := sent(r)
		switch {
		case strings.Contains(all, "the work") && !strings.Contains(all, "k1"):
			return says("I delegate.", `k1 subagent {"prompt":"good task"}`, `k2 subagent {"prompt":"bad task","allowed_tools":["look"]}`)
		case strings.Contains(all, "the work"):
			return says("All done.")
		case strings.Contains(all, "bad task"):
			if len(r.Tools) != 1 {
				t.Errorf("the subagent with one allowed tool has %d", len(r.Tools))
			}
			both.Done()
			both.Wait()
			return fails("I try", errors.New("500 broken"))
		case strings.Contains(all, autoHandoff):
			return says("good answer")
		case !strings.Contains(all, "g1"):
			both.Done()
			both.Wait()
			return says("I look", `g1 look {"text":"secret of the subagent"}`)
		}
		mu.Lock()
		defer mu.Unlock()
		if !long {
			long = true
			return fails("", errLong)
		}
		return says("not again")
	}, with(echo("look"), echo("tape.handoff")))
	h.model.form = form
	if r := h.mustTurn("m", "the work"); r.Output != "I delegate.\n\nAll done." {
		t.Errorf("output %q", r.Output)
	}
	last := sent(h.model.requests[len(h.model.requests)-1])
	for _, want := range []string{"good answer", "the subagent failed", "500 broken"} {
		if !strings.Contains(last, want) {
			t.Errorf("the session's model does not see %q:\n%s", want, last)
		}
	}
	if strings.Contains(last, "secret of the subagent") || strings.Contains(last, "good task\n") {
		t.Errorf("the session's model sees what the subagent did:\n%s", last)
	}
	var all []string
	for _, e := range h.entries() {
		all = append(all, brief(e))
		if name, _ := eventOf(e); e.Kind == repo.KindAnchor && e.ID > 1 || name == eventPhase && !strings.Contains(string(e.Meta), "agent-k1") {
			t.Errorf("a subagent has begun a phase of the session: %s", e.Raw)
		}
	}
	tape := strings.Join(all, "\n")
	for _, want := range []string{"good task", `result look {"text":"secret of the subagent"}`, "phase", "loop.step auto_handoff", "assistant: good answer", "result good answer"} {
		if !strings.Contains(tape, want) {
			t.Errorf("the tape lacks %q:\n%s", want, tape)
		}
	}
	if strings.Contains(tape, "assistant: I try") {
		t.Errorf("the tape has what the failed subagent recorded:\n%s", tape)
	}
	forks, err := h.store.Forks(t.Context())
	if err != nil || len(forks) != 0 {
		t.Errorf("%d forks are open, want none, %v", len(forks), err)
	}
	tp, err := h.store.Tape(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	closed, err := tp.ClosedForks(t.Context())
	if err != nil || len(closed) != 2 {
		t.Errorf("%d forks are closed, want 2, %v", len(closed), err)
	}
	if n := len(h.model.requests); n != 6 {
		t.Errorf("%d calls of the model, want 6", n)
	}
}

// Servers that number the calls of each answer from 1 give every subagent the same id.
func TestSubagentsSameID(t *testing.T) {
	h := newHost(t, newStore(t), func(n int, r models.Request) hooks.Stream {
		all := sent(r)
		switch {
		case !strings.Contains(all, "the work"):
			return says("did it")
		case n%3 == 1:
			return says("", `call_0 subagent {"prompt":"task"}`)
		}
		return says("All done.")
	}, nil)
	for range 3 {
		h.mustTurn("", "the work")
	}
	for _, e := range h.entries() {
		if e.Kind == repo.KindToolResult && brief(e) != "result did it" {
			t.Errorf("the result is not \"did it\": %s", e.Raw)
		}
	}
}

// What is shown of a subagent while it works stays short, however many calls it makes.
func TestSubagentShown(t *testing.T) {
	r := &turn{}
	r.work = func(context.Context) error {
		for i := range 100 {
			r.emit(hooks.Event{Kind: hooks.EventToolCall, Data: map[string]any{"name": "look", "arguments": fmt.Sprintf(`{"n":%d,"text":%q}`, i, strings.Repeat("x", 10_000))}})
		}
		return nil
	}
	end, bytes := "", int64(0)
	if _, err := r.collect(t.Context(), func(e string, n int64) { end, bytes = e, n }); err != nil {
		t.Fatal(err)
	}
	if len(end) > 2_000 || !strings.Contains(end, `{"n":99,`) || strings.Contains(end, `{"n":9,`) || bytes < 20_000 {
		t.Errorf("%d bytes of %d are shown, want the last few calls:\n%s", len(end), bytes, end)
	}
}
