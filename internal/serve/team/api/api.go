// Package api is the team's server over HTTP: search, sessions and entries as JSON, for users who have proved who they
// are. Each request sees the remotes of its user's groups and nothing else.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/db"
	"tape/internal/serve/team/find"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// Store is what the server needs of the database.
type Store interface {
	// Source returns the sessions of the named remotes.
	Source(ctx context.Context, remotes []string) (find.Source, error)
	TokenOf(ctx context.Context, token string, now time.Time) (db.Token, error)
	AddToken(ctx context.Context, name string, groups []string, now, expires time.Time) (token string, err error)
	Audit(ctx context.Context, who, action, resource string) error
	AuditTyped(ctx context.Context, who, text, masked string) error
	AddLogin(ctx context.Context, id, who string, groups []string, now, expires time.Time) error
	HasLogin(ctx context.Context, id string, now time.Time) (bool, error)
	EndLogin(ctx context.Context, id string) error
	Status(ctx context.Context) ([]db.RemoteStatus, error)
	Key() []byte
}

// Options say what is served.
type Options struct {
	Config  *config.Config
	Store   Store
	Now     func() time.Time
	Log     *slog.Logger
	Version string
	// MCP, if not nil, answers requests at /mcp. s has what the user sees; audit records what the user does.
	MCP func(s find.Source, audit func(ctx context.Context, action, resource string) error) http.Handler
	// Pages answers browsers. nil: the server has only its API.
	Pages *Pages
	// OIDC logs people in through OpenID Connect. nil: it is not configured.
	OIDC *Login
}

// User is the person who sends a request.
type User struct {
	Name   string
	Groups []string
	Token  bool `json:"-"` // a token says who it is
}

// Server answers requests.
type Server struct {
	Options
	cursors front.Signer
	front   *front.Front
	scanner *secrets.Scanner

	mu       sync.Mutex
	searches map[string]*front.Rate // by person
}

// New returns a server. address is the address and port where it listens.
func New(o Options, address string) (*Server, error) {
	f, err := o.Config.Front(address)
	return &Server{Options: o, cursors: front.Signer{Key: o.Store.Key()}, front: f, scanner: secrets.New(), searches: map[string]*front.Rate{}}, err
}

// request is one request, of a user who is known.
type request struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	path   string
	user   User
	seen   []string    // the remotes of the user's groups
	source find.Source // the sessions of seen, or of one of these remotes
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	asked, err := s.front.Admit(r)
	if err != nil {
		s.fail(w, r, api.NewProblem(http.StatusForbidden, "forbidden", "%s", err))
		return
	}
	if err = s.serve(w, asked, asked.URL.Path); err != nil {
		s.fail(w, asked, err)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, path string) error {
	if path == "/health" {
		return answer(w, map[string]bool{"ok": true})
	}
	if path == "/v1/openapi.json" {
		doc, err := front.OpenAPI(s.Version, routes())
		if err != nil {
			return err
		}
		return answer(w, doc)
	}
	if hasNUL(path) || slices.ContainsFunc(slices.Concat(slices.Collect(maps.Values(r.URL.Query()))...), hasNUL) {
		return api.NewProblem(http.StatusBadRequest, "invalid_argument", "the address has a NUL byte, or is not UTF-8")
	}
	route, ok := routeOf(path)
	if !ok && s.Pages != nil && !strings.HasPrefix(path, "/v1/") {
		return s.browse(w, r, path)
	}
	if !ok {
		return api.NotFound("page")
	}
	if r.Method != http.MethodGet && path != "/mcp" {
		w.Header().Set("Allow", http.MethodGet)
		return api.NewProblem(http.StatusMethodNotAllowed, "method_not_allowed", "the server only reads: use GET")
	}
	if err := route.CheckQuery(r.URL.Query(), true); err != nil {
		return err
	}
	user, err := s.userOf(r)
	if err != nil {
		return err
	}
	c := &request{Server: s, w: w, r: r, path: path, user: user, seen: s.Config.Seen(user.Groups)}
	remotes := c.seen
	if one := r.URL.Query().Get("remote"); one != "" {
		remotes = slices.DeleteFunc(slices.Clone(remotes), func(name string) bool { return name != one })
	}
	if c.source, err = s.Store.Source(r.Context(), remotes); err != nil {
		return err
	}
	body, err := route.Do(c)
	if err != nil || body == nil {
		return err
	}
	return answer(w, body)
}

// userOf finds out who sends a request: by a token, or by the headers of a proxy if team.toml says so.
func (s *Server) userOf(r *http.Request) (User, error) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return s.userOfToken(r.Context(), strings.TrimSpace(token))
	}
	if s.Config.Auth.Kind == config.Proxy {
		u, ok, err := s.proxyUser(r)
		if err != nil || ok {
			return u, err
		}
	}
	return User{}, api.Unauthorized("a token is missing: send Authorization: Bearer TOKEN")
}

func (s *Server) userOfToken(ctx context.Context, token string) (User, error) {
	t, err := s.Store.TokenOf(ctx, token, s.Now())
	if errors.Is(err, db.ErrToken) {
		return User{}, api.Unauthorized(err.Error() + ": ask for a new one")
	}
	return User{t.Name, t.Groups, true}, err
}

func hasNUL(text string) bool { return strings.ContainsRune(text, 0) || !utf8.ValidString(text) }

// The limit of searches for a person. Somebody who types a search makes some in a second.
const (
	searchesPerSecond = 5
	searchesAtOnce    = 60
)

// search counts a search of a person, and refuses it if there were too many. The text is recorded without its secrets.
func (s *Server) search(ctx context.Context, who, text string, typed bool) error {
	s.mu.Lock()
	if len(s.searches) > 10_000 { // names that a proxy made up
		clear(s.searches)
	}
	rate := s.searches[who]
	if rate == nil {
		rate = &front.Rate{PerSecond: searchesPerSecond, Burst: searchesAtOnce}
		s.searches[who] = rate
	}
	s.mu.Unlock()
	if err := rate.Allow(s.Now()); err != nil {
		return err
	}
	masked := s.masked(text)
	if typed {
		return s.Store.AuditTyped(ctx, who, text, masked)
	}
	return s.Store.Audit(ctx, who, "search", masked)
}

// masked returns a text without its secrets.
func (s *Server) masked(text string) string {
	value, _ := s.scanner.MaskAs(jsonl.AppendString(nil, text), nil, func(f secrets.Finding) string { return f.Keyed(s.Store.Key()).Mark() })
	return string(jsonl.AppendDecoded(nil, value[1:len(value)-1]))
}

// audit records what the user does.
func (c *request) audit(ctx context.Context, action, resource string) error {
	if action == "search" {
		return c.Server.search(ctx, c.user.Name, resource, false)
	}
	return c.Store.Audit(ctx, c.user.Name, action, c.masked(resource))
}

// Me says who the user is.
type Me struct {
	Name    string   `json:"name"`
	Groups  []string `json:"groups"`
	Remotes []string `json:"remotes"` // which the user sees
}

func (c *request) me() (any, error) {
	return Me{c.user.Name, append([]string{}, c.user.Groups...), append([]string{}, c.seen...)}, nil
}

func (c *request) mcp() (any, error) {
	if c.MCP == nil {
		return nil, api.NotFound("page")
	}
	c.MCP(c.source, c.audit).ServeHTTP(c.w, c.r)
	return nil, nil
}

// answer sends a body as JSON.
func answer(w http.ResponseWriter, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the client may have gone
	return nil
}

// fail sends an error, and logs it if its text is not for clients.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := api.ProblemOf(err)
	if r.Context().Err() != nil {
		return // the client has gone
	}
	if p.Status == http.StatusInternalServerError {
		s.Log.Error("request", "path", r.URL.Path, "error", err)
	}
	p.SetHeaders(w.Header())
	data, err := json.Marshal(api.ErrorAnswer{Error: *p})
	if err != nil {
		s.Log.Error("answer", "error", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(data, '\n'))
}
