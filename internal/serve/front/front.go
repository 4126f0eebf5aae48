// Package front decides how a request was sent: by which name and scheme its client called the server, from which
// address, below which path, and whether a page of another site sent it. What a proxy says about that counts only if
// the proxy is trusted. It also has what else the servers share: how much clients may use, signed cursors, and the
// OpenAPI document.
package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"tape/internal/store/layout"
)

// Options say how the server may be called.
type Options struct {
	Hosts   []string // the server's names, besides those of this machine; ports do not matter
	Path    string   // the path of the public address, such as /sessions. Requests may lack it, because a proxy removed it
	Proxies []string // addresses and networks of trusted proxies
	Near    string   // if not empty, only this machine and the trusted proxies are answered. The text says in errors how to name a proxy
	Hint    string   // says in errors how to add a name
}

// Front admits or refuses requests.
type Front struct {
	Options
	proxies []netip.Prefix
}

// New checks the options. An error does not name the flag or setting that they come from.
func New(o Options) (*Front, error) {
	f := &Front{Options: o}
	f.Hosts = nil
	for _, host := range o.Hosts {
		if host == "" || strings.ContainsAny(host, "/ \t?#@") {
			return nil, layout.Invalid("give a name such as tape.example.org", "%q is not the name of a server", host)
		}
		f.Hosts = append(f.Hosts, nameOf(host))
	}
	if f.Path = strings.TrimRight(o.Path, "/"); f.Path != "" && f.Path[0] != '/' {
		f.Path = "/" + f.Path
	}
	plain := func(c rune) bool {
		return c == '/' || c == '.' || c == '-' || c == '_' || c == '~' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	if strings.ContainsFunc(f.Path, func(c rune) bool { return !plain(c) }) || strings.Contains(f.Path, "//") || strings.Contains(f.Path, "/.") {
		return nil, layout.Invalid("give one of letters, digits, dots and dashes, such as /sessions", "%q is not a path", o.Path)
	}
	for _, p := range o.Proxies {
		prefix, err := parsePrefix(p)
		if err != nil {
			return nil, layout.Invalid("give addresses or networks, such as 127.0.0.1 or 10.0.0.0/8", "%q is not the address of a proxy", p)
		}
		f.proxies = append(f.proxies, prefix)
	}
	return f, nil
}

func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

// Call is how a client sent a request.
type Call struct {
	Secure bool   // over TLS, as a trusted proxy says
	Proxy  bool   // a trusted proxy passed it on
	Client string // the client's address; "" over a unix socket
}

type callKey struct{}

// Of returns how an admitted request was sent.
func Of(r *http.Request) Call {
	c, _ := r.Context().Value(callKey{}).(Call)
	return c
}

// Admit returns the request as the client sent it: Host is what the client called the server, and the path lacks that
// of the public address. The error says why the request is refused.
func (f *Front) Admit(r *http.Request) (*http.Request, error) {
	host, c, err := f.callOf(r)
	if err != nil {
		return nil, err
	}
	if name := nameOf(host); !ofThisMachine(name) && !slices.Contains(f.Hosts, name) {
		return nil, fmt.Errorf("this server is not called %q: %s", name, f.Hint)
	}
	if !f.ownPage(r, host, c) {
		return nil, errors.New("a page of another site sent this request")
	}
	out := r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	out.Host, out.URL = host, f.below(r.URL)
	return out, nil
}

// callOf finds out who sent a request, and which host it is for.
func (f *Front) callOf(r *http.Request) (host string, c Call, err error) {
	host = r.Host
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return host, c, nil // a unix socket, which only its owner can use
	}
	from := peer.Addr().Unmap()
	c.Client, c.Proxy = from.String(), f.trusts(from)
	if f.Near != "" && !c.Proxy && !from.IsLoopback() {
		return host, c, fmt.Errorf("this server answers only programs on its machine and its trusted proxies, and %s is neither: %s", from, f.Near)
	}
	if c.Proxy {
		if name := last(r.Header, "X-Forwarded-Host"); name != "" {
			host = name
		}
		c.Secure = strings.EqualFold(last(r.Header, "X-Forwarded-Proto"), "https")
		c.Client = f.clientOf(r.Header, from)
	}
	return host, c, nil
}

func (f *Front) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(f.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// clientOf returns the last address in X-Forwarded-For that is not a trusted proxy; if there is none, that of
// the farthest trusted proxy.
func (f *Front) clientOf(h http.Header, from netip.Addr) string {
	list := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(list) {
		a, err := netip.ParseAddr(nameOf(strings.TrimSpace(text)))
		if err != nil {
			break
		}
		if from = a.Unmap(); !f.trusts(from) {
			break
		}
	}
	return from.String()
}

// last returns the last value of a header, which the nearest proxy wrote.
func last(h http.Header, name string) string {
	list := strings.Split(strings.Join(h.Values(name), ","), ",")
	return strings.TrimSpace(list[len(list)-1])
}

// ownPage returns false for a request from a page of another site, except for a read without Origin, such as a
// followed link. Behind a proxy, the host of the request may lack the port, or be the proxy's name for this server,
// so a page of any name of this server is one of its own.
func (f *Front) ownPage(r *http.Request, host string, c Call) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); r.Method != http.MethodGet && r.Method != http.MethodHead &&
		site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || c.Secure) {
		return false
	}
	return u.Host == host || c.Proxy && slices.Contains(f.Hosts, nameOf(u.Host))
}

// below strips the path of the public address from an address.
func (f *Front) below(u *url.URL) *url.URL {
	cut := func(path string) (string, bool) {
		rest, ok := strings.CutPrefix(path, f.Path)
		return "/" + strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
	}
	path, ok := cut(u.Path)
	if f.Path == "" || !ok {
		return u
	}
	to := *u
	to.Path = path
	if to.RawPath, ok = cut(u.RawPath); !ok {
		to.RawPath = "" // the client wrote plain letters of the path as escapes
	}
	return &to
}

// ofThisMachine reports whether a name means this machine in every browser, so that no other site can have it.
func ofThisMachine(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// nameOf returns a host without its port, in lower case.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}
