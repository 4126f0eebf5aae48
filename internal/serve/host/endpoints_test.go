package host

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"tape/internal/serve/host/api"
	"tape/repo"
	"testing"
	"time"
)

func TestState(t *testing.T) {
	p := newPeer(t)
	a := p.as(p.run(api.RunRequest{Conversation: "c", Actor: api.Party{ID: "ann"}}).Token)
	for _, scope := range []string{"conversation", "actor", "runner"} {
		path := "/state/" + scope + "/k"
		a.fails(404, "not_found", "GET", path, nil)
		a.want(200, "PUT", path, `{"n":1}`, nil)
		var got api.StateAnswer
		a.want(200, "GET", path, nil, &got)
		if string(got.Value) != `{"n":1}` {
			t.Errorf("%s: %+v, want {\"n\":1}", scope, got)
		}
		a.with("If-Match", got.Version).want(200, "PUT", path, `2`, nil)
		a.with("If-Match", got.Version).fails(409, "conflict", "PUT", path, `3`)
		var list api.StateList
		a.want(200, "GET", "/state/"+scope+"?limit=-5", nil, &list)
		if len(list.Items) != 1 || string(list.Items[0].Value) != "2" {
			t.Errorf("%s: the list is %+v, want the value 2", scope, list)
		}
		a.want(200, "DELETE", path, nil, nil)
		a.fails(404, "not_found", "DELETE", path, nil)
	}
	a.fails(404, "not_found", "GET", "/state/subject/k", nil)
	a.fails(404, "not_found", "GET", "/state/actor/k?owner=bob", nil)
	a.fails(422, "invalid_argument", "PUT", "/state/actor/k", "{")
	a.fails(413, "payload_too_large", "PUT", "/state/actor/k", `"`+strings.Repeat("x", maxState)+`"`)
	p.fails(422, "invalid_argument", "GET", "/state/actor/k", nil)
}

// TestArtifactsAreMasked: a run sees no secrets in artifacts, just as in entries.
func TestArtifactsAreMasked(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	masked := p.as(run.Token)
	full := p.as(p.run(api.RunRequest{Conversation: "c", Policy: api.Policy{Unmasked: true}}).Token)
	secret := "ghp_" + strings.Repeat("Ab3dE9", 6)
	text := "before\nthe needle is " + secret + " <&>\nafter"
	var art api.ArtifactAnswer
	masked.with("Content-Type", "text/plain").want(201, "POST", "/artifacts", text, &art)
	var png api.ArtifactAnswer
	masked.with("Content-Type", "image/png").want(201, "POST", "/artifacts", "\x89PNG\x00"+secret, &png)
	ref := fmt.Sprintf(`{"id":%q,"mime_type":"text/plain","name":"","size_bytes":%d,"sha256":%q}`, art.ID, art.Size, art.ID)
	masked.want(201, "POST", "/tapes/c/entries", `{"entries":[{"kind":"tool_result","payload":{"results":[{"text":"see","artifact":`+ref+`}]}}]}`, nil)
	masked.want(200, "POST", "/runs/"+run.RunID+"/results", `{"results":[{"sequence":1,"type":"tool.call.completed","data":{"artifact":`+ref+`}}]}`, nil)
	for _, path := range []string{"/content", "/content?offset=0&length=1000"} {
		_, body, _ := masked.ask("GET", "/artifacts/"+art.ID+path, nil)
		var part api.ArtifactPart
		if json.Unmarshal(body, &part) == nil {
			body, _ = base64.StdEncoding.DecodeString(part.Base64)
		}
		if s := string(body); strings.Contains(s, secret) || !strings.Contains(s, "before\nthe needle") || !strings.HasSuffix(s, " <&>\nafter") {
			t.Errorf("%s: %q", path, s)
		}
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	if _, body, _ := full.ask("GET", "/artifacts/"+sum+"/content", nil); string(body) != text {
		t.Errorf("unmasked: %q", body)
	}
	p.start(p.s.Store) // the next server knows the ids that the run has seen
	masked.web, full.web = p.web, p.web
	masked.want(200, "POST", "/runs/"+run.RunID+"/results", `{"results":[{"sequence":2,"type":"tool.call.completed","data":{"artifact":`+ref+`}}]}`, nil)
	masked.fails(404, "not_found", "GET", "/artifacts/"+sum, nil) // a hash that was guessed is not confirmed
	masked.fails(404, "not_found", "GET", "/artifacts/"+sum[:12], nil)
	masked.want(200, "GET", "/artifacts/"+art.ID, nil, &art)
	if _, body, _ := masked.ask("GET", "/history", nil); !strings.Contains(string(body), art.ID) || strings.Contains(string(body), sum) || art.SHA256 != art.ID {
		t.Errorf("the history has another id than the artifact, or its hash: %s; the artifact: %+v", body, art)
	}
	if _, body, _ := masked.ask("GET", "/artifacts/"+png.ID+"/content", nil); !strings.HasPrefix(string(body), "\x89PNG\x00[redacted:") {
		t.Errorf("the secret in a binary file is not masked: %q", body)
	}
	_, body, _ := masked.ask("GET", "/history/search?q=needle", nil)
	if s := string(body); strings.Contains(s, "Ab3dE9") || !strings.Contains(s, `"seq":`) {
		t.Errorf("the search shows %s, want a hit without the secret", s)
	}
}

func TestArtifacts(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	a := p.as(p.run(api.RunRequest{Conversation: "c", Thread: "one"}).Token)
	b := p.as(p.run(api.RunRequest{Conversation: "c", Thread: "two"}).Token)
	soon := p.now.Add(time.Minute).UTC().Format(time.RFC3339)
	var art api.ArtifactAnswer
	a.with("Content-Type", "text/plain").want(201, "POST", "/artifacts?name=log.txt&expires_at="+soon, "0123456789", &art)
	if art.Size != 10 || art.MIMEType != "text/plain" || art.Name != "log.txt" {
		t.Errorf("the artifact is %+v, want 10 bytes of log.txt as text/plain", art)
	}
	path := "/artifacts/" + art.ID
	a.want(200, "GET", path, nil, nil)
	b.fails(404, "not_found", "GET", path, nil) // another thread's
	var part api.ArtifactPart
	a.want(200, "GET", path+"/content?offset=3&length=4", nil, &part)
	if text, _ := base64.StdEncoding.DecodeString(part.Base64); string(text) != "3456" || !part.HasMore {
		t.Errorf("the part is %+v, want 3456 and more", part)
	}
	code, body, _ := a.with("Range", "bytes=2-4").ask("GET", path+"/content", nil)
	if code != 206 || string(body) != "234" {
		t.Errorf("the range is %d %s, want 206 and 234", code, body)
	}
	*p.now = p.now.Add(2 * time.Minute)
	a.fails(404, "not_found", "GET", path, nil) // it has expired
	p.want(200, "GET", path+"?conversation_id=c", nil, nil)
	a.fails(413, "payload_too_large", "POST", "/artifacts", strings.Repeat("x", maxBody+1))
}

func TestRequestsWithAKeyAreDoneOnce(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	k := func(key string) *peer { return p.with("Idempotency-Key", key) }
	body := map[string]any{"entries": []any{map[string]any{"kind": "note", "payload": map[string]any{"n": 1}}}}
	var one, two api.Appended
	k("1").want(201, "POST", "/tapes/c/entries", body, &one)
	again := func() {
		t.Helper()
		k("1").want(201, "POST", "/tapes/c/entries", body, &two)
		if !two.Repeated || two.FirstSeq != one.FirstSeq {
			t.Errorf("the request %+v was repeated as %+v", one, two)
		}
	}
	again()
	k("1").fails(409, "conflict", "POST", "/tapes/c/entries", map[string]any{"entries": []any{map[string]any{"kind": "note", "payload": map[string]any{"n": 2}}}})
	k("2").want(201, "POST", "/tapes/c/handoff", map[string]any{"name": "plan"}, nil)
	k("3").want(201, "POST", "/tapes/c/fork", map[string]any{"name": "try"}, nil)
	p.say("c%2Ftry", "of the fork")
	k("4").want(200, "POST", "/tapes/c/merge", map[string]any{"fork": "try"}, nil)
	k("5").want(201, "POST", "/tapes/c/fork", map[string]any{"name": "bad"}, nil)
	p.say("c%2Fbad", "of the fork")
	k("6").want(200, "POST", "/tapes/c/discard", map[string]any{"fork": "bad"}, nil)
	p.web.Close()
	p.start(p.s.Store) // the new server reads from the tapes which keys were used
	again()
	var h api.HandoffAnswer
	k("2").want(201, "POST", "/tapes/c/handoff", map[string]any{"name": "plan"}, &h)
	var m api.CloseAnswer
	k("4").want(200, "POST", "/tapes/c/merge", map[string]any{"fork": "try"}, &m)
	if !h.Repeated || !m.Repeated || m.Merged != 1 {
		t.Errorf("the handoff and the merge were done again: %+v %+v", h, m)
	}
	k("6").want(200, "POST", "/tapes/c/discard", map[string]any{"fork": "bad"}, &m)
	if !m.Repeated || m.Status != repo.ForkDiscarded || m.Merged != 0 {
		t.Errorf("the repeated discard: %+v, want discarded and nothing merged", m)
	}
	p.fails(404, "not_found", "POST", "/tapes/c/merge", map[string]any{"fork": "none"})
	var first, second api.RunStarted
	k("7").want(201, "POST", "/runs", api.RunRequest{Runner: "r", Conversation: "c"}, &first)
	k("7").want(201, "POST", "/runs", api.RunRequest{Runner: "r", Conversation: "c"}, &second)
	if first.RunID != second.RunID || first.Token != second.Token {
		t.Error("a repeated start must return the same run, with the same token")
	}
	p.as(first.Token).want(200, "GET", "/history", nil, nil)
	p.as(second.Token).want(200, "GET", "/history", nil, nil)
}

// TestLaneFollowsOtherWriters: the next request sees what others have written to a tape in between.
func TestLaneFollowsOtherWriters(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Runner: "r", Conversation: "c"})
	tape := tapeOf(t, p.s.Store, "c")
	keyed := func(key string) (out api.Appended) {
		t.Helper()
		p.with("Idempotency-Key", key).want(201, "POST", "/tapes/c/entries",
			map[string]any{"entries": []any{map[string]any{"kind": "message", "payload": map[string]string{"role": "user", "content": key}}}}, &out)
		return out
	}
	first := keyed("a")
	if again := keyed("a"); !again.Repeated || again.FirstSeq != first.FirstSeq {
		t.Errorf("repeated at once: %+v, first %+v", again, first)
	}
	state := func(value string) repo.Draft {
		return repo.Draft{Kind: "state", Payload: json.RawMessage(`{"scope":"conversation","key":"k","value":` + value + `}`)}
	}
	for i := range 3 {
		p.say("c", "unkeyed")
		if _, err := tape.Append(t.Context(), nil, state(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			p.say("c", "behind it")
		}
		var value api.StateAnswer
		p.want(200, "GET", "/state/conversation/k?conversation_id=c", nil, &value)
		if string(value.Value) != fmt.Sprint(i) {
			t.Errorf("state %d is %s", i, value.Value)
		}
		second := keyed(fmt.Sprint("b", i))
		if _, err := tape.Handoff(t.Context(), repo.Anchor{Name: fmt.Sprint("h", i)}); err != nil {
			t.Fatal(err)
		}
		if again := keyed(fmt.Sprint("b", i)); !again.Repeated || again.FirstSeq != second.FirstSeq {
			t.Errorf("repeated after a handoff: %+v, first %+v", again, second)
		}
	}
	if again := keyed("a"); !again.Repeated || again.FirstSeq != first.FirstSeq {
		t.Errorf("repeated at the end: %+v, first %+v", again, first)
	}
}

// TestCheckpoint: the next server continues from the queue's checkpoint, and reads the whole tape if
// it was rewritten.
func TestCheckpoint(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Runner: "r", Conversation: "c"})
	tape := tapeOf(t, p.s.Store, "c")
	entry := map[string]any{"entries": []any{map[string]any{"kind": "note", "payload": map[string]string{}}}}
	keyed := func() (out api.Appended) {
		t.Helper()
		p.with("Idempotency-Key", "a").want(201, "POST", "/tapes/c/entries", entry, &out)
		return out
	}
	state := func(want string) {
		t.Helper()
		var all api.StateList
		p.want(200, "GET", "/state/conversation?conversation_id=c", nil, &all)
		got := ""
		for _, v := range all.Items {
			got += v.Key + string(v.Value) + " "
		}
		if got != want {
			t.Errorf("state is %q, want %q", got, want)
		}
	}
	first := keyed()
	r := p.as(p.run(api.RunRequest{Conversation: "c"}).Token)
	var file api.ArtifactAnswer
	r.want(201, "POST", "/artifacts", "of the run", &file)
	p.want(200, "PUT", "/state/conversation/k?conversation_id=c", "1", nil)
	p.want(200, "PUT", "/state/conversation/gone?conversation_id=c", "1", nil)
	p.want(200, "DELETE", "/state/conversation/gone?conversation_id=c", nil, nil)
	drafts := make([]repo.Draft, 20_000)
	for i := range drafts {
		drafts[i] = repo.Draft{Kind: "note", Payload: json.RawMessage("{}")}
	}
	if _, err := tape.Append(t.Context(), nil, drafts...); err != nil {
		t.Fatal(err)
	}
	state("k1 ")
	path := p.s.private("lanes", "tape%2Fc.json")
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.want(200, "PUT", "/state/conversation/l?conversation_id=c", "2", nil)
	p.start(p.s.Store)
	state("k1 l2 ")
	r.web = p.web
	r.want(200, "GET", "/artifacts/"+file.ID, nil, nil)
	if again := keyed(); !again.Repeated || again.FirstSeq != first.FirstSeq {
		t.Errorf("repeated: %+v, first %+v", again, first)
	}
	// This checkpoint says that nothing was set before its end; the server believes it.
	if err := os.WriteFile(path, regexp.MustCompile(`"state":\[[0-9,]*\]`).ReplaceAll(was, []byte(`"state":[]`)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.start(p.s.Store)
	state("l2 ")
	if _, err := tape.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	p.start(p.s.Store)
	state("")
	if again := keyed(); again.Repeated {
		t.Errorf("after a reset: %+v", again)
	}
}

func TestSteering(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	p.want(200, "POST", "/runs/"+run.RunID+"/steering", api.SteerRequest{Text: "stop that"}, nil)
	a := p.as(run.Token)
	for _, want := range []int{1, 0} {
		var got api.SteerPulled
		a.want(200, "POST", "/runs/"+run.RunID+"/steering/pull", nil, &got)
		if len(got.Items) != want {
			t.Errorf("%+v, want %d messages", got, want)
		}
	}
	a.want(200, "POST", "/runs/"+run.RunID+"/heartbeat", nil, nil)
	p.want(200, "POST", "/runs/"+run.RunID+"/cancel", nil, nil)
	a.fails(401, "unauthorized", "POST", "/runs/"+run.RunID+"/heartbeat", nil)
	p.fails(409, "conflict", "POST", "/runs/"+run.RunID+"/steering", api.SteerRequest{Text: "too late"})
}

func TestBootstrap(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	p.say("c", "one", "two", "the key is ghp_"+strings.Repeat("Ab3dE9", 6), strings.Repeat("long", 2_000))
	run := p.run(api.RunRequest{Conversation: "c", Input: api.Input{Text: "now"}, Static: map[string]json.RawMessage{"system_prompt": json.RawMessage(`"be brief"`)},
		Config:   map[string]json.RawMessage{"_a": nil, "apiKey": nil, "mode": json.RawMessage(`"x"`)},
		Manifest: api.Manifest{Bootstrap: "recent_tail", MaxInlineEvents: 3, WantsStaticContextRef: true}})
	got := run.Context.Bootstrap
	if len(got) != 3 || got[2].Content != "now" || !got[1].Truncated || strings.Contains(got[0].Content, "ghp_") {
		t.Errorf("the bootstrap is %+v, want three masked items, the last \"now\"", got)
	}
	if len(run.Context.Config) != 1 || !run.Context.Context.HasHistoryBefore {
		t.Errorf("the context is %+v, want one setting and earlier history", run.Context)
	}
	var ref map[string]string
	if err := json.Unmarshal(run.Context.Resources["system_prompt"], &ref); err != nil {
		t.Fatal(err)
	}
	p.as(run.Token).want(200, "GET", strings.TrimPrefix(ref["ref"], "/v1"), nil, nil)
	start := func() (out api.RunStarted) {
		t.Helper()
		p.with("Idempotency-Key", "s").want(201, "POST", "/runs", api.RunRequest{Runner: "r", Conversation: "c", Manifest: api.Manifest{MaxInlineEvents: 1}}, &out)
		return out
	}
	once, twice := start(), start()
	if once.Token != twice.Token || once.RunID != twice.RunID {
		t.Errorf("a start that is repeated gives another answer: %+v, then %+v", once, twice)
	}
	p.as(once.Token).want(201, "POST", "/tapes/c/entries", `{"entries":[`+strings.Repeat(`{"kind":"message","payload":{"role":"assistant","content":"x"}},`, 2)+`{"kind":"note","payload":{}}]}`, nil)
	if !start().Context.Context.HasHistoryBefore {
		t.Error("a start that is repeated after the run has written says that there is no earlier history")
	}
	for how, want := range map[string]int{"": 0, "current_event": 1, "summary_tail": 6} {
		run := p.run(api.RunRequest{Conversation: "c", Input: api.Input{Text: "now"}, Manifest: api.Manifest{Bootstrap: how}})
		if n := len(run.Context.Bootstrap); how != "summary_tail" && n != want || how == "summary_tail" && n < want {
			t.Errorf("bootstrap %q: %d items, want %d", how, n, want)
		}
	}
}

// TestDiff: a comparison that is cut says so, and the cursor of a side's last entry leads to the rest.
func TestDiff(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	p.want(201, "POST", "/tapes/c/fork", `{"name":"try"}`, nil)
	p.say("c%2Ftry", strings.Split(strings.Repeat("x", 102), "")...)
	p.say("c", "y")
	var d api.DiffAnswer
	p.want(200, "GET", "/diff?a=c&b=c/try", nil, &d)
	if len(d.A) != 1 || d.AHasMore || len(d.B) != 100 || !d.BHasMore {
		t.Fatalf("%d entries, more: %t; of the fork %d, more: %t; want 1 false 100 true", len(d.A), d.AHasMore, len(d.B), d.BHasMore)
	}
	var rest api.EventPage
	p.want(200, "GET", "/events?conversation_id=c/try&after_cursor="+d.B[99].Cursor, nil, &rest)
	if len(rest.Items) != 2 || rest.HasMore {
		t.Errorf("the rest has %d entries, more: %t; want 2 and no more", len(rest.Items), rest.HasMore)
	}
}

// TestDocument: the document describes the endpoints that are served, and no others.
func TestDocument(t *testing.T) {
	p := newPeer(t)
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]any
			Scope     string `json:"x-scope"`
		}
		Components struct{ Schemas map[string]any }
	}
	p.as("").want(200, "GET", "/openapi.json", nil, &doc)
	served := map[string]bool{}
	for _, rt := range routes() {
		served[rt.Method+" /v1"+rt.Path] = true
		if op, ok := doc.Paths["/v1"+rt.Path][strings.ToLower(rt.Method)]; !ok || op.Scope != rt.Scope {
			t.Errorf("the document does not have %s %s with the scope that it needs", rt.Method, rt.Path)
		}
	}
	for path, ops := range doc.Paths {
		for method := range ops {
			if !served[strings.ToUpper(method)+" "+path] {
				t.Errorf("%s %s is in the document, but not served", method, path)
			}
			// Without a token, each path that is served answers 401, and others 404.
			r, _ := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), p.web.URL+strings.NewReplacer("{", "", "}", "").Replace(path), nil)
			res, err := p.web.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			open := path == "/v1/openapi.json" || path == "/v1/health"
			if res.StatusCode != 401 && !open {
				t.Errorf("%s %s without a token: %d, want 401", method, path, res.StatusCode)
			}
		}
	}
	refs := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				refs++
				if doc.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k])
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	data, _ := json.Marshal(doc)
	var all any
	_ = json.Unmarshal(data, &all)
	walk(all)
	if refs < 50 {
		t.Errorf("the document has only %d references", refs)
	}
}

func TestAppendsAtOnce(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	done := make(chan bool)
	for i := range 20 {
		go func() {
			p.say("c", fmt.Sprint(i))
			done <- true
		}()
	}
	for range 20 {
		<-done
	}
	var page api.Page
	p.want(200, "GET", "/history?conversation_id=c&limit=100", nil, &page)
	if len(page.Items) != 21 {
		t.Errorf("%d items, want 21", len(page.Items))
	}
}

func TestResultsSetState(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c", Actor: api.Party{ID: "ann"}})
	a, path := p.as(run.Token), "/runs/"+run.RunID+"/results"
	batch := `{"results":[{"sequence":1,"type":"state.updated","data":{"scope":"conversation","key":"k","value":{"n":1}}},
		{"sequence":2,"type":"state.updated","data":{"scope":"actor","key":"k","value":2}}]}`
	a.want(200, "POST", path, batch, nil)
	var got api.StateAnswer
	a.want(200, "GET", "/state/conversation/k", nil, &got)
	if string(got.Value) != `{"n":1}` {
		t.Errorf("the state is %+v, want {\"n\":1}", got)
	}
	a.want(200, "PUT", "/state/actor/k", "3", nil)
	a.want(200, "POST", path, batch, nil) // again: it changes nothing
	a.want(200, "GET", "/state/actor/k", nil, &got)
	if string(got.Value) != "3" {
		t.Errorf("the state after the repeated results is %+v, want 3", got)
	}
	a.want(200, "POST", path, `{"results":[{"sequence":3,"type":"state.updated","data":{"scope":"conversation","key":"k","deleted":true}}]}`, nil)
	a.fails(404, "not_found", "GET", "/state/conversation/k", nil)
	for data, code := range map[string]int{`{"key":"k","value":1}`: 404, `{"scope":"subject","key":"k","value":1}`: 404, `{"scope":"actor"}`: 422} {
		a.want(code, "POST", path, `{"results":[{"sequence":9,"type":"state.updated","data":`+data+`}]}`, nil)
	}
	other := p.run(api.RunRequest{Conversation: "c", Scopes: []string{"history.page"}})
	p.as(other.Token).fails(403, "forbidden", "POST", "/runs/"+other.RunID+"/results", batch)
}

// TestBegin: the admin begins a conversation without a run, and writes to it; a run cannot.
func TestBegin(t *testing.T) {
	p := newPeer(t)
	p.fails(404, "not_found", "POST", "/tapes/support/entries", `{"entries":[{"kind":"message","payload":{"role":"user","content":"hello"}}]}`)
	for _, created := range []bool{true, false} {
		var got api.Begun
		p.want(200, "PUT", "/tapes/support", nil, &got)
		if got.ConversationID != "support" || got.Created != created {
			t.Errorf("it is %+v, want created %v", got, created)
		}
	}
	p.want(201, "POST", "/tapes/support/entries", `{"entries":[{"kind":"message","payload":{"role":"user","content":"hello"}}]}`, nil)
	p.as(p.run(api.RunRequest{Conversation: "c"}).Token).fails(403, "forbidden", "PUT", "/tapes/other", nil)
	p.fails(404, "not_found", "PUT", "/tapes/support%2Ftry", nil)
}
