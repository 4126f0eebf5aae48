package hostcli

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/store/layout"
	"tape/repo"
)

// teamServer answers each path with its pages, one for each request, and keeps the requests.
type teamServer struct {
	*httptest.Server
	pages map[string][]string
	asked []string
}

func serveTeam(t *testing.T, pages map[string][]string) (*teamServer, *teamClient) {
	t.Helper()
	s := &teamServer{pages: pages}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.Path+"?"+r.URL.RawQuery)
		next := s.pages[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"it was revoked"}}`))
		case len(next) == 0:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"message":"no such session","details":{"hint":"GET /v1/sessions"}}}`))
		default:
			s.pages[r.URL.Path] = next[1:]
			_, _ = w.Write([]byte(next[0]))
		}
	}))
	t.Cleanup(s.Close)
	c, err := newTeamClient(s.URL, "good")
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func streams(asJSON bool) (*stdio.Streams, func() string) {
	out := &bytes.Buffer{}
	s := &stdio.Streams{Stdout: out, Stderr: out, Out: bufio.NewWriter(out), JSON: asJSON, Getenv: func(string) string { return "" },
		Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }}
	return s, func() string { _ = s.Flush(); return out.String() }
}

const (
	entry1 = `{"id":3,"kind":"message","payload":{"role":"user","content":"why a timeout?"},"meta":{},"date":"2026-11-20T09:00:00Z"}`
	hit1   = `{"remote":"shop","tape":"s1","title":"Find the timeout","snippet":"why a timeout?","entry":` + entry1 + `,"anchor":"session/start","anchor_seq":1}`
)

// TestSearch: hits come page by page, until there are as many as were asked for.
func TestSearch(t *testing.T) {
	pages := func() map[string][]string {
		return map[string][]string{"/v1/search": {`{"items":[` + hit1 + `],"next_cursor":"p2"}`, `{"items":[` + hit1 + `],"next_cursor":null}`}}
	}
	s, c := serveTeam(t, pages())
	out, text := streams(true)
	limit := 5
	q := hostcmd.TeamSearch{Search: index.Search{Text: "timeout", Exact: true, Tapes: []string{"shop/s1"}, Query: repo.Query{Kinds: []string{"message"}, Limit: &limit}}}
	if err := c.Search(t.Context(), out, q); err != nil {
		t.Fatal(err)
	}
	if got := text(); strings.Count(got, `"remote":"shop"}`) != 2 || strings.Count(got, "\n") != 2 {
		t.Errorf("got\n%s", got)
	}
	if want := []string{"/v1/search?entries=true&exact=true&kind=message&limit=5&q=timeout&remote=shop&tape=s1", "/v1/search?cursor=p2&entries=true&exact=true&kind=message&limit=5&q=timeout&remote=shop&tape=s1"}; !slices.Equal(s.asked, want) {
		t.Errorf("asked %q, want %q", s.asked, want)
	}
	s, c = serveTeam(t, pages())
	out, text = streams(false)
	limit = 1
	if err := c.Search(t.Context(), out, hostcmd.TeamSearch{Search: index.Search{Text: "timeout", Query: repo.Query{Limit: &limit}}}); err != nil {
		t.Fatal(err)
	}
	if got := text(); !strings.Contains(got, "Find the timeout") || !strings.Contains(got, "shop/s1@3") || !strings.Contains(got, "more entries match") || len(s.asked) != 1 {
		t.Errorf("asked %q, got\n%s", s.asked, got)
	}
}

// TestListWithoutEnd: a server whose cursor leads to a page that was there does not keep the program for ever.
func TestListWithoutEnd(t *testing.T) {
	for _, second := range []string{`{"items":[` + hit1 + `],"next_cursor":"p2"}`, `{"items":[],"next_cursor":"p3"}`} {
		_, c := serveTeam(t, map[string][]string{"/v1/search": {`{"items":[` + hit1 + `],"next_cursor":"p2"}`, second, second}})
		out, _ := streams(true)
		limit := 50
		if err := c.Search(t.Context(), out, hostcmd.TeamSearch{Search: index.Search{Text: "timeout", Query: repo.Query{Limit: &limit}}}); err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("%v, want that the list does not end", err)
		}
	}
}

// TestTapesAndLog: sessions are listed with their remotes and with what tells equal titles apart; a missing entry is
// an error, and a missing session one with a hint.
func TestTapesAndLog(t *testing.T) {
	_, c := serveTeam(t, map[string][]string{
		"/v1/sessions":                 {`{"items":[{"remote":"shop","tape":"s1","title":"Find the timeout","project":"/w/shop","agent":"codex","started":"2026-11-20T12:00:00Z","updated":"2026-11-20T13:00:00Z","messages":4},{"remote":"shop","tape":"s2","title":"Find the timeout","started":"2026-11-18T12:00:00Z"}]}`},
		"/v1/sessions/shop/s1/entries": {`{"items":[` + entry1 + `]}`, `{"items":[]}`},
	})
	out, text := streams(false)
	if err := c.Tapes(t.Context(), out, hostcmd.TeamList{Limit: -1}); err != nil {
		t.Fatal(err)
	}
	if got := text(); !strings.Contains(got, "Find the timeout · 2026-11-20") || !strings.Contains(got, "shop/s1") {
		t.Errorf("got\n%s", got)
	}
	out, text = streams(false)
	if err := c.Log(t.Context(), out, hostcmd.TeamEntries{Tape: "shop/s1"}); err != nil {
		t.Fatal(err)
	}
	if got := text(); !strings.Contains(got, "why a timeout?") {
		t.Errorf("got\n%s", got)
	}
	if err := c.Log(t.Context(), out, hostcmd.TeamEntries{Tape: "shop/s1", ID: 99}); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("a missing entry: %v", err)
	}
	err := c.Log(t.Context(), out, hostcmd.TeamEntries{Tape: "shop/other"})
	if hints := layout.Hints(err); !errors.Is(err, layout.ErrNotFound) || len(hints) == 0 {
		t.Errorf("a missing session: %v, %v", err, hints)
	}
	if err := c.Log(t.Context(), out, hostcmd.TeamEntries{Tape: "s1"}); !errors.Is(err, layout.ErrInvalid) {
		t.Errorf("no remote: %v", err)
	}
}

// TestToken: the error for a refused token says why, and no other server gets the token.
func TestToken(t *testing.T) {
	s, _ := serveTeam(t, nil)
	bad, err := newTeamClient(s.URL, "bad")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bad.Me(t.Context()); !errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), "it was revoked") {
		t.Errorf("a revoked token: %v", err)
	}
	from := httptest.NewServer(http.RedirectHandler(s.URL, http.StatusFound))
	defer from.Close()
	c, err := newTeamClient(from.URL, "good")
	if err != nil {
		t.Fatal(err)
	}
	before := len(s.asked)
	if _, err := c.Me(t.Context()); err == nil || len(s.asked) != before {
		t.Errorf("followed to another server: %v", err)
	}
	for _, bad := range [][2]string{{"example.org", "t"}, {"ftp://example.org", "t"}, {"https://example.org", ""}, {"https://example.org", "a b"}} {
		if _, err := newTeamClient(bad[0], bad[1]); !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("the server and token %q: %v, want %v", bad, err, layout.ErrInvalid)
		}
	}
	for address, plain := range map[string]bool{"http://example.org": true, "http://127.0.0.1:8700": false, "http://localhost": false, "https://example.org": false} {
		if c, err := newTeamClient(address, "t"); err != nil || c.IsPlain() != plain {
			t.Errorf("%s is plain: %v, %v", address, !plain, err)
		}
	}
}

// TestShortNames: the beginning of a name is enough, also without the remote, if it means one session.
func TestShortNames(t *testing.T) {
	const list = `{"items":[{"remote":"shop","tape":"7c1e04d2-aaaa"},{"remote":"shop","tape":"7c1f0000-bbbb"},{"remote":"blog","tape":"0d7c1e04"}]}`
	for name, want := range map[string]string{"shop/7c1e": "shop/7c1e04d2-aaaa", "7c1f": "shop/7c1f0000-bbbb", "other/x": "other/x", "shop/7c1e04d2-aaaa": "shop/7c1e04d2-aaaa"} {
		_, c := serveTeam(t, map[string][]string{"/v1/sessions": {list, list}})
		if got, err := c.fullName(t.Context(), name); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	_, c := serveTeam(t, map[string][]string{"/v1/sessions": {list}})
	if _, err := c.fullName(t.Context(), "shop/7c1"); !errors.Is(err, layout.ErrInvalid) {
		t.Errorf("a name that two sessions begin with: %v", err)
	}
}

// TestSearchWithin: a search can be of one remote and of projects. A remote that the user does not see is an error.
func TestSearchWithin(t *testing.T) {
	pages := func() map[string][]string {
		return map[string][]string{"/v1/me": {`{"name":"ada","remotes":["shop"]}`}, "/v1/search": {`{"items":[]}`}}
	}
	s, c := serveTeam(t, pages())
	out, _ := streams(false)
	if err := c.Search(t.Context(), out, hostcmd.TeamSearch{Search: index.Search{Text: "x"}, Remote: "shop", Project: "cart"}); err != nil {
		t.Fatal(err)
	}
	if got := s.asked[len(s.asked)-1]; !strings.Contains(got, "project=cart") || !strings.Contains(got, "remote=shop") {
		t.Errorf("asked %q", got)
	}
	_, c = serveTeam(t, pages())
	if err := c.Search(t.Context(), out, hostcmd.TeamSearch{Search: index.Search{Text: "x"}, Remote: "bank"}); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("a remote that is not seen: %v", err)
	}
}
