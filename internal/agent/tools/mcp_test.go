//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// testServer is a server whose tools do what their names say.
func testServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, run func(args map[string]any) (*mcp.CallToolResult, error)) {
		schema := `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
		s.AddTool(&mcp.Tool{Name: name, Description: "does " + name, InputSchema: json.RawMessage(schema)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var args map[string]any
				if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
					return nil, err
				}
				return run(args)
			})
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	add("echo", func(args map[string]any) (*mcp.CallToolResult, error) { return text(fmt.Sprint(args["text"])), nil })
	add("pid", func(map[string]any) (*mcp.CallToolResult, error) {
		return text(fmt.Sprintf("pid=%d key=%s extra=%s", os.Getpid(), os.Getenv("OPENAI_API_KEY"), os.Getenv("EXTRA"))), nil
	})
	add("crash", func(map[string]any) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "panic: out of luck")
		os.Exit(3)
		return nil, nil
	})
	add("fail", func(map[string]any) (*mcp.CallToolResult, error) {
		res := text("it did not work")
		res.IsError = true
		return res, nil
	})
	add("refuse", func(map[string]any) (*mcp.CallToolResult, error) { return nil, errors.New("internal trouble") })
	add("large", func(map[string]any) (*mcp.CallToolResult, error) { return text(strings.Repeat("large ", 1<<18)), nil })
	add("huge", func(map[string]any) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("x", maxMessage+1)), nil
	})
	add("hang", func(map[string]any) (*mcp.CallToolResult, error) { select {} })
	add("image", func(map[string]any) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("data")}}}, nil
	})
	add("more", func(map[string]any) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "added", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("yes"), nil })
		return text("done"), nil
	})
	return s
}

// serveMCP is the test's program as an MCP server.
func serveMCP() {
	if file := os.Getenv("STARTED"); file != "" {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, os.Getpid())
			_ = f.Close()
		}
	}
	_ = testServer().Run(context.Background(), &mcp.StdioTransport{}) // until the input ends
}

// newMCP returns tools with the MCP server "test", and a function that lists the processes it was started as.
func newMCP(t *testing.T) (e *env, started func() []string) {
	log := t.TempDir() + "/started"
	e = newEnv(t, func(o *Options) {
		o.Servers = map[string]Server{"test": {Command: os.Args[0], Env: map[string]string{helper: "mcp", "STARTED": log, "EXTRA": "${MY_TOKEN}"}}}
	})
	return e, func() []string { return strings.Fields(readFile(log)) }
}

const anything = `{"text":"hello"}`

func TestMCP(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-123")
	e, started := newMCP(t)
	if got := started(); len(got) != 0 {
		t.Errorf("the server was started before its tools were wanted: %s", got)
	}
	contains(t, e.must("test.echo", anything), "hello", "not instructions")
	contains(t, e.must("test_echo", anything), "hello")
	e.fails("test.echo", `{}`, "text", "required")
	e.fails("test.echo", `{"text":1}`, "string")
	e.fails("test.fail", anything, "it did not work")
	e.fails("test.refuse", anything, "internal trouble")
	contains(t, e.must("test.image", anything), "image/png of 4 bytes")
	out := e.must("test.pid", anything)
	contains(t, out, "key= ", "extra=more")
	if got := started(); len(got) != 1 {
		t.Errorf("the server was started %d times, not once", len(got))
	}
	e.must("test.more", anything)
	eventually(t, "the new tool is there", func() bool { _, ok := Find(e.All(t.Context()), "test.added"); return ok })
	pid := pidIn(t, out)
	e.Close()
	if alive(pid) {
		t.Error("the server still runs after Close")
	}
	e.fails("test.echo", anything, "the host is shutting down")
}

// A crash is an error of that call; the next one starts the server again.
func TestMCPCrash(t *testing.T) {
	t.Parallel()
	e, started := newMCP(t)
	for i := range 3 {
		e.fails("test.crash", anything, "failed, and is started again", "out of luck")
		contains(t, e.must("test.echo", anything), "hello")
		if got := started(); len(got) != i+2 {
			t.Errorf("the server was started %d times, not %d", len(got), i+2)
		}
	}
}

// What a server sends is limited, and a cancelled call does not wait.
func TestMCPHostile(t *testing.T) {
	t.Parallel()
	e, _ := newMCP(t)
	if out := e.must("test.large", anything); len(out) < 1<<20 {
		t.Errorf("only %d bytes of a large result", len(out))
	}
	text := e.fails("test.huge", anything, "MCP server test")
	if len(text) > 5000 {
		t.Errorf("the error has %d bytes, more than 5000", len(text))
	}
	contains(t, e.must("test.echo", anything), "hello")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	e.All(t.Context())
	if _, err := e.callIn(ctx, "s", "test.hang", anything); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that hangs returns %v after the turn, want context.DeadlineExceeded", err)
	}
	contains(t, e.must("test.echo", anything), "hello")
}

// Servers that cannot be used do not affect the others.
func TestMCPBroken(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) {
		o.Servers = map[string]Server{"empty": {}, "none": {Command: "no-such-program-here"}, "exits": {Command: "sh", Args: []string{"-c", "echo I cannot >&2; exit 1"}},
			"babbles": {Command: "sh", Args: []string{"-c", "yes"}}, "unset": {Command: "false", Env: map[string]string{"KEY": "${TAPE_TEST_NOT_SET}"}}, "file": {URL: "file:///etc/passwd"}, "gone": {URL: "http://127.0.0.1:1/mcp"},
			"a.b": {Command: os.Args[0], Env: map[string]string{helper: "mcp"}}}
	})
	contains(t, e.must("a.b.echo", anything), "hello")
	contains(t, e.must("bash", `{"cmd":"echo works"}`), "works")
	for _, name := range []string{"none", "exits", "babbles", "unset", "file", "gone"} {
		contains(t, e.log.String(), "server="+name)
	}
	contains(t, e.log.String(), "I cannot", "TAPE_TEST_NOT_SET, which is not set", "neither http nor https", "neither a command nor a url")
	if n := strings.Count(e.log.String(), "server=none"); n != 1 {
		t.Errorf("the failure of the server none is logged %d times, not once", n)
	}
}

// Waiting for a server that never answers ends with the turn, and then the server ends.
func TestMCPSilent(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(o *Options) {
		o.Servers = map[string]Server{"silent": {Command: "sh", Args: []string{"-c", "echo pid=$$ > pid; trap '' TERM; while :; do sleep 1; done"}}}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if list := e.All(ctx); len(list) != len(e.builtIn) {
		t.Errorf("%d tools beside a silent server, not the %d that are built in", len(list), len(e.builtIn))
	}
	pid := pidIn(t, e.got("pid"))
	eventually(t, "it ends", func() bool { return !alive(pid) })
}

// Schemas that could make their check endless do no harm; one that is too long is left out.
func TestMCPSchema(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "hostile", Version: "1"}, nil)
	answer := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "answer"}}}, nil
	}
	for name, schema := range map[string]string{"loop": `{"type":"object","allOf":[{"$ref":"#"}]}`, "spelt": `{"type":"object","allOf":[{"\u0024ref":"#"}]}`,
		"odd": `{"type":"object","properties":{"a":{"type":7}}}`, "long": `{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)}, answer)
	}
	for i := range maxTools {
		s.AddTool(&mcp.Tool{Name: fmt.Sprintf("zz%d", i), Description: strings.Repeat("x", 5000), InputSchema: json.RawMessage(`{"type":"object"}`)}, answer)
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer web.Close()
	e := newEnv(t, func(o *Options) { o.Servers = map[string]Server{"web": {URL: web.URL}} })
	for _, name := range []string{"loop", "spelt", "odd"} {
		contains(t, e.must("web."+name, `{}`), "answer")
	}
	if _, ok := Find(e.All(t.Context()), "web.long"); ok {
		t.Errorf("a schema of more than %d bytes is accepted", maxSchema)
	}
	if n := len(e.All(t.Context())) - len(e.builtIn); n != maxTools {
		t.Errorf("%d tools of the server, not %d", n, maxTools)
	}
	e.Close()
}

// Tools of an HTTP server can be called again after it was restarted, and has lost its sessions, or has failed.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	var handler atomic.Pointer[mcp.StreamableHTTPHandler]
	start := func() {
		handler.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return testServer() }, nil))
	}
	start()
	var garbage atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if garbage.Load() && r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			for range 64 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			return
		}
		handler.Load().ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	const variable = "TAPE_TEST_MCP_SERVER"
	if err := os.Setenv(variable, strings.TrimPrefix(web.URL, "http://")); err != nil { // the test is parallel
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Unsetenv(variable) })
	e := newEnv(t, func(o *Options) { o.Servers = map[string]Server{"web": {URL: "http://${" + variable + "}"}} })
	if out, err := withVariables("--key=${TAPE_TEST_NOT_SET}"); err == nil || !strings.Contains(err.Error(), "TAPE_TEST_NOT_SET, which is not set") {
		t.Errorf("an unset variable gives %q, %v; want an error that names it", out, err)
	}
	contains(t, e.must("web.echo", anything), "hello")
	start()
	if _, err := e.call("web.echo", anything); err != nil {
		contains(t, e.must("web.echo", anything), "hello")
	}
	garbage.Store(true)
	e.fails("web.echo", anything, "MCP server web")
	garbage.Store(false)
	contains(t, e.must("web.echo", anything), "hello")
	web.CloseClientConnections()
	e.Close()
}

// A server cannot redirect a request to another server.
func TestMCPRedirect(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	web := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(web.Close)
	e := newEnv(t, func(o *Options) { o.Servers = map[string]Server{"web": {URL: web.URL + "?key=secret"}} })
	e.fails("web.echo", anything, "web.echo")
	if n := asked.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
	e.Close()
}

// Banners and logs on a server's standard output are skipped; a server that cannot be used is told once, and the others
// work. (modelcontextprotocol/rust-sdk#938, anthropics/claude-code#64541)
func TestMCPBanner(t *testing.T) {
	t.Parallel()
	program, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, func(o *Options) {
		o.Servers = map[string]Server{
			"dead":   {Command: "false"},
			"banner": {Command: "sh", Args: []string{"-c", `echo "Welcome to the server!"; echo; echo '{"level":"info","msg":"started"}'; echo '{broken'; exec "$0"`, program}, Env: map[string]string{helper: "mcp"}},
		}
	})
	contains(t, e.must("banner.echo", anything), "hello")
	if list := e.Problems(); len(list) != 1 || !strings.Contains(list[0], "the MCP server dead cannot be used: it did not start: it has ended") {
		t.Errorf("the problems are %q", list)
	}
	e.All(t.Context())
	if list := e.Problems(); len(list) != 0 {
		t.Errorf("the problems are told again: %q", list)
	}
}

// Two tools of a server that a model cannot tell apart are one, and the person is told.
func TestMCPSameNames(t *testing.T) {
	t.Parallel()
	answers := `while read -r a; do
	id=$(echo "$a" | sed 's/.*"id":\([0-9]*\).*/\1/')
	case "$a" in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}';;
	*tools/list*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"a b","inputSchema":{"type":"object"}},{"name":"a.b","inputSchema":{"type":"object"}}]}}';;
	esac
done`
	e := newEnv(t, func(o *Options) {
		o.Servers = map[string]Server{"s": {Command: "sh", Args: []string{"-c", answers}}}
	})
	_, first := Find(e.All(t.Context()), "s.a b")
	if list := e.Problems(); !first || len(list) != 1 || !strings.Contains(list[0], "the tool a.b of the MCP server s cannot be used: its name is that of s.a b") {
		t.Errorf("the first is there: %v; the problems are %q", first, list)
	}
}

// A server over HTTP gets its headers. What it refuses is said in its words, a session that it has forgotten is begun
// again, an error that names another request ends the call, and no key is repeated. (anthropics/claude-code#62008, BuilderIO/agent-native#5547,
// modelcontextprotocol/python-sdk#1144, DeusData/codebase-memory-mcp#1247)
func TestOverHTTP(t *testing.T) {
	t.Setenv("MY_TOKEN", "a-long-token")
	var lost atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if r.Header.Get("Authorization") != "Bearer a-long-token" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer := func(result string) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "s")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
		}
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "initialize":
			answer(`"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
		case m.Method == "tools/list":
			answer(`"result":{"tools":[{"name":"ok","inputSchema":{}},{"name":"full","inputSchema":{}},{"name":"bad","inputSchema":{}},{"name":"other","inputSchema":{}},{"name":"blob","inputSchema":{}}],"nextCursor":"4"}`)
		case m.Method != "tools/call":
			answer(`"error":{"code":-32601,"message":"no"}`)
		case m.Params.Name == "full":
			http.Error(w, "<title>Too many of "+r.Header.Get("Authorization")+"</title>", http.StatusTooManyRequests)
		case m.Params.Name == "other":
			m.ID = json.RawMessage(`"x"`)
			answer(`"error":{"code":-32603,"message":"it broke"}`)
		case m.Params.Name == "blob":
			answer(`"result":{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AAAA"}}]}`)
		case m.Params.Name == "bad":
			w.WriteHeader(http.StatusBadRequest)
			m.ID = json.RawMessage("null")
			answer(`"error":{"code":-32001,"message":"session not found"}`)
		case lost.Swap(false):
			http.Error(w, "no such session", http.StatusNotFound)
		default:
			answer(`"result":{"content":[{"type":"text","text":"fine"}]}`)
		}
	}))
	t.Cleanup(s.Close)
	e := newEnv(t, func(o *Options) {
		o.Servers = map[string]Server{"web": {URL: s.URL, Headers: map[string]string{"Authorization": "Bearer ${MY_TOKEN}"}}, "shut": {URL: s.URL}}
	})
	e.All(t.Context())
	told := e.Problems()
	if len(told) != 1 {
		t.Fatalf("%d problems, want that of shut alone: %q", len(told), told)
	}
	contains(t, told[0], "shut", "HTTP 401: no token", `"headers"`)
	contains(t, e.must("web.ok", `{}`), "fine")
	lost.Store(true)
	contains(t, e.must("web.ok", `{}`), "fine")
	contains(t, e.must("web.blob", `{}`), "application/pdf of 3 bytes")
	e.fails("web.full", `{}`, "HTTP 429", "Too many of Bearer …")
	e.fails("web.bad", `{}`, "HTTP 400", "session not found", "started again") // which ends the session
	e.fails("web.other", `{}`, "it broke")
}

// A call that makes progress may take longer than one that is silent, but not for ever.
func TestMCPProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w waits
		silent, _, endSilent := w.begin(t.Context(), answerTimeout)
		busy, token, endBusy := w.begin(t.Context(), answerTimeout)
		for range 10 {
			time.Sleep(answerTimeout - time.Second)
			w.progress(token, answerTimeout)
			w.progress("another", answerTimeout)
		}
		if silent.Err() == nil || busy.Err() != nil {
			t.Errorf("the silent call has ended with %v, the busy one with %v", silent.Err(), busy.Err())
		}
		time.Sleep(answerTimeout + time.Second)
		if busy.Err() == nil {
			t.Error("the call waits without progress")
		}
		endSilent()
		endBusy()
		w.progress(token, answerTimeout)
	})
}
