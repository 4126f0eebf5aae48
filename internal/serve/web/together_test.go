package web_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/serve/web"
	"tape/repo"
)

// TestTogether: the first pages show the sessions of all the user's workspaces, with links that lead to each.
// A server of one workspace shows no other.
func TestTogether(t *testing.T) {
	s := newSite(t, false)
	other, err := repo.Open(t.Context(), filepath.Join(filepath.Dir(s.store.Dir()), "other place"), nil)
	must(t, err)
	for store, text := range map[*repo.Store]string{s.store: "a retry in the shop", other: "a retry elsewhere"} {
		tape, err := store.Tape(t.Context(), "")
		must(t, err)
		_, err = tape.Append(t.Context(), nil, repo.Message("user", text))
		must(t, err)
	}
	s.shows("/", "a retry in the shop", "a retry elsewhere", `href="/t/main"`, `href="/w/other%20place/t/main"`)
	s.shows("/search?q=retry", "2 found", `href="/t/main/@2"`, `href="/w/other%20place/t/main/@2"`)
	s.shows("/w/other%20place/t/main", "a retry elsewhere")
	if page := s.shows("/w/other%20place/", "a retry elsewhere"); strings.Contains(page, "in the shop") {
		t.Error("the list of one workspace has sessions of another")
	}

	alone := newSiteOf(t, web.Options{Store: s.store})
	if page := alone.shows("/", "a retry in the shop"); strings.Contains(page, "elsewhere") || strings.Contains(page, "other place") {
		t.Error("a server of one workspace shows another")
	}
	alone.shows("/search?q=retry", "1 found")
	if code, _ := alone.get("/w/other%20place/"); code != http.StatusNotFound {
		t.Errorf("a server of one workspace answers %d about another, want 404", code)
	}
}
