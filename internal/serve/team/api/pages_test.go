package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
)

// rows has a session of four entries, and a fork that begins after its second entry and has two of its own.
type rows struct{ find.Source }

var sessions = []db.Session{
	{Remote: "shop", Tape: db.Tape{ID: 1, Ref: "refs/heads/tape/main", Name: "main", Title: "The cart", FirstID: 1, LastID: 4, Project: "/home/ada/cart"}},
	{Remote: "shop", Tape: db.Tape{ID: 2, Ref: "refs/heads/fork/main/try it", Name: "main/try it", FirstID: 3, LastID: 4}},
}

func (rows) Sessions(_ context.Context, c db.Choice) (out []db.Session, err error) {
	for _, s := range sessions {
		if (c.Name == "" || c.Name == s.Name) && strings.HasPrefix(s.Name, c.Under) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (rows) Entries(_ context.Context, s db.Session, q db.Range, yield func(db.Stored) bool) error {
	for id := max(q.First, s.FirstID); id <= s.LastID && (q.Last == 0 || id <= q.Last); id++ {
		line := fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"%d of %s"},"meta":{},"date":"2026-11-20T10:00:00Z"}`, id, id, s.Name)
		if !yield(db.Stored{Key: db.Key{ID: id}, Anchor: "start", Phase: 1, Line: line}) {
			break
		}
	}
	return nil
}

func (r rows) Containing(ctx context.Context, s db.Session, part string, most int) (ids []int64, err error) {
	err = r.Entries(ctx, s, db.Range{}, func(e db.Stored) bool {
		if strings.Contains(e.Line, part) && len(ids) < most {
			ids = append(ids, e.Key.ID)
		}
		return true
	})
	return ids, err
}

func newPages(t *testing.T) (*Pages, *Visitor) {
	c := &config.Config{URL: "https://tape.example.org", Remotes: []config.Remote{{Name: "shop", URL: "https://bot:secret@git.example.org/shop sessions.git"}}}
	return NewPages(t.Context(), c, time.Now), &Visitor{Remotes: []string{"shop"},
		Source: func(context.Context, []string) (find.Source, error) { return rows{}, nil },
		Audit:  func(context.Context, string, string) error { return nil }}
}

// TestFork: a fork begins with the entries of its parent, whichever range is read.
func TestFork(t *testing.T) {
	t.Parallel()
	p, v := newPages(t)
	for path, want := range map[string]string{
		"/w/shop/t/main%2Ftry%20it":           "1 of main, 2 of main, 3 of main/try it, 4 of main/try it",
		"/w/shop/t/main%2Ftry%20it/-/raw/1":   "1 of main",
		"/w/shop/t/main%2Ftry%20it/-/raw/4":   "4 of main/try it",
		"/w/shop/t/main":                      "1 of main, 2 of main, 3 of main, 4 of main",
		"/w/shop/t/main%2Ftry%20it/-/outline": "",
	} {
		w := httptest.NewRecorder()
		p.Show(w, httptest.NewRequest(http.MethodGet, path, nil), v)
		body, at := w.Body.String(), 0
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, w.Code, body)
		}
		for part := range strings.SplitSeq(want, ", ") {
			i := strings.Index(body[at:], part+"<")
			if strings.Contains(path, "raw") {
				i = strings.Index(body, part+`"`)
			}
			if i < 0 {
				t.Errorf("%s lacks %q at its place:\n%s", path, part, body)
				break
			}
			at += i
		}
	}
}

// TestFind: what is found in a fork is what its page shows, with the entries of its parent.
func TestFind(t *testing.T) {
	t.Parallel()
	p, v := newPages(t)
	for path, want := range map[string]string{
		"/w/shop/t/main%2Ftry%20it/-/find?q=of+main":  "[1,2,3,4]",
		"/w/shop/t/main%2Ftry%20it/-/find?q=1+of":     "[1]",
		"/w/shop/t/main%2Ftry%20it/-/find?q=main/try": "[3,4]",
		"/w/shop/t/main/-/find?q=of":                  "[1,2,3,4]",
		"/w/shop/t/main/-/find?q=none":                "[]",
	} {
		w := httptest.NewRecorder()
		p.Show(w, httptest.NewRequest(http.MethodGet, path, nil), v)
		if got := strings.TrimSpace(w.Body.String()); got != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, got, want)
		}
	}
	ids, err := (&tape{rows: rows{}, row: sessions[1]}).containing(t.Context(), "of", 3)
	if err != nil || !slices.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("found %v (%v), want the first three", ids, err)
	}
}

// TestContinue: the commands are quoted for a shell, and do not show the remote's password.
func TestContinue(t *testing.T) {
	t.Parallel()
	p, v := newPages(t)
	w := httptest.NewRecorder()
	p.Show(w, httptest.NewRequest(http.MethodGet, "/w/shop/t/main%2Ftry%20it", nil), v)
	for _, want := range []string{"tape clone https://git.example.org/shop%20sessions.git\n", "tape resume &#39;main/try it&#39;\n"} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(w.Body.String(), "secret") {
		t.Error("the page shows the password of the remote")
	}
}

// TestProjects: folders with the same name are one project.
func TestProjects(t *testing.T) {
	t.Parallel()
	folders := []string{"/home/ada/cart", "/home/bob/cart", "/home/bob/bank"}
	if got := strings.Join(projectNames(folders), " "); got != "bank cart" {
		t.Errorf("the projects are %s, want bank cart", got)
	}
	if got, want := strings.Join(foldersOf(folders, "cart"), " "), "/home/ada/cart /home/bob/cart"; got != want {
		t.Errorf("the folders of cart are %s, want %s", got, want)
	}
	if got := foldersOf(folders, "none"); got == nil || len(got) > 0 {
		t.Errorf("the folders of an unknown project are %#v, want an empty list, because nil means all", got)
	}
}
