package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Every write reports a full disk. What was acknowledged is there once, and writes succeed when there is
// room again.
func TestFullDisk(t *testing.T) {
	disk := testkit.SmallDisk(t, 3<<20)
	store, _, err := repo.Init(t.Context(), filepath.Join(disk, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	ballast, now := filepath.Join(disk, "ballast"), time.Now()
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, now: &now, token: adminToken}
	p.start(store)
	run := p.run(api.RunRequest{Conversation: "c"})
	calls, a := 0, p.as(run.Token)
	acked := map[string]bool{}
	send := func(kind string, n, size int) int {
		name := fmt.Sprintf("%s-%d", kind, n)
		text := name + ":" + strings.Repeat("x", size)
		entry := fmt.Sprintf(`{"kind":"message","payload":{"role":"assistant","content":%q}}`, text)
		now = now.Add(time.Second)
		calls++
		call := a.with("Idempotency-Key", name)
		var code int
		var body []byte
		switch kind {
		case "entries":
			code, body, _ = call.ask("POST", "/tapes/c/entries", `{"entries":[`+entry+`]}`)
		case "results":
			code, body, _ = a.ask("POST", "/runs/"+run.RunID+"/results", fmt.Sprintf(`{"results":[{"sequence":%d,"type":"message.completed","data":{"content":%q}}]}`, n+1, text))
		case "artifacts":
			code, body, _ = a.ask("POST", "/artifacts?name="+name, text)
		case "state":
			code, body, _ = a.ask("PUT", "/state/conversation/"+name, fmt.Sprintf("%q", text))
		case "handoff":
			code, body, _ = call.ask("POST", "/tapes/c/handoff", fmt.Sprintf(`{"name":%q,"summary":%q}`, name, text))
		case "fork":
			code, body, _ = call.ask("POST", "/tapes/c/fork", fmt.Sprintf(`{"name":%q}`, name))
		}
		switch {
		case code == 507 && strings.Contains(string(body), `"code":"storage_full"`):
		case code/100 == 2:
			acked[name] = true
		default:
			t.Fatalf("%s: %d %s", name, code, body)
		}
		return code
	}
	kinds := []string{"entries", "results", "artifacts", "state", "handoff", "fork"}
	full := map[string]int{}
	for n, size := 0, 60_000; len(full) < len(kinds); n++ {
		if n == 500 {
			t.Fatalf("only these met a full disk: %v", full)
		}
		for _, kind := range kinds {
			if send(kind, n, size) == 507 {
				full[kind] = n
				size = max(10, size/2)
			}
		}
	}
	t.Logf("refused last: %v", full)
	a.want(200, "GET", "/history", nil, nil)
	calls++
	if err := p.s.audit.Flush(t.Context()); err == nil {
		t.Log("the audit had room")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		if code := send(kind, full[kind], 10); code/100 != 2 {
			t.Errorf("%s with room again: %d, want success", kind, code)
		}
	}
	now = now.Add(time.Second)
	a.want(200, "POST", "/runs/"+run.RunID+"/results", `{"results":[{"sequence":9999,"type":"run.completed","data":{}}]}`, nil)
	calls++
	seen := map[string]int{}
	for e, err := range tapeOf(t, p.s.Store, "c").Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{jsonl.GetString(e.Payload, "content"), jsonl.GetString(e.Payload, "key"), jsonl.GetString(e.Payload, "name"), jsonl.GetString(e.Payload, "data", "artifact", "name")} {
			name, _, _ := strings.Cut(text, ":")
			seen[name]++
		}
	}
	for name := range acked {
		if seen[name] != 1 && !strings.HasPrefix(name, "fork") {
			t.Errorf("%s is there %d times", name, seen[name])
		}
	}
	audited := 0
	for _, r := range p.audited() {
		if r.RunID == run.RunID {
			audited += max(1, r.Count)
		}
	}
	if audited != calls {
		t.Errorf("%d calls, but %d records in the audit", calls, audited)
	}
	if report, err := p.s.Store.Verify(t.Context()); err != nil || !report.OK {
		t.Errorf("%+v %v", report, err)
	}
}
