package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"tape/internal/serve/team/config"
	"tape/internal/serve/team/find"
	"tape/internal/serve/web"
	"tape/internal/store/layout"
)

// Visitor is who asks for a page.
type Visitor struct {
	Remotes []string // that the visitor may see
	LogOut  bool     // the pages have a button to log out
	// Source returns the sessions of some of these remotes.
	Source func(ctx context.Context, remotes []string) (find.Source, error)
	// Audit records what the visitor does.
	Audit func(ctx context.Context, action, resource string) error
	// Typed records a search whose words the visitor may still be typing.
	Typed func(ctx context.Context, text string) error
}

// Pages are the pages of a team.
type Pages struct {
	*web.View
	config *config.Config
}

type visitorKey struct{}

// NewPages returns the pages. Work in the background ends with the context.
func NewPages(ctx context.Context, c *config.Config, now func() time.Time) *Pages {
	p := &Pages{config: c}
	p.View = web.New(ctx, web.Options{Base: c.Path(), Now: now, Source: p.source,
		LogOut: func(r *http.Request) bool { return visitorOf(r).LogOut }})
	return p
}

func visitorOf(r *http.Request) Visitor {
	v, _ := r.Context().Value(visitorKey{}).(Visitor)
	return v
}

// Show answers a request. v may be nil, because nobody has to be logged in, if the request is for the style, script or
// icon.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, v *Visitor) {
	ctx := r.Context()
	if v != nil {
		ctx = context.WithValue(ctx, visitorKey{}, *v)
	}
	p.ServeHTTP(w, r.WithContext(ctx))
}

// source returns the sessions that a request may show. A remote that the visitor may not see is treated like one that
// does not exist.
func (p *Pages) source(r *http.Request, place string) (web.Source, error) {
	v := visitorOf(r)
	remotes := v.Remotes
	if place != "" {
		if !slices.Contains(remotes, place) {
			return nil, layout.NotFound("", "there is no remote %q", place)
		}
		remotes = []string{place}
	}
	rows, err := v.Source(r.Context(), remotes)
	if err != nil {
		return nil, err
	}
	return &source{visitor: v, rows: rows, here: place, config: p.config}, nil
}

// baseOf returns the prefix of links to a remote's sessions.
func (s *source) baseOf(remote string) string {
	return s.config.Path() + "/w/" + url.PathEscape(remote)
}
