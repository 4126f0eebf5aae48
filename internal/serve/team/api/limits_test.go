package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What people search for is recorded without secrets, and somebody who searches without end is refused, alone.
func TestSearchesOfAPerson(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	secret := "ghp_A1b2C3d4E5f6G7h8" + "I9j0K1l2M3n4O5p6Q7r8"
	c.get("t-ada", "/v1/search?q="+secret, 200)
	if got := strings.Join(c.store.audit, ", "); strings.Contains(got, secret) || !strings.Contains(got, "ada search [redacted:github-token:") {
		t.Errorf("the audit has the secret: %s", got)
	}
	refused := false
	for range 100 {
		r := c.ask("t-ada", "/v1/search?q=needle")
		refused = refused || r.Code == http.StatusTooManyRequests && r.Header().Get("Retry-After") != ""
	}
	if !refused {
		t.Error("100 searches in a moment are answered")
	}
	c.get("t-bob", "/v1/search?q=needle", 200)
}

// A NUL byte is a mistake of the client, wherever it is.
func TestNUL(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for _, path := range []string{"/v1/search?q=a%00b", "/v1/search?q=a&author=%00", "/v1/sessions?grep=%00", "/v1/sessions/shop/ma%00in/entries", "/v1/search?q=%ff", "/w/shop/?q=%00"} {
		c.get("t-ada", path, 400)
	}
}

// A login leads to a page of this server, below its prefix.
func TestWhereALoginLeads(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newClient(t))
	for to, want := range map[string]string{"/sessions/w/shop/": "/sessions/w/shop/", "/sessions/../evil": "/sessions/", "/sessions/%2e%2e/evil": "/sessions/", "/sessions/w/%2E./../../x": "/sessions/",
		"//evil.example/sessions/": "/sessions/", "https://evil.example/sessions/": "/sessions/", "/other": "/sessions/", "/sessionsx/": "/sessions/", `/sessions/\..\evil`: "/sessions/"} {
		w := b.send(http.MethodPost, "/sessions/login?to="+url.QueryEscape(to), "token=t-ada")
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("to=%s leads to %q, want %q", to, got, want)
		}
	}
}
