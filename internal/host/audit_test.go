package host

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tape/internal/host/api"
	"tape/internal/jsonl"
	"tape/repo"
)

// TestAuditOfEveryCall calls every endpoint as a run, in ways that are done and refused: each call
// leaves one record.
func TestAuditOfEveryCall(t *testing.T) {
	p := newPeer(t)
	other := p.run(api.RunRequest{Conversation: "other"})
	run := p.run(api.RunRequest{Conversation: "mine", Runner: "audited"})
	a, want := p.as(run.Token), 0
	for _, rt := range routes() {
		if rt.Open || rt.Media == "text/event-stream" && rt.Scope != "" || strings.HasSuffix(rt.Path, "/cancel") {
			continue // a stream has no end
		}
		for _, id := range []string{run.RunID, other.RunID} {
			if rt.Media == "text/event-stream" && id == run.RunID {
				continue
			}
			path := strings.NewReplacer("{run_id}", id, "{tape}", "mine", "{scope}", "conversation", "{key}", "k").Replace(rt.Path)
			*p.now = p.now.Add(time.Second)
			code, body, _ := a.ask(rt.Method, path, "{}")
			want++
			if code >= 500 {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	}
	limited := 0
	for limited < 2 { // 429
		if code, _, _ := a.ask(http.MethodGet, "/history?conversation_id=other", nil); code == 429 {
			limited++
		}
		want++
	}
	*p.now = p.now.Add(time.Minute)
	a.want(200, "POST", "/runs/"+run.RunID+"/results", `{"results":[{"sequence":1,"type":"run.completed","data":{}}]}`, nil)
	want++
	seen := map[string]int{}
	for e, err := range tapeOf(t, p.s.Store, auditTape).Entries(t.Context(), repo.Query{Kinds: []string{"audit"}}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"run_id", "runner", "action", "resource", "result"} {
			if jsonl.GetString(e.Payload, field) == "" {
				t.Errorf("a record without %s: %s", field, e.Payload)
			}
		}
		if string(jsonl.Get(e.Payload, "bytes")) == "0" {
			t.Errorf("a record without its bytes: %s", e.Payload)
		}
		seen[jsonl.GetString(e.Payload, "result")]++
		want--
	}
	if want != 0 {
		t.Errorf("%d records are missing", want)
	}
	t.Logf("%v", seen)
	for _, result := range []string{"ok", "forbidden", "not_found", "rate_limited"} {
		if seen[result] == 0 {
			t.Errorf("none with the result %s: %v", result, seen)
		}
	}
}
