package api_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/team/api"
)

// browser is a browser with a cookie.
type browser struct {
	*client
	cookie string
}

func newBrowser(t *testing.T, c *client) *browser {
	s := c.h.(*api.Server)
	s.Pages = api.NewPages(t.Context(), s.Config, func() time.Time { return date(30) })
	return &browser{client: c}
}

func (b *browser) send(method, path, form string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	b.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8700"+path, strings.NewReader(form))
	r.RemoteAddr = "127.0.0.1:5"
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if b.cookie != "" {
		r.Header.Set("Cookie", b.cookie)
	}
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	return w
}

func (b *browser) logIn(token string) {
	b.t.Helper()
	w := b.send(http.MethodPost, "/sessions/login?to=%2Fsessions%2Fw%2Fshop%2F", "token="+token)
	cookie := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/sessions/w/shop/" {
		b.t.Fatalf("log in: status %d to %q, want 303 to /sessions/w/shop/", w.Code, w.Header().Get("Location"))
	}
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Secure", "Path=/sessions/"} {
		if !strings.Contains(cookie, want) {
			b.t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	b.cookie, _, _ = strings.Cut(cookie, ";")
}

// TestBrowser: a user logs in, reads the remote of the user's group, and logs out. Nothing shows the other
// remote.
func TestBrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newClient(t))
	if w := b.send(http.MethodGet, "/sessions/w/shop/t/main?x=1", ""); w.Code != http.StatusUnauthorized ||
		!strings.Contains(w.Body.String(), `action="/sessions/login?to=`+url.QueryEscape("/sessions/w/shop/t/main?x=1")) || strings.Contains(w.Body.String(), "needle") {
		t.Errorf("without a cookie: status %d, want 401 and a form to log in: %s", w.Code, w.Body)
	}
	if w := b.send(http.MethodPost, "/sessions/login", "token=wrong"); w.Code != http.StatusUnauthorized || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("a wrong token: status %d, want 401 and no cookie: %s", w.Code, w.Body)
	}
	b.logIn("t-ada")
	for path, wants := range map[string][]string{
		"/sessions/":                             {"Of shop", "1 session", "Ada"},
		"/sessions/search?q=needle":              {"<mark>needle</mark> 9 of shop", `href="/sessions/w/shop/t/main/@10"`},
		"/sessions/w/shop/t/main":                {"needle 3 of shop", "tape clone /srv/shop.git", "tape resume main"},
		"/sessions/w/shop/t/main/-/raw/4":        {`"content":"needle 3 of shop"`},
		"/sessions/w/shop/t/main/-/find?q=x":     {"[3]"},
		"/sessions/assets/page.js":               {"main"},
		"/sessions/w/shop/t/main/-/export/jsonl": nil,
	} {
		w := b.send(http.MethodGet, path, "")
		for _, want := range wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s lacks %q: %d %s", path, want, w.Code, w.Body)
			}
		}
		if strings.Contains(w.Body.String(), "bank") {
			t.Errorf("%s shows the other remote", path)
		}
	}
	// A remote that the user does not see is answered like one that does not exist.
	for _, path := range []string{"/sessions/w/REMOTE/", "/sessions/w/REMOTE/t/main", "/sessions/w/REMOTE/search?q=needle"} {
		hidden, none := b.send(http.MethodGet, strings.Replace(path, "REMOTE", "bank", 1), ""), b.send(http.MethodGet, strings.Replace(path, "REMOTE", "nope", 1), "")
		if hidden.Code != http.StatusNotFound || strings.ReplaceAll(hidden.Body.String(), "bank", "nope") != none.Body.String() {
			t.Errorf("%s: status %d, want 404, and the page for a remote that does not exist: %s", path, hidden.Code, hidden.Body)
		}
	}
	if got := strings.Join(b.store.audit, ", "); !strings.Contains(got, "ada search needle") || !strings.Contains(got, "ada read shop/main") {
		t.Errorf("the audit lacks the search or the reading: %s", got)
	}
	if w := b.send(http.MethodPost, "/sessions/logout", "token=x", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); w.Code != http.StatusForbidden {
		t.Errorf("another site logs the user out: status %d, want 403", w.Code)
	}
	if w := b.send(http.MethodPost, "/sessions/logout", "token=x"); w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("log out: status %d, want 200 and no cookie: %s", w.Code, w.Header())
	}
	b.store.void = true
	if w := b.send(http.MethodGet, "/sessions/", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("after the token was revoked: status %d, want 401", w.Code)
	}
}

// TestLinks: every link on the pages leads to a page.
func TestLinks(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newClient(t))
	b.logIn("t-ada")
	link := regexp.MustCompile(`(?:href|src|data-src|action)="([^"#][^"]*)"`)
	todo, seen := []string{"/sessions/", "/sessions/search?q=needle", "/sessions/w/shop/t/main/@4"}, map[string]bool{}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] || len(seen) > 500 {
			continue
		}
		seen[path] = true
		w := b.send(http.MethodGet, path, "")
		if w.Code != http.StatusOK && path != "/sessions/logout" {
			t.Errorf("the link %s: status %d, want 200", path, w.Code)
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || strings.Contains(path, "/-/export/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(w.Body.String(), -1) {
			todo = append(todo, html.UnescapeString(m[1]))
		}
	}
	if len(seen) < 20 {
		t.Errorf("the pages have only %d links, want 20 or more", len(seen))
	}
}

// TestBrowserElsewhere: a login leads to no other site, and a link on another site leads to the page that it
// names.
func TestBrowserElsewhere(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, newClient(t))
	for _, to := range []string{"https://evil.example/", "//evil.example/", "/sessions/\\evil", "/elsewhere"} {
		w := b.send(http.MethodPost, "/sessions/login?"+url.Values{"to": {to}}.Encode(), "token=t-ada")
		if w.Header().Get("Location") != "/sessions/" {
			t.Errorf("a login for %s leads to %s, want /sessions/", to, w.Header().Get("Location"))
		}
	}
	w := b.send(http.MethodGet, "/sessions/w/shop/t/main", "", func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	})
	if !strings.Contains(w.Body.String(), `http-equiv="refresh" content="0; url=/sessions/w/shop/t/main"`) {
		t.Errorf("from another site: status %d, want a page that leads on: %s", w.Code, w.Body)
	}
	p := newBrowser(t, newProxied(t))
	as := func(user, groups string) func(*http.Request) {
		return func(r *http.Request) {
			r.RemoteAddr = "192.0.2.1:5"
			r.Header.Set("X-Forwarded-User", user)
			r.Header.Set("X-Forwarded-Groups", groups)
			r.Header.Set("X-Forwarded-Host", "tape.example.org")
		}
	}
	if w := p.send(http.MethodGet, "/sessions/", "", as("ada", "shop")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Of shop") || strings.Contains(w.Body.String(), "logout") {
		t.Errorf("behind a proxy: status %d, want the sessions of shop, and no way to log out: %s", w.Code, w.Body)
	}
	if w := p.send(http.MethodGet, "/sessions/", "", as("", "")); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "<form") {
		t.Errorf("a proxy that names nobody: status %d, want 401 and no form: %s", w.Code, w.Body)
	}
}
