package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// The owner of the context decides which part of the history is inlined.
func TestOwnership(t *testing.T) {
	p := newPeer(t)
	for i, tc := range []struct{ manifest, want string }{
		{`{}`, ""},
		{`{"ownership":"self_managed"}`, ""},
		{`{"ownership":"self_managed","bootstrap":"recent_tail"}`, "now"},
		{`{"ownership":"self_managed","bootstrap":"summary_tail"}`, "now"},
		{`{"ownership":"self_managed","max_round":5}`, "now"},
		{`{"ownership":"host_bootstrap","max_inline_events":3}`, "two three now"},
		{`{"ownership":"hybrid","max_inline_events":3}`, "two three now"},
		{`{"ownership":"hybrid","bootstrap":"none"}`, ""},
		{`{"ownership":"host_bootstrap","bootstrap":"current_event"}`, "now"},
		{`{"bootstrap":"recent_tail","max_inline_events":2}`, "three now"},
		{`{"max_round":1}`, "three now"},
	} {
		name := fmt.Sprint("c", i)
		p.run(api.RunRequest{Conversation: api.Conversation(name)})
		p.say(name, "one", "two", "three")
		var run api.RunStarted
		p.want(201, "POST", "/runs", `{"runner":"r","conversation":"`+name+`","input":{"text":"now"},"manifest":`+tc.manifest+`}`, &run)
		if got := contents(run.Context.Bootstrap); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.manifest, got, tc.want)
		}
	}
}

func contents(items []api.Item) string {
	var out []string
	for _, item := range items {
		out = append(out, item.Content)
	}
	return strings.Join(out, " ")
}

// The summary comes first, however long the tail is.
func TestSummaryTail(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	p.say("c", "before")
	p.want(201, "POST", "/tapes/c/handoff", `{"name":"plan","summary":"all so far"}`, nil)
	var texts []string
	for range 300 {
		texts = append(texts, "later")
	}
	p.say("c", append(texts, "last")...)
	for n, want := range map[int]string{1: "all so far", 3: "all so far last now", 2: "all so far now"} {
		run := p.run(api.RunRequest{Conversation: "c", Input: api.Input{Text: "now"}, Manifest: api.Manifest{Bootstrap: "summary_tail", MaxInlineEvents: n}})
		if got := contents(run.Context.Bootstrap); n != 3 && got != want || !strings.HasPrefix(got, "all so far") || len(run.Context.Bootstrap) != n {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestManifestSupports(t *testing.T) {
	p := newPeer(t)
	for member, path := range map[string]string{"supports_history_pull": "/history", "supports_history_search": "/history/search?q=x", "supports_artifact_pull": "/artifacts/00"} {
		for _, yes := range []bool{true, false} {
			var run api.RunStarted
			p.want(201, "POST", "/runs", map[string]any{"runner": "r", "conversation": "c", "manifest": map[string]any{member: yes}}, &run)
			endpoint, _, _ := strings.Cut(strings.Replace(path, "/00", "/{artifact_id}", 1), "?")
			if got := slices.Contains(run.Context.Context.AvailableAPIs, "GET /v1"+endpoint); got != yes {
				t.Errorf("%s %v: the endpoint is listed: %v", member, yes, got)
			}
			if code, _, _ := p.as(run.Token).ask("GET", path, nil); (code == 403) == yes {
				t.Errorf("%s %v: the endpoint answers %d", member, yes, code)
			}
		}
	}
}

// A run's input is on the tape: a message of pictures alone, attachments, subject, delivery.
func TestStartIsKept(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c", Subject: api.Party{ID: "door"}, Delivery: json.RawMessage(`{"reply_to":"7"}`),
		Input: api.Input{Contents: []json.RawMessage{json.RawMessage(`{"type":"image_url","image_url":{"url":"https://example.org/cat.png"}}`)},
			Attachments: []json.RawMessage{json.RawMessage(`{"name":"cat.png"}`)}}})
	p.run(api.RunRequest{Conversation: "c", Input: api.Input{Text: "hello", Contents: []json.RawMessage{json.RawMessage(`{"type":"text","text":"hello"}`)}}})
	p.run(api.RunRequest{Conversation: "c", Input: api.Input{Text: "look", Contents: []json.RawMessage{json.RawMessage(`{"type":"image_url","image_url":{"url":"x"}}`)}}})
	var messages, started []string
	for e, err := range tapeOf(t, p.s.Store, "c").Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == repo.KindMessage {
			messages = append(messages, string(e.Payload))
		} else if jsonl.GetString(e.Payload, "name") == "run.started" {
			started = append(started, string(e.Payload))
		}
	}
	for i, want := range [][]string{{`"cat.png"`, `example.org/cat.png`}, {`[{"type":"text","text":"hello"}]`}, {`[{"text":"look","type":"text"},`}} {
		for _, part := range want {
			if i >= len(messages) || !strings.Contains(messages[i], part) {
				t.Fatalf("message %d of %q has no %s", i, messages, part)
			}
		}
	}
	if !strings.Contains(started[0], `"subject":{"id":"door"}`) || !strings.Contains(started[0], `"delivery":{"reply_to":"7"}`) {
		t.Errorf("the subject or the delivery is not in %s", started[0])
	}
	p.fails(422, "invalid_argument", "POST", "/runs", `{"runner":"r","conversation":"c","input":{"contents":["text"]}}`)
}

func TestSessionKeys(t *testing.T) {
	p := newPeer(t)
	key := func(workspace, bot string) string {
		return p.run(api.RunRequest{Conversation: "c", Runner: "r", Workspace: workspace, Bot: bot, Binding: "100%", Thread: "t"}).Context.Runtime.SessionKey
	}
	if got := key("w", "b"); got != "w/b/100%/r/c/t" {
		t.Errorf("the session key is %s", got)
	}
}

// A conversation may have a name from another program, and may be an object.
func TestConversationNames(t *testing.T) {
	p := newPeer(t)
	var run api.RunStarted
	p.want(201, "POST", "/runs", `{"runner":"r","conversation":{"conversation_id":"telegram/123","thread_id":"t","title":"x"},"input":{"text":"hello"}}`, &run)
	p.fails(422, "invalid_argument", "POST", "/runs", `{"runner":"r","conversation":{"conversation_id":"c","thread_id":"t"},"thread":"u","input":{"text":"x"}}`)
	if run.Context.Conversation != "telegram/123" || run.Context.Context.ThreadID != "t" {
		t.Errorf("the context is %+v, want telegram/123 and the thread t", run.Context)
	}
	a := p.as(run.Token)
	a.want(201, "POST", "/tapes/telegram%2F123/entries", `{"entries":[{"kind":"message","payload":{"role":"assistant","content":"there"}}]}`, nil)
	var page api.Page
	a.want(200, "GET", "/history", nil, &page)
	if contents(page.Items) != "there hello" {
		t.Errorf("the history is %+v, want \"there\" and \"hello\"", page)
	}
	a.want(200, "GET", "/events/telegram%2F123@3", nil, nil)
	p.run(api.RunRequest{Conversation: "chat"})
	p.fails(404, "not_found", "POST", "/runs", `{"runner":"r","conversation":"chat/gone"}`)
	p.fails(422, "invalid_argument", "POST", "/runs", `{"runner":"r","conversation":{"id":"chat"}}`)
	// A name that begins alike is another conversation.
	if _, err := p.s.Store.CreateTape(t.Context(), "chat/other"); err != nil {
		t.Fatal(err)
	}
	b := p.as(p.run(api.RunRequest{Conversation: "chat"}).Token)
	b.fails(404, "not_found", "GET", "/history?conversation_id=chat/other", nil)
	b.fails(404, "not_found", "POST", "/tapes/chat%2Fother/entries", `{"entries":[{"kind":"note","payload":{}}]}`)
}
