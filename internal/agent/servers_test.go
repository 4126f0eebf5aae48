package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tape/internal/agent/models"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// modelServer is a server of models, as its documents and reports say that it answers.
type modelServer struct {
	api    string                                         // "": chat
	answer func(a scripted) string                        // the body of an answer
	refuse func(body []byte) (status int, answer string)  // what it does not take; nil: it takes everything
	busy   func(w http.ResponseWriter)                    // an error that passes
	full   func(w http.ResponseWriter)                    // the context is too long
	wants  func(t *testing.T, body []byte, answered bool) // what a request has to have; answered: it has an answer with calls
}

// scripted is what a model says in a step.
type scripted struct {
	thinking, text string
	calls          []scriptedCall
}

type scriptedCall struct{ id, arguments string }

func (a scripted) reason(calls, text string) string {
	if len(a.calls) > 0 {
		return calls
	}
	return text
}

// steps are those of a turn: parallel calls, thinking, text beside calls, and the answer. Before the second comes an
// error that passes, before the fourth the context is too long.
func scriptedSteps() []scripted {
	call := func(n int) scriptedCall {
		return scriptedCall{fmt.Sprintf("c%08d", n), fmt.Sprintf(`{"text":"look %d"}`, n)}
	}
	list := []scripted{
		{thinking: "I look at both.", calls: []scriptedCall{call(1), call(2)}},
		{text: "Next.", calls: []scriptedCall{call(3)}},
		{thinking: "Two more.", calls: []scriptedCall{call(4), call(5)}},
	}
	for n := range 6 {
		list = append(list, scripted{thinking: fmt.Sprintf("Step %d.", n), calls: []scriptedCall{call(6 + n)}})
	}
	return append(list, scripted{thinking: "That was it.", text: "All is done."})
}

// run answers the requests of a turn.
func (s modelServer) run(t *testing.T) (url string, requests func() int) {
	var mu sync.Mutex
	next, busy, full, all := 0, false, false, 0
	steps := scriptedSteps()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		all++
		if s.refuse != nil {
			if status, text := s.refuse(body); text != "" {
				fails200(w, status, text)
				return
			}
		}
		switch summary := jsonl.Get(body, "tools") == nil; {
		case summary:
			_, _ = io.WriteString(w, s.answer(scripted{text: "The work goes well."}))
			return
		case next == 1 && !busy:
			busy = true
			w.Header().Set("Retry-After-Ms", "1") // else the test would wait
			s.busy(w)
			return
		case next == 3 && !full:
			full = true
			s.full(w)
			return
		}
		if s.wants != nil {
			s.wants(t, body, next > 0 && next != 3)
		}
		_, _ = io.WriteString(w, s.answer(steps[min(next, len(steps)-1)]))
		next++
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int { mu.Lock(); defer mu.Unlock(); return all }
}

func fails200(w http.ResponseWriter, status int, text string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

func httpError(status int, text string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) { fails200(w, status, text) }
}

func streamError(text string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = io.WriteString(w, text) }
}

// TestServers: a turn of ten steps with parallel calls, thinking, an error in the middle and a context that is too long
// works with each server.
func TestServers(t *testing.T) {
	for name, s := range modelServers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := s.run(t)
			c := models.Config{Model: "mine:m", BaseURLs: map[string]string{"mine": url + "/v1"}, APIs: map[string]string{"mine": s.api}}
			if s.api == "" {
				c.APIs = nil
			}
			settings, err := models.Load(func(string) string { return "" }, c, filepath.Join(t.TempDir(), "none"))
			if err != nil {
				t.Fatal(err)
			}
			counted := &counter{}
			h := newHost(t, newStore(t), nil, func(o *Options) {
				with(counted.tool())(o)
				o.Model, o.Name = models.New(settings), "mine:m"
			})
			r := h.mustTurn("m", "work")
			if !strings.HasSuffix(r.Output, "All is done.") || strings.Contains(r.Output, "That was it") || !strings.Contains(r.Output, "Next.") {
				t.Errorf("the output is %q", r.Output)
			}
			calls, thoughts, tokens := 0, 0, false
			for _, e := range h.entries() {
				var event struct {
					Name string
					Data struct{ Thinking string }
				}
				_ = json.Unmarshal(e.Payload, &event)
				calls += strings.Count(string(e.Payload), `"type":"function"`)
				tokens = tokens || strings.Contains(string(e.Payload), `"input_tokens":100`)
				if e.Kind == repo.KindEvent && event.Name == "thinking" && event.Data.Thinking != "" {
					thoughts++
				}
			}
			if calls != 11 || counted.n != 11 || thoughts != 9 || !tokens {
				t.Errorf("%d calls were recorded and %d made, want 11; %d thoughts, want 9; usage: %v\n%s", calls, counted.n, thoughts, tokens, h.tape())
			}
			if n := strings.Count(h.tape(), "anchor auto_handoff"); n != 1 {
				t.Errorf("%d handoffs, want 1", n)
			}
			if n := requests(); n > 18 {
				t.Errorf("%d requests, want at most 18: 10 steps, an error, an overflow, a summary, and what is refused once", n)
			}
		})
	}
}

// lastCalls returns the assistant's last message with calls.
func lastCalls(body []byte) []byte {
	var found []byte
	for m := range jsonl.Elements(jsonl.Get(body, "messages")) {
		if jsonl.Get(m, "tool_calls") != nil {
			found = m
		}
	}
	return found
}
