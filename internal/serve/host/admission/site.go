package admission

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// SameSite reports whether a request names this machine as its host, by a name that no other site can
// have, and does not come from a page of another site.
func SameSite(r *http.Request) bool { return ownHost(r.Host) && ownOrigin(r) }

func ownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.Host == r.Host
}
