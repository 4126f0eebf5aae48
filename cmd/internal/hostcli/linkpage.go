package hostcli

// The sessions that links lead to, each as one page that needs nothing else from the server.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"tape/internal/serve/front"
	"tape/internal/serve/links"
	"tape/repo"
)

// linkPages answers requests for links.
type linkPages struct {
	Store *repo.Store
	All   bool // links of the user's other workspaces work, too
	Now   func() time.Time
	Write func(ctx context.Context, w io.Writer, t *repo.Tape) error // writes the page of a tape
	Note  func(action, resource string, done bool)                   // records a request, and whether it was answered

	turns chan struct{} // has an element for each page that is being made
}

// atOnce is how many pages are made at the same time. A slow reader does not count: a page is first made in a file.
const atOnce = 2

// newLinkPages completes a handler whose exported fields are set.
func newLinkPages(h linkPages) *linkPages {
	h.turns = make(chan struct{}, atOnce)
	return &h
}

// ServeHTTP answers requests below links.Path.
func (h *linkPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer") // the address is the secret
	head.Set("X-Robots-Tag", "noindex")
	head.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", http.MethodGet)
		http.Error(w, "A link is for reading.", http.StatusMethodNotAllowed)
		return
	}
	t, name, err := links.Open(r.Context(), h.Store, h.All, strings.TrimPrefix(r.URL.Path, links.Path), h.Now())
	if err == nil {
		err = h.send(w, r, t)
	}
	switch {
	case r.Context().Err() != nil: // the reader is gone
	case errors.Is(err, repo.ErrNotFound):
		h.Note("GET "+links.Path, cmp.Or(name, front.Of(r).Client), false)
		http.Error(w, "This link leads nowhere: it has expired, was revoked, or is not complete. Ask for a new one.", http.StatusNotFound)
	case err != nil:
		h.Note("GET "+links.Path, name, false)
		http.Error(w, "The session cannot be shown.", http.StatusInternalServerError)
	default:
		h.Note("GET "+links.Path, name, true)
	}
}

// send makes the page of a tape and sends it.
func (h *linkPages) send(w http.ResponseWriter, r *http.Request, t *repo.Tape) error {
	select {
	case h.turns <- struct{}{}:
	case <-r.Context().Done():
		return r.Context().Err()
	}
	f, err := os.CreateTemp("", "tape-page-")
	if err == nil {
		defer func() { _ = os.Remove(f.Name()) }()
		defer f.Close()
		err = h.Write(r.Context(), f, t)
	}
	<-h.turns
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}
