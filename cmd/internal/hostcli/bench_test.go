package hostcli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkServe times tape serve as its clients see it, on a workspace that cmd/internal/bench/host.sh
// makes: `make bench-host`. Each row has p50 and p99, in milliseconds.
func BenchmarkServe(b *testing.B) {
	program, ws := os.Getenv("TAPE_BENCH_PROGRAM"), os.Getenv("TAPE_BENCH_WORKSPACE")
	if program == "" || ws == "" {
		b.Skip("make bench-host runs this")
	}
	v := serveBench(b, program, ws)
	rare, common := strings.Fields(os.Getenv("TAPE_BENCH_RARE")), strings.Fields(os.Getenv("TAPE_BENCH_COMMON"))
	search := func(words []string) func(i int) {
		return func(i int) {
			v.do(b, "GET", "/v1/history/search?top_k=10&q="+words[i%len(words)], v.run(i), nil, nil)
		}
	}
	var places []string
	for _, w := range rare {
		var hits struct{ Items []struct{ Cursor string } }
		v.do(b, "GET", "/v1/history/search?top_k=50&q="+w, v.run(0), nil, &hits)
		for _, h := range hits.Items {
			places = append(places, url.QueryEscape(h.Cursor))
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	page := func(i int) {
		v.do(b, "GET", "/v1/history?before_cursor="+places[i%len(places)], v.run(i), nil, nil)
	}
	send := func(n int) func(i int) {
		entry := fmt.Sprintf(`{"kind":"message","payload":{"role":"assistant","content":%q}}`, strings.Repeat("what is next? ", 30))
		body := []byte(`{"entries":[` + strings.Repeat(entry+",", n-1) + entry + `]}`)
		return func(i int) { v.do(b, "POST", "/v1/tapes/long/entries", v.run(i), body, nil) }
	}
	web := func(path string) func(i int) {
		return func(int) { v.do(b, "GET", v.pages+path, "", nil, nil) }
	}
	for _, row := range []struct {
		name    string
		clients int
		do      func(i int)
	}{
		{"history/newest", 1, func(i int) { v.do(b, "GET", "/v1/history", v.run(i), nil, nil) }},
		{"history/anywhere", 1, page}, {"history/8-connections", 8, page},
		{"search/rare", 1, search(rare)}, {"search/common", 1, search(common)}, {"search/8-connections", 8, search(common)},
		{"tapes", 1, func(int) { v.do(b, "GET", "/v1/tapes", v.admin, nil, nil) }},
		{"web/sessions", 1, web("/")}, {"web/session", 1, web("/t/long")},
		{"append/1-entry", 1, send(1)}, {"append/8-connections", 8, send(1)}, {"append/100-entries", 1, send(100)},
	} {
		b.Run(row.name, func(b *testing.B) { percentiles(b, row.clients, row.do) })
	}
}

// percentiles calls do from several clients at once, b.N times in all, and reports how long the calls took.
func percentiles(b *testing.B, clients int, do func(i int)) {
	var mu sync.Mutex
	var next atomic.Int64
	var took []time.Duration
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				began := time.Now()
				do(int(i))
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	for name, share := range map[string]int{"p50-ms": 50, "p99-ms": 99} {
		b.ReportMetric(float64(took[len(took)*share/100])/float64(time.Millisecond), name)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// benchServer is a client of a server of its own, on its unix socket.
type benchServer struct {
	client *http.Client
	admin  string
	pages  string   // the path below which the pages are
	runs   []string // tokens of runs that share the requests, since each may make 20 a second
}

func serveBench(b *testing.B, program, ws string) *benchServer {
	b.Helper()
	sock := filepath.Join(b.TempDir(), "s")
	cmd := exec.CommandContext(b.Context(), program, "serve", "--json", "--socket", sock, "--workspace", ws)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = b.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	var ready struct{ Token, URL, Link string }
	if err == nil {
		err = json.NewDecoder(out).Decode(&ready)
	}
	if err != nil {
		b.Fatal("tape serve: ", err)
	}
	b.Cleanup(func() { _ = cmd.Wait() })
	jar, _ := cookiejar.New(nil)
	v := &benchServer{admin: ready.Token, client: &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", sock)
		}}}}
	resp, err := v.client.Get("http://localhost" + strings.TrimPrefix(ready.Link, ready.URL)) // the cookie for the pages
	if err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, c := range resp.Cookies() {
		v.pages = strings.TrimSuffix(c.Path, "/")
	}
	for range 300 {
		var run struct{ Token string }
		v.do(b, "POST", "/v1/runs", v.admin, []byte(`{"runner":"bench","conversation":"long","input":{"text":"what is next?"}}`), &run)
		v.runs = append(v.runs, run.Token)
	}
	return v
}

// run returns the token for the i-th request.
func (v *benchServer) run(i int) string { return v.runs[i%len(v.runs)] }

func (v *benchServer) do(b *testing.B, method, path, token string, body []byte, into any) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := v.client.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		b.Errorf("%s %s: %s: %v: %.300s", method, path, resp.Status, err, data)
	}
}
