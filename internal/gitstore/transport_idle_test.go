package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/testkit/gitpeer"
)

const advertisement = "application/x-git-upload-pack-advertisement"

// answering is a server that answers every request so, until the test ends.
func answering(t *testing.T, answer func(w http.ResponseWriter, gone <-chan struct{})) string {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		gone := make(chan struct{})
		stop := context.AfterFunc(req.Context(), func() { close(gone) })
		defer stop()
		select {
		case <-ended:
		default:
			answer(w, gone)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	return server.URL + "/x.git"
}

func says(kind, text string) func(http.ResponseWriter, <-chan struct{}) {
	return func(w http.ResponseWriter, _ <-chan struct{}) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

// A remote that is none says so, and not that it is empty.
func TestNoGitServer(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, <-chan struct{}){
		"a page":          says("text/html", "<html>Sign in</html>"),
		"nothing":         says(advertisement, ""),
		"no protocol":     says(advertisement, "<html>Sign in</html>"),
		"half of it":      says(advertisement, "001e# service=git-up"),
		"an error":        says(advertisement, "001e# service=git-upload-pack\n00000013ERR go away\n"),
		"refs of another": says(advertisement, "001e# service=git-upload-pack\n0000000bnonsense0000"),
		"an error of http": func(w http.ResponseWriter, _ <-chan struct{}) {
			http.Error(w, "\x1b[2Jbroken", http.StatusInternalServerError)
		},
		"somewhere else": func(w http.ResponseWriter, _ <-chan struct{}) {
			w.Header().Set("Location", "http://example.invalid/")
			w.WriteHeader(http.StatusFound)
		},
		"something binary":  says(advertisement, strings.Repeat("\x00\xff", 100)),
		"an empty old list": says("text/plain", ""),
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, builtin bool) {
				s := newSide(t, gitpeer.Peer{URL: answering(t, answer), Builtin: builtin})
				_, _, err := s.r.LsRemote(context.Background(), "origin", []string{"refs/"}, s.o())
				if !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "origin") {
					t.Errorf("it has no refs, and that gave %v", err)
				}
				if strings.ContainsAny(fmt.Sprint(err), "\x1b\x00") {
					t.Errorf("not fit for a terminal: %q", err)
				}
			})
		})
	}
}

// A web server that says nothing is given up, before it answers or in the middle.
func TestMuteServer(t *testing.T) {
	mute := func(first string) string {
		return answering(t, func(w http.ResponseWriter, gone <-chan struct{}) {
			if first != "" {
				says(advertisement, first)(w, gone)
				_ = http.NewResponseController(w).Flush()
			}
			<-gone
		})
	}
	var wait sync.WaitGroup
	for name, url := range map[string]string{"from the beginning": mute(""), "in the middle": mute("001e# service=git-up")} {
		for _, builtin := range []bool{false, true} {
			s := newSide(t, gitpeer.Peer{URL: url})
			wait.Go(func() {
				_, err := s.r.Fetch(context.Background(), "origin", mirror, TransportOptions{Builtin: builtin, Idle: time.Second})
				if !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "nothing for 1s") && !strings.Contains(err.Error(), "too slow") {
					t.Errorf("%s, builtin %v: %v", name, builtin, err)
				}
			})
		}
	}
	wait.Wait()
}

// So is a host that takes connections and does not speak ssh, and a command that says
// nothing. A user's own command is left to itself by git.
func TestMuteSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("ssh is not installed")
	}
	t.Setenv("GIT_SSH", "")
	t.Setenv("GIT_SSH_COMMAND", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	defer l.Close()
	both(t, func(t *testing.T, builtin bool) {
		s := newSide(t, gitpeer.Peer{URL: "ssh://" + l.Addr().String() + "/x.git", Builtin: builtin})
		_, err := s.r.Fetch(context.Background(), "origin", mirror, TransportOptions{Builtin: builtin, Idle: time.Second})
		if !errors.Is(err, ErrRemote) {
			t.Errorf("it gave %v", err)
		}
	})
	command := filepath.Join(t.TempDir(), "ssh")
	mustDo(t, os.WriteFile(command, []byte("#!/bin/sh\necho 'welcome to the machine' >&2\nexec sleep 600\n"), 0o700))
	s := newSide(t, gitpeer.Peer{URL: "host:x.git"})
	t.Setenv("GIT_SSH_COMMAND", command)
	_, err = s.r.Fetch(context.Background(), "origin", mirror, TransportOptions{Builtin: true, Idle: time.Second})
	if !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "nothing for 1s") {
		t.Errorf("a command that says nothing gave %v", err)
	}
}

// What takes time here is not held against the other side, nor that it is slow while it
// does go on.
func TestPatience(t *testing.T) {
	cut := 0
	p := newPatience(time.Hour, func() { cut++ })
	long := func() {
		p.mu.Lock()
		p.last = time.Now().Add(-2 * time.Hour)
		p.mu.Unlock()
	}
	done := p.wait()
	long()
	p.moved()
	if p.look(); p.isOver() {
		t.Error("something moved, and it was given up")
	}
	done()
	long()
	if p.look(); p.isOver() {
		t.Error("nobody waited, and it was given up")
	}
	if err := p.why(io.ErrUnexpectedEOF); errors.Is(err, ErrRemote) {
		t.Errorf("what failed by itself is %v", err)
	}
	defer p.wait()()
	long()
	if p.look(); !p.isOver() || cut != 1 {
		t.Errorf("nothing moved, and it was cut %d times", cut)
	}
	if err := p.why(io.ErrUnexpectedEOF); !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "nothing for 1h") {
		t.Errorf("what was cut is %v", err)
	}
}

// refsForever sends refs until the other side hangs up, or as many bytes as it never should.
func refsForever(t *testing.T) (url string) {
	return answering(t, func(w http.ResponseWriter, gone <-chan struct{}) {
		hash := strings.Repeat("1", 40)
		says(advertisement, "001e# service=git-upload-pack\n0000"+string(appendPacket(nil, hash+" HEAD\x00side-band-64k ofs-delta\n")))(w, gone)
		var chunk []byte
		for i, sent := 0, 0; sent < 16<<30; sent += len(chunk) {
			chunk = chunk[:0]
			for range 10_000 {
				chunk = appendPacket(chunk, fmt.Sprintf("%s refs/heads/tape/x%09d\n", hash, i))
				i++
			}
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
}

// A list of refs without end is cut off. Git is bounded by the memory that it may use, which
// takes it a while.
func TestEndlessRefs(t *testing.T) {
	url := refsForever(t)
	both(t, func(t *testing.T, builtin bool) {
		if !builtin && !testkit.Soak() {
			return // as said
		}
		s := newSide(t, gitpeer.Peer{URL: url, Builtin: builtin})
		_, err := s.r.Fetch(context.Background(), "origin", mirror, s.o())
		if !errors.Is(err, ErrHostile) {
			t.Errorf("it gave %v", err)
		}
	})
}

// A list of few refs with endless names is, too.
func TestEndlessNames(t *testing.T) {
	packet := appendPacket(nil, strings.Repeat("1", 40)+" refs/"+strings.Repeat("x", 60_000)+" y")
	in, out := io.Pipe()
	go func() {
		for {
			if _, err := out.Write(packet); err != nil {
				return
			}
		}
	}()
	_, err := readRefs(in)
	_ = in.Close()
	if !errors.Is(err, ErrHostile) || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("it gave %v", err)
	}
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
