package host

import (
	"bufio"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
)

// slowMost is how much memory slow clients use together, as docs/host.md says.
const slowMost = 200 << 20

// TestSlowClientsTakeLittle has many clients that ask for much and read nothing, or do not finish
// their bodies.
func TestSlowClientsTakeLittle(t *testing.T) {
	p := newPeer(t)
	address, end := p.listen()
	defer end()
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	masked, full := p.run(api.RunRequest{Conversation: "c"}), p.run(api.RunRequest{Conversation: "c", Policy: api.Policy{Unmasked: true}})
	sends := p.run(api.RunRequest{Conversation: "c"})
	line := strings.Repeat("nothing to hide ", 1<<16)
	var big api.ArtifactAnswer
	p.as(full.Token).want(201, "POST", "/artifacts", strings.Repeat(line, 16), &big)
	p.want(201, "POST", "/tapes/c/handoff", `{"name":"kept"}`, nil) // so that the artifact is read from git
	for range 8 {
		p.say("c", strings.Repeat("words and words ", 1<<15))
	}
	// ask sends a request and reads the first line of its answer.
	ask := func(token, request, head string) string {
		t.Helper()
		c, err := net.Dial("tcp", address) //nolint:noctx // it is the server of this test
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%s\r\n", request, token, head)
		status, err := bufio.NewReaderSize(c, 16).ReadString('\n')
		if err != nil {
			t.Fatal(request, err)
		}
		return strings.Fields(status)[1]
	}
	count := func(n int, token, request, head string) map[string]int {
		t.Helper()
		got := map[string]int{}
		for range n {
			got[ask(token, request, head)]++
		}
		return got
	}
	held := func() uint64 {
		least := uint64(math.MaxUint64)
		for range 5 { // what is copied just then is garbage, and not held
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			least = min(least, m.HeapAlloc)
		}
		return least
	}
	before := held()
	check := func(what string, got map[string]int) {
		t.Helper()
		now := held()
		now -= min(before, now)
		t.Logf("%s: %v; %d MiB", what, got, now>>20)
		if now > slowMost {
			t.Errorf("%s: slow clients take %d MiB", what, now>>20)
		}
	}
	content := "GET /v1/artifacts/" + big.ID + "/content"
	check("artifacts of masked runs", count(2, masked.Token, content, ""))
	got := count(20, full.Token, content, "")
	check("artifacts", got)
	if got["200"] != 20 {
		t.Errorf("artifacts by status: %v, want 20 times 200", got)
	}
	got = count(12, masked.Token, "GET /v1/events/stream", "")
	check("streams", got)
	if got["200"] != front.MaxStreams || got["429"] != 12-front.MaxStreams {
		t.Errorf("streams by status: %v, want %d times 200 and the rest 429", got, front.MaxStreams)
	}
	check("pages", count(20, adminToken, "GET /v1/events?conversation_id=c", ""))
	p.want(200, "GET", "/tapes", nil, nil) // a small request is still answered
	got = count(front.MaxRequests+8, sends.Token, "POST /v1/tapes/c/entries", "Expect: 100-continue\r\nContent-Length: 16000000\r\n")
	if got["100"] != front.MaxRequests || got["429"] != 8 {
		t.Errorf("bodies by status: %v, want %d times 100 and the rest 429", got, front.MaxRequests)
	}
	body := make([]byte, 6<<20)
	for _, c := range open[len(open)-front.MaxRequests-8:] {
		go func() { _, _ = c.Write(body) }() // those that are refused take nothing
	}
	check("bodies", got)
	if files, err := os.ReadDir(p.s.private("waiting")); err != nil || runtime.GOOS != "windows" && len(files) > 0 {
		t.Errorf("%d temporary files are left, %v", len(files), err)
	}
}

// TestRangeErrors: a bad range gets an error like those of all other requests.
func TestRangeErrors(t *testing.T) {
	p := newPeer(t)
	a := p.as(p.run(api.RunRequest{Conversation: "c"}).Token)
	var art api.ArtifactAnswer
	a.want(201, "POST", "/artifacts", "0123456789", &art)
	ranged := a.with("Range", "bytes=50-60")
	ranged.fails(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable", "GET", "/artifacts/"+art.ID+"/content", nil)
	_, _, head := ranged.ask("GET", "/artifacts/"+art.ID+"/content", nil)
	if head.Get("Content-Range") != "bytes */10" || head.Get("Content-Type") != "application/json" {
		t.Errorf("the headers of a bad range are %v", head)
	}
	if all := p.audited(); !slices.ContainsFunc(all, func(r auditRecord) bool { return r.Result == "range_not_satisfiable" }) {
		t.Errorf("the audit does not have the bad range: %+v", all)
	}
}
