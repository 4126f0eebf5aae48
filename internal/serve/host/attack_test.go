package host

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/repo"
)

// TestBeginningsOfIDs: the beginning of an id is not enough for a run. Whether it is unambiguous depends on
// artifacts that the run must not see.
func TestBeginningsOfIDs(t *testing.T) {
	p := newPeer(t)
	for _, policy := range []api.Policy{{}, {Unmasked: true}} {
		a := p.as(p.run(api.RunRequest{Conversation: "c", Thread: "a", Policy: policy}).Token)
		b := p.as(p.run(api.RunRequest{Conversation: "c", Thread: "b", Policy: policy}).Token)
		var hers api.ArtifactAnswer
		a.want(201, "POST", "/artifacts", fmt.Sprint("of a, ", policy.Unmasked), &hers)
		mine := ""
		for i := 0; !strings.HasPrefix(hashOf(mine), hers.ID[:4]); i++ {
			mine = fmt.Sprint("of b, ", i)
		}
		b.want(201, "POST", "/artifacts", mine, nil)
		for _, id := range []string{hers.ID[:4], hers.ID, hashOf(mine)[:4], hers.ID[:3], fmt.Sprintf("%x", sha256.Sum256(nil))} {
			b.fails(404, "not_found", "GET", "/artifacts/"+id, nil)
			b.fails(404, "not_found", "GET", "/artifacts/"+id+"/content", nil)
		}
		b.want(200, "GET", "/artifacts/"+hashOf(mine), nil, nil)
	}
}

// TestUploadsOfGuesses: equal files have the same id, so a masked run can upload only some files with
// secrets.
func TestUploadsOfGuesses(t *testing.T) {
	p := newPeer(t)
	masked := p.as(p.run(api.RunRequest{Conversation: "c"}).Token)
	full := p.as(p.run(api.RunRequest{Conversation: "c", Policy: api.Policy{Unmasked: true}}).Token)
	upload := func(i int) string { return fmt.Sprintf("password=Tr0ub4dor%d\n", i) }
	for i := range maxGuesses {
		*p.now = p.now.Add(time.Second)
		masked.want(201, "POST", "/artifacts", upload(i), nil)
	}
	masked.fails(403, "forbidden", "POST", "/artifacts", upload(maxGuesses))
	p.start(p.s.Store) // a restart gives no more
	masked.web, full.web = p.web, p.web
	masked.fails(403, "forbidden", "POST", "/artifacts", upload(maxGuesses))
	masked.want(201, "POST", "/artifacts", "no secret", nil)
	full.want(201, "POST", "/artifacts", upload(maxGuesses), nil)
}

// TestForkAtAnchorOfThread: a thread forks at its own anchors, and those of the tape do not exist for it.
func TestForkAtAnchorOfThread(t *testing.T) {
	p := newPeer(t)
	for _, policy := range []api.Policy{{}, {Unmasked: true}} {
		name := fmt.Sprint("c", policy.Unmasked)
		r := p.as(p.run(api.RunRequest{Conversation: api.Conversation(name), Thread: "a", Policy: policy}).Token)
		var own api.HandoffAnswer
		r.want(201, "POST", "/tapes/"+name+"/handoff", `{"name":"plan"}`, &own)
		p.want(201, "POST", "/tapes/"+name+"/handoff", `{"name":"release"}`, nil)
		var f api.ForkAnswer
		r.want(201, "POST", "/tapes/"+name+"/fork", `{"name":"x","at":"plan"}`, &f)
		if f.Base != own.Seq {
			t.Errorf("the fork begins with @%d, not @%d", f.Base, own.Seq)
		}
		for _, at := range []string{"release", "nothing"} {
			status, answer, _ := r.ask("POST", "/tapes/"+name+"/fork", fmt.Sprintf(`{"name":"y","at":%q}`, at))
			if status != 404 || strings.Contains(string(answer), "release") {
				t.Errorf("fork at %s: %d %s, want 404 without the name of the tape's anchor", at, status, answer)
			}
		}
	}
}

// TestRequestsAfterTheEnd: the token of a run that has ended still reads how it ended, but not for long.
func TestRequestsAfterTheEnd(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	p.want(200, "POST", "/runs/"+run.RunID+"/cancel", nil, nil)
	for _, media := range []string{"", "text/event-stream"} {
		c := newRequest(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), p.s, &route{Method: http.MethodGet, Media: media, Open: true})
		c.run = p.s.runs.Get(run.RunID)
		if err := c.admit(); err != nil {
			t.Fatal(err)
		}
		if left := time.Until(c.w.Until); left <= 0 || left > afterEnd+lastWords {
			t.Errorf("%q: it may last %v, want at most %v", media, left, afterEnd+lastWords)
		}
	}
}

// TestDeadlineDuringRequest: whatever a deadline interrupts, the error says that it has passed.
func TestDeadlineDuringRequest(t *testing.T) {
	p, move := clocked(t)
	run := p.run(api.RunRequest{Conversation: "c", DeadlineS: 60})
	body := hookedReader{strings.NewReader(`{"entries":`), func() { move(time.Minute) }}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, p.web.URL+"/v1/tapes/c/entries", body)
	r.Header.Set("Authorization", "Bearer "+run.Token)
	w := httptest.NewRecorder()
	p.s.ServeHTTP(w, r)
	if w.Code != http.StatusGatewayTimeout || !strings.Contains(w.Body.String(), "deadline_exceeded") {
		t.Errorf("got %d %s, want 504 deadline_exceeded", w.Code, w.Body)
	}
}

// TestBodyUntilTheDeadline: a body that is not complete at the deadline gets an answer.
func TestBodyUntilTheDeadline(t *testing.T) {
	t.Parallel()
	p, move := clocked(t)
	run := p.run(api.RunRequest{Conversation: "c", DeadlineS: 60})
	move(59 * time.Second)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/tapes/c/entries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", run.Token)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("got %d %s, %v; want 504", res.StatusCode, body, err)
	}
}

// hookedReader calls onRead before each read.
type hookedReader struct {
	*strings.Reader
	onRead func()
}

func (r hookedReader) Read(data []byte) (int, error) {
	r.onRead()
	return r.Reader.Read(data)
}

// TestGapsOfSequences: the server holds the sequences of a run in memory, so they may have only a limited number
// of gaps.
func TestGapsOfSequences(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	for i := range int64(maxRanges) {
		p.s.runs.Get(run.RunID).Seen.Add(2 * (i + 1))
	}
	post := func(sequence int) (int, string) {
		status, answer, _ := p.as(run.Token).ask("POST", "/runs/"+run.RunID+"/results", fmt.Sprintf(`{"results":[{"sequence":%d,"type":"message.delta","data":{}}]}`, sequence))
		return status, string(answer)
	}
	if status, answer := post(90_000); status != 422 || !strings.Contains(answer, "count up") {
		t.Errorf("one gap too many: %d %s, want 422", status, answer)
	}
	if status, answer := post(3); status != 200 || !strings.Contains(answer, `"accepted":1`) {
		t.Errorf("closing a gap: %d %s, want 200", status, answer)
	}
	if status, answer := post(90_000); status != 200 {
		t.Errorf("with one gap fewer: %d %s, want 200", status, answer)
	}
}

// TestEndedRunsTakeLittle: what a run was given is kept until it ends.
func TestEndedRunsTakeLittle(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c", Static: map[string]json.RawMessage{"prompt": json.RawMessage(`"be brief"`)}})
	list := p.s.runs.Get(run.RunID).Contents()
	p.as(run.Token).want(200, "GET", "/static/"+list[0].SHA256, nil, nil)
	p.want(200, "POST", "/runs/"+run.RunID+"/cancel", nil, nil)
	if left := p.s.runs.Get(run.RunID).Contents(); len(left) > 0 {
		t.Errorf("the server still holds %s of an ended run", left)
	}
	p.fails(404, "not_found", "GET", "/static/"+list[0].SHA256, nil)
}

// TestFactsOfRuns: the server holds in memory which thread an artifact, a fork or a handoff belongs to, so runs can add
// only a limited number.
func TestFactsOfRuns(t *testing.T) {
	p := newPeer(t)
	r := p.as(p.run(api.RunRequest{Conversation: "c", Thread: "a"}).Token)
	long := strings.Repeat("n", maxName+1)
	r.fails(422, "invalid_argument", "POST", "/artifacts?name="+long, "x")
	r.with("Content-Type", "text/"+long).fails(422, "invalid_argument", "POST", "/artifacts", "x")
	tape, err := p.s.Store.Tape(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tape.Update(t.Context(), func(tx *repo.Tx) error {
		for i := range maxFacts {
			if err := tx.AppendLine(t.Context(), fmt.Appendf(nil, `{"kind":"event","payload":{"name":"fork.started","data":{"fork":"f%d"}}}`, i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.fails(413, "payload_too_large", "POST", "/artifacts", "x")
	r.fails(413, "payload_too_large", "POST", "/tapes/c/fork", `{"name":"x"}`)
	r.fails(413, "payload_too_large", "POST", "/tapes/c/handoff", `{"name":"x"}`)
	p.want(201, "POST", "/artifacts?conversation_id=c", "x", nil)
}

// TestFailuresWithKeys: the record of a request with a key is written before the request is carried out, so a
// run may make only a few that fail.
func TestFailuresWithKeys(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	r := p.as(run.Token)
	fork := func(i int, name string) int {
		*p.now = p.now.Add(100 * time.Millisecond)
		status, _, _ := r.with("Idempotency-Key", fmt.Sprint(name, i)).ask("POST", "/tapes/c/fork", fmt.Sprintf(`{"name":%q}`, name))
		return status
	}
	got := map[int]int{}
	for i := range 80 {
		got[fork(i, "not a name/..")]++
	}
	if got[422] > 52 || got[429] < 25 || got[422]+got[429] != 80 {
		t.Errorf("statuses of 80 failing requests: %v, want at most 52 times 422, and the rest 429", got)
	}
	var page api.EventPage
	p.want(200, "GET", "/events?conversation_id=host&limit=100", nil, &page)
	if len(page.Items) > 55 {
		t.Errorf("the failing requests left %d entries, want at most 55", len(page.Items))
	}
	*p.now = p.now.Add(time.Minute)
	for i := range 10 { // requests that succeed do not count
		if status := fork(i, fmt.Sprint("f", i)); status != 201 {
			t.Fatalf("fork %d: %d, want 201", i, status)
		}
	}
	p.as(run.Token).fails(422, "invalid_argument", "GET", "/history/search?q="+strings.Repeat("a*+", 1_000), nil)
}
