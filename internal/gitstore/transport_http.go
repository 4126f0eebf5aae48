package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Credentials for https where the git program, with its credential helpers, is not used and
// the address has none: a user's name, and a token or password.
const (
	UserEnv  = "TAPE_GIT_USER"
	TokenEnv = "TAPE_GIT_TOKEN"
)

// httpLine talks to a git server over http (gitprotocol-http(5), "smart").
type httpLine struct {
	client     *http.Client
	idle       time.Duration
	base       string // the repository's address, without credentials
	user, pass string
	closers    []io.Closer
	cancels    []context.CancelFunc
}

func newHTTPLine(address string, o TransportOptions) (*httpLine, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: the address %s cannot be read", ErrRemote, MaskURL(address))
	}
	l := &httpLine{idle: o.idle()}
	if u.User != nil {
		l.user = u.User.Username()
		l.pass, _ = u.User.Password()
	} else if token := os.Getenv(TokenEnv); token != "" && isPrivate(u) {
		l.user, l.pass = os.Getenv(UserEnv), token
		if l.user == "" {
			l.user = "token" // servers that take a token do not look at the name, but want one
		}
	}
	u.User = nil
	l.base = strings.TrimSuffix(u.String(), "/")
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	l.client = &http.Client{Transport: transport, CheckRedirect: sameHost}
	return l, nil
}

// isPrivate reports whether nobody can listen to a password.
func isPrivate(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// sameHost lets a server send us on to another place of its own only, and from http to
// https, but not back.
func sameHost(next *http.Request, via []*http.Request) error {
	from := via[0].URL
	if len(via) > 5 || next.URL.Hostname() != from.Hostname() || next.URL.Scheme != from.Scheme && next.URL.Scheme != "https" {
		return fmt.Errorf("it sends us on to %s; if that is right, set this address for the remote", MaskURL(next.URL.Redacted()))
	}
	if next.URL.Scheme == from.Scheme && next.URL.Port() != from.Port() {
		return errors.New("it sends us on to another port")
	}
	return nil
}

func (l *httpLine) refs(ctx context.Context, service string) (io.Reader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base+"/info/refs?service="+service, nil)
	if err != nil {
		return nil, err
	}
	resp, err := l.do(req, "application/x-"+service+"-advertisement")
	if err != nil {
		return nil, err
	}
	// Where it has sent us on to, the rest is, too.
	if final := resp.Request.URL; strings.HasSuffix(final.Path, "/info/refs") {
		moved := *final
		moved.RawQuery, moved.RawPath, moved.Path = "", "", strings.TrimSuffix(final.Path, "/info/refs")
		l.base = moved.String()
	}
	return resp.Body, nil
}

func (l *httpLine) ask(ctx context.Context, service string, request io.Reader, size int64) (io.Reader, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+"/"+service, io.NopCloser(request))
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/x-"+service+"-request")
	req.Header.Set("Accept", "application/x-"+service+"-result")
	resp, err := l.do(req, "application/x-"+service+"-result")
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (l *httpLine) do(req *http.Request, want string) (*http.Response, error) {
	req.Header.Set("User-Agent", "git/tape") // some servers let in what calls itself git
	if l.user != "" || l.pass != "" {
		req.SetBasicAuth(l.user, l.pass)
	}
	ctx, cancel := context.WithCancel(req.Context())
	l.cancels = append(l.cancels, cancel)
	p := newPatience(l.idle, cancel)
	if req.Body != nil {
		req.Body = io.NopCloser(watchedReader{p, req.Body})
	}
	answered := p.wait()
	resp, err := l.client.Do(req.WithContext(ctx))
	answered()
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // it repeats the address
		}
		if ctxErr := req.Context().Err(); ctxErr != nil {
			return nil, ctxErr
		}
		if err = p.why(err); !errors.Is(err, ErrRemote) {
			err = fmt.Errorf("%w: %w", ErrRemote, err)
		}
		return nil, err
	}
	l.closers = append(l.closers, resp.Body)
	resp.Body = io.NopCloser(&patientReader{patience: p, r: resp.Body})
	switch {
	case resp.StatusCode == http.StatusUnauthorized && l.user == "":
		return nil, fmt.Errorf("%w: the server wants a name and a password or token: set %s and %s, or install git, which asks for them", ErrAuth, UserEnv, TokenEnv)
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%w: the server says: %s", ErrAuth, resp.Status)
	case resp.StatusCode != http.StatusOK:
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return nil, fmt.Errorf("%w: the server says: %s: %q", ErrRemote, resp.Status, bytes.TrimSpace(said))
	case resp.Header.Get("Content-Type") != want:
		return nil, errNoServer
	}
	return resp, nil
}

func (l *httpLine) close() error {
	for _, c := range l.closers {
		_ = c.Close()
	}
	for _, cancel := range l.cancels {
		cancel()
	}
	l.client.CloseIdleConnections()
	return nil
}
