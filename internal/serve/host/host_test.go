package host

import (
	"log/slog"

	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/repo"
)

func TestMain(m *testing.M) {
	testkit.Parallel(4) // those that are parallel wait for deadlines
	testkit.Main(m, nil, serveHelper)
}

const adminToken = "the token of the admin, for tests only"

// peer is a server and its client.
type peer struct {
	t     *testing.T
	s     *Server
	web   *httptest.Server
	now   *time.Time
	token string
	head  map[string]string
}

func newPeer(t *testing.T) *peer {
	t.Helper()
	store, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	p := &peer{t: t, now: &now, token: adminToken}
	p.start(store)
	return p
}

func (p *peer) start(store *repo.Store) {
	p.t.Helper()
	var err error
	if p.s, err = New(p.t.Context(), Options{Store: store, Token: adminToken, Version: "test", Log: slog.New(slog.NewTextHandler(p.t.Output(), nil)), Now: func() time.Time { return *p.now }}); err != nil {
		p.t.Fatal(err)
	}
	p.web = httptest.NewServer(p.s)
	p.t.Cleanup(p.web.Close)
}

// as returns the peer with another token.
func (p *peer) as(token string) *peer {
	out := *p
	out.token = token
	return &out
}

// with returns the peer with one more header.
func (p *peer) with(name, value string) *peer {
	out := *p
	out.head = map[string]string{name: value}
	for k, v := range p.head {
		out.head[k] = v
	}
	return &out
}

// send sends a request with the peer's token and headers.
func (p *peer) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.web.URL+"/v1"+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	for k, v := range p.head {
		r.Header.Set(k, v)
		if k == "Host" {
			r.Host = v
		}
	}
	return http.DefaultClient.Do(r)
}

func (p *peer) ask(method, path string, body any) (int, []byte, http.Header) {
	p.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			p.t.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	res, err := p.send(context.Background(), method, path, in)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, data, res.Header
}

// want sends a request and reads the answer, which must have a status.
func (p *peer) want(status int, method, path string, body, into any) {
	p.t.Helper()
	got, data, _ := p.ask(method, path, body)
	if got != status {
		p.t.Fatalf("%s %s: %d, wanted %d:\n%s", method, path, got, status, data)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			p.t.Fatalf("%s %s: %v:\n%s", method, path, err, data)
		}
	}
}

// fails sends a request that must fail with a status and a code.
func (p *peer) fails(status int, code, method, path string, body any) {
	p.t.Helper()
	var e api.ErrorAnswer
	p.want(status, method, path, body, &e)
	if e.Error.Code != code || e.Error.Message == "" || e.Error.Details == nil {
		p.t.Errorf("%s %s: %+v, wanted %s", method, path, e, code)
	}
}

func (p *peer) run(q api.RunRequest) api.RunStarted {
	p.t.Helper()
	if q.Runner == "" {
		q.Runner = "tester"
	}
	var out api.RunStarted
	p.want(201, "POST", "/runs", q, &out)
	return out
}

func (p *peer) say(tape string, texts ...string) {
	p.t.Helper()
	var entries []map[string]any
	for _, text := range texts {
		entries = append(entries, map[string]any{"kind": "message", "payload": map[string]any{"role": "user", "content": text}})
	}
	p.want(201, "POST", "/tapes/"+tape+"/entries", map[string]any{"entries": entries}, nil)
}

func TestRunFromStartToEnd(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "chat", Input: api.Input{Text: "why does the build fail?"}})
	a := p.as(run.Token)
	var page api.Page
	a.want(200, "GET", "/history", nil, &page)
	if len(page.Items) != 2 || page.Items[0].Content != "why does the build fail?" {
		t.Fatalf("the history is %+v, want two items, the newest with the input", page)
	}
	batch := api.ResultsRequest{Results: []api.RunResult{{Sequence: 1, Type: "message.delta", Data: json.RawMessage(`{"text":"the "}`)}, {Sequence: 2, Type: "message.completed", Data: json.RawMessage(`{"content":"the disk is full"}`)}}}
	var done api.ResultsAnswer
	a.want(200, "POST", "/runs/"+run.RunID+"/results", batch, &done)
	if done.Accepted != 2 || done.Status != "running" {
		t.Errorf("the first two results: %+v", done)
	}
	batch.Results = append(batch.Results, api.RunResult{Sequence: 3, Type: "odd", Data: nil}, api.RunResult{Sequence: 4, Type: "run.completed", Data: json.RawMessage(`{"finish_reason":"stop"}`)})
	for _, ignored := range []int{2, 4} { // the second time all of it is known
		a.want(200, "POST", "/runs/"+run.RunID+"/results", batch, &done)
		if done.Ignored != ignored || done.Status != "completed" {
			t.Errorf("all four results: %+v, want %d ignored and completed", done, ignored)
		}
	}
	a.fails(401, "unauthorized", "GET", "/history", nil)
	var audit api.EventPage
	p.want(200, "GET", "/events?conversation_id=audit&types=audit", nil, &audit)
	if len(audit.Items) < 2 {
		t.Errorf("the end was acknowledged before it was audited: %+v", audit)
	}
	var hits api.Hits
	p.want(200, "GET", "/history/search?conversation_id=chat&q=disk", nil, &hits)
	if len(hits.Items) != 1 || hits.Items[0].Role != "assistant" {
		t.Errorf("the hits are %+v, want one of the assistant", hits)
	}
	_, stream, _ := p.ask("GET", "/runs/"+run.RunID+"/events", nil) // it ends, since the run is over
	if strings.Count(string(stream), "\nid: ") != 6 {
		t.Errorf("the run's stream does not have 6 entries:\n%s", stream)
	}
}

func TestPagesHaveEachEntryOnce(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "chat"})
	for i := range 12 {
		p.say("chat", fmt.Sprint("a", i), fmt.Sprint("b", i))
	}
	seen := map[string]int{}
	path := "/history?conversation_id=chat&limit=5"
	for cursor := ""; ; {
		var page api.Page
		p.want(200, "GET", path+cursor, nil, &page)
		for _, item := range page.Items {
			seen[item.Content]++
		}
		p.say("chat", "late")
		if !page.HasMore {
			break
		}
		cursor = "&before_cursor=" + page.NextCursor
	}
	if len(seen) != 25 { // with the anchor, and without the late ones
		t.Errorf("%d different texts came, want 25: %v", len(seen), seen)
	}
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q came %d times", text, n)
		}
	}
	var page api.Page
	p.want(200, "GET", "/history?conversation_id=chat&limit=999999999999999999999", nil, &page)
	if len(page.Items) > 100 {
		t.Errorf("a page has %d items, want at most 100", len(page.Items))
	}
	p.fails(422, "invalid_argument", "GET", "/events?conversation_id=chat&before_cursor="+page.PrevCursor, nil)
}

func TestIsolation(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "other"})
	p.say("other", "unseen")
	run := p.run(api.RunRequest{Conversation: "mine"})
	a := p.as(run.Token)
	for _, path := range []string{"/history?conversation_id=other", "/events?conversation_id=other", "/events/other@1", "/history/search?q=unseen&conversation_id=other",
		"/tapes/other/anchors", "/tapes/other/context", "/diff?a=mine&b=other", "/events?conversation_id=audit", "/history?conversation_id=host",
		"/history?conversation_id=nothere", "/artifacts/00?conversation_id=other", "/state/conversation/k?conversation_id=other", "/runs/none"} {
		a.fails(404, "not_found", "GET", path, nil)
	}
	a.fails(404, "not_found", "POST", "/tapes/other/entries", api.AppendRequest{Entries: []api.NewEntry{{Kind: "message", Payload: json.RawMessage(`{}`)}}})
	a.fails(403, "forbidden", "POST", "/runs", api.RunRequest{})
	var list api.TapeList
	a.want(200, "GET", "/tapes", nil, &list)
	if len(list.Items) != 1 || list.Items[0].Tape != "mine" {
		t.Errorf("the run sees the tapes %+v, want only its own", list)
	}
	none := p.run(api.RunRequest{Conversation: "mine", Scopes: []string{"state.read"}})
	p.as(none.Token).fails(403, "forbidden", "GET", "/history?conversation_id=other", nil)
	thread := p.as(p.run(api.RunRequest{Conversation: "other", Thread: "t1", Input: api.Input{Text: "in the thread"}}).Token)
	var page api.Page
	thread.want(200, "GET", "/history", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Content != "in the thread" {
		t.Errorf("the thread sees %+v, want only its own input", page)
	}
	thread.fails(404, "not_found", "GET", "/history?thread_id=t2", nil)
	p.as("wrong").fails(401, "unauthorized", "GET", "/history", nil)
	p.with("Origin", "http://evil.example").fails(403, "forbidden", "GET", "/health", nil)
	p.with("Host", "evil.example").fails(403, "forbidden", "GET", "/health", nil)
}

func TestTokensEnd(t *testing.T) {
	p := newPeer(t)
	a := p.as(p.run(api.RunRequest{Conversation: "c", DeadlineS: 60}).Token)
	*p.now = p.now.Add(2 * time.Minute)
	a.fails(504, "deadline_exceeded", "GET", "/history", nil)
	a = p.as(p.run(api.RunRequest{Conversation: "c", DeadlineS: 1 << 60}).Token)
	*p.now = p.now.Add(61 * time.Minute)
	a.fails(401, "unauthorized", "GET", "/history", nil)
	a = p.as(p.run(api.RunRequest{Conversation: "c"}).Token)
	for range front.RateBurst {
		a.want(200, "GET", "/tapes", nil, nil)
	}
	code, _, head := a.ask("GET", "/tapes", nil)
	if code != 429 || head.Get("Retry-After") != "1" {
		t.Errorf("one request too many: %d %v, want 429 and Retry-After: 1", code, head)
	}
}
