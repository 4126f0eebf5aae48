package host

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tape/internal/host/api"
	"tape/repo"
)

// TestAudit: each call of a run leaves one record, in their order, also one that is refused, before
// the run's end is acknowledged.
func TestAudit(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c", Scopes: []string{"history.page", "state.write"}})
	p.run(api.RunRequest{Conversation: "other"})
	p.say("other", "not for the run")
	runner := p.as(run.Token)
	type record struct {
		RunID    string `json:"run_id"`
		Runner   string `json:"runner"`
		Action   string `json:"action"`
		Resource string `json:"resource"`
		Scope    string `json:"scope"`
		Result   string `json:"result"`
		Bytes    int    `json:"bytes"`
	}
	var want []record
	call := func(rt route, path string, body any) {
		t.Helper()
		*p.now = p.now.Add(time.Second)
		status, data, _ := runner.ask(rt.Method, path, body)
		r := record{RunID: run.RunID, Runner: "tester", Action: rt.Method + " " + rt.Path, Scope: rt.Scope, Result: "ok", Bytes: len(data)}
		if status/100 != 2 {
			var e api.ErrorAnswer
			if err := json.Unmarshal(data, &e); err != nil {
				t.Fatalf("%s: %d %s", path, status, data)
			}
			r.Result = e.Error.Code
		}
		want = append(want, r)
	}
	for _, rt := range routes() {
		if rt.Open || rt.Media == "text/event-stream" || strings.HasSuffix(rt.Path, "/cancel") {
			continue
		}
		for _, tape := range []string{"c", "other"} {
			path := strings.NewReplacer("{run_id}", run.RunID, "{tape}", tape, "{scope}", "conversation", "{key}", "k", "{event_id}", tape+"@1").Replace(rt.Path)
			call(rt, path, map[string]string{"conversation_id": tape})
		}
	}
	end := routes()[2]
	call(end, "/runs/"+run.RunID+"/results", `{"results":[{"sequence":1,"type":"run.completed","data":{"finish_reason":"stop"}}]}`)
	var got []record
	for e, err := range tapeOf(t, p.s.Store, auditTape).Entries(t.Context(), repo.Query{Kinds: []string{"audit"}}) {
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(e.Payload, &r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(r.Action, "{tape}") && r.Resource == "" && r.Result == "ok" {
			t.Errorf("%+v does not say what was used", r)
		}
		r.Resource = ""
		got = append(got, r)
	}
	if len(got) != len(want) {
		t.Fatalf("%d records of %d calls", len(got), len(want))
	}
	results := map[string]int{}
	for i, r := range got {
		if r.Action == "POST /runs/{run_id}/results" && i == len(got)-1 {
			want[i].Bytes = r.Bytes // it stands there before the answer is sent
		}
		if r != want[i] {
			t.Errorf("record %d is %+v, want %+v", i, r, want[i])
		}
		results[r.Result]++
	}
	for _, result := range []string{"ok", "forbidden", "not_found", "invalid_argument"} {
		if results[result] == 0 {
			t.Errorf("no call was %s: %v", result, results)
		}
	}
}
