package web_test

//tape:race: outlines are made while pages are answered

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/links"
	"tape/internal/show/export"
	"tape/merge"
	"tape/repo"
)

// TestPages: each page shows what it should of a session, and errors have the right status.
func TestPages(t *testing.T) {
	s := newSite(t, false)
	tape := s.session()
	_, err := tape.Fork(t.Context(), "try-wal")
	must(t, err)
	fork, err := s.store.Tape(t.Context(), "main/try-wal")
	must(t, err)
	_, err = fork.Append(t.Context(), nil, repo.Message("assistant", "The fork says red."))
	must(t, err)
	_, err = tape.Append(t.Context(), nil, repo.Message("assistant", "The parent says green."))
	must(t, err)

	s.shows("/", "Why does **checkout** fail?", "growing now", "claude-code", "other%20place", "/t/main%2Ftry-wal")
	s.shows("/?agent=claude-code&since=2h", "Why does")
	s.shows("/?agent=nobody", "No matching sessions")
	s.shows("/w/other%20place/", "Sessions", "No sessions yet")
	s.shows("/w/other%20place/t/main", "1 event", "Start")
	page := s.shows("/t/main", "<strong>checkout</strong>", `<span class="kd">func</span>`, `<table tabindex="0">`, `href="https://example.com"`,
		"I should read the file first", `title="Bash">Run</code>`, "go test ./...", "failed", `<span class="base">retry.go</span>`, "/-/image/8/0", "The cause is <em>known</em>", "more</a>",
		"1 file changed", "1 command failed", "2 events")
	for _, never := range []string{`href="javascript:`, `src="http`, "a line of the log\na line of the log"} {
		if strings.Contains(page[strings.Index(page, `id="entries"`):strings.Index(page, `id="e10"`)], never) {
			t.Errorf("the page has %q", never)
		}
	}
	s.shows("/t/main/-/entry/6", "a line of the log")
	s.shows("/t/main/-/entry/11?part", "a line of the log")
	s.shows("/t/main/@3", `data-target="3"`)
	s.shows("/t/mai@3", `data-target="3"`)
	s.shows("/t/1/@3", `data-target="3"`)
	s.shows("/t/1", "Why does")
	if code, _ := s.get("/t/nothing@3"); code != http.StatusNotFound {
		t.Errorf("a tape that does not exist answers %d, want 404", code)
	}
	s.shows("/t/main/implement", `data-target="9"`)
	s.shows("/t/main/session%2Fstart", `data-target="1"`)
	s.shows("/t/main/-/raw/3", `"role":"user"`)
	s.shows("/t/main/-/image/8/0", "PNG")
	s.shows("/t/main/-/outline", "Why does", "Go on", "See the picture", "How it ended", "2 calls", "1 failed")
	s.shows("/t/main/-/find?q=RETRY.go", "[3")
	s.shows("/search?q=checkout", "<mark>checkout</mark>", "/t/main/@3", "kind=message", `title="`)
	s.shows("/search?q=checkout&author=nobody", "0 found", `name="author" value="nobody"`)
	s.shows("/search?q=checkout&role=user&kind=message&kind=event&until=today", `name="role" value="user"`, `name="kind" value="message"`, `name="kind" value="event"`, `name="until" value="today"`)
	s.shows("/t/main/-/stats", "Bash", `<span class="base">retry.go</span>`, "1.2\u00a0k")
	s.shows("/stats", "Bash", "claude-code", "Active time")
	s.shows("/stats?agent=nobody", "none")
	s.shows("/digest", "Why does", "Go on", "1 file")
	s.shows("/digest?until=2001-01-01", "Nothing was asked")
	s.shows("/t/main/-/forks", "try-wal", "with this session", "graph")
	s.shows("/diff?tape=main&a=main&b=main%2Ftry-wal", "<del>green</del>", "<ins>red</ins>")
	for _, f := range export.Formats() {
		s.shows("/t/main", "/t/main/-/export/"+f.Name)
		s.shows("/t/main/-/export/"+f.Name, "Why does")
	}
	s.shows("/t/main/-/export/jsonl", `"id":1,`)
	s.shows("/t/main/-/export/markdown?id=3", "Look at")
	s.shows("/t/main/-/export/html", "<!DOCTYPE html>")
	for path, want := range map[string]int{"/t/nothing": 404, "/t/main/@9999": 404, "/t/main/x": 404, "/w/nowhere/": 404, "/t/main/-/export/exe": 404,
		"/assets/../web.go": 404, "/w/%2e%2e/": 404, "/?since=never": 400,
		"/?day=never": 400, "/stats?since=never": 400, "/digest?since=never": 400, "/search?q=x&since=never": 400, "/search?q=x&kind=mesage": 400, "/search?q=x&kind=&since=": 200} {
		if code, body := s.get(path); code != want {
			t.Errorf("%s answers %d, want %d: %.200s", path, code, want, body)
		}
	}
}

// TestStepsApart: what the model says before a call, the call, and what it says afterwards are shown in this order.
func TestStepsApart(t *testing.T) {
	s := newSite(t, false)
	tape, err := s.store.Tape(t.Context(), "")
	must(t, err)
	_, err = tape.Append(t.Context(), nil, repo.Message("user", "work"), repo.Message("assistant", "First I look."),
		draft(t, "tool_call", object{"calls": []object{{"id": "1", "type": "function", "function": object{"name": "bash", "arguments": `{"cmd":"echo seen"}`}}}}, nil),
		draft(t, "tool_result", object{"results": []any{"seen"}}, object{"call_ids": []string{"1"}}),
		repo.Message("assistant", "That was all."))
	must(t, err)
	page := s.shows("/t/main")
	page = page[strings.Index(page, `id="entries"`):]
	at := 0
	for _, want := range []string{"<p>First I look.</p>", "echo seen", "<p>That was all.</p>"} {
		next := strings.Index(page[at:], want)
		if next < 0 {
			t.Fatalf("no %s after %d in\n%s", want, at, page)
		}
		at += next
	}
}

// TestFacets: facets count all hits, not only those that are shown.
func TestFacets(t *testing.T) {
	s := newSite(t, false)
	for name, n := range map[string]int{"one": 70, "two": 5} {
		tape, err := s.store.CreateTape(t.Context(), name)
		must(t, err)
		all := []repo.Draft{draft(t, "event", object{"name": "session_meta", "data": object{"cwd": "/home/ada/" + name}}, nil)}
		for i := range n {
			all = append(all, repo.Message("user", "A needle "+strings.Repeat("x", i+1)), repo.System("A needle like all others"))
		}
		_, err = tape.Append(t.Context(), nil, all...)
		must(t, err)
	}
	s.shows("/search?q=needle", "150 found", ">one 140</a>", ">two 10</a>", ">messages 75</a>", ">system prompts 75</a>")
	s.shows("/search?q=needle&project=two", "10 found", ">two 10</a>", ">messages 5</a>", "facet on")
	s.long(3000)
	s.shows("/search?q=says", "3000 found", "+</a>")
}

// TestForkGraph: a line leads from each commit to what it continues, merges or begins after.
func TestForkGraph(t *testing.T) {
	s := newSite(t, true)
	tape := s.session()
	for _, name := range []string{"merged", "open"} {
		fork, err := tape.Fork(t.Context(), name)
		must(t, err)
		_, err = fork.Append(t.Context(), nil, repo.Message("assistant", name))
		must(t, err)
		_, _, err = fork.Checkpoint(t.Context())
		must(t, err)
		if name == "merged" {
			_, err = merge.Back(t.Context(), fork)
			must(t, err)
		}
	}
	page := s.shows("/t/main/-/forks", `<circle class="l0 merge"`, "; merges main/merged", "; main/open begins here", "; main/merged begins here", `<circle class="l1"`)
	down, rows := []string{}, strings.Split(page, "<li><svg")[1:]
	for i, row := range rows {
		var in, out []string
		for _, m := range regexp.MustCompile(`<line class="(l\d+)" x1="(\d+)" y1="(\d+)%" x2="(\d+)" y2="(\d+)%"`).FindAllStringSubmatch(row, -1) {
			if m[3] == "0" {
				in = append(in, m[1]+" "+m[2])
			}
			if m[5] == "100" {
				out = append(out, m[1]+" "+m[4])
			}
		}
		slices.Sort(in)
		slices.Sort(out)
		if !slices.Equal(slices.Compact(in), down) {
			t.Errorf("row %d of %d: the row above ends with the lines %q, this one begins with %q", i, len(rows), down, in)
		}
		down = slices.Compact(out)
	}
	if len(down) > 0 || len(rows) < 5 {
		t.Errorf("%d rows, want at least 5; the lines %q lead nowhere", len(rows), down)
	}
}

// TestManyChanges: a long comparison has several pages. They show each change once, side by side.
func TestManyChanges(t *testing.T) {
	s := newSite(t, false)
	tape := s.session()
	fork, err := tape.Fork(t.Context(), "many")
	must(t, err)
	for i := range 450 {
		_, err = fork.Append(t.Context(), nil, repo.Message("assistant", fmt.Sprintf("number %d is red", i)))
		must(t, err)
		if i < 230 {
			_, err = tape.Append(t.Context(), nil, repo.Message("assistant", fmt.Sprintf("number %d is green", i)))
			must(t, err)
		}
	}
	link, seen := "/diff?tape=main&a=main&b=main%2Fmany", 0
	for _, want := range []string{"Changes 1 to 200 of 450", "Changes 201 to 400 of 450", "Changes 401 to 450 of 450"} {
		page := s.shows(link, want, fmt.Sprintf("number %d is ", seen))
		if seen == 200 {
			s.shows(link, "number 229 is <del>green</del>", "number 229 is <ins>red</ins>", "Earlier changes")
		}
		seen += strings.Count(page, `<tr class="`)
		more := regexp.MustCompile(`href="([^"]+)">More changes`).FindStringSubmatch(page)
		if more == nil {
			break
		}
		link = html.UnescapeString(more[1])
	}
	if seen != 450 {
		t.Errorf("the pages have %d changes, want 450", seen)
	}
	s.shows("/diff?tape=main&a=main&b=main", "Nothing differs")
	s.shows("/diff?tape=main&a=main&b=main%2Fmany&from=-9", "Changes 1 to 200")
	s.shows("/diff?tape=main&a=main&b=main%2Fmany&from=9999999", "Earlier changes")
}

// Two sessions without a common entry are compared by prompts, answers and files, as tape diff does.
func TestTwoSessions(t *testing.T) {
	s := newSite(t, false)
	for name, answer := range map[string]string{"red": "It is **red**.", "green": "It is green."} {
		tape, err := s.store.CreateTape(t.Context(), name)
		must(t, err)
		_, err = tape.Append(t.Context(), nil, repo.Event("bookkeeping", nil), repo.Message("user", "Which colour?"), repo.Message("assistant", answer),
			repo.Message("user", "Only "+name), repo.Message("assistant", "same words"), repo.Message("user", "Bye"), repo.Message("assistant", "Goodbye <b>you</b>"))
		must(t, err)
	}
	page := s.shows("/diff?tape=red&a=red&b=green", "Two sessions", "<strong>red</strong>", "It is green.", "Only red", "Only green", "Both answered", "3 prompts", `/t/green/@4"`)
	for text, n := range map[string]int{"bookkeeping": 0, "Asked": 4, "Goodbye": 1, "<b>you": 0, "same words": 2} {
		if strings.Count(page, text) != n {
			t.Errorf("%q is on the page %d times, not %d", text, strings.Count(page, text), n)
		}
	}
	s.shows("/t/red/-/forks", `<option value="green">`)
}

// A subagent's own tape is not in the list of sessions, whatever its session is called.
func TestSubagentsAreNotListed(t *testing.T) {
	s := newSite(t, false)
	for _, name := range []string{"My Work", "My Work/agent-a1"} {
		tape, err := s.store.CreateTape(t.Context(), name)
		must(t, err)
		_, err = tape.Append(t.Context(), nil, repo.Message("user", "a request on "+name))
		must(t, err)
	}
	if page := s.shows("/", "a request on My Work", "1 subagent"); strings.Contains(page, "a request on My Work/agent") {
		t.Error("the subagent's tape is a session of its own")
	}
}

// hostileTexts would run, load or hide something if they did not stay text.
var hostileTexts = []string{
	"<script>alert(1)</script>", `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, "<style>body{display:none}</style>",
	"[x](javascript:alert(1))", "[x](data:text/html,hi)", "[x](/t/main/-/do/handoff)", "<javascript:alert(1)>", `[x](https://a.example/"onclick="alert(1))`,
	"```\"><script>alert(1)</script>\nx\n```", "![x](//evil.example/x.png)", "\u202eevil", strings.Repeat("[", 5000), strings.Repeat("> ", 3000) + "deep", strings.Repeat("*a ", 5000),
	"[x]: javascript:alert(1)\n\n[x]", "```html\n<script>alert(1)</script>\n```", "{{.Token}}",
}

// hostile writes a session with the hostile texts wherever an entry has text.
func (s *site) hostile() {
	t := s.T
	t.Helper()
	tape, err := s.store.Tape(t.Context(), "")
	must(t, err)
	for _, text := range hostileTexts {
		_, err := tape.Append(t.Context(), nil, repo.Message("user", text), repo.System(text),
			draft(t, "tool_call", object{"calls": []object{{"id": text, "function": object{"name": text, "arguments": object{"file_path": text, "content": text, "command": text}}}}}, object{"author": text}),
			draft(t, "tool_result", object{"results": []any{text}}, nil),
			draft(t, "error", object{"kind": text, "message": text}, nil), draft(t, "event", object{"name": text, "data": object{text: text}}, nil), draft(t, "own "+text, object{"x": text}, nil))
		must(t, err)
	}
	_, err = tape.Handoff(t.Context(), repo.Anchor{Name: "a<script>b", Summary: "<script>alert(1)</script>"})
	must(t, err)
}

// TestHostile: what was recorded stays text.
func TestHostile(t *testing.T) {
	s := newSite(t, false)
	s.hostile()
	for _, path := range []string{"/", "/t/main", "/t/main/@110", "/search?q=alert", "/t/main/-/stats", "/t/main/-/outline", "/t/main/-/forks", "/stats", "/digest"} {
		began := time.Now()
		body := strings.ToLower(s.shows(path))
		t.Logf("%s: %s", path, time.Since(began).Round(time.Millisecond))
		for _, never := range []string{"<script>", "<img src=x", "<svg onload", "<style", `href="javascript`, `href="data:`, `href="//`, "\u202e", `href="/t/main/-/do`, `"onclick=`} {
			if strings.Contains(body, never) {
				t.Errorf("%s has %q", path, never)
			}
		}
	}
}

// TestJoiners: emoji of several parts stay whole, and characters that reorder text are shown as their codes.
func TestJoiners(t *testing.T) {
	s := newSite(t, false)
	main, err := s.store.Tape(t.Context(), "main")
	must(t, err)
	_, err = main.Append(t.Context(), nil, repo.Message("user", "fix \U0001f9d1\u200d\U0001f680 and \u202eevil"))
	must(t, err)
	for _, path := range []string{"/", "/t/main", "/digest"} {
		s.shows(path, "fix \U0001f9d1\u200d\U0001f680 and &lt;U", "202E&gt;evil")
	}
}

// TestGuard: without a session, nothing is shown.
func TestGuard(t *testing.T) {
	s := newSite(t, false)
	ask := func(change func(*http.Request)) *http.Response {
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url+"/", nil)
		must(t, err)
		r.AddCookie(s.cookie())
		change(r)
		res, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		res.Body.Close()
		return res
	}
	if res := ask(func(*http.Request) {}); res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("with the cookie: %d %s, want 200 and a policy", res.StatusCode, res.Header)
	}
	if res := ask(func(r *http.Request) { r.Header.Del("Cookie") }); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a cookie: %d, want 401", res.StatusCode)
	}
}

// cookie returns the cookie of the client's session.
func (s *site) cookie() *http.Cookie {
	s.Helper()
	u, err := url.Parse(s.url + "/")
	must(s.T, err)
	all := s.client.Jar.Cookies(u)
	if len(all) != 1 {
		s.Fatalf("the client has %d cookies, want 1", len(all))
	}
	return all[0]
}

// TestWrite: forms change a session only with --write and with the form's token.
func TestWrite(t *testing.T) {
	form := url.Values{"name": {"review"}, "summary": {"done"}}
	post := func(s *site, what string, form url.Values) int {
		res, err := s.client.PostForm(s.url+"/t/"+what, form)
		must(t, err)
		res.Body.Close()
		return res.StatusCode
	}
	s := newSite(t, false)
	s.session()
	if code := post(s, "main/-/do/handoff", form); code != http.StatusForbidden {
		t.Fatalf("without --write: %d, want 403", code)
	}
	s = newSite(t, true)
	s.session()
	form.Set("token", formToken(s.shows("/t/main")))
	if code := post(s, "main/-/do/handoff", url.Values{"name": {"review"}}); code != http.StatusForbidden {
		t.Fatalf("without the form's token: %d, want 403", code)
	}
	for _, step := range []string{"main/-/do/handoff", "main/-/do/fork", "main%2Freview/-/do/merge"} {
		if code := post(s, step, form); code != http.StatusOK {
			t.Fatalf("%s: %d, want 200", step, code)
		}
	}
	form.Set("title", "The checkout")
	if code := post(s, "main/-/do/rename", form); code != http.StatusOK {
		t.Fatalf("rename: %d, want 200", code)
	}
	s.shows("/t/main", "<h1 dir=\"auto\">The checkout</h1>", "review", "Rename")
}

// TestLinks: the page of a session makes links to it, shows each once, and ends them.
func TestLinks(t *testing.T) {
	s := newSite(t, true)
	s.session()
	must(t, links.SetAddress(s.store, false, s.url))
	form := url.Values{"token": {formToken(s.shows("/t/main", "/t/main/-/links"))}}
	post := func(what string, want int, parts ...string) {
		t.Helper()
		res, err := s.client.PostForm(s.url+"/t/main/-/do/"+what, form)
		must(t, err)
		body, err := io.ReadAll(res.Body)
		must(t, errors.Join(err, res.Body.Close()))
		for _, part := range parts {
			if !strings.Contains(string(body), part) {
				t.Errorf("%s lacks %q: %s", what, part, body)
			}
		}
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", what, res.StatusCode, want)
		}
	}
	form.Set("days", "0")
	post("link", http.StatusBadRequest)
	form.Set("days", "7")
	post("link", http.StatusOK, s.url+links.Path, "Only this machine", "Revoke link 1")
	if strings.Contains(s.shows("/t/main/-/links", "Revoke link 1"), links.Path) {
		t.Error("the link is shown again")
	}
	form.Set("number", "1")
	post("unlink", http.StatusOK, "No link works.")
	form.Set("token", "")
	post("link", http.StatusForbidden)
}

// TestLong: a page of a session of 100,000 entries has at most 100 of them.
func TestLong(t *testing.T) {
	s := newSite(t, false)
	s.long(100_000)
	for _, path := range []string{"/t/long", "/t/long/@50000", "/t/long/end", "/t/long/-/window/99901", "/t/long/-/outline", "/t/long/-/stats"} {
		began := time.Now()
		s.shows(path)
		t.Logf("%s: %s", path, time.Since(began).Round(time.Millisecond))
	}
	if n := strings.Count(s.shows("/t/long/@50000"), "<article"); n > 100 {
		t.Errorf("a page has %d entries, want at most 100", n)
	}
}

// TestExportedPictures: an exported page contains the pictures, and may show them.
func TestExportedPictures(t *testing.T) {
	s := newSite(t, false)
	tape, err := s.store.CreateTape(t.Context(), "drawn")
	must(t, err)
	a, err := tape.AddArtifact(t.Context(), repo.Artifact{MIMEType: "image/png"}, strings.NewReader("\x89PNG of a cart"))
	must(t, err)
	_, err = tape.Append(t.Context(), nil, draft(t, "message", object{"role": "user", "content": "See", "artifact": a.Reference()}, nil))
	must(t, err)
	s.shows("/t/drawn", "/t/drawn/-/artifact/"+a.ID)
	s.shows("/t/drawn/-/artifact/"+a.ID, "PNG of a cart")
	s.shows("/t/drawn/-/export/html", `src="data:image/png;base64,`)
	res, err := s.client.Get(s.url + "/t/drawn/-/export/html")
	must(t, err)
	must(t, res.Body.Close())
	if policy := res.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "img-src data:") {
		t.Errorf("the policy is %q, want pictures in data: URLs allowed", policy)
	}
}

// TestColours: the style sheet defines all colours, also those that exported pages use.
func TestColours(t *testing.T) {
	s := newSite(t, false)
	style := s.shows("/assets/style.css", "--person: #", "prefers-color-scheme: dark", ".session {")
	for _, m := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(style+export.Style(), -1) {
		if !strings.Contains(style, m[1]+": ") {
			t.Errorf("%s is not defined", m[1])
		}
	}
}

// TestWeight: pages of a session with many prompts, calls and long texts stay below 150 KB.
func TestWeight(t *testing.T) {
	s := newSite(t, false)
	tape, err := s.store.CreateTape(t.Context(), "a session with a long name for links")
	must(t, err)
	long := strings.Repeat("a line of the log ", 300)
	var all []repo.Draft
	for i := range 250 {
		id := fmt.Sprint(i)
		call := object{"id": id, "type": "function", "function": object{"name": "bash", "arguments": `{"cmd":"` + long[:300] + `"}`}}
		all = append(all, repo.Message("user", fmt.Sprintf("The prompt %d: %s", i, long)), draft(t, "tool_call", object{"calls": []object{call}}, nil),
			draft(t, "tool_result", object{"results": []any{long}}, object{"call_ids": []string{id}}), repo.Message("assistant", long))
	}
	_, err = tape.Append(t.Context(), nil, all...)
	must(t, err)
	page := "/t/" + url.PathEscape(tape.Name())
	for _, path := range []string{page, page + "/@501", page + "/end", page + "/-/window/201", page + "/-/outline", page + "/-/outline?part", page + "/-/stats", "/"} {
		code, body := s.get(path)
		if code != http.StatusOK || len(body) >= 150_000 {
			t.Errorf("%s: %d, %d bytes; want 200, below 150,000 bytes", path, code, len(body))
		}
	}
}

// TestLabels: stars, tags and marks are shown, sessions can be chosen by them, and forms set them.
func TestLabels(t *testing.T) {
	s := newSite(t, true)
	s.session()
	s.work()
	s.shows("/", "#release", `aria-label="with a star"`, "2 sessions")
	bad, err := s.store.CreateTape(t.Context(), "bad")
	must(t, err)
	_, err = bad.Append(t.Context(), nil, repo.Message("user", "Make it pass"))
	must(t, err)
	for i := range 3 {
		id := fmt.Sprint(i)
		_, err = bad.Append(t.Context(), nil, draft(t, "tool_call", object{"calls": []object{{"id": id, "type": "function", "function": object{"name": "Bash", "arguments": `{"command":"go test"}`}}}}, nil),
			draft(t, "tool_result", object{"results": []any{"FAIL"}}, object{"call_ids": []string{id}, "is_error": []string{id}}))
		must(t, err)
	}
	s.shows("/", "3 sessions", "ended in failures", "same call failed 3 times")
	s.shows("/t/bad", "ended in failures", "same call failed 3 times")
	s.shows("/?tag=release", "1 session", "/t/work")
	s.shows("/?starred=1", "1 session", "/t/work")
	s.shows("/?tag=other", "No matching sessions")
	page := s.shows("/t/main", "/-/do/star", "/-/do/tag")
	token := regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(page)[1]
	post := func(what, field, value string, want int) {
		t.Helper()
		res, err := s.client.PostForm(s.url+"/t/main/-/do/"+what, url.Values{"token": {token}, field: {value}})
		must(t, err)
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s=%s answers %d, want %d", field, value, res.StatusCode, want)
		}
	}
	post("tag", "tags", "Release, checkout", http.StatusOK)
	post("star", "starred", "true", http.StatusOK)
	s.shows("/t/main", `href="/?tag=checkout"`, `value="checkout release"`, "Take the star away")
	post("tag", "tags", "checkout", http.StatusOK)
	post("tag", "tags", "-bad", http.StatusBadRequest)
	s.shows("/?tag=release", "1 session")
	s.shows("/?starred=1", "2 sessions")
	s.shows("/files", `<span class="base">retry.go</span></span><span class="lines">`, "retry_with_backoff_test.go", "/t/work")
	if page := s.shows("/files?path=RETRY.go", "retry.go"); strings.Contains(page, "case_1.go") {
		t.Error("the filter of files lets others through")
	}
}
