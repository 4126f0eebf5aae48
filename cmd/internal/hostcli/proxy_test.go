//go:build unix

package hostcli

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tape/repo"
)

// served is a workspace whose server runs as a program.
type served struct {
	*testing.T
	ws, home         string
	URL, Token, Link string
}

// serve starts tape serve of a workspace with two sessions, and ends it with the test.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{T: t, ws: filepath.Join(t.TempDir(), "ws"), home: t.TempDir()}
	t.Setenv("TAPE_HOME", s.home)
	store, _, err := repo.Init(t.Context(), s.ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main": "use the key AKIAIOSFODNN7EXAMPLQ for it", "other": "nobody else's business"} {
		tape, err := store.Tape(t.Context(), name)
		if errors.Is(err, repo.ErrNotFound) {
			tape, err = store.CreateTape(t.Context(), name)
		}
		if err == nil {
			_, err = tape.Append(t.Context(), nil, repo.Message("user", text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := s.command(append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended
	if err := json.NewDecoder(out).Decode(s); err != nil {
		t.Fatalf("the server does not start: %v", err)
	}
	return s
}

// TestOpenInForeground: the program that opens the page may wait for the browser, which waits for the server.
func TestOpenInForeground(t *testing.T) {
	bin, temporary := t.TempDir(), t.TempDir()
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexec tail -f /dev/null\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	t.Setenv("TMPDIR", temporary)
	t.Cleanup(func() { // the server has ended
		if left, err := filepath.Glob(filepath.Join(temporary, "tape-open-*")); err != nil || len(left) > 0 {
			t.Errorf("the file with the link is left: %s, %v", left, err)
		}
	})
	s := serve(t, "--open")
	client := http.Client{Timeout: time.Minute}
	res, err := client.Get(s.URL + "/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

func (s *served) command(args ...string) *exec.Cmd {
	s.Helper()
	self, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	cmd := exec.CommandContext(s.Context(), self, args...)
	cmd.Env = append(os.Environ(), envProgram+"=1", "TAPE_WORKSPACE="+s.ws)
	return cmd
}

// run runs a command with --json and decodes its answer.
func (s *served) run(args ...string) (out map[string]any) {
	s.Helper()
	raw, err := s.command(append(args, "--json")...).Output()
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		s.Fatalf("%q: %v: %s", args, err, raw)
	}
	return out
}

// browser sends requests for https://tape.example.org to a given address. Only enter keeps a cookie.
type browser struct {
	*testing.T
	http.Client
	at     string
	cookie *http.Cookie
}

func newBrowser(t *testing.T, at string) *browser {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", at)
	}
	return &browser{T: t, at: at, Client: http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// ask sends a form, or without one a GET.
func (b *browser) ask(address string, form url.Values, headers ...string) (*http.Response, string) {
	b.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	if b.cookie != nil {
		r.AddCookie(b.cookie)
	}
	res, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		line, err := bufio.NewReader(res.Body).ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		return res, line
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res, string(text)
}

// enter opens a link and keeps the session.
func (b *browser) enter(link string) (page string) {
	b.Helper()
	res, page := b.ask(link, nil)
	if len(res.Cookies()) != 1 {
		b.Fatalf("the link: %d %s", res.StatusCode, page)
	}
	b.cookie = res.Cookies()[0]
	return regexp.MustCompile(`url=(/[^"]*)"`).FindStringSubmatch(page)[1]
}

// nginx starts a real nginx with a configuration, in which PORT, CERT, KEY and SERVER are replaced, and returns its address.
func nginx(t *testing.T, config, server string) string {
	t.Helper()
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("nginx is not installed: apt-get install nginx")
		}
	}
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	_ = l.Close()
	config = strings.NewReplacer("PORT", at, "CERT", cert, "KEY", key, "SERVER", strings.TrimPrefix(server, "http://"), "DIR", dir).Replace(
		"daemon off;\nmaster_process off;\npid DIR/pid;\nerror_log DIR/error.log;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path DIR/body;\nproxy_temp_path DIR/proxy;\nfastcgi_temp_path DIR/f;\nuwsgi_temp_path DIR/u;\nscgi_temp_path DIR/s;\n" + config + "\n}\n")
	if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", filepath.Join(dir, "nginx.conf"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var failure error
	go func() { failure = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { <-ended })
	for {
		c, err := net.Dial("tcp", at)
		if err == nil {
			_ = c.Close()
			return at
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(filepath.Join(dir, "error.log"))
			t.Fatalf("nginx: %v: %s", failure, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// certificate makes a certificate for tape.example.org.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"tape.example.org"}, NotAfter: time.Now().Add(time.Hour)}
	public, err := x509.CreateCertificate(rand.Reader, about, about, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if err := errors.Join(os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600)); err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// examples returns configurations of nginx by name: the one in docs/examples, one that sets no headers, and one that
// strips the path. "Go" stands for a proxy written in Go, without a configuration.
func examples(t *testing.T) map[string]string {
	raw, err := os.ReadFile("../../../docs/examples/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	example := strings.NewReplacer("listen 443", "listen PORT", "/etc/ssl/certs/tape.example.org.pem", "CERT", "/etc/ssl/private/tape.example.org.key", "KEY",
		"127.0.0.1:7357", "SERVER").Replace(string(raw))
	const bare = "server { listen PORT ssl; ssl_certificate CERT; ssl_certificate_key KEY; "
	return map[string]string{"Go": "", "example": example, "without headers": bare + "location /me/ { proxy_pass http://SERVER; } }",
		"path removed": bare + "proxy_set_header Host $host; proxy_set_header X-Forwarded-Proto $scheme; location /me/ { proxy_pass http://SERVER/; } }"}
}

// goProxy starts a proxy with TLS, from Go's standard library, and returns its address.
func goProxy(t *testing.T, _, server string) string {
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.SetXForwarded()
	}})
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

// TestBehindProxy: pages, forms, streams and links work below a path behind a proxy, including the real nginx.
func TestBehindProxy(t *testing.T) {
	for name, config := range examples(t) {
		t.Run(name, func(t *testing.T) {
			start := nginx
			if config == "" {
				start = goProxy
			}
			s := serve(t, "--write", "--host", "tape.example.org", "--base-path", "/me", "--trusted-proxy", "127.0.0.1")
			b := newBrowser(t, start(t, config, s.URL))
			const site = "https://tape.example.org"
			if !strings.HasPrefix(s.Link, site+"/me/?link=") {
				t.Fatalf("the link is %s", s.Link)
			}
			root := b.enter(s.Link)
			if b.cookie.Secure != (name != "without headers") || strings.HasPrefix(b.cookie.Name, "__Secure-") != b.cookie.Secure || !strings.HasPrefix(root, "/me/v/") || b.cookie.Path != root {
				t.Errorf("the cookie: %+v", b.cookie)
			}
			_, page := b.ask(site+root+"t/main", nil)
			if !strings.Contains(page, "AKIAIOSFODNN7EXAMPLQ") {
				t.Fatalf("the page of the session lacks its text: %s", page)
			}
			for _, m := range regexp.MustCompile(`(?:href|action|src)="(/[^"]*)"`).FindAllStringSubmatch(page, -1) {
				if res, text := b.ask(site+strings.ReplaceAll(m[1], "&amp;", "&"), nil); res.StatusCode != 200 && !strings.Contains(m[1], "/-/do/") && !strings.HasSuffix(m[1], "/logout") {
					t.Errorf("%s: %d %s", m[1], res.StatusCode, text)
				}
			}
			if res, line := b.ask(site+root+"t/main/-/follow", nil); res.StatusCode != 200 || !strings.HasPrefix(line, "id: 2") {
				t.Errorf("following: %d %s", res.StatusCode, line)
			}
			form := url.Values{"token": {regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(page)[1]}, "title": {"another title"}}
			if res, text := b.ask(site+root+"t/main/-/do/rename", form, "Origin", "https://evil.example"); res.StatusCode != 403 {
				t.Errorf("a form of another site: %d %s", res.StatusCode, text)
			}
			if res, text := b.ask(site+root+"t/main/-/do/rename", form, "Origin", site); res.StatusCode != 303 || res.Header.Get("Location") != root+"t/main" {
				t.Errorf("the form: %d %v %s", res.StatusCode, res.Header, text)
			}
			if _, page := b.ask(site+root+"t/main", nil); !strings.Contains(page, "another title") {
				t.Error("the form has changed nothing")
			}
			if res, _ := b.ask(site+"/me/v1/health", nil); res.StatusCode != 200 {
				t.Errorf("the API: %d", res.StatusCode)
			}
			if res, text := b.ask(site+"/me/", nil, "Host", "evil.example"); name != "without headers" && res.StatusCode != 403 { // without headers, nginx sends a Host of its own
				t.Errorf("another name: %d %s", res.StatusCode, text)
			}
			link := s.run("serve", "link", "add", "main")["link"].(string)
			if res, page := newBrowser(t, b.at).ask(link, nil); res.StatusCode != 200 || !strings.Contains(page, "for it") || !strings.HasPrefix(link, site+"/me/s/") {
				t.Errorf("%s: %d %s", link, res.StatusCode, page)
			}
		})
	}
}

// TestLink: a link of tape serve shows one session, with its secrets masked, until it is revoked.
func TestLink(t *testing.T) {
	s := serve(t, "--base-path", "shared")
	made := s.run("serve", "link", "add", "main")
	link := made["link"].(string)
	b := newBrowser(t, strings.TrimPrefix(s.URL, "http://"))
	res, page := b.ask(link, nil)
	if res.StatusCode != 200 || !strings.HasPrefix(link, s.URL+"/shared/s/") || !strings.Contains(page, "[redacted:aws-access-key") || strings.Contains(page, "AKIA") || strings.Contains(page, "business") || len(res.Cookies()) > 0 {
		t.Errorf("%s: %d %s", link, res.StatusCode, page)
	}
	if res, _ := b.ask(s.URL+"/shared/", nil); res.StatusCode != 401 {
		t.Errorf("after the link, pages answer %d, want 401", res.StatusCode)
	}
	if out := s.run("serve", "link", "revoke", "1"); out["tape"] != "main" {
		t.Errorf("revoking the link says %v", out)
	}
	if res, page := b.ask(link, nil); res.StatusCode != 404 || strings.Contains(page, "for it") {
		t.Errorf("revoked: %d %s", res.StatusCode, page)
	}
}
