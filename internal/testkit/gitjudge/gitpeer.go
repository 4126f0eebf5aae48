package gitjudge

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Bare makes an empty bare repository and returns its folder.
func Bare(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return BareIn(t, filepath.Join(dir, "remote.git"))
}

// BareIn makes an empty bare repository in a folder.
func BareIn(t testing.TB, dir string) string {
	t.Helper()
	git(t, "init", "-q", "--bare", "-b", "main", dir)
	git(t, "-C", dir, "config", "http.receivepack", "true")
	git(t, "-C", dir, "config", "gc.auto", "0")
	git(t, "-C", dir, "config", "receive.autogc", "false")
	return dir
}

func git(t testing.TB, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// HTTP serves the repositories below root with git's own http-backend, and returns the address of root.
// It asks for user and password, unless they are empty.
func HTTP(t testing.TB, root, user, pass string) string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed; it is the server of this test")
	}
	backend := &cgi.Handler{
		Path: program, Args: []string{"http-backend"}, Dir: root, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
		Env:        []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + root},
		InheritEnv: []string{"PATH", "LD_LIBRARY_PATH"},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if u, p, _ := req.BasicAuth(); u != user || p != pass {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if err := buffer(req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		local := *backend
		local.Env = append(backend.Env[:len(backend.Env):len(backend.Env)], "REMOTE_USER="+user, "GIT_PROTOCOL="+req.Header.Get("Git-Protocol"))
		local.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	if user == "" {
		return server.URL
	}
	return strings.Replace(server.URL, "http://", "http://"+url.UserPassword(user, pass).String()+"@", 1)
}

// buffer reads the body of a request and sets its length. A CGI program needs the length to know where
// the body ends, and Go's CGI handler does not end a program that waits for more.
func buffer(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if req.ContentLength > 0 && int64(len(body)) != req.ContentLength {
		return io.ErrUnexpectedEOF
	}
	if len(body) > 0 {
		req.TransferEncoding, req.ContentLength = nil, int64(len(body))
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// Direction is a direction of bytes through a proxy.
type Direction int

// The directions: bytes that the server sends, or that it gets.
const (
	FromServer Direction = iota
	ToServer
)

// Cut puts a proxy before an http server and returns its address. After a number of bytes in one
// direction, counted over all connections, it closes them and accepts no other, as if the line was cut.
func Cut(t testing.TB, address string, after int64, direction Direction) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, left := u.Host, &atomic.Int64{}
	left.Store(after)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serveCut(client, server, left, direction, listener)
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	u.Host = listener.Addr().String()
	return u.String()
}

func serveCut(client net.Conn, host string, left *atomic.Int64, direction Direction, listener net.Listener) {
	server, err := net.DialTimeout("tcp", host, 10*time.Second)
	if err != nil {
		_ = client.Close()
		return
	}
	stop := func() { _, _ = client.Close(), server.Close() }
	pump := func(to, from net.Conn, counted bool) {
		defer stop()
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			if counted {
				if over := -left.Add(int64(-n)); over > 0 {
					n = max(0, n-int(over))
					_ = listener.Close()
					_, _ = to.Write(buf[:n])
					return
				}
			}
			if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
				return
			}
		}
	}
	go pump(server, client, direction == ToServer)
	pump(client, server, direction == FromServer)
}
