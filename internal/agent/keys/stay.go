package keys

import (
	"errors"
	"fmt"
	"net/http"
)

// Stay is the CheckRedirect of a client that has a key: it follows redirects within the address that it was
// given. Go's own rule drops only some headers on the way to another host, and follows with the body.
func Stay(r *http.Request, via []*http.Request) error {
	from := via[0].URL
	if r.URL.Scheme != from.Scheme || r.URL.Host != from.Host {
		return fmt.Errorf("it redirects to %s://%s, which is not asked; if that is right, make it the address in your settings", r.URL.Scheme, r.URL.Host)
	}
	if len(via) >= 10 {
		return errors.New("it redirects without end")
	}
	return nil
}
