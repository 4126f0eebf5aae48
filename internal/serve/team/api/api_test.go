package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tape/internal/serve/team/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
)

// store is a database in memory with two remotes. Each has a session of ten entries that contain the word
// needle.
type store struct {
	audit  []string
	logins []string
	void   bool // the token was revoked
	full   bool // the disk is full
}

func (s *store) Key() []byte { return []byte("key") }

func (s *store) Source(_ context.Context, remotes []string) (find.Source, error) {
	if s.full {
		return nil, syscall.ENOSPC
	}
	return source{remotes}, nil
}

func (s *store) TokenOf(_ context.Context, token string, _ time.Time) (db.Token, error) {
	groups := map[string]string{"t-ada": "shop", "t-bob": "bank", "t-eve": "leads"}
	if groups[token] == "" || s.void {
		return db.Token{}, db.ErrToken
	}
	return db.Token{Name: strings.TrimPrefix(token, "t-"), Groups: []string{groups[token]}}, nil
}

func (s *store) AddToken(_ context.Context, name string, groups []string, _, _ time.Time) (string, error) {
	s.audit = append(s.audit, "made "+name+" for "+strings.Join(groups, ","))
	return "t-ada", nil
}

func (s *store) Audit(_ context.Context, who, action, resource string) error {
	s.audit = append(s.audit, who+" "+action+" "+resource)
	return nil
}

func (s *store) AuditTyped(ctx context.Context, who, _, masked string) error {
	return s.Audit(ctx, who, "search", masked)
}

func (s *store) AddLogin(_ context.Context, id, _ string, _ []string, _, _ time.Time) error {
	s.logins = append(s.logins, id)
	return nil
}

func (s *store) HasLogin(_ context.Context, id string, _ time.Time) (bool, error) {
	return slices.Contains(s.logins, id), nil
}

func (s *store) EndLogin(_ context.Context, id string) error {
	s.logins = slices.DeleteFunc(s.logins, func(one string) bool { return one == id })
	return nil
}

func (s *store) Status(context.Context) ([]db.RemoteStatus, error) {
	return []db.RemoteStatus{{Remote: "bank", Entries: 10, Error: "gone"}, {Remote: "shop", Entries: 10}}, nil
}

type source struct{ remotes []string }

func (s source) Totals(context.Context) (db.Totals, error) {
	return db.Totals{Entries: 10, Bytes: 1000, Newest: date(9)}, nil
}

func date(i int) time.Time { return time.Date(2026, 11, 20, 10, i, 0, 0, time.UTC) }

func (s source) stored(remote string, i int) db.Stored {
	n := map[string]int64{"shop": 1, "bank": 2}[remote]
	line := fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"needle %d of %s"},"meta":{},"date":"%s"}`, i+1, i, remote, date(i).Format(time.RFC3339))
	return db.Stored{Key: db.Key{Remote: int32(n), Tape: n, ID: int64(i + 1)}, Date: date(i), Author: "Ada", Anchor: "start", Phase: 1, Text: fmt.Sprintf("needle %d of %s", i, remote), Line: line}
}

func (s source) Find(_ context.Context, q db.Question) (out []db.Found, err error) {
	for i := 9; i >= 0; i-- {
		for _, remote := range s.remotes {
			e := s.stored(remote, i)
			out = append(out, db.Found{Key: e.Key, Date: e.Date, Kind: "message", Sign: int64(i) + 100*e.Tape, Bytes: 100})
		}
	}
	return out, nil
}

func (s source) Best(ctx context.Context, q db.Question) ([]db.Found, error) { return s.Find(ctx, q) }

func (s source) Count(_ context.Context, _ []db.Month, queries []string, _ int) ([]db.Counted, error) {
	return slices.Repeat([]db.Counted{{Found: 10, Among: 10}}, len(queries)), nil
}

func (s source) Read(_ context.Context, keys map[db.Key]time.Time) (map[db.Key]db.Stored, error) {
	out := map[db.Key]db.Stored{}
	for k := range keys {
		out[k] = s.stored(map[int64]string{1: "shop", 2: "bank"}[k.Tape], int(k.ID-1))
	}
	return out, nil
}

func (s source) Authors(context.Context) ([]string, error) { return []string{"Ada"}, nil }

func (s source) WordsFrom(context.Context, string, func(string)) error { return nil }

func (s source) KnownWords(context.Context, []string) ([]string, error) { return nil, nil }

func (s source) ByID(ctx context.Context, _ []int64) (map[int64]db.Session, error) {
	list, err := s.Sessions(ctx, db.Choice{Most: 10})
	out := map[int64]db.Session{}
	for _, one := range list {
		out[one.ID] = one
	}
	return out, err
}

func (s source) CountSessions(ctx context.Context, c db.Choice) (int, error) {
	list, err := s.Sessions(ctx, c)
	return len(list), err
}

func (s source) Facets(context.Context) (db.Facets, error) {
	return db.Facets{Agents: []string{"codex"}, Projects: []string{"/home/ada/cart"}, People: []string{"Ada <ada@example.org>"}}, nil
}

func (s source) Days(context.Context, time.Time) (map[string]int, error) { return nil, nil }

func (s source) Containing(context.Context, db.Session, string, int) ([]int64, error) {
	return []int64{3}, nil
}

func (s source) Sessions(_ context.Context, c db.Choice) (out []db.Session, err error) {
	for _, remote := range s.remotes {
		e := s.stored(remote, 9)
		if (c.Remote == "" || c.Remote == remote) && (c.Name == "" || c.Name == "main") {
			out = append(out, db.Session{Remote: remote, RemoteID: e.Remote, Tape: db.Tape{ID: e.Tape, Name: "main", Title: "Of " + remote, Updated: &e.Date, Entries: 10, FirstID: 1, LastID: 10, Owner: "Ada <ada@example.org>"}})
		}
	}
	return out, nil
}

func (s source) Entries(_ context.Context, of db.Session, q db.Range, yield func(db.Stored) bool) error {
	for i := range 10 {
		id := int64(i + 1)
		if q.Reverse {
			id = int64(10 - i)
		}
		if id >= q.First && (q.Last == 0 || id <= q.Last) && !yield(s.stored(of.Remote, int(id-1))) {
			break
		}
	}
	return nil
}

type client struct {
	t     *testing.T
	store *store
	h     http.Handler
}

func newClient(t *testing.T) *client {
	s := &store{}
	c := &config.Config{URL: "https://tape.example.org/sessions", Remotes: []config.Remote{{Name: "shop", URL: "/srv/shop.git", Groups: []string{"shop", "leads"}}, {Name: "bank", Groups: []string{"bank", "leads"}}},
		Auth: config.Auth{Kind: config.Tokens}}
	h, err := api.New(api.Options{Config: c, Store: s, Now: func() time.Time { return date(30) }, Log: slog.New(slog.DiscardHandler), Version: "v1"}, "127.0.0.1:8700")
	if err != nil {
		t.Fatal(err)
	}
	return &client{t, s, h}
}

// get requests a path, checks the status, and decodes the answer.
func (c *client) get(token, path string, want int, change ...func(*http.Request)) (out map[string]any) {
	c.t.Helper()
	w := c.ask(token, path, change...)
	if w.Code != want {
		c.t.Fatalf("%s: status %d, want %d: %s", path, w.Code, want, w.Body)
	}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			c.t.Fatalf("%s: %v: %s", path, err, w.Body)
		}
		return out
	}
	return map[string]any{"text": w.Body.String()}
}

// ask requests a path.
func (c *client) ask(token, path string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8700"+path, nil)
	r.RemoteAddr = "127.0.0.1:5"
	r.Header.Set("Authorization", "Bearer "+token)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	return w
}

func items(page map[string]any) (out []map[string]any) {
	for _, item := range page["items"].([]any) {
		out = append(out, item.(map[string]any))
	}
	return out
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	got := items(c.get("t-ada", "/v1/search?q=needle&limit=3", 200))
	if len(got) != 3 {
		t.Fatalf("%d hits, want 3: %v", len(got), got)
	}
	want := map[string]any{"remote": "shop", "tape": "main", "id": 10.0, "title": "Of shop", "date": "2026-11-20T10:09:00Z", "kind": "message", "role": "user", "author": "Ada", "snippet": "needle 9 of shop"}
	if fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("the first hit is %v, want %v", got[0], want)
	}
	if with := items(c.get("t-ada", "/sessions/v1/search?q=needle&limit=1&entries=true", 200))[0]; with["entry"] == nil || with["anchor"] != "start" {
		t.Errorf("with entries=true, entry or anchor is missing: %v", with)
	}
	if got := fmt.Sprint(c.store.audit); got != "[ada search needle ada search needle]" {
		t.Errorf("the audit is %s, want two searches", got)
	}
}

// TestPages: cursors lead through all results, each once. A cursor belongs to one query of one user.
func TestPages(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, path := range []string{"/v1/search?q=needle&limit=3", "/v1/sessions/shop/main/entries?limit=3", "/v1/sessions/shop/main/entries?limit=4&order=desc"} {
		seen, cursor := map[any]int{}, ""
		for {
			page := c.get("t-ada", path+"&cursor="+url.QueryEscape(cursor), 200)
			for _, item := range items(page) {
				seen[item["id"]]++
			}
			if page["next_cursor"] == nil {
				break
			}
			cursor = page["next_cursor"].(string)
		}
		if len(seen) != 10 {
			t.Errorf("%s: the entries are %v, want 10", path, seen)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s: %v came %d times, want once", path, id, n)
			}
		}
		c.get("t-eve", path+"&cursor="+url.QueryEscape(cursor), 422)
		c.get("t-ada", path+"&kind=message&cursor="+url.QueryEscape(cursor), 422)
	}
}

// TestGroups: a user who is in none of a remote's groups does not learn that it exists.
func TestGroups(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for token, want := range map[string]string{"t-ada": "shop", "t-bob": "bank", "t-eve": "shop bank"} {
		for _, path := range []string{"/v1/search?q=needle&limit=100", "/v1/sessions"} {
			seen := map[string]bool{}
			for _, item := range items(c.get(token, path, 200)) {
				seen[item["remote"].(string)] = true
			}
			for _, remote := range []string{"shop", "bank"} {
				if seen[remote] != strings.Contains(want, remote) {
					t.Errorf("%s %s shows the remotes %v, want %s", token, path, seen, want)
				}
			}
		}
	}
	if got := items(c.get("t-ada", "/v1/search?q=needle&remote=bank", 200)); len(got) > 0 {
		t.Errorf("a remote that the user does not see has hits: %v", got)
	}
	hidden, missing := c.get("t-ada", "/v1/sessions/bank/main/entries", 404), c.get("t-ada", "/v1/sessions/none/main/entries", 404)
	if strings.ReplaceAll(fmt.Sprint(hidden), "bank", "none") != fmt.Sprint(missing) {
		t.Errorf("a hidden remote is answered with %v, a missing one with %v; want the same", hidden, missing)
	}
	if text := c.get("t-ada", "/metrics", 200)["text"].(string); strings.Contains(text, "bank") || !strings.Contains(text, `tape_team_entries{remote="shop"} 10`) {
		t.Errorf("the metrics should be those of shop alone: %s", text)
	}
	if me := c.get("t-eve", "/v1/me", 200); fmt.Sprint(me) != "map[groups:[leads] name:eve remotes:[shop bank]]" {
		t.Errorf("eve is %v", me)
	}
}

// TestRefused: a bad request is answered with a message, and recorded nowhere.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for path, want := range map[string]int{"/v1/search": 422, "/v1/search?q=x&limit=0": 422, "/v1/search?q=x&limit=x": 422, "/v1/search?q=x&sort=age": 422, "/v1/search?q=x&kind=mesage": 422,
		"/v1/search?q=x&since=soon": 422, "/v1/search?q=x&lmit=3": 422, "/v1/search?q=x&tape=nowhere": 404, "/v1/search?q=x&cursor=x": 422, "/v1/sessions/shop/nowhere/entries": 404,
		"/v1/sessions/shop/main/entries?from=x": 422, "/v1/sessions/shop/main/entries?order=up": 422, "/v1/sessions?cursor=x": 422, "/v2": 404, "/mcp": 404} {
		if body := c.get("t-ada", path, want); body["error"].(map[string]any)["message"] == "" {
			t.Errorf("%s: the error has no message: %v", path, body)
		}
	}
	if len(c.store.audit) > 0 {
		t.Errorf("refused requests are in the audit: %v", c.store.audit)
	}
	c.get("wrong", "/v1/search?q=x", 401)
	c.get("t-ada", "/v1/search?q=x", 401, func(r *http.Request) { r.Header.Del("Authorization") })
	c.get("t-ada", "/v1/search?q=needle", 405, func(r *http.Request) { r.Method = http.MethodPost })
	c.get("t-ada", "/v1/search?q=needle", 403, func(r *http.Request) { r.Host = "evil.example" })
	c.get("t-ada", "/v1/search?q=needle", 200, func(r *http.Request) { r.Host = "tape.example.org" })
	c.get("", "/health", 200)
	c.store.full = true
	if w := c.ask("t-ada", "/v1/search?q=needle"); w.Code != http.StatusInsufficientStorage || w.Header().Get("Retry-After") != "10" {
		t.Errorf("with a full disk: status %d, Retry-After %q; want 507 and 10 seconds", w.Code, w.Header().Get("Retry-After"))
	}
	c.store.void = true
	c.get("t-ada", "/v1/search?q=needle", 401)
}

// TestDocument: the OpenAPI document has every endpoint, with its parameters.
func TestDocument(t *testing.T) {
	t.Parallel()
	doc := newClient(t).get("", "/v1/openapi.json", 200)
	paths := doc["paths"].(map[string]any)
	for _, path := range []string{"/v1/me", "/v1/search", "/v1/sessions", "/v1/sessions/{remote}/{tape}/entries"} {
		if paths[path] == nil {
			t.Errorf("%s is missing", path)
		}
	}
	if !strings.Contains(fmt.Sprint(paths["/v1/search"]), "author") {
		t.Error("the parameters of /v1/search lack the filters")
	}
}
