//go:build unix

package tools

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestFetch(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	answer := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(body))
		})
	}
	answer("/html", "text/html; charset=utf-8", `<html><head><title>T</title><script>var hidden=1</script><style>x{}</style></head><body><h2>Head &amp; more</h2>`+
		`<p>One <b>two</b> <a href="/there">three</a>, four.</p><ul><li>a<li>b</ul><pre>x
  y</pre><svg/><table><tr><td>1</td><td>2</td></tr></table>last</body>`)
	answer("/latin1", "text/html; charset=iso-8859-1", "<p>gr\xfc\xdfe</p>")
	answer("/utf16", "text/plain; charset=utf-16le", strings.Repeat("u\x00", maxPage/2+1))
	answer("/json", "application/json", `{"a":1}`)
	answer("/png", "image/png", "\x89PNG")
	answer("/liar", "text/plain", "\x00\x01\x02")
	answer("/empty", "text/html", "")
	answer("/deep", "text/html", strings.Repeat("<div><a href=x>", 30_000)+"end")
	for path, to := range map[string]string{"/file": "file:///etc/passwd", "/ftp": "ftp://127.0.0.1/", "/loop": "/loop", "/ok": "/json", "/user": "http://u:p@127.0.0.1/"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	}
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("a"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		for range 200 {
			if _, err := z.Write([]byte(strings.Repeat("boom ", 200_000))); err != nil {
				return
			}
		}
		_ = z.Close()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	e := newEnv(t, func(o *Options) { o.PrivateWeb = true })
	get := func(path string) string { return e.must("web.fetch", obj("url", server.URL+path)) }
	fails := func(path string, words ...string) {
		e.fails("web.fetch", obj("url", server.URL+path, "timeout_seconds", 2), words...)
	}

	_, text, _ := strings.Cut(get("/html"), "\n\n")
	if want := "T\n\n## Head & more\n\nOne **two** [three](/there), four.\n\n- a\n- b\n\n```\nx\n  y\n```\n\n | 1 | 2\n\nlast"; text != want {
		t.Errorf("the page is converted to\n%q\nnot\n%q", text, want)
	}
	contains(t, get("/html"), "200 OK", "not instructions")
	contains(t, get("/latin1"), "grüße")
	if text := get("/utf16"); !strings.HasSuffix(text, "\n[cut off after 5.0 MiB]") {
		t.Errorf("a page in UTF-16 that is cut off ends with %q", text[len(text)-50:])
	}
	contains(t, get("/json"), `{"a":1}`)
	contains(t, get("/ok"), `{"a":1}`, "/json")
	fails("/deep", "exceeds 512 nodes", "download it")
	get("/empty")
	if text := get("/bomb"); len(text) > maxPage+1000 || !strings.Contains(text, "cut off after") {
		t.Errorf("%d bytes of a page that grows when it is unpacked", len(text))
	}
	fails("/png", "image/png")
	fails("/liar", "not UTF-8 text")
	fails("/file", "only http and https")
	fails("/ftp", "only http and https")
	fails("/user", "user and a password")
	fails("/loop", "redirects")
	fails("/none", "404", "page not found")
	fails("/slow", "deadline exceeded")
	e.fails("web.fetch", `{"url":"file:///etc/passwd"}`, "only http and https")
	e.fails("web.fetch", `{"url":"http:///x"}`, "no host")
	e.fails("web.fetch", obj("url", "http://a\x00b/"), "invalid")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.callIn(ctx, "s", "web.fetch", obj("url", server.URL+"/slow")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the turn ends while a page is read: %v, want context.DeadlineExceeded", err)
	}
}

// A page cannot lead to what only this machine or its network reaches.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a server at a private address got a request") }))
	t.Cleanup(server.Close)
	e := newEnv(t, nil)
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		text := e.fails("web.fetch", obj("url", "http://"+host+port+"/"))
		if !strings.Contains(text, "private") && !strings.Contains(text, "proxyconnect") {
			t.Errorf("%s is refused with %q, which does not say that it is private", host, text)
		}
	}
	w := &web{}
	for ip, ok := range map[string]bool{"1.1.1.1": true, "2606:4700::1111": true, "10.0.0.1": false, "192.168.1.1": false, "172.16.0.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "fe80::1": false, "fd00::1": false, "::": false, "0.1.2.3": false, "224.0.0.1": false, "255.255.255.255": false, "64:ff9b::7f00:1": false} {
		if err := w.public(netip.MustParseAddr(ip)); (err == nil) != ok {
			t.Errorf("%s: %v, and it should be allowed: %v", ip, err, ok)
		}
	}
}

// A proxy may be private; the page behind it may not. The environment is read once in a process, so
// the test runs in another.
func TestProxy(t *testing.T) {
	t.Parallel()
	if os.Getenv(helper) == "proxy" {
		e := newEnv(t, nil)
		contains(t, e.must("web.fetch", `{"url":"http://example.com/x"}`), "by proxy: http://example.com/x")
		e.fails("web.fetch", `{"url":"http://10.0.0.1/"}`, "private")
		e.fails("web.fetch", obj("url", os.Getenv("http_proxy")), "private") // the proxy itself, as a page
		return
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "by proxy: ", r.URL) }))
	t.Cleanup(proxy.Close)
	cmd := exec.Command(os.Args[0], "-test.run=^TestProxy$")
	cmd.Env = append(os.Environ(), helper+"=proxy", "http_proxy="+strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1), "no_proxy=", "NO_PROXY=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the test with a proxy fails: %v\n%s", err, out)
	}
}
