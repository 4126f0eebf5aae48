package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"tape/internal/serve/team/config"
	"tape/internal/store/layout"
)

// CallbackPath is the path, below the public address of the server, to which the issuer sends the browser back.
const CallbackPath = "/login/callback"

// Login logs people in at one issuer.
type Login struct {
	config *config.Config
	http   *http.Client

	mu       sync.Mutex
	provider *oidc.Provider // nil until the issuer has answered
}

// Pending is a login that has begun. It is kept in the browser, signed.
type Pending struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	To       string `json:"to"` // the page that was asked for
}

// LoggedIn is the person who has logged in.
type LoggedIn struct {
	Name   string
	Groups []string
}

// NewLogin returns a Login for the issuer in team.toml. It does not ask the issuer yet.
func NewLogin(c *config.Config) *Login {
	const patience = 10 * time.Second
	return &Login{config: c, http: &http.Client{Timeout: patience}}
}

// Reach checks that the issuer answers: it asks for the issuer's description, unless that is known.
func (l *Login) Reach(ctx context.Context) error {
	_, err := l.reach(ctx)
	return err
}

func (l *Login) reach(ctx context.Context) (*oidc.Provider, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.provider == nil {
		// The provider keeps the context for later requests for keys, so it must not be that of one request.
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), l.http), l.config.Auth.Issuer)
		if err != nil {
			return nil, layout.Wrap(err, "ask the issuer %s", l.config.Auth.Issuer)
		}
		l.provider = p
	}
	return l.provider, nil
}

// client returns this server as a client of the issuer.
func (l *Login) client(p *oidc.Provider) *oauth2.Config {
	a := l.config.Auth
	return &oauth2.Config{ClientID: a.Client, ClientSecret: a.Secret, Endpoint: p.Endpoint(), RedirectURL: l.config.URL + CallbackPath,
		Scopes: append([]string{oidc.ScopeOpenID}, a.Scopes...)}
}

// Begin begins a login, and returns the address of the issuer's page for it. to is the page to show afterwards.
func (l *Login) Begin(ctx context.Context, to string) (address string, begun Pending, err error) {
	p, err := l.reach(ctx)
	if err != nil {
		return "", begun, err
	}
	begun = Pending{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to}
	return l.client(p).AuthCodeURL(begun.State, oidc.Nonce(begun.Nonce), oauth2.S256ChallengeOption(begun.Verifier)), begun, nil
}

// Finish checks what the browser brings from the issuer, and returns who has logged in. Errors: ErrInvalid if that
// belongs to another login, the issuer refuses, or the groups are not a list.
func (l *Login) Finish(ctx context.Context, r *http.Request, begun Pending) (u LoggedIn, err error) {
	q := r.URL.Query()
	if begun.State == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(begun.State)) != 1 {
		return u, layout.Invalid("", "the login did not begin in this browser, or took too long: begin again")
	}
	if why := q.Get("error"); why != "" {
		return u, layout.Invalid("", "the issuer refuses the login: %.200s", cmp.Or(q.Get("error_description"), why))
	}
	p, err := l.reach(ctx)
	if err != nil {
		return u, err
	}
	ctx = oidc.ClientContext(ctx, l.http)
	token, err := l.client(p).Exchange(ctx, q.Get("code"), oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		return u, layout.Wrap(err, "exchange the code of the issuer")
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := p.VerifierContext(ctx, &oidc.Config{ClientID: l.config.Auth.Client}).Verify(ctx, raw)
	if err != nil {
		return u, layout.Wrap(err, "verify what the issuer says about the user")
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(begun.Nonce)) != 1 {
		return u, layout.Invalid("", "the issuer answered another login: begin again")
	}
	if err := l.checkParty(id); err != nil {
		return u, err
	}
	return l.user(id)
}

// checkParty checks for which client the token was made, if it says so. If it is for several, it has to (OpenID Connect
// Core 1.0, 3.1.3.7).
func (l *Login) checkParty(id *oidc.IDToken) error {
	var claims struct {
		Party *string `json:"azp"`
	}
	if err := id.Claims(&claims); err != nil {
		return layout.Wrap(err, "read what the issuer says about the user")
	}
	if claims.Party == nil && len(id.Audience) > 1 || claims.Party != nil && *claims.Party != l.config.Auth.Client {
		return layout.Invalid("", "the issuer made its answer for another program")
	}
	return nil
}

// user returns the user that the claims name.
func (l *Login) user(id *oidc.IDToken) (u LoggedIn, err error) {
	var claims map[string]json.RawMessage
	if err := id.Claims(&claims); err != nil {
		return u, layout.Wrap(err, "read what the issuer says about the user")
	}
	text := func(name string) (s string) {
		_ = json.Unmarshal(claims[name], &s) // "" if it is not text
		return s
	}
	u.Name = cmp.Or(text("preferred_username"), text("email"), id.Subject)
	claim := l.config.Auth.GroupsClaim
	if raw, ok := claims[claim]; ok && json.Unmarshal(raw, &u.Groups) != nil {
		one := text(claim)
		if one == "" {
			return u, layout.Invalid("", "the issuer's claim %s is not a list of groups", claim)
		}
		u.Groups = []string{one}
	}
	return u, nil
}
