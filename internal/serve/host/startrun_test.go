package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tape/internal/serve/host/api"
)

// raw returns texts as JSON values.
func raw(texts ...string) (out []json.RawMessage) {
	for _, text := range texts {
		out = append(out, json.RawMessage(text))
	}
	return out
}

// A run may do what manifest, policy and request all allow.
func TestGranted(t *testing.T) {
	no := false
	list := func(scopes ...string) *[]string { return &scopes }
	all := slices.DeleteFunc(allScopes(), func(s string) bool { return s == "cross_conversation" })
	for i, c := range []struct {
		q    api.RunRequest
		want []string
	}{
		{api.RunRequest{}, all},
		{api.RunRequest{Scopes: allScopes()}, allScopes()},
		{api.RunRequest{Scopes: []string{}}, []string{}},
		{api.RunRequest{Scopes: allScopes(), Policy: api.Policy{Scopes: list("append", "cross_conversation")}}, []string{"append", "cross_conversation"}},
		{api.RunRequest{Policy: api.Policy{Scopes: list("append", "fork")}, Manifest: api.Manifest{Scopes: list("fork", "state.read")}}, []string{"fork"}},
		{api.RunRequest{Scopes: []string{"history.page", "append"}, Manifest: api.Manifest{SupportsHistoryPull: &no}}, []string{"append"}},
	} {
		got, err := grantedScopes(&c.q)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("request %d: %q (%v), want %q", i, got, err, c.want)
		}
	}
	if _, err := grantedScopes(&api.RunRequest{Scopes: []string{"everything"}}); err == nil {
		t.Error("an unknown scope is granted")
	}
}

// The summary is placed before the tail, and both stay within the limits of number and size.
func TestInlined(t *testing.T) {
	var last []api.Item // the newest first
	for seq := int64(9); seq > 0; seq-- {
		last = append(last, api.Item{Seq: seq, Content: fmt.Sprint(seq)})
	}
	for _, c := range []struct {
		bootstrap string
		events    int
		summary   int64
		want      string
	}{
		{"none", 5, 0, ""},
		{"current_event", 5, 0, "8 9"},
		{"recent_tail", 3, 0, "7 8 9"},
		{"recent_tail", 100, 0, "1 2 3 4 5 6 7 8 9"},
		{"summary_tail", 3, 4, "4 8 9"},
		{"summary_tail", 1, 4, "4"},
		{"summary_tail", 100, 7, "7 8 9"},
	} {
		p := policyOf(api.Manifest{Bootstrap: c.bootstrap, MaxInlineEvents: c.events, Ownership: hybrid})
		var summary *api.Item
		if c.summary > 0 {
			summary = &api.Item{Seq: c.summary, Content: fmt.Sprint(c.summary)}
		}
		var got []string
		for _, item := range inlinedItems(p, summary, last, 8) {
			got = append(got, item.Content)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s with at most %d: %q, want %q", c.bootstrap, c.events, got, c.want)
		}
	}
	big := []api.Item{{Seq: 2, Content: strings.Repeat("x", 600)}, {Seq: 1, Content: strings.Repeat("x", 600)}}
	if got := inlinedItems(api.InlinePolicy{Bootstrap: bootstrapTail, MaxInlineEvents: 9, MaxInlineBytes: 1500}, nil, big, 1); len(got) != 1 || got[0].Seq != 2 {
		t.Errorf("of two items that are too large together, %d are inlined, want the newest", len(got))
	}
	for _, m := range []api.Manifest{{Bootstrap: "all"}, {Ownership: "mine"}} {
		if checkManifest(m) == nil {
			t.Errorf("the manifest %+v is accepted", m)
		}
	}
	if p := policyOf(api.Manifest{MaxRound: 1 << 40, MaxInlineBytes: 1 << 40}); p.MaxInlineEvents != maxInline || p.MaxInlineBytes != maxInlineBytes {
		t.Errorf("the bounds are %+v, want %d items and %d bytes", p, maxInline, maxInlineBytes)
	}
}

// Different parts give different keys.
func TestSessionKey(t *testing.T) {
	if got := sessionKey("w", "b", "100%"); got != "w/b/100%" {
		t.Errorf("a percent sign is changed: %s, want w/b/100%%", got)
	}
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a/b", "c"}, {"a", "b/c"}, {"a%2Fb", "c"}, {"a%252Fb", "c"}, {"a%25", "2Fb/c"}, {"a%", "2Fb/c"}, {"", "a/b/c"}} {
		key := sessionKey(slices.Clone(parts)...)
		if other, ok := seen[key]; ok || strings.Count(key, "/") != 1 {
			t.Errorf("the key of %q is %s, want one slash; other parts with this key: %q", parts, key, other)
		}
		seen[key] = parts
	}
}

// A run gets no variable that contains a secret.
func TestPublic(t *testing.T) {
	key := "sk-ant-" + "api03-" + strings.Repeat("Ab3", 30) + "AA"
	got := publicConfig(map[string]json.RawMessage{
		"model": json.RawMessage(`"m"`), "n": json.RawMessage(`1.50`), "_own": json.RawMessage(`1`), "api_key": json.RawMessage(`"x"`),
		"torn": json.RawMessage(`{`), "said": json.RawMessage(`"` + key + `"`),
		"deep": json.RawMessage(`{"list":["a","` + key + `",{"password":"p","kept":true}],"_x":1}`),
	})
	text, err := json.Marshal(got)
	if want := `{"deep":{"list":["a",{"kept":true}]},"model":"m","n":1.50}`; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}

// The input becomes a message as it was given, pictures included.
func TestInputMessage(t *testing.T) {
	for _, c := range []struct {
		in   api.Input
		want string
	}{
		{api.Input{}, ""},
		{api.Input{Text: "hi"}, `{"role":"user","content":"hi"}`},
		{api.Input{Text: "hi", Contents: raw(`{"type":"text","text":"hi"}`)}, `{"content":[{"type":"text","text":"hi"}],"role":"user"}`},
		{api.Input{Text: "look", Contents: raw(`{"type":"image_url"}`)}, `{"content":[{"text":"look","type":"text"},{"type":"image_url"}],"role":"user"}`},
		{api.Input{Attachments: raw(`{"name":"a"}`)}, `{"attachments":[{"name":"a"}],"content":"","role":"user"}`},
	} {
		d, ok, err := inputMessage(c.in)
		if err != nil || ok != (c.want != "") || ok && string(d.Payload) != c.want {
			t.Errorf("%+v is %s, %v, %v; want %s", c.in, d.Payload, ok, err, c.want)
		}
	}
	for _, in := range []api.Input{{Contents: raw(`"text"`)}, {Attachments: raw(`[]`)}, {Contents: raw(``)}} {
		if _, _, err := inputMessage(in); err == nil {
			t.Errorf("an input with parts that are not objects is accepted: %+v", in)
		}
	}
}

// The address of static content is the hash of what the run may see.
func TestStatics(t *testing.T) {
	seen := func(json.RawMessage) json.RawMessage { return json.RawMessage(`"masked"`) }
	got, err := statics(map[string]json.RawMessage{"b": json.RawMessage(`"secret"`), "a": json.RawMessage(`1`)}, seen)
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[0].SHA256 != got[1].SHA256 || !strings.Contains(string(refOf(got[1])), "/v1/static/"+got[1].SHA256) {
		t.Errorf("%+v (%v), want a and b with the hash of what the run sees", got, err)
	}
	if _, err := statics(map[string]json.RawMessage{"a": make([]byte, maxStatic+1)}, seen); err == nil {
		t.Error("static contents over the limit are accepted")
	}
}
