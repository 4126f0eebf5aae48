package host

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
)

// clocked is a peer whose clock can be moved during requests.
func clocked(t *testing.T) (p *peer, move func(time.Duration)) {
	p = newPeer(t)
	p.web.Close()
	var later atomic.Int64
	s, err := New(t.Context(), Options{Store: p.s.Store, Token: adminToken, Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	p.s, p.web = s, httptest.NewServer(s)
	t.Cleanup(p.web.Close)
	return p, func(d time.Duration) { later.Add(int64(d)) }
}

// TestStreamsEndAtTheDeadline: the streams of a run end with it, and the run is recorded as expired.
func TestStreamsEndAtTheDeadline(t *testing.T) {
	p, move := clocked(t)
	run := p.run(api.RunRequest{Conversation: "c", DeadlineS: 60})
	ends := make(chan string)
	for _, path := range []string{"/events/stream", "/runs/" + run.RunID + "/events"} {
		res, err := p.as(run.Token).send(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		go func() {
			all, err := io.ReadAll(res.Body)
			if err != nil {
				all = []byte(err.Error())
			}
			ends <- string(all)
		}()
	}
	move(time.Minute)
	all := <-ends + <-ends
	if n := strings.Count(all, "event: run.expired"); n < 1 || strings.Contains(all, "EOF") {
		t.Errorf("the streams end with %q, want run.expired", all)
	}
	var got api.RunAnswer
	p.want(200, "GET", "/runs/"+run.RunID, nil, &got)
	if got.Status != expired {
		t.Errorf("the run is %s, want expired", got.Status)
	}
	a := p.as(run.Token)
	a.fails(504, "deadline_exceeded", "GET", "/history", nil)
	a.fails(504, "deadline_exceeded", "POST", "/runs/"+run.RunID+"/results", `{"results":[{"sequence":1,"type":"run.completed","data":{}}]}`)
	p.fails(409, "conflict", "POST", "/runs/"+run.RunID+"/steering", api.SteerRequest{Text: "too late"})
}

// TestStreamsTellTheEnd: a run's stream says that the run has expired, and is complete, although there is no
// time left.
func TestStreamsTellTheEnd(t *testing.T) {
	t.Parallel()
	p, move := clocked(t)
	run := p.run(api.RunRequest{Conversation: "c", DeadlineS: 60})
	move(58 * time.Second)
	status, all, _ := p.as(run.Token).ask("GET", "/runs/"+run.RunID+"/events", nil)
	if status != 200 || !strings.Contains(string(all), "event: run.expired") {
		t.Errorf("the stream ends with %d %q, want 200 and run.expired", status, all)
	}
}

// TestExpiryIsRecorded: a run expires without any request, even under the next server. An end that is
// already on the tape counts.
func TestExpiryIsRecorded(t *testing.T) {
	p, move := clocked(t)
	run := p.run(api.RunRequest{Conversation: "c", DeadlineS: 60})
	done := p.run(api.RunRequest{Conversation: "c", DeadlineS: 60})
	p.as(done.Token).want(200, "POST", "/runs/"+done.RunID+"/results", `{"results":[{"sequence":1,"type":"run.completed","data":{}}]}`, nil)
	r := p.s.runs.Get(done.RunID)
	r.Status = running // as if the server had died before it saved that
	if err := p.s.runs.Save(r); err != nil {
		t.Fatal(err)
	}
	p.web.Close()
	*p.now = p.now.Add(48 * time.Hour)
	move(48 * time.Hour)
	p.start(p.s.Store)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.s.background(ctx) }()
	testkit.Until(t, "the deadlines", func() bool { return len(p.s.runs.Due(*p.now)) == 0 })
	stop()
	<-ended
	var got, other api.RunAnswer
	p.want(200, "GET", "/runs/"+run.RunID, nil, &got)
	p.want(200, "GET", "/runs/"+done.RunID, nil, &other)
	if got.Status != expired || other.Status != completed {
		t.Errorf("the runs are %s and %s, want expired and completed", got.Status, other.Status)
	}
	var page api.EventPage
	p.want(200, "GET", "/events?conversation_id=c&types=run.expired", nil, &page)
	if len(page.Items) != 1 {
		t.Errorf("the run.expired entries are %+v, want one", page)
	}
}

// TestKeyOfEndedRunConflicts: the key of a run that has ended does not start a run with a void
// token.
func TestKeyOfEndedRunConflicts(t *testing.T) {
	p := newPeer(t)
	k := p.with("Idempotency-Key", "k")
	q := api.RunRequest{Runner: "r", Conversation: "c"}
	var run api.RunStarted
	k.want(201, "POST", "/runs", q, &run)
	p.want(200, "POST", "/runs/"+run.RunID+"/cancel", nil, nil)
	k.fails(409, "conflict", "POST", "/runs", q)
	p.with("Idempotency-Key", "l").want(201, "POST", "/runs", q, &run)
	p.as(run.Token).want(200, "GET", "/history", nil, nil)
}
