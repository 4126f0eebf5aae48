package host

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/host/api"
)

// The number of matches does not give a secret away. One of 24 digits could once be guessed digit by digit, in 157
// searches.
func TestSecretIsNotFoundByItsBeginnings(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	secret := "480193756204816397520418"
	p.say("c", "the login is PGPASSWORD="+secret+"x here", "nothing in here")
	masked := p.as(p.run(api.RunRequest{Conversation: "c"}).Token)
	full := p.as(p.run(api.RunRequest{Conversation: "c", Policy: api.Policy{Unmasked: true}}).Token)
	count := func(a *peer, q string) int {
		*p.now = p.now.Add(time.Second)
		var hits api.Hits
		a.want(200, "GET", "/history/search?q="+url.QueryEscape(q), nil, &hits)
		return hits.Matches
	}
	for n := 1; n <= len(secret); n++ {
		if got := count(masked, secret[:n]+"*"); got != 0 {
			t.Fatalf("%q has %d matches", secret[:n]+"*", got)
		}
	}
	for q, want := range map[string]int{secret + "x": 0, "here -" + secret + "x": 2, `"PGPASSWORD ` + secret + `x"`: 0, "login": 1, "redacted": 1} {
		if got := count(masked, q); got != want {
			t.Errorf("%q has %d matches, want %d", q, got, want)
		}
	}
	if count(full, secret[:5]+"*") != 1 || count(full, "here -"+secret+"x") != 1 {
		t.Error("a run that may see the secret does not find it")
	}
}

// A search accepts the filters of event logs, and finds the calls of tools and their results that a run reported.
func TestSearchFilters(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c", Input: api.Input{Text: "which needle?"}})
	p.want(200, "POST", "/runs/"+run.RunID+"/results", `{"results":[
		{"sequence":1,"type":"tool.call.started","data":{"name":"grep","arguments":{"for":"needle"}}},
		{"sequence":2,"type":"tool.call.completed","data":{"result":"needle in line 7"}},
		{"sequence":3,"type":"message.delta","data":{"text":"a needle"}}]}`, nil)
	p.with("Content-Type", "text/plain").want(201, "POST", "/artifacts?conversation_id=c", "another needle", nil)
	a := p.as(run.Token)
	for query, want := range map[string]string{
		"":                            "tool_result needle in line 7|tool_call {\"for\":\"needle\"}|message which needle?",
		"&event_types=message.delta":  "event a needle",
		"&event_types=artifact.added": "event ",
		"&event_types=message":        "message which needle?",
		`&filters={"event_types":["tool.call.completed","message.delta"]}`: "tool_result needle in line 7|event a needle",
		`&filters={"kinds":["tool_result"]}`:                               "tool_result needle in line 7",
		`&filters={"conversation_id":"c","kinds":["message"]}`:             "message which needle?",
		`&filters={"authors":["nobody"]}`:                                  "",
		`&filters={"authors":["TESTER"],"kinds":["tool_result"]}`:          "tool_result needle in line 7",
		`&filters={"authors":["@"]}`:                                       "", // a run does not learn who created the tape
		"&event_types=artifact.added&include_artifacts=false":              "",
		`&event_types=artifact.added&filters={"include_artifacts":false}`:  "",
	} {
		*p.now = p.now.Add(time.Second)
		name, value, _ := strings.Cut(strings.TrimPrefix(query, "&"), "filters=")
		path := "/history/search?q=needle&" + name
		if value != "" {
			path += "filters=" + url.QueryEscape(value)
		}
		path = strings.TrimSuffix(path, "&")
		var hits api.Hits
		a.want(200, "GET", path, nil, &hits)
		got := map[string]bool{}
		for _, item := range hits.Items {
			got[item.ItemType+" "+item.Content] = true
			if item.EventID == "" || item.Cursor == "" {
				t.Errorf("%s: a hit without its id or cursor: %+v", query, item)
			}
		}
		var texts []string
		if want != "" {
			texts = strings.Split(want, "|")
		}
		for _, text := range texts {
			if !got[text] {
				t.Errorf("%s: no %q in %v", query, text, got)
			}
		}
		if len(got) != len(texts) {
			t.Errorf("%s: %v, want %q", query, got, texts)
		}
	}
	a.fails(404, "not_found", "GET", "/history/search?q=needle&filters="+url.QueryEscape(`{"conversation_id":"other"}`), nil)
	p.fails(422, "invalid_argument", "GET", "/history/search?q=needle&conversation_id=c&filters="+url.QueryEscape(`{"conversation_id":"other"}`), nil)
	p.fails(422, "invalid_argument", "GET", "/history/search?q=needle&conversation_id=c&filters="+url.QueryEscape(`{"since":"soon"}`), nil)
	var all api.Hits
	if p.want(200, "GET", "/history/search?q=needle&conversation_id=c&filters="+url.QueryEscape(`{"authors":["@"]}`), nil, &all); len(all.Items) == 0 {
		t.Error("the admin does not find the entries of the tape's author")
	}
	limited := p.as(p.run(api.RunRequest{Conversation: "c", Scopes: []string{"history.search"}}).Token)
	limited.fails(403, "forbidden", "GET", "/history/search?q=needle&event_types=message.delta", nil)
}

// A run gets no secrets at its start, neither in its context nor in static content, and no settings whose names or
// values show that they are private.
func TestStartIsMasked(t *testing.T) {
	p := newPeer(t)
	secret := "ghp_" + strings.Repeat("Ab3dE9", 6)
	q := api.RunRequest{Conversation: "c", Input: api.Input{Text: "use " + secret}, Event: json.RawMessage(`{"body":"` + secret + `"}`),
		Static: map[string]json.RawMessage{"system": json.RawMessage(`"say ` + secret + `"`)},
		Config: map[string]json.RawMessage{"max_tokens": json.RawMessage("4096"), "tokenizer": json.RawMessage(`"bpe"`), "keyboard": json.RawMessage(`"de"`),
			"db.password": json.RawMessage(`"x"`), "_own": json.RawMessage("1"), "store": json.RawMessage(`"postgres://ann:hunter2@db/x"`),
			"nested": json.RawMessage(`{"apiKey":"x","note":"` + secret + `","list":["a","postgres://ann:hunter2@db/x"],"depth":2}`)}}
	run := p.run(q)
	started, _ := json.Marshal(run.Context)
	if strings.Contains(string(started), "Ab3dE9") || strings.Contains(string(started), "hunter2") {
		t.Errorf("the context shows a secret: %s", started)
	}
	if got, _ := json.Marshal(run.Context.Config); string(got) != `{"keyboard":"de","max_tokens":4096,"nested":{"depth":2,"list":["a"]},"tokenizer":"bpe"}` {
		t.Errorf("the config is %s", got)
	}
	a := p.as(run.Token)
	p.want(200, "POST", "/runs/"+run.RunID+"/steering", `{"text":"no, `+secret+`"}`, nil)
	_, said, _ := a.ask("POST", "/runs/"+run.RunID+"/steering/pull", nil)
	if strings.Contains(string(said), "Ab3dE9") || !strings.Contains(string(said), "no, [redacted:") {
		t.Errorf("the steering is not masked: %s", said)
	}
	seen, _ := statics(q.Static, func(json.RawMessage) json.RawMessage { return run.Context.Resources["system"] })
	a.want(200, "GET", "/static/"+seen[0].SHA256, nil, nil)
	q.Policy.Unmasked = true
	if run := p.run(q); run.Context.Input.Text != q.Input.Text || !strings.Contains(string(run.Context.Resources["system"]), secret) {
		t.Errorf("the context of an unmasked run is masked: %+v", run.Context)
	}
}

// A run can fork at an anchor by the name that it sees. A name that resembles the real one gets no hint.
func TestForkAtMaskedAnchor(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	secret := "ghp_" + strings.Repeat("Ab3dE9", 6)
	p.want(201, "POST", "/tapes/c/handoff", fmt.Sprintf(`{"name":"use %s"}`, secret), nil)
	a := p.as(p.run(api.RunRequest{Conversation: "c"}).Token)
	var list api.AnchorList
	a.want(200, "GET", "/tapes/c/anchors", nil, &list)
	name := list.Items[len(list.Items)-1].Name
	if strings.Contains(name, "Ab3dE9") {
		t.Errorf("the anchor's name is not masked: %s", name)
	}
	_, body, _ := a.ask("POST", "/tapes/c/fork", map[string]any{"name": "f", "at": "use " + secret[:len(secret)-1]})
	if strings.Contains(string(body), "redacted") || strings.Contains(string(body), "Ab3dE9") {
		t.Errorf("the error hints at the anchor's name: %s", body)
	}
	a.want(201, "POST", "/tapes/c/fork", map[string]any{"name": "f", "at": name}, nil)
}
