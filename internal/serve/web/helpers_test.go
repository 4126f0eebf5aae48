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

// work writes the session "work": answers that follow each other, and calls of all shapes.
func (s *site) work() {
	s.Helper()
	t, err := s.store.CreateTape(s.Context(), "work")
	must(s.T, err)
	const dir = "/home/ada/shop"
	file := "internal/checkout/payment/providers/acceptance/retry_with_backoff_test.go"
	n := 0
	call := func(name string, args object, result string, failed bool) []repo.Draft {
		n++
		id, meta := fmt.Sprint("c", n), object{"call_ids": []string{fmt.Sprint("c", n)}}
		if failed {
			meta["is_error"] = []string{id}
		}
		text, err := json.Marshal(args)
		must(s.T, err)
		return []repo.Draft{draft(s.T, "tool_call", object{"calls": []object{{"id": id, "type": "function", "function": object{"name": name, "arguments": string(text)}}}}, nil),
			draft(s.T, "tool_result", object{"results": []any{result}}, meta)}
	}
	all := []repo.Draft{
		draft(s.T, "event", object{"name": "session", "data": object{"cwd": dir, "session_id": "0d6c9a11-35b0-4d5f-9f0e-6f2c5ad1a001"}}, object{"source": object{"format": "claude-code"}}),
		repo.Message("user", "The checkout of the acceptance tests fails now and then when the provider answers late; find out why and mend it, please"),
		repo.Message("assistant", "I will look at the provider's acceptance tests first, and at the retry with backoff, which I suspect, since it was changed last week."),
		repo.Message("assistant", "The backoff begins at zero, so the first retry comes at once, and the provider answers the second request with the first one's error: that is what the test sees."),
		repo.Message("assistant", "ok"),
	}
	all = append(all, call("Bash", object{"command": "go test -count=1 -run 'TestRetryWithBackoff|TestProviderAnswersLate' ./internal/checkout/payment/providers/acceptance/..."},
		"\x1b[1m=== RUN\x1b[0m   TestRetryWithBackoff\n\x1b[31m--- FAIL: TestRetryWithBackoff (0.02s)\x1b[0m\n\x1b[38;5;208mFAIL\x1b[0m\n", true)...)
	all = append(all, call("Edit", object{"file_path": dir + "/" + file, "old_string": "wait := 0", "new_string": "wait := 100 * time.Millisecond // the provider needs that long to forget the first request, see its documentation"}, "edited", false)...)
	for i := range 12 {
		all = append(all, call("Write", object{"file_path": fmt.Sprintf("%s/internal/checkout/case_%d.go", dir, i), "content": "package checkout\n\nconst n = 1\n"}, "written", false)...)
	}
	all = append(all, call("Grep", object{"pattern": "backoff"}, file+":12:wait := 0\n"+file+":40:func backoff() {}\n", false)...)
	all = append(all, call("Read", object{"file_path": dir + "/" + file}, "package acceptance\n", false)...)
	all = append(all, call("TodoWrite", object{"todos": []object{{"content": "Find the cause", "status": "completed"}, {"content": "Mend the backoff", "status": "in_progress"}}}, "ok", false)...)
	all = append(all, call("Bash", object{"command": "git commit -m 'Backoff: begin with 100 ms'"}, "[main 3f2a9c1] Backoff: begin with 100 ms\n 1 file changed", false)...)
	all = append(all, repo.Message("assistant", "The backoff now begins with 100 ms; all 42 tests pass, commit 3f2a9c1."),
		draft(s.T, "event", object{"name": "run", "data": object{"model": "claude-opus-4-5-20251101", "usage": object{"input_tokens": 120000, "output_tokens": 2340}}}, nil))
	all = append(all, repo.Event("tape.star", []byte(`{"starred":true}`)), repo.Event("tape.tag", []byte(`{"add":["release","a-tag-of-many-characters-in-one-word"]}`)))
	_, err = t.Append(s.Context(), nil, all...)
	must(s.T, err)
}
