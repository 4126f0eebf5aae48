package api_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/mcpserver"
	"tape/internal/serve/team/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/find"
)

// newWith returns a client of a server with some settings in addition to the usual ones. login completes the options
// for how people log in.
func newWith(t *testing.T, settings string, login func(o *api.Options)) *client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "team.toml")
	if err := os.WriteFile(file, []byte(`
database = "postgres:///x"
url = "https://tape.example.org/sessions"
trusted_proxies = ["192.0.2.0/24"]
[[remote]]
name = "shop"
url = "/srv/shop.git"
groups = ["shop"]
[[remote]]
name = "bank"
url = "/srv/bank.git"
groups = ["bank"]
[auth]
`+settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s := &store{}
	o := api.Options{Config: c, Store: s, Now: func() time.Time { return date(30) }, Log: slog.New(slog.DiscardHandler)}
	login(&o)
	h, err := api.New(o, "127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, s, h}
}

// newProxied returns a client of a server behind a proxy that says who people are.
func newProxied(t *testing.T) *client {
	return newWith(t, `kind = "proxy"`, func(*api.Options) {})
}

// TestProxy: headers that name the user or the requested host count only from a trusted proxy. Other machines are
// not answered at all.
func TestProxy(t *testing.T) {
	t.Parallel()
	c := newProxied(t)
	as := func(from, user, groups string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Del("Authorization")
			r.RemoteAddr = from
			r.Header.Set("X-Forwarded-User", user)
			r.Header.Set("X-Forwarded-Groups", groups)
			r.Header.Set("X-Forwarded-Host", "tape.example.org")
		}
	}
	if got := items(c.get("", "/v1/sessions", 200, as("192.0.2.1:5", "ada", "x, shop"))); len(got) != 1 || got[0]["remote"] != "shop" {
		t.Errorf("the sessions of ada are %v, want that of shop", got)
	}
	c.get("", "/v1/sessions", 401, as("127.0.0.1:5", "ada", "shop"))
	c.get("", "/v1/sessions", 403, as("198.51.100.1:5", "ada", "shop"))
	c.get("t-bob", "/v1/sessions", 403, func(r *http.Request) { r.RemoteAddr = "198.51.100.1:5" })
	c.get("", "/v1/sessions", 401, as("192.0.2.1:5", "", "shop"))
	if got := items(c.get("", "/v1/sessions", 200, as("192.0.2.1:5", "ada", ""))); len(got) > 0 {
		t.Errorf("without groups, the sessions are %v, want none", got)
	}
	if got := items(c.get("t-bob", "/v1/sessions", 200)); len(got) != 1 || got[0]["remote"] != "bank" {
		t.Errorf("with a token, the sessions of bob are %v, want that of bank", got)
	}
	c.get("t-bob", "/v1/sessions", 403, func(r *http.Request) {
		r.Host = "evil.example"
		r.Header.Set("X-Forwarded-Host", "tape.example.org")
	})
}

// TestMCP: an agent with a user's token searches and reads what the user sees.
func TestMCP(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	c.h.(*api.Server).MCP = func(s find.Source, audit func(context.Context, string, string) error) http.Handler {
		return mcpserver.Team(mcpserver.TeamOptions{Source: s, Audit: audit, Version: "v1"})
	}
	rpc := func(token, method, params string) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "http://tape.example.org/sessions/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
		r.RemoteAddr = "127.0.0.1:5" // nginx passes on the name
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8700})))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		c.h.ServeHTTP(w, r)
		return w.Body.String()
	}
	call := func(token, tool, args string) string {
		t.Helper()
		var got struct {
			Result struct{ Content []struct{ Text string } }
		}
		body := rpc(token, "tools/call", `{"name":"`+tool+`","arguments":`+args+`}`)
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Result.Content) != 1 {
			t.Fatalf("%s: %v: %s", tool, err, body)
		}
		return got.Result.Content[0].Text
	}
	if list := rpc("t-ada", "tools/list", "{}"); strings.Count(list, `"readOnlyHint":true`) != 4 {
		t.Errorf("there should be 4 tools, all for reading: %s", list)
	}
	for _, one := range [][3]string{
		{"tape_search", `{"query":"needle","limit":2}`, `"Of shop" [shop/main] @10 user: needle 9 of shop`},
		{"tape_list", `{}`, "[shop/main]"},
		{"tape_read", `{"tape":"shop/main","around":"@3","before":1,"after":1}`, "@3 2026-11-20T10:02Z user: needle 2 of shop"},
		{"tape_read", `{"tape":"shop/main","limit":2}`, "@10 "},
		{"tape_read", `{"tape":"bank/main"}`, `error: there is no session "bank/main"`},
		{"tape_search", `{"query":""}`, "error: query is empty"},
		{"tape_search", `{"query":"x","lmit":1}`, `there is no parameter "lmit"`},
	} {
		if got := call("t-ada", one[0], one[1]); !strings.Contains(got, one[2]) || strings.Contains(got, "of bank") {
			t.Errorf("%s %s lacks %q, or shows the bank: %s", one[0], one[1], one[2], got)
		}
	}
	if got := strings.Join(c.store.audit, ", "); !strings.Contains(got, "ada search needle") || !strings.Contains(got, "ada read shop/main") {
		t.Errorf("the audit lacks the search or the reading: %s", got)
	}
	c.store.void = true
	if got := rpc("t-ada", "tools/list", "{}"); !strings.Contains(got, "unauthorized") {
		t.Errorf("after the token was revoked: %s, want unauthorized", got)
	}
}
