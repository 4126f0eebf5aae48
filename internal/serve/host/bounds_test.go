package host

//tape:race: requests are served side by side

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/internal/testkit"
	"tape/repo"
)

// TestListsOfBodies: a body of a few megabytes does not take hundreds of megabytes of memory.
func TestListsOfBodies(t *testing.T) {
	p := newPeer(t)
	run := p.run(api.RunRequest{Runner: "r", Conversation: "c"})
	r := p.as(run.Token)
	for path, list := range map[string]string{"/runs/" + run.RunID + "/results": "results", "/tapes/c/entries": "entries"} {
		body := `{"` + list + `":[` + strings.TrimSuffix(strings.Repeat("{},", 1<<20), ",") + `]}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r.fails(http.StatusUnprocessableEntity, "invalid_argument", "POST", path, body)
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 60 {
			t.Errorf("%s: a body of 3 MiB takes %d MiB", path, took)
		}
	}
	large := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 300<<10))
	r.fails(http.StatusRequestEntityTooLarge, "payload_too_large", "POST", "/tapes/c/entries",
		`{"entries":[{"kind":"message","payload":{"role":"assistant","content":"x"},"meta":`+large+`}]}`)
	r.fails(http.StatusRequestEntityTooLarge, "payload_too_large", "POST", "/tapes/c/handoff", `{"name":"x","state":`+large+`}`)
}

// TestAnchorsArePages: a list of anchors has as many of the newest as fit into a page; a fork can begin at an older one.
func TestAnchorsArePages(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	for _, thread := range []string{"", "a"} {
		r := p.as(p.run(api.RunRequest{Runner: "r", Conversation: api.Conversation("c" + thread), Thread: thread}).Token)
		for i := range 20 {
			r.want(http.StatusCreated, "POST", "/tapes/c"+thread+"/handoff", fmt.Sprintf(`{"name":"h%d","state":{"x":%q}}`, i, strings.Repeat("x", 250<<10)), nil)
		}
		var got api.AnchorList
		r.want(http.StatusOK, "GET", "/tapes/c"+thread+"/anchors", nil, &got)
		size := 0
		for _, a := range got.Items {
			size += len(a.State)
		}
		if size > maxPageBytes || !got.HasMore || len(got.Items) < 10 || got.Items[len(got.Items)-1].Name != "h19" {
			t.Errorf("thread %q: %d anchors with %d bytes, more: %t", thread, len(got.Items), size, got.HasMore)
		}
		r.want(http.StatusCreated, "POST", "/tapes/c"+thread+"/fork", `{"name":"f","at":"h0"}`, nil)
	}
}

// TestStateIsBounded: every way to set state is limited.
func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	run := p.run(api.RunRequest{Runner: "r", Conversation: "c", Actor: api.Party{ID: "ann"}})
	r := p.as(run.Token)
	value := `"` + strings.Repeat("x", maxState-2) + `"`
	fits := maxStateBytes / (maxState + 100)
	for i := range fits {
		r.want(http.StatusOK, "PUT", fmt.Sprint("/state/actor/k", i), value, nil)
		if i%30 == 29 {
			*p.now = p.now.Add(2e9)
		}
	}
	*p.now = p.now.Add(2e9)
	const code = "payload_too_large"
	r.fails(http.StatusRequestEntityTooLarge, code, "PUT", "/state/actor/more", value)
	r.fails(http.StatusRequestEntityTooLarge, code, "POST", "/runs/"+run.RunID+"/results", `{"results":[{"sequence":1,"type":"state.updated","data":{"scope":"actor","key":"more","value":`+value+`}}]}`)
	r.want(http.StatusOK, "PUT", "/state/actor/k0", value, nil)  // no more than before
	r.want(http.StatusOK, "PUT", "/state/runner/k0", value, nil) // somebody else's
	r.want(http.StatusOK, "DELETE", "/state/actor/k0", nil, nil)
	r.want(http.StatusOK, "PUT", "/state/actor/more", value, nil)
}

// TestLongEntries: while a request for an entry of many megabytes is answered, several copies of the entry
// are in memory, but not some for each client.
func TestLongEntries(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	p := newPeer(t)
	run := p.run(api.RunRequest{Conversation: "c"})
	size := testkit.Size(4, 12) // MiB
	p.say("c", strings.Repeat("words and ", size*100_000))
	r := p.as(run.Token)
	var before, after runtime.MemStats
	runtime.GC()
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	read := func(p *peer, path string) {
		res, err := p.send(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if _, err := io.CopyN(io.Discard, res.Body, int64(size*900_000)); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %v", path, res.StatusCode, err)
		}
	}
	for range 24 {
		all.Go(func() { read(p, "/events/stream?conversation_id=c") })
	}
	all.Wait()
	for range 4 { // as many answers as fit into the memory
		all.Go(func() { read(r, "/events") })
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	took := (after.HeapSys - after.HeapReleased - min(before.HeapSys-before.HeapReleased, after.HeapSys-after.HeapReleased)) >> 20
	t.Logf("%d MiB", took)
	if took > uint64(25*size) {
		t.Errorf("28 readers of an entry of %d MiB took %d MiB", size, took)
	}
}

// TestAnswersAreBounded: a long answer is refused while others use all the memory, and a long entry
// is only read alone.
func TestAnswersAreBounded(t *testing.T) {
	p := newPeer(t)
	p.run(api.RunRequest{Conversation: "c"})
	p.say("c", strings.Repeat("words and ", 10_000))
	done, ok := p.s.limits.Answer(64 << 20)
	if !ok {
		t.Fatal("an answer that takes all the memory is refused")
	}
	p.fails(http.StatusServiceUnavailable, "busy", "GET", "/events?conversation_id=c", nil)
	done()
	p.want(http.StatusOK, "GET", "/events?conversation_id=c", nil, nil)
	c := newRequest(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), p.s, &route{Method: http.MethodGet})
	long := repo.Entry{Raw: make([]byte, front.HeavyEntry+1)}
	if err := c.checkMemory(long); !errors.Is(err, errHeavy) {
		t.Errorf("a long entry is read beside others: %v", err)
	}
	if err := errors.Join(c.readAlone(), c.checkMemory(long)); err != nil {
		t.Errorf("a long entry is not read alone: %v", err)
	}
	c.release()
}

// TestUnauthenticatedClientsKeepNoConnection: connections are limited, and a client without a valid
// token does not keep one.
func TestUnauthenticatedClientsKeepNoConnection(t *testing.T) {
	p := newPeer(t)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.web.URL+"/v1/tapes", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized || !res.Close {
		t.Errorf("status %d, connection closed: %t; want 401 and true", res.StatusCode, res.Close)
	}
}

// TestWaitsEnd: a request that waits for memory ends with its run, even one that would become a
// stream.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	r := p.as(p.run(api.RunRequest{Conversation: "c", DeadlineS: 1}).Token)
	done, err := p.s.limits.Work(t.Context(), front.AllWork)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	for _, path := range []string{"/events/stream", "/events"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			res, err := r.send(t.Context(), http.MethodGet, path, nil)
			if err != nil {
				return // the connection has ended with the run
			}
			_ = res.Body.Close()
			if res.StatusCode < 500 {
				t.Errorf("%s: %d, want an error", path, res.StatusCode)
			}
		})
	}
}

// TestTokenGetsIn: a client with a token gets a connection, even while others hold all of them.
func TestTokenGetsIn(t *testing.T) {
	p := newPeer(t)
	address, end := p.listen()
	defer end()
	defer http.DefaultClient.CloseIdleConnections()
	known, err := net.Dial("tcp", address) //nolint:noctx // it is the server of this test
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	answers := bufio.NewReader(known)
	ask := func() {
		t.Helper()
		fmt.Fprintf(known, "GET /v1/tapes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", adminToken)
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
			t.Fatalf("a connection with a token got %d, %v", res.StatusCode, err)
		}
	}
	ask()
	var strangers []net.Conn
	for range front.MaxConns - 1 {
		c, err := net.Dial("tcp", address) //nolint:noctx // it is the server of this test
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "GET /v1/tapes HTTP/1.1\r\nHost: localhost\r\n")
		strangers = append(strangers, c)
	}
	p.want(200, "GET", "/tapes", nil, nil)
	ask() // its connection is not closed for another
	answer := func(c net.Conn) string {
		fmt.Fprint(c, "\r\n")
		got, _ := io.ReadAll(c)
		return string(got)
	}
	if got := answer(strangers[0]); got != "" {
		t.Errorf("the oldest is answered: %s", got)
	}
	if got := answer(strangers[len(strangers)-1]); !strings.Contains(got, " 401 ") { // its connection is still open
		t.Errorf("the newest got %q, want 401", got)
	}
}
