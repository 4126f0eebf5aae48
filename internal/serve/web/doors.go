package web

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strings"

	"tape/internal/serve/front"
)

// Paths that need no session, or end one.
const (
	assetsPath = "/assets/"
	logoutPath = "/logout"
)

type cookieKey struct{}

// cookieOf is the session cookie of a request.
func cookieOf(r *http.Request) string {
	value, _ := r.Context().Value(cookieKey{}).(string)
	return value
}

// cookie returns the session's cookie with a value. Its name contains the port, because a browser sends cookies to all
// ports of a machine. Behind TLS it is Secure, and its name keeps pages without TLS from setting it.
func (s *View) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{Name: "tape", Value: value, Path: s.root() + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		c.Name += "_" + port
	}
	if front.Of(r).Secure {
		c.Name, c.Secure = "__Secure-"+c.Name, true
	}
	return c
}

// SetHeaders sets the headers that all pages have.
func SetHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would make a form's Origin null
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// root is the prefix of links to all pages.
func (s *View) root() string { return s.Base + s.Path }

// guarded admits requests with a session, and begins one for those with a link. Pages are below a
// path that cannot be guessed, because a browser sends a cookie to every port of a machine, but
// only to its path.
func (s *View) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetHeaders(w.Header())
		if code := r.URL.Query().Get("link"); code != "" && r.URL.Path == "/" {
			s.enter(w, r, code)
			return
		}
		if strings.HasPrefix(r.URL.Path, assetsPath) {
			next.ServeHTTP(w, r)
			return
		}
		if s.Path != "" && r.URL.EscapedPath() == s.Path { // browsers send the cookie only below this path
			http.Redirect(w, r, s.root()+"/", http.StatusMovedPermanently)
			return
		}
		c, err := r.Cookie(s.cookie(r, "").Name)
		var session context.Context
		if err == nil {
			session = s.doors.Session(c.Value)
		}
		path, below := strings.CutPrefix(r.URL.EscapedPath(), s.Path)
		if session == nil || !below || !strings.HasPrefix(path, "/") {
			s.refuse(w, r)
			return
		}
		if s.KeepConn != nil {
			s.KeepConn(r)
		}
		ctx, stop := context.WithCancel(context.WithValue(r.Context(), cookieKey{}, c.Value))
		defer stop()
		defer context.AfterFunc(session, stop)() // following ends with the session
		r2, to := r.WithContext(ctx), *r.URL
		to.Path, to.RawPath = strings.TrimPrefix(to.Path, s.Path), strings.TrimPrefix(to.RawPath, s.Path)
		r2.URL = &to
		if path == logoutPath {
			s.leave(w, r2)
			return
		}
		next.ServeHTTP(w, r2)
	})
}

// enter begins a session for a request with a link's code.
func (s *View) enter(w http.ResponseWriter, r *http.Request, code string) {
	value := s.doors.Open(code)
	if value == "" {
		s.note("GET /?link", front.Of(r).Client, false)
		s.refuse(w, r)
		return
	}
	http.SetCookie(w, s.cookie(r, value))
	// With a redirect, the browser would not send the cookie if another site or a file led here.
	s.Plain(w, http.StatusOK, PlainPage{Title: "Welcome", To: s.root() + cmp.Or(s.Start, "/")})
}

// refuse says how to get in. If no link works any more, it has a new one printed.
func (s *View) refuse(w http.ResponseWriter, r *http.Request) {
	mode := r.Header.Get("Sec-Fetch-Mode") // it is not navigate if a browser asks for an icon by itself
	if s.NewLink != nil && r.Method == http.MethodGet && (mode == "" || mode == "navigate") {
		if code := s.doors.LinkIfNone(); code != "" {
			s.NewLink(code)
		}
	}
	s.Plain(w, http.StatusUnauthorized, PlainPage{Title: "No session", Text: "A link works once, within a minute. Look where the server runs: it has printed a new one."})
}

// leave ends a session, if the form comes from one of its pages.
func (s *View) leave(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if r.Method != http.MethodPost || !sameToken(r.PostFormValue("token"), formToken(r)) {
		s.Plain(w, http.StatusForbidden, PlainPage{Title: "Not shown", Text: "Log out with the button of a page."})
		return
	}
	s.doors.Close(cookieOf(r))
	ended := s.cookie(r, "")
	ended.MaxAge = -1
	http.SetCookie(w, ended)
	s.Plain(w, http.StatusOK, PlainPage{Title: "Logged out", Text: "This browser's session has ended. To come back, open the address without a path: the server prints a new link."})
}

// PlainPage is a page outside of the sessions.
type PlainPage struct {
	Title, Text, To string
	Link, LinkText  string
	LogIn           string // where the form for a token is sent to; "" means no form
	Make            string // where the button that makes a token is sent to; "" means no button
	Code            string // to be copied
	Back            string // the address of the sessions
}

// Plain writes a page that needs no session, and shows nothing of the workspace. If To is set, the browser goes there.
func (s *View) Plain(w http.ResponseWriter, code int, p PlainPage) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_ = s.pages.ExecuteTemplate(w, "plain.html", p)
}

func (s *View) note(action, resource string, ok bool) {
	if s.Note != nil {
		s.Note(action, resource, ok)
	}
}

func formToken(r *http.Request) string { return derivedToken(cookieOf(r), "forms of the web view") }
