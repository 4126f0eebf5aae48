package mcpserver_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"tape/internal/serve/mcpserver"
	"tape/internal/testkit"
	"tape/repo"
)

// What is no message is answered with an error, and the session goes on (modelcontextprotocol/go-sdk#179,
// Ataraxy-Labs/sem#168, blackwell-systems/agent-lsp#14).
func TestMalformedLines(t *testing.T) {
	store := newStore(t)
	for _, c := range []struct{ line, want string }{
		{`this is not json`, `"code":-32700`},
		{`{"id":5,"method":"ping"}`, `"id":5`},
		{`{"jsonrpc":"1.0","id":6,"method":"ping"}`, `-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `-32600`},
		{`[{"jsonrpc":"2.0","id":91,"method":"ping"},{"jsonrpc":"2.0","id":92,"method":"ping"}]`, `"id":92`},
		{"\uFEFF" + `{"jsonrpc":"2.0","id":93,"method":"ping"}`, `"id":93`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"id":1.5`}, {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `"id":9007199254740993`},
		{`"text"`, `-32600`}, {`[]`, ``}, {``, ``},
	} {
		in, write := io.Pipe()
		read, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- mcpserver.Serve(t.Context(), mcpserver.Options{Open: func(context.Context) (*repo.Store, error) { return store, nil }}, in, out)
			_ = out.Close()
		}()
		answers := json.NewDecoder(read)
		next := func() string {
			var raw json.RawMessage
			if err := answers.Decode(&raw); err != nil {
				t.Fatalf("after %q: %v", c.line, err)
			}
			return string(raw)
		}
		_, _ = io.WriteString(write, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		next()
		go func() {
			_, _ = io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+c.line+"\n"+`{"jsonrpc":"2.0","id":99,"method":"ping"}`+"\n")
		}()
		var all string
		for !strings.Contains(all, `"id":99`) {
			all += next()
		}
		_ = write.Close()
		var raw json.RawMessage
		for answers.Decode(&raw) == nil { // calls are answered in any order
			all += string(raw)
		}
		if !strings.Contains(all, c.want) {
			t.Errorf("%q is answered with %s, want %s", c.line, all, c.want)
		}
		if err := <-ended; err != nil {
			t.Errorf("after %q the server ends with %v", c.line, err)
		}
	}
}

// Clients write numbers, booleans and lists as texts (anthropics/claude-code#32524, anthropics/claude-code#29104,
// anthropics/claude-code#73137).
func TestArgumentsAsTexts(t *testing.T) {
	t.Parallel()
	p := connect(t, newStore(t), mcpserver.Options{})
	p.say("main", "an apple", "a pear")
	for _, a := range []args{{"limit": "3"}, {"limit": 3.0}, {"limit": nil}, {"all_tapes": "true", "kinds": "event, message"}, {"kinds": ""}, {"kinds": `["message"]`}} {
		a["query"] = "apple"
		if got := p.ok("tape_search", a); !strings.Contains(got, "an apple") {
			t.Errorf("%v finds %s", a, got)
		}
	}
	p.fails("tape_search", args{"query": "apple", "kinds": true}, "kinds cannot be a JSON bool")
	p.fails("tape_search", args{"query": "apple", "limit": 2.5}, "limit cannot be a JSON number")
}

// Whoever sends all requests at once, and ends the input, gets all answers; nobody is waited for who has gone.
// (modelcontextprotocol/go-sdk#1061, modelcontextprotocol/python-sdk#2678)
func TestAnswersAfterTheInput(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	const all = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"two","method":"tools/call","params":{"name":"tape_list"}}
{"jsonrpc":"2.0","id":3,"method":"nothing"}
{"jsonrpc":"2.0","id":4,"method":"ping"}`
	serve := func(out io.Writer) {
		t.Helper()
		o := mcpserver.Options{Open: func(context.Context) (*repo.Store, error) { return store, nil }}
		if err := mcpserver.Serve(t.Context(), o, strings.NewReader(all), out); err != nil {
			t.Error(err)
		}
	}
	var out testkit.Buffer
	serve(&out)
	for _, id := range []string{`"id":1,`, `"id":"two",`, `"id":3,`, `"id":4,`} {
		if !strings.Contains(out.String(), id) {
			t.Errorf("no answer %s in %s", id, out.String())
		}
	}
	_, gone := io.Pipe()
	_ = gone.Close()
	serve(gone)
}
