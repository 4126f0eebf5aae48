package setting_test

import (
	"errors"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/setting"
)

// Rules are parsed, written and parsed again. Malformed rules are refused.
func TestRules(t *testing.T) {
	for text, want := range map[string]setting.Rule{
		"bash":                        {Tool: "bash"},
		"bash(*)":                     {Tool: "bash"},
		"bash(git status)":            {Tool: "bash", Pattern: "git status"},
		"fs.write(docs/**)":           {Tool: "fs.write", Pattern: "docs/**"},
		"fs.write(a in /b)":           {Tool: "fs.write", Pattern: "a in /b"},
		"github.*":                    {Tool: "github.*"},
		"bash(go test) in /p q/(x) y": {Tool: "bash", Pattern: "go test", Project: "/p q/(x) y"},
		"fs.edit in /p":               {Tool: "fs.edit", Project: "/p"},
		"fs.edit in /p in q (x)":      {Tool: "fs.edit", Project: "/p in q (x)"},
		"bash(ls) in /p (in) in q":    {Tool: "bash", Pattern: "ls", Project: "/p (in) in q"},
	} {
		got, err := setting.ParseRule(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
			continue
		}
		if again, err := setting.ParseRule(got.String()); err != nil || again != want {
			t.Errorf("%q, written as %q, is %+v, %v; want %+v", text, got, again, err, want)
		}
	}
	for _, text := range []string{"", "(x)", "bash(", "bash()", "bash(ls", "ba sh", "bash(ls; rm)", "bash(ls $X)", "bash('ls')", "bash(git *)", "bash(ls) in p", "fs.write([)", "[", "bash(ls)x"} {
		if r, err := setting.ParseRule(text); !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%q: %+v, %v; want ErrInvalid", text, r, err)
		}
	}
}

// Invalid values are refused, among them keys in plain text. Valid ones are written in a fixed form.
func TestValues(t *testing.T) {
	for _, c := range [][2]string{{"mode", "yolo"}, {"allow", "bash"}, {"deny", `{"bash":1}`}, {"ask", `["bash("]`}, {"allow", `[1]`},
		{"fallback_models", `["a:b", 1]`}, {"fallback_models", `["a"]`}, {"telegram", `{"token":"1:a"}`}, {"telegram", `{"allow_user":["1"]}`},
		{"mcp_servers", `{"a":{"command":"x","env":{"GITHUB_TOKEN":"abc"}}}`}, {"mcp_servers", `{"a":{"command":"x","env":{"DB":"postgres://me:secret@db/x"}}}`},
		{"mcp_servers", `{"a":{"command":"x","args":["--api-key","abc"]}}`}, {"mcp_servers", `{"a":{"command":"x","args":["--token=abc"]}}`},
		{"mcp_servers", `{"a":{"command":"x","args":["--header","Authorization: Bearer abc"]}}`}, {"mcp_servers", `{"a":{"command":"x","args":["postgres://me:secret@db/x"]}}`},
		{"mcp_servers", `{"a":{"command":"x","env":{"GITHUB_TOKEN":"abc${X}"}}}`}, {"mcp_servers", `{"a":{"command":"x","args":["--token=abc${X}"]}}`},
		{"mcp_servers", `{"a":{"url":"https://${HOST}/mcp?api_key=abc"}}`}, {"mcp_servers", `{"a":{"url":"https://mcp.example.org/mcp?api_key=abc${X}"}}`},
		{"mcp_servers", `{"a":{"url":"https://mcp.example.org/mcp","headers":{"Authorization":"Bearer abc"}}}`},
		{"mcp_servers", `{"a":{"url":"https://mcp.example.org/mcp?api_key=abc"}}`}, {"mcp_servers", `{"a":{"url":"https://me:secret@mcp.example.org/"}}`},
		{"telegram", `{"base_url":"https://me:secret@example.org"}`}, {"base_urls", `{"a":"https://example.org/v1?key=abc"}`},
		{"plugins", `[{"name":"x","command":["python3","x.py","--password","abc"]}]`}} {
		if raw, err := setting.Value(c[0], c[1]); !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s = %s: %s, %v; want ErrInvalid", c[0], c[1], raw, err)
		}
	}
	for _, c := range [][3]string{{"fallback_models", `["a:b", "c:d"]`, `["a:b","c:d"]`}, {"fallback_models", "a:b,c:d", `["a:b","c:d"]`},
		{"mcp_servers", `{"a":{"command":"x","env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}","MODE":"fast"}}}`, `{"a":{"command":"x","env":{"GITHUB_TOKEN":"${GITHUB_TOKEN}","MODE":"fast"}}}`},
		{"mcp_servers", `{"a":{"command":"x","args":["--token","${T}","--max-tokens=9","--header","Authorization: Bearer ${T}"]},"b":{"url":"https://example.org/mcp?key=${K}&mode=fast","headers":{"Authorization":"Bearer ${K}"}}}`,
			`{"a":{"command":"x","args":["--token","${T}","--max-tokens=9","--header","Authorization: Bearer ${T}"]},"b":{"url":"https://example.org/mcp?key=${K}&mode=fast","headers":{"Authorization":"Bearer ${K}"}}}`}} {
		if raw, err := setting.Value(c[0], c[1]); string(raw) != c[2] || err != nil {
			t.Errorf("%s = %s: %s, %v; want %s", c[0], c[1], raw, err, c[2])
		}
	}
	text, err := setting.AddRules(`["bash(ls)"]`, []string{"bash(ls)", "fs.edit"})
	if want := `["bash(ls)","fs.edit"]`; text != want || err != nil {
		t.Errorf("with added rules: %s, %v; want %s", text, err, want)
	}
	if again, err := setting.Check("allow", []byte(text)); again != text || err != nil {
		t.Errorf("checked, the rules are %s, %v; want %s", again, err, text)
	}
}

// Settings of servers of models: their forms, and no keys.
func TestServerSettings(t *testing.T) {
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{"headers", `{"x":{"api-key":"${K}","X-Team":"tools"}}`, true}, {"headers", `{"x":{"Authorization":"Bearer ${K}"}}`, true},
		{"headers", `{"x":{"Authorization":"Bearer sk-abcdefghijklmnop123456"}}`, false}, {"headers", `{"x":{"Authorization":"abc"}}`, false}, {"headers", `{"x":"y"}`, false},
		{"query", `{"azure":{"api-version":"2025-04-01-preview"}}`, true}, {"query", `{"x":{"key":"AIzaSyabcdefghijklmnopqrstuvwxyz12345"}}`, false},
		{"apis", `{"openai":"responses","gate":"messages"}`, true}, {"apis", `{"x":"soap"}`, false},
		{"max_tokens", "16000", true}, {"max_tokens", "0", false}, {"auto_handoffs", "0", true}, {"auto_handoffs", "101", false},
		{"silence", "20m", true}, {"silence", "10", false}, {"silence", "0s", false}, {"stream", "false", true}, {"stream", "no", false},
	} {
		raw, err := setting.Value(c.key, c.value)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s %s: %v", c.key, c.value, err)
		}
		if err == nil {
			if text, err := setting.Check(c.key, raw); err != nil || text != c.value {
				t.Errorf("%s %s is read as %s, %v", c.key, c.value, text, err)
			}
		}
	}
}
