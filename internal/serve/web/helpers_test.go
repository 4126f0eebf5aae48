package web_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/serve/web"
	"tape/repo"
)

// site is a view of a workspace, and a client with a session.
type site struct {
	*testing.T
	url    string
	client *http.Client
	store  *repo.Store
	view   *web.View
}

func newSite(t *testing.T, write bool) *site {
	t.Helper()
	home := t.TempDir()
	t.Setenv(repo.EnvHome, home)
	store, _, err := repo.Init(t.Context(), filepath.Join(home, "shop"), nil)
	must(t, err)
	_, _, err = repo.Init(t.Context(), filepath.Join(home, "other place"), nil)
	must(t, err)
	return newSiteOf(t, web.Options{All: true, Store: store, Write: write})
}

func newSiteOf(t *testing.T, o web.Options) *site {
	t.Helper()
	view := web.New(t.Context(), o)
	srv := httptest.NewServer(view)
	t.Cleanup(func() { srv.Close(); view.Wait() })
	jar, err := cookiejar.New(nil)
	must(t, err)
	s := &site{T: t, url: srv.URL, client: &http.Client{Jar: jar}, store: o.Store, view: view}
	if code, _ := s.get(view.Link()); code != http.StatusOK {
		t.Fatalf("the first link answers %d", code)
	}
	return s
}

func (s *site) get(path string) (int, string) {
	s.Helper()
	res, err := s.client.Get(s.url + path)
	must(s.T, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(s.T, err)
	return res.StatusCode, string(body)
}

// shows returns a page, and fails unless it has all of the wanted texts.
func (s *site) shows(path string, want ...string) string {
	s.Helper()
	code, body := s.get(path)
	if code != http.StatusOK {
		s.Fatalf("%s answers %d: %s", path, code, body)
	}
	for _, w := range want {
		if !strings.Contains(body, w) {
			s.Fatalf("%s lacks %q:\n%s", path, w, body)
		}
	}
	return body
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func draft(t *testing.T, kind string, payload, meta any) repo.Draft {
	t.Helper()
	if meta == nil {
		meta = object{}
	}
	line, err := json.Marshal(map[string]any{"kind": kind, "payload": payload, "meta": meta})
	must(t, err)
	d, err := repo.ParseDraft(line)
	must(t, err)
	return d
}

type object = map[string]any

var picture = base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))

// session writes a session with one entry of each kind.
func (s *site) session() *repo.Tape {
	s.Helper()
	t, err := s.store.Tape(s.Context(), "")
	must(s.T, err)
	call := func(id, name string, args object) object {
		text, err := json.Marshal(args)
		must(s.T, err)
		return object{"id": id, "type": "function", "function": object{"name": name, "arguments": string(text)}}
	}
	long := strings.Repeat("a line of the log\n", 600)
	_, err = t.Append(s.Context(), nil,
		draft(s.T, "event", object{"name": "session", "data": object{"cwd": "/home/ada/shop"}}, object{"source": object{"format": "claude-code"}}),
		repo.Message("user", "Why does **checkout** fail? Look at `retry.go`"),
		draft(s.T, "event", object{"name": "thinking", "data": object{"thinking": "I should read the file first."}}, nil),
		repo.Message("assistant", "I will look.\n\n```go\nfunc main() { return }\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[web](https://example.com) [bad](javascript:alert(1)) ![x](http://example.com/x.png)"),
		draft(s.T, "tool_call", object{"calls": []object{call("1", "Bash", object{"command": "go test ./..."}), call("2", "Edit",
			object{"file_path": "/home/ada/shop/retry.go", "old_string": "wait := 1", "new_string": "wait := 2"})}}, nil),
		draft(s.T, "tool_result", object{"results": []any{long, "edited"}}, object{"call_ids": []string{"1", "2"}, "is_error": []string{"1"}}),
		draft(s.T, "message", object{"role": "user", "content": []object{{"type": "text", "text": "See the picture"},
			{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": picture}}}}, nil),
	)
	must(s.T, err)
	_, err = t.Handoff(s.Context(), repo.Anchor{Name: "implement", Summary: "The cause is *known*."})
	must(s.T, err)
	_, err = t.Append(s.Context(), nil, repo.Message("user", "Go on"), repo.Message("assistant", long),
		draft(s.T, "event", object{"name": "run", "data": object{"usage": object{"total_tokens": 1234, "input_tokens": 1000, "output_tokens": 234}}}, nil))
	must(s.T, err)
	return t
}

// long writes a session of many entries.
func (s *site) long(n int) {
	s.Helper()
	t, err := s.store.CreateTape(s.Context(), "long")
	must(s.T, err)
	for at := 0; at < n; at += 10000 {
		var all []repo.Draft
		for i := at; i < min(n, at+10000); i++ {
			role := "assistant"
			if i%50 == 0 {
				role = "user"
			}
			all = append(all, repo.Message(role, fmt.Sprintf("Entry number %d says something about needle%d.", i, i)))
		}
		_, err = t.Append(s.Context(), nil, all...)
		must(s.T, err)
	}
}
