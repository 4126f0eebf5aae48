package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tape/hooks"
	"tape/internal/agent/models"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// model answers with the function of a test.
type model struct {
	mu       sync.Mutex
	answer   func(n int, r models.Request) hooks.Stream // n counts from 1
	requests []models.Request
	form     view.Format
	summary  func(r models.Request) hooks.Stream // nil: summaries fail
}

func (m *model) Form(name string) (view.Format, error) {
	if name == "bad" {
		return "", fmt.Errorf("model %q: write provider:model", name)
	}
	if m.form == "" {
		return view.OpenAI, nil
	}
	return m.form, nil
}

func (m *model) Stream(_ context.Context, r models.Request) hooks.Stream {
	if r.System == summarySystem {
		if m.summary == nil {
			return fails("", errors.New("there is no summary in this test"))
		}
		return m.summary(r)
	}
	m.mu.Lock()
	m.requests = append(m.requests, r)
	n := len(m.requests)
	m.mu.Unlock()
	return m.answer(n, r)
}

// says is an answer in pieces, with calls "id name arguments".
func says(text string, calls ...string) hooks.Stream {
	return func(yield func(hooks.Event, error) bool) {
		for _, piece := range strings.SplitAfter(text, " ") {
			if piece != "" && !yield(hooks.Text(piece), nil) {
				return
			}
		}
		for _, c := range calls {
			w := strings.SplitN(c, " ", 3)
			if !yield(hooks.Event{Kind: hooks.EventToolCall, Data: map[string]any{"id": w[0], "name": w[1], "arguments": w[2]}}, nil) {
				return
			}
		}
		_ = yield(hooks.Event{Kind: hooks.EventUsage, Data: map[string]any{"input_tokens": 7, "output_tokens": 3}}, nil) &&
			yield(final(text, true), nil)
	}
}

// fails is an answer that ends with an error after text.
func fails(text string, err error) hooks.Stream {
	return func(yield func(hooks.Event, error) bool) {
		if text == "" || yield(hooks.Text(text), nil) {
			yield(hooks.Event{}, err)
		}
	}
}

// host is a runtime with the plugin, a workspace and a model.
type host struct {
	t      testing.TB
	store  *repo.Store
	rt     *hooks.Runtime
	model  *model
	seeing sync.Mutex // guards events, which also come while a tool writes
	events []hooks.Event
	mu     sync.Mutex
	sent   []hooks.Envelope
}

func newStore(t testing.TB) *repo.Store {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { healthy(t, s.Dir()) })
	return s
}

// healthy fails the test if tape verify or git fsck finds anything.
func healthy(t testing.TB, dir string) {
	t.Helper()
	s, err := repo.Open(context.Background(), dir, nil)
	if err != nil {
		t.Error(err)
		return
	}
	report, err := s.Verify(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	for _, p := range report.Problems {
		t.Errorf("verify: %v", p)
	}
	if out, err := exec.Command("git", "-C", dir, "fsck", "--strict", "--no-dangling").CombinedOutput(); err != nil {
		t.Errorf("git fsck --strict: %v\n%s", err, out)
	}
}

// newHost makes a host, without a model if answer is nil. change, if not nil, changes the plugin's options.
func newHost(t testing.TB, s *repo.Store, answer func(n int, r models.Request) hooks.Stream, change func(o *Options)) *host {
	t.Helper()
	h := &host{t: t, store: s, rt: hooks.New(slog.New(slog.DiscardHandler)), model: &model{answer: answer}}
	h.rt.Workspace = s.Dir()
	o := Options{Runtime: h.rt, Name: "test:one", Project: t.TempDir(), Now: testkit.Clock}
	if answer != nil {
		o.Model = h.model
	}
	if change != nil {
		change(&o)
	}
	for _, p := range []*hooks.Plugin{Plugin(o), {
		Name:             "outside",
		ProvideTapeStore: func(context.Context) (*repo.Store, error) { return s, nil },
		DispatchOutbound: h.dispatch,
	}} {
		h.register(p)
	}
	return h
}

func (h *host) register(p *hooks.Plugin) {
	h.t.Helper()
	if err := h.rt.Register(p); err != nil {
		h.t.Fatal(err)
	}
}

// see calls f, which uses events.
func (h *host) see(f func()) {
	h.seeing.Lock()
	defer h.seeing.Unlock()
	f()
}

// turn processes a message in the session s.
func (h *host) turn(ctx context.Context, id, text string) (*hooks.Result, error) {
	h.see(func() { h.events = nil })
	m := hooks.Envelope{hooks.KeySession: "s", hooks.KeyContent: text}
	if id != "" {
		m[hooks.KeyMessageID] = id
	}
	return h.rt.Process(ctx, m, hooks.Options{OnEvent: func(_ context.Context, _ hooks.Envelope, e hooks.Event) {
		h.see(func() { h.events = append(h.events, e) })
	}})
}

func (h *host) mustTurn(id, text string) *hooks.Result {
	h.t.Helper()
	r, err := h.turn(h.t.Context(), id, text)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *host) entries() []repo.Entry {
	h.t.Helper()
	t, err := h.store.Tape(context.Background(), "s")
	if err != nil {
		h.t.Fatal(err)
	}
	all := entriesOf(h.t, t)
	return slices.DeleteFunc(all, func(e repo.Entry) bool { return brief(e) == eventSession }) // each tape begins with it
}

func entriesOf(t testing.TB, tape *repo.Tape) (out []repo.Entry) {
	t.Helper()
	for e, err := range tape.Entries(context.Background(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// brief describes an entry in a few words.
func brief(e repo.Entry) string {
	var p struct {
		Name    string
		Role    string
		Content json.RawMessage
		Kind    string
		Message string
		Data    map[string]any
		Results []string
		Calls   []struct{ ID string }
	}
	if err := json.Unmarshal(e.Payload, &p); err != nil {
		return err.Error()
	}
	switch e.Kind {
	case repo.KindSystem:
		return "system"
	case repo.KindMessage:
		text := jsonl.GetString(e.Payload, "content")
		if i := strings.LastIndex(text, "context>\n"); i >= 0 {
			text = text[i+9:]
		}
		return p.Role + ": " + text
	case repo.KindToolCall:
		var ids []string
		for _, c := range p.Calls {
			ids = append(ids, c.ID)
		}
		return "call " + strings.Join(ids, " ")
	case repo.KindToolResult:
		return "result " + strings.Join(p.Results, " ")
	case repo.KindError:
		return "error " + p.Kind
	case repo.KindEvent:
		if p.Data["status"] == nil {
			return p.Name
		}
		return fmt.Sprintf("%s %v", p.Name, p.Data["status"])
	}
	return e.Kind + " " + p.Name
}

// tape returns the tape of the session, an entry a line.
func (h *host) tape() string {
	var out []string
	for _, e := range h.entries() {
		out = append(out, brief(e))
	}
	return strings.Join(out, "\n")
}

// wantTape compares the brief entries of the session s.
func (h *host) wantTape(want ...string) {
	h.t.Helper()
	var got []string
	for _, e := range h.entries() {
		got = append(got, brief(e))
	}
	for i := range got { // calls run side by side, so sort their results
		if i > 0 && strings.HasPrefix(got[i-1], "result ") && strings.HasPrefix(got[i], "result ") && got[i-1] > got[i] {
			got[i-1], got[i] = got[i], got[i-1]
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		h.t.Errorf("the tape has\n%s\nnot\n%s", g, w)
	}
}

// tool makes a tool.
func tool(name, schema string, run func(ctx context.Context, arguments string) (string, error)) hooks.Tool {
	return hooks.Tool{Name: name, Description: name, Schema: json.RawMessage(schema),
		Run: func(ctx context.Context, _ hooks.ToolContext, arguments json.RawMessage) (string, error) {
			return run(ctx, string(arguments))
		}}
}

// echo is a tool that returns its name and arguments.
func echo(name string) hooks.Tool {
	return tool(name, `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		func(_ context.Context, arguments string) (string, error) { return name + " " + arguments, nil })
}

// with returns a change of options that gives the agent tools.
func with(list ...hooks.Tool) func(o *Options) {
	return func(o *Options) { o.Tools = &toolbox{list: list} }
}

// sent returns the messages of a request.
func sent(r models.Request) string {
	var out []string
	for _, m := range r.Messages {
		out = append(out, string(m))
	}
	return strings.Join(out, "\n")
}

func (h *host) dispatch(_ context.Context, m hooks.Envelope) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, m)
	return true, nil
}

// toolbox has the tools of a test.
type toolbox struct {
	noTools
	list    []hooks.Tool
	stopped string
}

func (b *toolbox) All(context.Context) []hooks.Tool { return b.list }
func (b *toolbox) Problems() []string               { return nil }
func (b *toolbox) Stop(session string)              { b.stopped = session }

// steer sends a message to the running turn of the session s.
func (h *host) steer(id, text string) error {
	inbox, err := h.rt.SteeringInbox(context.Background())
	if err == nil {
		err = inbox.Put(context.Background(), "s", hooks.Envelope{hooks.KeyContent: text, hooks.KeyMessageID: id})
	}
	return err
}
