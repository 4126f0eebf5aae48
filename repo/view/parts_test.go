package view

import (
	"strings"
	"testing"
)

// TestParts: the parts of a user's message, as each provider gets them.
func TestParts(t *testing.T) {
	const notShown = `{"type":"text","text":"[`
	for _, c := range []struct{ part, openAI, anthropic string }{
		{`{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}`, `{"type":"text","text":"t"}`, `{"type":"text","text":"t"}`},
		{`{"type":"input_text","text":"t"}`, `{"type":"text","text":"t"}`, `{"type":"text","text":"t"}`},
		{`"t"`, `{"type":"text","text":"t"}`, `{"type":"text","text":"t"}`},
		{`{"type":"image_url","image_url":{"url":"https://example.org/a","detail":"low"}}`,
			`{"type":"image_url","image_url":{"url":"https://example.org/a","detail":"low"}}`, `{"type":"image","source":{"type":"url","url":"https://example.org/a"}}`},
		{`{"type":"input_image","image_url":"data:image/PNG;base64,AA==","detail":"odd"}`,
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`},
		{`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"AA=="}}`,
			`{"type":"image_url","image_url":{"url":"data:image/webp;base64,AA=="}}`, `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"AA=="}}`},
		{`{"type":"file","mime":"image/png","url":"data:image/png;base64,AA=="}`,
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`},
		{`{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AA=="}}`, notShown + `image image/tiff: not shown]"}`, notShown + `image image/tiff: not shown]"}`},
		{`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`, notShown + `image file:///etc/passwd: not shown]"}`, notShown + `image file:///etc/passwd: not shown]"}`},
		{`{"type":"input_audio","input_audio":{"data":"AA==","format":"mp3"}}`,
			`{"type":"input_audio","input_audio":{"format":"mp3","data":"AA=="}}`, notShown + `audio mp3: not shown]"}`},
		{`{"type":"file","file":{"file_id":"f-1"}}`, `{"type":"file","file":{"file_id":"f-1"}}`, notShown + `file f-1: not shown]"}`},
		{`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}`,
			`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}}`,
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AA=="},"title":"a.pdf"}`},
		{`{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}`,
			notShown + `file https://example.org/a.pdf: not shown]"}`, `{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}`},
		{`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"t"}}`, `{"type":"text","text":"t"}`, `{"type":"text","text":"t"}`},
		{`{"type":"video", "n":1.0}`, `{"type":"text","text":"{\"type\":\"video\",\"n\":1.0}"}`, `{"type":"text","text":"{\"type\":\"video\",\"n\":1.0}"}`},
		{`{"type":"thinking","thinking":"t","signature":"s"},"t"`, `{"type":"text","text":"t"}`, `{"type":"text","text":"t"}`},
	} {
		for format, want := range map[Format]string{OpenAI: c.openAI, Anthropic: c.anthropic} {
			got := mustMessages(t, tape(`message {"role":"user","content":[`+c.part+`]}`), Options{Format: format})
			if want = `[{"role":"user","content":[` + want + `]}]`; string(got.JSON()) != want {
				t.Errorf("%s for %s\ngot  %s\nwant %s", c.part, format, got.JSON(), want)
			}
		}
	}
}

// Anthropic gets its signed reasoning back, unless nothing follows it.
func TestThinking(t *testing.T) {
	const signed = `{"type":"thinking","thinking":"t","signature":"s"}`
	for content, want := range map[string]string{
		signed + `,{"type":"text","text":"x"}`:                                 signed + `,{"type":"text","text":"x"}`,
		`{"type":"redacted_thinking","data":"d"},{"type":"text","text":"x"}`:   `{"type":"redacted_thinking","data":"d"},{"type":"text","text":"x"}`,
		`{"type":"thinking","thinking":"t"},{"type":"text","text":"x"}`:        `{"type":"text","text":"x"}`,
		`{"type":"text","text":"x"},` + signed:                                 `{"type":"text","text":"x"}`,
		`{"type":"text","text":"x"},` + signed + `,{"type":"text","text":" "}`: `{"type":"text","text":"x"}`,
	} {
		got := mustMessages(t, tape(hello, `message {"role":"assistant","content":[`+content+`]}`), Options{Format: Anthropic})
		if want = `{"role":"assistant","content":[` + want + `]}`; string(got.Messages[1]) != want {
			t.Errorf("%s\ngot  %s\nwant %s", content, got.Messages[1], want)
		}
	}
}

// Ids and names that a provider would refuse are changed, and stay distinct.
func TestIDs(t *testing.T) {
	long := strings.Repeat("x", 50)
	call := func(id, name string) string {
		return `tool_call {"calls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"{}"}}]}`
	}
	entries := tape(hello, call("a b", "mcp.read"), results(`["1"]`), call("a_b", ""), results(`["2"]`), call(long+"1", "f"), results(`["3"]`), call(long+"2", "f"), results(`["4"]`),
		call("", "f"), results(`["5"]`), call("a_b", "f"), results(`["6"]`))
	for format, wants := range map[Format][]string{
		OpenAI:    {`"id":"a b"`, `"name":"mcp_read"`, `"id":"a_b"`, `"name":"unknown"`, `"id":"call_10_0"`},
		Anthropic: {`"id":"a_b"`, `"name":"mcp_read"`, `"id":"a_b_2"`, `"name":"unknown"`, `"id":"call_10_0"`, `"id":"a_b_3"`},
	} {
		c := mustMessages(t, entries, Options{Format: format})
		wantRules(t, c, format)
		for _, want := range wants {
			if !strings.Contains(string(c.JSON()), want) {
				t.Errorf("%s: no %s in %s", format, want, c.JSON())
			}
		}
		if strings.Contains(string(c.JSON()), strings.Repeat("x", 41)) {
			t.Errorf("%s: an id is longer than 40 bytes: %s", format, c.JSON())
		}
	}
}
