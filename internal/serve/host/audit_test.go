package host

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// TestAuditOfEveryCall uses every endpoint as a run, with requests that succeed and that are
// refused: each leaves one record.
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
		for _, field := range []string{"action", "resource", "result"} {
			if jsonl.GetString(e.Payload, field) == "" {
				t.Errorf("a record without %s: %s", field, e.Payload)
			}
		}
		if string(jsonl.Get(e.Payload, "bytes")) == "0" {
			t.Errorf("a record without its bytes: %s", e.Payload)
		}
		if jsonl.GetString(e.Payload, "run_id") != run.RunID {
			continue
		}
		var r auditRecord
		if err := json.Unmarshal(e.Payload, &r); err != nil {
			t.Fatal(err)
		}
		seen[r.Result] += max(1, r.Count)
		want -= max(1, r.Count)
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

// audited returns the records of the audit, the oldest first.
func (p *peer) audited() (out []auditRecord) {
	p.t.Helper()
	if err := p.s.audit.Flush(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	for e, err := range tapeOf(p.t, p.s.Store, auditTape).Entries(p.t.Context(), repo.Query{Kinds: []string{auditKind}}) {
		var r auditRecord
		if err == nil {
			err = json.Unmarshal(e.Payload, &r)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// TestRefusalsShareRecords: a client that is refused again and again leaves one record.
func TestRefusalsShareRecords(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	a, refused := p.as(run.Token), map[int]int{}
	for range 300 {
		code, _, _ := a.ask("GET", "/history?conversation_id=other", nil)
		refused[code]++
		p.as("guess").fails(401, "unauthorized", "GET", "/history", nil)
	}
	if refused[404] != front.RateBurst || refused[429] != 300-front.RateBurst {
		t.Fatalf("refusals by status: %v", refused)
	}
	got := map[string][]int{}
	for _, r := range p.audited() {
		who := r.By
		if r.RunID == run.RunID {
			who = "run"
		}
		got[who+" "+r.Result] = append(got[who+" "+r.Result], max(1, r.Count))
	}
	want := map[string][]int{"admin ok": {1}, "run not_found": {refused[404]}, "run rate_limited": {refused[429]}, "unknown unauthorized": {300}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, wanted %v", got, want)
	}
	for range 3 { // the same refusals go on
		p.as("guess").fails(401, "unauthorized", "GET", "/history", nil)
	}
	*p.now = p.now.Add(time.Hour)
	if all := p.audited(); !slices.ContainsFunc(all, func(r auditRecord) bool { return r.By == "unknown" && r.Count == 3 }) {
		t.Errorf("no record of 3 further refusals: %+v", all)
	}
}
