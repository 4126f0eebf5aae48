package api

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/web"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"
	tokenPath  = "/token"
	// cookieName is the cookie with a browser's token, or, with OpenID Connect, its session. It is sent to this server
	// alone, and no script can read it.
	cookieName = "tape_team"
	// cookieTime is how long a browser keeps a token. The token may be void earlier.
	cookieTime = 90 * 24 * time.Hour
	maxForm    = 8 << 10 // bytes
)

// browse answers a browser.
func (s *Server) browse(w http.ResponseWriter, r *http.Request, page string) error {
	web.SetHeaders(w.Header())
	switch {
	case strings.HasPrefix(page, "/assets/"):
		s.Pages.Show(w, r, nil)
		return nil
	case page == loginPath && r.Method == http.MethodPost && s.Config.Auth.Kind == config.Tokens:
		return s.logIn(w, r)
	case page == loginPath && s.OIDC != nil:
		return s.begin(w, r)
	case page == CallbackPath && s.OIDC != nil:
		return s.finish(w, r)
	case page == logoutPath && r.Method == http.MethodPost:
		http.SetCookie(w, s.cookie(cookieName, "", -1))
		if err := s.endLogin(r); err != nil {
			return err
		}
		s.Pages.Plain(w, http.StatusOK, web.PlainPage{Title: "Logged out", Text: "This browser is no longer logged in.", Link: s.Config.Path() + "/", LinkText: "Log in"})
		return nil
	case page == tokenPath && s.Config.Auth.Kind == config.Tokens:
		s.Pages.Plain(w, http.StatusOK, web.PlainPage{Title: "A token for the command line", Text: "Ask whoever runs this server: tape team token add makes one."})
		return nil
	case page == tokenPath && r.Method == http.MethodPost:
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", http.MethodGet)
		return api.NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "the pages only read: use GET")
	}
	user, byCookie, err := s.visitor(r)
	if err != nil {
		if p := api.ProblemOf(err); p.Status == http.StatusUnauthorized {
			s.refuse(w, r, p.Message)
			return nil
		}
		return err
	}
	if page == tokenPath {
		return s.tokenPage(w, r, user)
	}
	c := &request{Server: s, user: user}
	s.Pages.Show(w, r, &Visitor{Remotes: s.Config.Seen(user.Groups), LogOut: byCookie, Source: s.Store.Source, Audit: c.audit,
		Typed: func(ctx context.Context, text string) error { return s.search(ctx, user.Name, text, true) }})
	return nil
}

// visitor finds out who uses a browser: by its cookie, or without one as for programs.
func (s *Server) visitor(r *http.Request) (u User, byCookie bool, err error) {
	c, err := r.Cookie(cookieName)
	if err == nil && s.Config.Auth.Kind == config.Tokens {
		u, err = s.userOfToken(r.Context(), c.Value)
		return u, true, err
	}
	if s.OIDC != nil {
		if u, ok, err := s.signedIn(r); ok || err != nil {
			return u, true, err
		}
	}
	u, err = s.userOf(r)
	return u, false, err
}

// logIn gives a browser a cookie, if the token in the form is valid.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	token := strings.TrimSpace(r.PostFormValue("token"))
	if _, err := s.userOfToken(r.Context(), token); err != nil {
		if api.ProblemOf(err).Status != http.StatusUnauthorized {
			return err
		}
		s.loginPage(w, http.StatusUnauthorized, s.goal(r.URL.Query().Get("to")), "The token is unknown, expired or revoked.")
		return nil
	}
	http.SetCookie(w, s.cookie(cookieName, token, cookieTime))
	http.Redirect(w, r, s.goal(r.URL.Query().Get("to")), http.StatusSeeOther)
	return nil
}

// refuse asks somebody to log in.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why string) {
	here := s.Config.Path() + r.URL.RequestURI()
	switch {
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate":
		// A browser does not send the cookie when a link on another site leads here. From this page it does.
		s.Pages.Plain(w, http.StatusOK, web.PlainPage{Title: "Sessions", To: here})
	case s.Config.Auth.Kind == config.Tokens:
		s.loginPage(w, http.StatusUnauthorized, here, "Paste the token that you were given.")
	case s.OIDC != nil:
		s.Pages.Plain(w, http.StatusUnauthorized, web.PlainPage{Title: "Sessions", Text: "You are not logged in.", Link: s.loginLink(here), LinkText: "Log in"})
	default:
		s.Pages.Plain(w, http.StatusUnauthorized, web.PlainPage{Title: "Not logged in", Text: sentence(why)})
	}
}

func (s *Server) loginPage(w http.ResponseWriter, status int, to, text string) {
	s.Pages.Plain(w, status, web.PlainPage{Title: "Log in", Text: text, LogIn: s.loginLink(to)})
}

// goal returns the page to go to after a login, which is one of this server.
func (s *Server) goal(to string) string {
	u, err := url.Parse(to)
	below := s.Config.Path() + "/"
	// A browser takes .. out of a path, also as %2e%2e.
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, below) || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) || !strings.HasPrefix(path.Clean(u.Path)+"/", below) {
		return s.Config.Path() + "/"
	}
	return to
}

// cookie returns a cookie for a time; a negative one removes it.
func (s *Server) cookie(name, value string, lasts time.Duration) *http.Cookie {
	seconds := int(lasts.Seconds())
	if lasts < 0 {
		seconds = -1
	}
	return &http.Cookie{Name: name, Value: value, Path: s.Config.Path() + "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(s.Config.URL, "https://")}
}
