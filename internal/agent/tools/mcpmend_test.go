package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tape/hooks"
)

// What a server sends in another form than the protocol's costs no more than itself. (kenn-io/msgvault#626,
// anthropics/claude-code#88049, modelcontextprotocol/python-sdk#192)
func TestMendedMessages(t *testing.T) {
	for name, c := range map[string][2]string{
		"as it should be":   {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"}]}}`, ""},
		"a notification":    {`{"jsonrpc":"2.0","method":"notifications/message","params":{"content":5}}`, ""},
		"an id as text":     {`{"jsonrpc":"2.0","id":"7","result":{}}`, `{"id":7,"jsonrpc":"2.0","result":{}}`},
		"a text as content": {`{"jsonrpc":"2.0","id":1,"result":{"content":"a"}}`, `{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"a","type":"text"}]}}`},
		"another kind": {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"video"}]}}`,
			`{"id":1,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"a"},{"text":"{\"type\":\"video\"}","type":"text"}]}}`},
		"a broken picture": {`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"!","mimeType":"image/png"}]}}`,
			`{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"[an image, image/png, not shown]","type":"text"}]}}`},
		"a bare text":       {`{"jsonrpc":"2.0","id":1,"result":"a"}`, `{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"a","type":"text"}]}}`},
		"a bare list":       {`{"jsonrpc":"2.0","id":1,"result":[{"type":"text","text":"a"},5]}`, `{"id":1,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"a"},{"text":"5","type":"text"}]}}`},
		"members alone":     {`{"jsonrpc":"2.0","id":1,"result":{"answer":42}}`, `{"id":1,"jsonrpc":"2.0","result":{"answer":42,"content":[{"text":"{\"answer\":42}","type":"text"}]}}`},
		"the first version": {`{"jsonrpc":"2.0","id":1,"result":{"toolResult":{"content":[{"type":"text","text":"a"}]}}}`, `{"id":1,"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"a"}],"toolResult":{"content":[{"type":"text","text":"a"}]}}}`},
		"yes as text":       {`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":"true"}}`, `{"id":1,"jsonrpc":"2.0","result":{"content":[],"isError":true}}`},
		"nothing":           {`{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		"null":              {`{"jsonrpc":"2.0","id":1,"result":null}`, ""},
		"without a version": {`{"id":1,"result":{}}`, `{"id":1,"jsonrpc":"2.0","result":{}}`},
		"a log":             {`{"level":"info","id":1}`, ""},
		"an error as text":  {`{"jsonrpc":"2.0","id":1,"error":"no"}`, `{"error":{"code":-32603,"message":"no"},"id":1,"jsonrpc":"2.0"}`},
		"a code as text":    {`{"jsonrpc":"2.0","id":1,"error":{"code":"E","message":"no"}}`, `{"error":{"code":-32603,"message":"{\"code\":\"E\",\"message\":\"no\"}"},"id":1,"jsonrpc":"2.0"}`},
		"no number": {`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"v":NaN}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"the server's answer is not JSON: invalid character 'N' looking for beginning of value"}}`},
		"what goes on":    {`{"jsonrpc":"2.0","id":1,"result":{}`, ""},
		"a line of a log": {`{at "jsonrpc" 2.0}`, ""},
		"an odd tool": {`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}},{"name":"b","description":5,"inputSchema":{"type":"object"}},{"name":6}]}}`,
			`{"id":1,"jsonrpc":"2.0","result":{"tools":[{"name":"a","inputSchema":{}},{"description":"","inputSchema":{"type":"object"},"name":"b"}]}}`},
	} {
		if c[1] == "" {
			c[1] = c[0]
		}
		if got := string(mended([]byte(c[0]))); got != c[1] {
			t.Errorf("%s: %s, want %s", name, got, c[1])
		}
	}
	lines := &messageLines{r: bufio.NewReader(strings.NewReader("[1,2]\n[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{}}]\n{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n"))}
	raw, err := io.ReadAll(lines)
	if got := strings.Count(string(raw), "\n"); err != nil || got != 3 || !strings.Contains(string(raw), `"id":2`) {
		t.Errorf("%v: %s", err, raw)
	}
}

// The same over HTTP, in one object or as events.
func TestMendedOverHTTP(t *testing.T) {
	const odd, want = `{"jsonrpc":"2.0","id":"7","result":{}}`, `{"id":7,"jsonrpc":"2.0","result":{}}`
	for kind, body := range map[string]string{"application/json": odd, "text/event-stream": "event: message\ndata:" + odd + "\n\n", "text/plain": "x" + want} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}))
		res, err := (&http.Client{Transport: bounded{RoundTripper: http.DefaultTransport}}).Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		if err != nil || !strings.Contains(string(raw), want) {
			t.Errorf("%s: %v: %s", kind, err, raw)
		}
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

// Arguments are checked leniently: what a schema means is not always what it says (Kuadrant/mcp-gateway#662), and models
// write lists as texts (coder/coder#28044).
func TestLenientArguments(t *testing.T) {
	for _, c := range [][3]string{
		{`{"type":"object","properties":{"n":{"type":"int"},"s":{"type":"str"}}}`, `{"n":1,"s":"x"}`, `{"n":1,"s":"x"}`},
		{`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}}}}`, `{"list":"[\"a\"]"}`, `{"list":["a"]}`},
		{`{"type":"object","properties":{"o":{"type":"object"},"s":{"type":"string"}}}`, `{"o":"{\"a\":1}","s":"[1]"}`, `{"o":{"a":1},"s":"[1]"}`},
		{`{"type":"object","properties":{"list":{"type":"array"}}}`, `{"list":"a, b"}`, ""},
	} {
		got := ""
		tool := Checked(hooks.Tool{Name: "t", Schema: []byte(c[0]), Run: func(_ context.Context, _ hooks.ToolContext, arguments json.RawMessage) (string, error) {
			got = string(arguments)
			return "", nil
		}})
		if _, err := tool.Run(t.Context(), hooks.ToolContext{}, json.RawMessage(c[1])); got != c[2] || (err == nil) != (c[2] != "") {
			t.Errorf("%s for %s: %s, %v, want %s", c[1], c[0], got, err, c[2])
		}
	}
}
