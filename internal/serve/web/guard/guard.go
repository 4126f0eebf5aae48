// Package guard refuses requests that another site's page made a browser send.
package guard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Allowed reports whether a request is meant for this server and comes from no other site:
// its Host is a loopback address, localhost, or one of hosts (names without port), and its
// Origin, if it has one, is that Host.
func Allowed(r *http.Request, hosts ...string) bool {
	name := r.Host
	if h, _, err := net.SplitHostPort(r.Host); err == nil {
		name = h
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	if name != "localhost" && (ip == nil || !ip.IsLoopback()) && !slices.Contains(hosts, name) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); r.Method != http.MethodGet && r.Method != http.MethodHead &&
		site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == r.Host
}

// Derive makes a token for one purpose from another token, which cannot be computed from
// it.
func Derive(token, purpose string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte(purpose))
	return hex.EncodeToString(m.Sum(nil))
}

// Same compares tokens in constant time.
func Same(a, b string) bool { return a != "" && hmac.Equal([]byte(a), []byte(b)) }
