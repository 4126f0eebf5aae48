package api

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/pages"
	"tape/internal/serve/web"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"
	// cookieName is the cookie that has a browser's token. It is sent to this server alone, and no script can read it.
	cookieName = "tape_team"
	// cookieTime is how long a browser keeps it. The token may be void earlier.
	cookieTime = 90 * 24 * time.Hour
	maxForm    = 8 << 10
)

// browse answers a browser.
func (s *Server) browse(w http.ResponseWriter, r *http.Request, path string) error {
	web.SetHeaders(w.Header())
	switch {
	case strings.HasPrefix(path, "/assets/"):
		s.Pages.Show(w, r, nil)
		return nil
	case path == loginPath && r.Method == http.MethodPost && s.Config.Auth.Kind == config.Tokens:
		return s.logIn(w, r)
	case path == logoutPath && r.Method == http.MethodPost:
		s.setCookie(w, "", -1)
		s.Pages.Plain(w, http.StatusOK, web.PlainPage{Title: "Logged out", Text: "This browser no longer has your token.", To: s.Config.Path() + "/"})
		return nil
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
	c := &request{Server: s, user: user}
	s.Pages.Show(w, r, &pages.Visitor{Remotes: s.Config.Seen(user.Groups), LogOut: byCookie, Source: s.Store.Source, Audit: c.audit})
	return nil
}

// visitor finds out who uses a browser: by its cookie, otherwise as for programs.
func (s *Server) visitor(r *http.Request) (u User, byCookie bool, err error) {
	c, err := r.Cookie(cookieName)
	if err != nil || s.Config.Auth.Kind != config.Tokens {
		u, err = s.userOf(r)
		return u, false, err
	}
	u, err = s.userOfToken(r.Context(), c.Value)
	return u, true, err
}

// logIn gives a browser a cookie, if the token of the form is valid.
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
	s.setCookie(w, token, int(cookieTime.Seconds()))
	http.Redirect(w, r, s.goal(r.URL.Query().Get("to")), http.StatusSeeOther)
	return nil
}

// refuse asks somebody to log in.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, why string) {
	here := s.Config.Path() + r.URL.RequestURI()
	switch {
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate":
		// A browser does not send the cookie when a link on another site led here. It does when it goes on from here.
		s.Pages.Plain(w, http.StatusOK, web.PlainPage{Title: "Sessions", To: here})
	case s.Config.Auth.Kind == config.Tokens:
		s.loginPage(w, http.StatusUnauthorized, here, "Paste the token that you were given.")
	default:
		s.Pages.Plain(w, http.StatusUnauthorized, web.PlainPage{Title: "Not logged in", Text: strings.ToUpper(why[:1]) + why[1:] + "."})
	}
}

func (s *Server) loginPage(w http.ResponseWriter, status int, to, text string) {
	s.Pages.Plain(w, status, web.PlainPage{Title: "Log in", Text: text, LogIn: s.Config.Path() + loginPath + "?" + url.Values{"to": {to}}.Encode()})
}

// goal returns the page to go to after a login, which is one of this server.
func (s *Server) goal(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(to, s.Config.Path()+"/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) {
		return s.Config.Path() + "/"
	}
	return to
}

func (s *Server) setCookie(w http.ResponseWriter, value string, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: value, Path: s.Config.Path() + "/", MaxAge: seconds, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: strings.HasPrefix(s.Config.URL, "https://")})
}
