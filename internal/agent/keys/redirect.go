package keys

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrRedirect says that a server redirects, and that it is not followed.
var ErrRedirect = errors.New("it redirects")

// SameHost is the CheckRedirect of a client that sends a key: it follows redirects on the same scheme and host only, with
// the same method, fewer than 10. Go's own rule drops some headers on the way to another host, but still sends the body.
func SameHost(r *http.Request, via []*http.Request) error {
	from := via[0].URL
	if r.URL.Scheme != from.Scheme || r.URL.Host != from.Host {
		return fmt.Errorf("%w to %s://%s, which is refused; if that is right, make it the address in your settings", ErrRedirect, r.URL.Scheme, r.URL.Host)
	}
	if r.Method != via[0].Method { // and Go would leave out the body
		return fmt.Errorf("%w to %s://%s%s; if that is right, make it the address in your settings", ErrRedirect, r.URL.Scheme, r.URL.Host, r.URL.Path)
	}
	if len(via) >= 10 {
		return fmt.Errorf("%w without end", ErrRedirect)
	}
	return nil
}
