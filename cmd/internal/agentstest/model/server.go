package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Server answers agents by a script.
type Server struct {
	URL string // without a slash at the end

	// Call returns the agent's name of a tool, and the arguments. The history may have an id that the
	// arguments need.
	Call func(c Call, history []Item) (name string, args any)

	// Summary is the answer if one of the user's last messages has one of the SummaryMarks, because the agent
	// compacts its history.
	Summary string
	// TitleTool is set if the agent asks for a title with one tool, which takes it.
	TitleTool bool

	http   *httptest.Server
	script Script
	mu     sync.Mutex
	// Guarded by mu.
	exchanges []*Exchange
	unknown   []string
}

// SummaryMarks are phrases from the agents' requests for a summary.
var SummaryMarks = [...]string{
	"create a detailed summary", "CONTEXT CHECKPOINT COMPACTION", "<state_snapshot>", "anchored summary",
	"structured context checkpoint summary",
}

// New starts a server on a free port. call becomes its Call.
func New(script Script, call func(Call, []Item) (string, any)) *Server {
	s := &Server{script: script, Call: call, Summary: "Summary: greetings were exchanged."}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close ends the server, and the answers that are still being sent.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Exchanges returns the requests so far with their answers.
func (s *Server) Exchanges() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Exchange, len(s.exchanges))
	for i, e := range s.exchanges {
		out[i] = *e
	}
	return out
}

// Unknown returns the requests, as method and path, that it could not answer.
func (s *Server) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unknown)
}

// A dialect reads the requests of one API and writes its answers.
type dialect interface {
	history() (items []Item, tools int)
	answer(w *writer, a answer)
}

// An answer is a step, with its calls as the agent names them.
type answer struct {
	id    string
	step  Step
	calls []Item
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the agent is gone
	}
	d := dialectOf(r, body)
	switch {
	case d != nil:
		s.converse(w, r, d)
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":1000}`)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		fmt.Fprint(w, `{"totalTokens":1000}`)
	default:
		s.mu.Lock()
		s.unknown = append(s.unknown, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		http.NotFound(w, r)
	}
}

// dialectOf returns the API of a request, or nil.
func dialectOf(r *http.Request, body []byte) dialect {
	var d dialect
	switch p := r.URL.Path; {
	case r.Method != http.MethodPost:
		return nil
	case strings.HasSuffix(p, "/messages"):
		d = new(anthropic)
	case strings.HasSuffix(p, "/responses"):
		d = new(responses)
	case strings.HasSuffix(p, "/chat/completions"):
		d = new(chat)
	case strings.HasSuffix(p, ":generateContent"):
		d = new(gemini)
	case strings.HasSuffix(p, ":streamGenerateContent"):
		d = &gemini{stream: true}
	default:
		return nil
	}
	if json.Unmarshal(body, d) != nil {
		return nil
	}
	return d
}

func (s *Server) converse(w http.ResponseWriter, r *http.Request, d dialect) {
	e, a := s.open(r, d)
	out := &writer{w: w, pause: a.step.Pause, gone: r.Context().Done()}
	d.answer(out, a)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Done = !out.failed
}

// open records a request and finds the answer to it.
func (s *Server) open(r *http.Request, d dialect) (*Exchange, answer) {
	history, tools := d.history()
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &Exchange{Path: r.URL.Path, History: history}
	s.exchanges = append(s.exchanges, e)
	a := answer{id: fmt.Sprintf("%03d", len(s.exchanges))}
	switch {
	case wantsSummary(history):
		e.Side, a.step = true, Step{Text: s.Summary}
	case tools == 0, tools == 1 && s.TitleTool:
		e.Side, a.step = true, Step{Text: "A title"}
	default:
		var n int
		e.Prompt, n, a.step = s.script.step(history, s.Summary)
		e.First = n == 0
	}
	e.Reply, a.calls = s.translate(a, history)
	return e, a
}

// translate returns the text and calls of an answer, and the calls alone, with the agent's names of tools.
func (s *Server) translate(a answer, history []Item) (said, calls []Item) {
	if a.step.Text != "" {
		said = append(said, Item{Kind: Answer, Text: a.step.Text})
	}
	for i, c := range a.step.Calls {
		name, args := s.Call(c, history)
		text, err := json.Marshal(args)
		if err != nil {
			panic(err) // the tests make the arguments
		}
		calls = append(calls, Item{Kind: Asked, ID: fmt.Sprintf("call_%s_%d", a.id, i), Name: name, Text: string(text)})
	}
	return append(said, calls...), calls
}

func wantsSummary(history []Item) bool {
	for i := len(history) - 1; i >= 0 && history[i].Kind == User; i-- {
		for _, mark := range SummaryMarks {
			if strings.Contains(history[i].Text, mark) {
				return true
			}
		}
	}
	return false
}

// A writer sends an answer, as JSON or as a stream of events.
type writer struct {
	w      http.ResponseWriter
	pause  time.Duration
	gone   <-chan struct{}
	failed bool
}

func (w *writer) json(v any) {
	w.w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w.w).Encode(v); err != nil {
		w.failed = true
	}
}

// event sends one event of a stream. name may be "".
func (w *writer) event(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // this package makes the answers
	}
	w.send(name, data)
}

func (w *writer) send(name string, data []byte) {
	if w.failed {
		return
	}
	w.w.Header().Set("Content-Type", "text/event-stream")
	if w.pause > 0 {
		select {
		case <-w.gone:
		case <-time.After(w.pause):
		}
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	if _, err := fmt.Fprintf(w.w, "%sdata: %s\n\n", name, data); err != nil {
		w.failed = true
		return
	}
	w.w.(http.Flusher).Flush()
	select {
	case <-w.gone:
		w.failed = true
	default:
	}
}

// pieces cuts a text into at most about a hundred pieces, as a model's stream does.
func pieces(text string) []string {
	size := max(24, len(text)/100)
	var out []string
	for len(text) > size {
		cut := size
		for cut < len(text) && text[cut]&0xC0 == 0x80 { // within a character
			cut++
		}
		out, text = append(out, text[:cut]), text[cut:]
	}
	return append(out, text)
}

type m = map[string]any

func tokens(step Step) int { return max(step.Tokens, 1000) }
