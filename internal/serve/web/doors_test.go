package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"tape/internal/serve/web"
)

// formToken returns the token of a page's forms.
func formToken(page string) string {
	if m := regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}

// TestDoors: a link works once, within a minute. Its cookie is only for the pages of this server, and does not work
// after the logout.
func TestDoors(t *testing.T) {
	s, now := newSite(t, false), time.Now()
	s.session()
	var printed, noted []string
	known := 0
	const path = "/v/secret"
	view := web.New(t.Context(), web.Options{Store: s.store, Path: path, Now: func() time.Time { return now },
		NewLink:  func(code string) { printed = append(printed, web.LinkPath(code)) },
		KeepConn: func(*http.Request) { known++ },
		Note:     func(action, _ string, done bool) { noted = append(noted, fmt.Sprint(action, done)) }})
	srv := httptest.NewServer(view)
	defer view.Wait()
	defer srv.Close()
	var cookie *http.Cookie
	ask := func(method, path string, form url.Values) (int, string, *http.Response) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(form.Encode()))
		must(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		must(t, err)
		return res.StatusCode, string(body), res
	}
	wants := func(want int, path string) {
		t.Helper()
		if code, body, _ := ask("GET", path, nil); code != want || want == 401 && (strings.Contains(body, path) || !strings.Contains(body, "new one")) {
			t.Errorf("%s answers %d, want %d: %s", path, code, want, body)
		}
	}
	late, link := view.Link(), view.Link()
	wants(401, late)                         // a newer link has replaced it
	code, page, res := ask("GET", link, nil) // no redirect: a browser that comes from a file would not send its new cookie
	if code != http.StatusOK || !strings.Contains(page, `http-equiv="refresh" content="0; url=`+path+`/"`) || len(res.Cookies()) != 1 {
		t.Fatalf("the link answers %d %v %s, want a cookie and a page that leads to %s/", code, res.Header, page, path)
	}
	got := res.Cookies()[0]
	if port := srv.URL[strings.LastIndex(srv.URL, ":")+1:]; got.Name != "tape_"+port || got.Path != path+"/" || !got.HttpOnly || got.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie is %+v, want tape_%s for %s/ only", got, port, path)
	}
	wants(401, link) // it was used
	if code, _, res := ask("GET", path, nil); code != http.StatusMovedPermanently || res.Header.Get("Location") != path+"/" {
		t.Errorf("the path without its slash answers %d %v, want a redirect to %s/", code, res.Header, path)
	}
	if len(printed) != 1 {
		t.Fatalf("the printed links are %q, want 1", printed)
	}
	wants(401, path+"/")
	if len(printed) != 1 {
		t.Errorf("a link is printed while the previous one still works: %q", printed)
	}
	now = now.Add(time.Minute)
	wants(401, printed[0]) // too late
	if len(printed) != 2 {
		t.Errorf("the printed links are %q, want 2", printed)
	}
	wants(200, "/assets/style.css")
	cookie = got
	wants(401, "/t/main") // pages are only below the path
	if known != 0 {
		t.Error("KeepConn was called for a request without a session")
	}
	wants(404, path+"/t/nothing")
	if known != 1 {
		t.Errorf("KeepConn was called %d times for a request with a session, want 1", known)
	}
	_, page, _ = ask("GET", path+"/t/main", nil)
	for _, m := range regexp.MustCompile(`(?:href|action|src)="(/[^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], path+"/") && !strings.HasPrefix(m[1], "/assets/") {
			t.Errorf("the page leads out of its path: %s", m[0])
		}
	}
	cookie = &http.Cookie{Name: "tape_1", Value: got.Value} // of another port
	wants(401, path+"/t/main")
	cookie = got
	if code, _, _ := ask("POST", path+"/logout", nil); code != http.StatusForbidden {
		t.Errorf("a logout without the token answers %d, want 403", code)
	}
	follow, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path+"/t/main/-/follow", nil)
	must(t, err)
	follow.AddCookie(got)
	followed, err := http.DefaultTransport.RoundTrip(follow)
	must(t, err)
	defer followed.Body.Close()
	if code, _, _ := ask("POST", path+"/logout", url.Values{"token": {formToken(page)}}); code != http.StatusOK {
		t.Errorf("the logout answers %d, want 200", code)
	}
	if _, err := io.ReadAll(followed.Body); err != nil { // it ends with the session
		t.Error(err)
	}
	wants(401, path+"/t/main")
	if got, want := strings.Join(noted, ", "), "GET /?linkfalse, GET /?linkfalse, GET /?linkfalse"; got != want {
		t.Errorf("noted %s, want %s", got, want)
	}
}
