package front

//tape:race: connections come side by side

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes, so that they use the test's clock.
type pipes struct {
	next chan net.Conn
	done chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) dial() net.Conn {
	mine, theirs := net.Pipe()
	p.next <- theirs
	return mine
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.next:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestListen: one connection too many closes the oldest without an authenticated request; if all have one, it waits.
func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		l := Listen(p, 2)
		accepted := make(chan net.Conn, 5)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- c
			}
		}()
		dial := func() net.Conn {
			c := p.dial()
			synctest.Wait()
			return c
		}
		dial()
		first := <-accepted
		KeepConn(WithConn(t.Context(), first))
		stranger := dial()
		_ = dial()
		if _, err := stranger.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the oldest without a token is not closed: %v", err)
		}
		_ = (<-accepted).Close() // its server closes it again, which frees no second place
		third := <-accepted
		KeepConn(WithConn(t.Context(), third))
		dial()
		if len(accepted) != 0 {
			t.Error("one connection too many is accepted")
		}
		_ = first.Close()
		_ = first.Close()
		synctest.Wait()
		if len(accepted) != 1 {
			t.Errorf("%d connections are accepted after one was closed, want 1", len(accepted))
		}
		KeepConn(WithConn(t.Context(), <-accepted))
		last := dial()
		_ = l.Close() // this also ends the waiting Accept
		if _, err := last.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the waiting connection is not closed with the listener: %v", err)
		}
		if c, ok := <-accepted; ok {
			t.Errorf("the closed listener accepted %v", c)
		}
	})
}

// TestIdleConnections: connections with a token, but without a request, keep nobody out.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		l := Listen(p, 2)
		defer l.Close()
		accepted := make(chan net.Conn, 5)
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				KeepConn(WithConn(t.Context(), c))
				accepted <- c
			}
		}()
		p.dial()
		active := <-accepted
		client := p.dial()
		idle := <-accepted
		ConnState(active, http.StateActive)
		ConnState(idle, http.StateActive)
		p.dial()
		synctest.Wait()
		if len(accepted) != 0 {
			t.Error("one connection too many is accepted")
		}
		ConnState(idle, http.StateIdle)
		<-accepted
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the idle connection is not closed: %v", err)
		}
	})
}

// TestSlowClients: a reader may be slow as long as it reads and its run lasts; a body has a minute.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		result := make(chan error, 1)
		p := newPipes()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			out := NewWriter(w)
			r.Body = Body(w, r)
			if r.URL.Path == "/ends" {
				out.Until = time.Now().Add(5 * time.Second)
			}
			_, err := io.Copy(io.Discard, r.Body)
			if err == nil {
				_, err = out.Write(make([]byte, size))
			}
			result <- err
		})}
		go func() { _ = server.Serve(p) }()
		ask := func(path string, length int, take func(*bufio.Reader) error) (took time.Duration, err error) {
			c := p.dial()
			defer c.Close()
			began := time.Now()
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", path, length)
			if err := take(bufio.NewReader(c)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			err = <-result
			return time.Since(began), err
		}
		_, err := ask("/", 0, func(r *bufio.Reader) error {
			res, err := http.ReadResponse(r, nil)
			for err == nil {
				time.Sleep(10 * time.Second)
				_, err = io.CopyN(io.Discard, res.Body, 8<<10)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		})
		if err != nil {
			t.Errorf("a slow reader did not get the whole answer: %v", err)
		}
		nothing := func(*bufio.Reader) error { return nil }
		for path, length := range map[string]int{"/nothing": 0, "/body": 10, "/ends": 0} {
			took, err := ask(path, length, nothing)
			most := time.Minute
			if path == "/ends" {
				most = 5 * time.Second
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) || took > most {
				t.Errorf("%s: %v after %s, want a deadline after at most %s", path, err, took, most)
			}
		}
		_ = server.Close()
	})
}

func TestBudgets(t *testing.T) {
	l := NewLimits()
	data, done, err := l.ReadAll(strings.NewReader(strings.Repeat("x", 5<<20)))
	if err != nil || len(data) != 5<<20 {
		t.Fatal(len(data), err)
	}
	if held := bodyBytes - l.bodies.free; held < 5<<20 {
		t.Errorf("%d bytes are counted, want at least %d", held, 5<<20)
	}
	var all []func()
	for {
		_, done, err := l.ReadAll(strings.NewReader(strings.Repeat("x", 5<<20)))
		if err != nil {
			break
		}
		all = append(all, done)
	}
	if len(all) == 0 || len(all) > bodyBytes/(5<<20) {
		t.Errorf("%d bodies fit at once, want 1 to %d", len(all), bodyBytes/(5<<20))
	}
	for _, f := range append(all, done) {
		f()
		f()
	}
	if l.bodies.free != bodyBytes {
		t.Errorf("%d bytes are not free again", bodyBytes-l.bodies.free)
	}
	var u Use
	for range MaxStreams {
		if _, err := u.Enter(true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := u.Enter(true); err == nil {
		t.Error("one stream too many is allowed")
	}
	if leave, err := u.Enter(false); err != nil {
		t.Errorf("a request beside the streams: %v", err)
	} else {
		leave()
	}
}
