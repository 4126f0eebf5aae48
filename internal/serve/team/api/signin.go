package api

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/serve/web"
)

const (
	// beganCookie remembers a login while its user is at the issuer. It is SameSite=Lax, because the browser comes back
	// here from the issuer's page.
	beganCookie = "tape_team_login"
	beganTime   = 10 * time.Minute
	// sessionTime is how long a login lasts. When a user's groups change, that takes effect at the next login.
	sessionTime = 12 * time.Hour
	// tokenTime is how long a token lasts that people make for themselves. It keeps the groups that they have when they
	// make it.
	tokenTime = 30 * 24 * time.Hour
)

// session is who a browser belongs to, as its signed cookie says.
type session struct {
	User    User      `json:"user"`
	Expires time.Time `json:"expires"`
	ID      string    `json:"id"` // it goes on while the database has it
}

// sign returns a signed value for a cookie. The signature holds for this purpose only.
func (s *Server) sign(purpose string, value any) (string, error) {
	data, err := json.Marshal(value)
	return s.cursors.Cursor(purpose, string(data)), err
}

// readSigned reads the value of a cookie that this server signed for a purpose. It returns false for any other cookie.
func (s *Server) readSigned(r *http.Request, cookie, purpose string, value any) bool {
	c, err := r.Cookie(cookie)
	if err != nil {
		return false
	}
	text, err := s.cursors.Read(purpose, c.Value)
	return err == nil && json.Unmarshal([]byte(text), value) == nil
}

// The purposes of signatures.
const (
	sessionPurpose = "session of a browser"
	loginPurpose   = "login of a browser"
)

// begin sends a browser to the issuer.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) error {
	address, begun, err := s.OIDC.Begin(r.Context(), s.goal(r.URL.Query().Get("to")))
	if err != nil {
		return s.issuerFailed(w, err)
	}
	value, err := s.sign(loginPurpose, begun)
	if err != nil {
		return err
	}
	c := s.cookie(beganCookie, value, beganTime)
	c.SameSite = http.SameSiteLaxMode
	http.SetCookie(w, c)
	http.Redirect(w, r, address, http.StatusFound)
	return nil
}

// finish logs in a browser that comes back from the issuer.
func (s *Server) finish(w http.ResponseWriter, r *http.Request) error {
	var begun Pending
	s.readSigned(r, beganCookie, loginPurpose, &begun) // without it, the login is refused
	user, err := s.OIDC.Finish(r.Context(), r, begun)
	http.SetCookie(w, s.cookie(beganCookie, "", -1))
	if err != nil {
		return s.issuerFailed(w, err)
	}
	one := session{User{Name: user.Name, Groups: user.Groups}, s.Now().Add(sessionTime), rand.Text()}
	if err := s.Store.AddLogin(r.Context(), one.ID, user.Name, user.Groups, s.Now(), one.Expires); err != nil {
		return err
	}
	value, err := s.sign(sessionPurpose, one)
	if err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(cookieName, value, sessionTime))
	// Not a redirect: a browser sends no SameSite=Strict cookie while it follows redirects from the issuer's site.
	s.Pages.Plain(w, http.StatusOK, web.PlainPage{Title: "Welcome", To: begun.To})
	return nil
}

// issuerFailed tells the person that the login failed. What only the server should know is in its log.
func (s *Server) issuerFailed(w http.ResponseWriter, err error) error {
	p := api.ProblemOf(err)
	if p.Status == http.StatusInternalServerError {
		s.Log.Error("login", "error", err)
		p.Status, p.Message = http.StatusBadGateway, "the issuer did not answer as expected; the server's log says more"
	}
	s.Pages.Plain(w, p.Status, web.PlainPage{Title: "Not logged in", Text: sentence(p.Message), Link: s.Config.Path() + "/", LinkText: "Try again"})
	return nil
}

// sentence returns an error's text as a sentence for a page.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// notInName matches the characters that the name of a token may not contain.
var notInName = regexp.MustCompile(`[^A-Za-z0-9@+._-]+`)

// tokenPage lets somebody who is logged in make a token, which tape login asks for.
func (s *Server) tokenPage(w http.ResponseWriter, r *http.Request, user User) error {
	page := web.PlainPage{Title: "A token for the command line", Back: s.Config.Path() + "/"}
	if user.Token { // the new one would outlive it
		return api.NewProblem(http.StatusForbidden, "forbidden", "a token makes no token: log in with a browser")
	}
	if r.Method != http.MethodPost {
		page.Text = "The token shows what you see now, for 30 days."
		page.Make = s.Config.Path() + tokenPath
		s.Pages.Plain(w, http.StatusOK, page)
		return nil
	}
	now := s.Now()
	name := notInName.ReplaceAllString(user.Name, "-")
	token, err := s.Store.AddToken(r.Context(), name[:min(len(name), 40)]+now.UTC().Format("-20060102-150405"), user.Groups, now, now.Add(tokenTime))
	if err == nil {
		err = s.Store.Audit(r.Context(), user.Name, "token", "")
	}
	if err != nil {
		return err
	}
	page.Text = "It is not shown again. Run this command, and paste the token:"
	page.Code = "tape login " + s.Config.URL + " --token-stdin\n" + token
	s.Pages.Plain(w, http.StatusOK, page)
	return nil
}

// signedIn returns the user of a browser that has logged in at the issuer.
func (s *Server) signedIn(r *http.Request) (u User, ok bool, err error) {
	var one session
	if !s.readSigned(r, cookieName, sessionPurpose, &one) || !s.Now().Before(one.Expires) {
		return u, false, nil
	}
	ok, err = s.Store.HasLogin(r.Context(), one.ID, s.Now())
	return one.User, ok, err
}

// endLogin ends the login of a browser. What the cookie says is then worth nothing, also elsewhere.
func (s *Server) endLogin(r *http.Request) error {
	var one session
	if !s.readSigned(r, cookieName, sessionPurpose, &one) {
		return nil
	}
	return s.Store.EndLogin(r.Context(), one.ID)
}

// loginLink returns the address of a login that leads to a page.
func (s *Server) loginLink(to string) string {
	return s.Config.Path() + loginPath + "?" + url.Values{"to": {to}}.Encode()
}
