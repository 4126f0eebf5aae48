package hostcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/links"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// server has a handler with a clock of its own. Its workspace has two sessions. There is another workspace.
type server struct {
	*testing.T
	store, other *repo.Store
	now          time.Time
	noted        []string
	h            *linkPages
}

func newServer(t *testing.T, all bool) *server {
	home := t.TempDir()
	t.Setenv(repo.EnvHome, home)
	s := &server{T: t, now: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)}
	for _, one := range []struct {
		name string
		into **repo.Store
	}{{"shop", &s.store}, {"bank", &s.other}} {
		store, _, err := repo.Init(t.Context(), filepath.Join(home, one.name), nil)
		storetest.Must(t, err)
		storetest.Append(t, storetest.Tape(t, store, "main"), repo.Message("user", "main of "+one.name))
		*one.into = store
	}
	_, err := s.store.CreateTape(t.Context(), "second")
	storetest.Must(t, err)
	storetest.Append(t, storetest.Tape(t, s.store, "second"), repo.Message("user", "second of shop"))
	s.h = newLinkPages(linkPages{Store: s.store, All: all, Now: func() time.Time { return s.now },
		Note: func(action, resource string, done bool) {
			s.noted = append(s.noted, fmt.Sprint(action, " ", resource, " ", done))
		},
		Write: func(ctx context.Context, w io.Writer, t *repo.Tape) error {
			for e, err := range t.Entries(ctx, repo.Query{}) {
				if _, werr := w.Write(e.Raw); err != nil || werr != nil {
					return errors.Join(err, werr)
				}
			}
			return nil
		}})
	return s
}

// add makes a link to a tape that is valid for a day, and returns its address.
func (s *server) add(store *repo.Store, tape string) (links.Link, string) {
	s.Helper()
	l, code, err := links.Add(s.Context(), store, storetest.Tape(s.T, store, tape), s.now, s.now.Add(24*time.Hour))
	storetest.Must(s.T, err)
	return l, links.Path + code
}

// shows requests an address, and checks the status, and what the page has and does not have.
func (s *server) shows(method, path string, want int, has, hasNot string) {
	s.Helper()
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	if w.Code != want || !strings.Contains(w.Body.String(), has) || hasNot != "" && strings.Contains(w.Body.String(), hasNot) {
		s.Errorf("%s %s: status %d, want %d with %q and without %q: %s", method, path, w.Code, want, has, hasNot, w.Body)
	}
	if w.Header().Get("Referrer-Policy") != "no-referrer" || w.Header().Get("Cache-Control") != "no-store" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
		s.Errorf("%s: a header that protects the page is missing: %v", path, w.Header())
	}
}

// TestLink: a link shows its session and no other, until it expires or is revoked.
func TestLinkPage(t *testing.T) {
	s := newServer(t, false)
	first, one := s.add(s.store, "main")
	second, two := s.add(s.store, "second")
	s.shows("GET", one, 200, "main of shop", "second of shop")
	s.shows("GET", two, 200, "second of shop", "main of shop")
	s.shows("POST", one, 405, "", "main of shop")
	for _, path := range []string{links.Path, links.Path + "x", one + "x", one[:len(one)-1], one + "/x", links.Path + first.Hash} {
		s.shows("GET", path, 404, "leads nowhere", "of shop")
	}
	storetest.Append(t, storetest.Tape(t, s.store, "main"), repo.Message("user", "added later"))
	s.shows("GET", one, 200, "added later", "")
	raw, err := os.ReadFile(s.store.UsersPath("links.json"))
	if err != nil || strings.Contains(string(raw), strings.TrimPrefix(one, links.Path)) {
		t.Errorf("the code is stored: %s, %v", raw, err)
	}
	if _, err := links.Revoke(t.Context(), s.store, first.ID, s.now); err != nil {
		t.Fatal(err)
	}
	s.shows("GET", one, 404, "leads nowhere", "of shop")
	if _, err := links.Revoke(t.Context(), s.store, first.ID, s.now); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("a link is revoked twice: %v, want ErrNotFound", err)
	}
	if list, err := links.All(s.store, s.now); err != nil || len(list) != 1 || list[0].ID != second.ID {
		t.Errorf("after one was revoked, the links are %v (%v), want the second", list, err)
	}
	s.now = s.now.Add(24 * time.Hour)
	s.shows("GET", two, 404, "leads nowhere", "of shop")
	if list, err := links.All(s.store, s.now); err != nil || len(list) != 0 {
		t.Errorf("expired links are listed: %v (%v)", list, err)
	}
	if third, _ := s.add(s.store, "main"); third.ID != 3 {
		t.Errorf("the third link has the number %d, want 3", third.ID)
	}
	if got := strings.Join(s.noted, "\n"); !strings.Contains(got, "GET /s/ link 1 to main true") || strings.Contains(got, strings.TrimPrefix(one, links.Path)) {
		t.Errorf("the notes should name link 1 and have no code: %s", got)
	}
}

// TestOtherTape: a link does not lead to another session that has the name later.
func TestOtherTape(t *testing.T) {
	s := newServer(t, false)
	_, link := s.add(s.store, "second")
	_, err := storetest.Tape(t, s.store, "second").Remove(t.Context(), false)
	storetest.Must(t, err)
	s.shows("GET", link, 404, "leads nowhere", "")
	_, err = s.store.CreateTape(t.Context(), "second")
	storetest.Must(t, err)
	s.shows("GET", link, 404, "leads nowhere", "")
}

// TestAll: links of the user's other workspaces work at a server of all workspaces, and not at that of one.
func TestAll(t *testing.T) {
	s := newServer(t, true)
	_, link := s.add(s.other, "main")
	s.shows("GET", link, 200, "main of bank", "shop")
	s.h = newLinkPages(linkPages{Store: s.store, Now: s.h.Now, Note: s.h.Note, Write: s.h.Write})
	s.shows("GET", link, 404, "leads nowhere", "bank")
}

// TestUnreadable: a page that cannot be made is an error, not half a page.
func TestUnreadable(t *testing.T) {
	s := newServer(t, false)
	_, link := s.add(s.store, "main")
	s.h.Write = func(_ context.Context, w io.Writer, _ *repo.Tape) error {
		_, _ = io.WriteString(w, "half a page")
		return errors.New("damaged")
	}
	s.shows(http.MethodGet, link, 500, "cannot be shown", "half")
}
