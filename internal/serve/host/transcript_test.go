package host

import (
	"slices"
	"strings"
	"testing"

	"tape/repo"
)

func entry(kind, payload string) repo.Entry {
	return repo.Entry{ID: 7, Kind: kind, Payload: []byte(payload), Meta: []byte(`{"thread_id":"t"}`), Date: "2026-11-20T09:00:00+00:00"}
}

// The kind, speaker and text of entries in a conversation.
func TestItem(t *testing.T) {
	for _, c := range []struct{ kind, payload, itemType, role, text string }{
		{"message", `{"role":"user","content":"hello"}`, "message", "user", "hello"},
		{"message", `{"role":"assistant","content":[{"type":"text","text":"one"},{"type":"image_url"},{"text":"two"}]}`, "message", "assistant", "one\ntwo"},
		{"system", `{"content":"be brief"}`, "system", "system", "be brief"},
		{"anchor", `{"name":"plan","state":{"summary":"all so far"}}`, "anchor", "system", "all so far"},
		{"event", `{"name":"tool.call.started","data":{"arguments":{"a":1}}}`, "tool_call", "assistant", `{"a":1}`},
		{"event", `{"name":"tool.call.completed","data":{"result":"done","arguments":{}}}`, "tool_result", "tool", "done"},
		{"event", `{"name":"other","data":{"error":null,"text":""}}`, "event", "", ""},
	} {
		e := entry(c.kind, c.payload)
		item := itemOf("c", e, "cursor", false)
		if item.ItemType != c.itemType || item.Content != c.text || c.role != "" && item.Role != c.role {
			t.Errorf("%s is %q of %q: %q; want %q of %q: %q", c.payload, item.ItemType, item.Role, item.Content, c.itemType, c.role, c.text)
		}
		if item.EventID != "c@7" || item.Seq != 7 || item.ThreadID != "t" || item.Cursor != "cursor" || item.Truncated || item.FullRef != "" {
			t.Errorf("the item is %+v, want c@7 of thread t, complete", item)
		}
		if isShown(e) != (c.itemType != "event") {
			t.Errorf("%s is in the transcript: %v, want all but other events", c.payload, isShown(e))
		}
		if isShown(e) && !slices.Contains(itemTypes()[c.itemType], itemType(e)) {
			t.Errorf("the types of %s are %q, which lack %s", c.itemType, itemTypes()[c.itemType], itemType(e))
		}
	}
}

// Long content is cut between characters, and refers to the whole.
func TestItemIsBounded(t *testing.T) {
	item := itemOf("c", entry("message", `{"role":"user","content":"`+strings.Repeat("ü", 40_000)+`"}`), "", false)
	if item.Content != strings.Repeat("ü", maxText) || !item.Truncated || item.FullRef != "/v1/events/7" || string(item.ContentJSON) != "null" {
		t.Errorf("the item has %d bytes, truncated %v, all of it at %q, JSON of %d bytes; want the first %d characters, and no JSON", len(item.Content), item.Truncated, item.FullRef, len(item.ContentJSON), maxText)
	}
	for text, want := range map[string]string{"": "", "abc": "abc", "abcd": "abc", "üüü": "üüü", "üüüü": "üüü"} {
		if got := cutText(text, 3); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
}

// Encoded content is removed unless it is asked for, and nothing else changes.
func TestWithoutBinary(t *testing.T) {
	for payload, want := range map[string]string{
		`{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`: `{"content":[{"image_url":{"url":"data:image/png;base64,"},"type":"image_url"}]}`,
		`{"source":{"type":"base64","data":"AAAA"},"n":1.50}`:                                 `{"n":1.50,"source":{"data":"","type":"base64"}}`,
	} {
		if got, removed := withoutBinary([]byte(payload)); string(got) != want || !removed {
			t.Errorf("%s becomes %s, want %s", payload, got, want)
		}
		if item := itemOf("c", entry("message", payload), "", true); string(item.ContentJSON) != payload || item.ContentRedacted {
			t.Errorf("with binary content, the item should have the payload as it is: %s", item.ContentJSON)
		}
	}
	for _, payload := range []string{`{"content":"base64 is an encoding"}`, `{ "content" : "data:x" }`, `{"content":"see data:image/png, base64"}`} {
		if got, removed := withoutBinary([]byte(payload)); string(got) != payload || removed {
			t.Errorf("%s has no encoded content, but becomes %s", payload, got)
		}
	}
}
