package transport

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
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

const advertisement = "application/x-git-upload-pack-advertisement"

// answering starts a server that gives the same answer to every request until the test ends, and returns the
// address of a repository there.
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

// An address without a git server gives an error, not an empty list of refs.
func TestNoGitServer(t *testing.T) {
	for name, answer := range map[string]func(http.ResponseWriter, <-chan struct{}){
		"a page":         says("text/html", "<html>Sign in</html>"),
		"nothing":        says(advertisement, ""),
		"no protocol":    says(advertisement, "<html>Sign in</html>"),
		"half an answer": says(advertisement, "001e# service=git-up"),
		"an error":       says(advertisement, "001e# service=git-upload-pack\n00000013ERR go away\n"),
		"malformed refs": says(advertisement, "001e# service=git-upload-pack\n0000000bnonsense0000"),
		"an HTTP error": func(w http.ResponseWriter, _ <-chan struct{}) {
			http.Error(w, "\x1b[2Jbroken", http.StatusInternalServerError)
		},
		"a redirect": func(w http.ResponseWriter, _ <-chan struct{}) {
			w.Header().Set("Location", "http://example.invalid/")
			w.WriteHeader(http.StatusFound)
		},
		"something binary":                  says(advertisement, strings.Repeat("\x00\xff", 100)),
		"an empty list in the old protocol": says("text/plain", ""),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, remotePeer{URL: answering(t, answer)})
			_, _, err := LsRemote(context.Background(), s.r, "origin", []string{"refs/"}, Options{})
			if !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "origin") {
				t.Errorf("listing the refs gave %v, want ErrRemote with the name origin", err)
			}
			if strings.ContainsAny(fmt.Sprint(err), "\x1b\x00") {
				t.Errorf("the error has control characters: %q", err)
			}
		})
	}
}

// A silent web server is given up, before it answers and in the middle of an answer.
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
		s := newSide(t, remotePeer{URL: url})
		wait.Go(func() {
			_, err := Fetch(context.Background(), s.r, "origin", mirror, Options{Idle: time.Second})
			if !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "silent for 1s") && !strings.Contains(err.Error(), "too slow") {
				t.Errorf("silent %s: %v, want ErrRemote because of the silence", name, err)
			}
		})
	}
	wait.Wait()
}

// A host that accepts connections but does not speak ssh is given up, and so is an ssh command that goes silent.
func TestMuteSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("ssh is not installed")
	}
	t.Setenv("GIT_SSH", "")
	t.Setenv("GIT_SSH_COMMAND", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	defer l.Close()
	s := newSide(t, remotePeer{URL: "ssh://" + l.Addr().String() + "/x.git"})
	if _, err = Fetch(context.Background(), s.r, "origin", mirror, Options{Idle: time.Second}); !errors.Is(err, ErrRemote) {
		t.Errorf("a host that does not speak ssh gave %v, want ErrRemote", err)
	}
	command := filepath.Join(t.TempDir(), "ssh")
	mustDo(t, os.WriteFile(command, []byte("#!/bin/sh\necho 'welcome to the machine' >&2\nexec sleep 600\n"), 0o700))
	s = newSide(t, remotePeer{URL: "host:x.git"})
	t.Setenv("GIT_SSH_COMMAND", command)
	_, err = Fetch(context.Background(), s.r, "origin", mirror, Options{Idle: time.Second})
	if !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "silent for 1s") {
		t.Errorf("a silent command gave %v, want ErrRemote because of the silence", err)
	}
}

// Whoever waits for a silent remote is told so once, by its name, in fetches and pushes, and the wait ends.
func TestSilentRemoteIsNamed(t *testing.T) {
	command := filepath.Join(t.TempDir(), "ssh")
	mustDo(t, os.WriteFile(command, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700))
	t.Setenv("GIT_SSH", "")
	t.Setenv("GIT_SSH_COMMAND", command)
	s := newSide(t, remotePeer{URL: "host:x.git"})
	h := growing(t, s.r, gitstore.Hash{}, 1, "")[0]
	var mu sync.Mutex
	var said []string
	r, err := gitstore.Open(s.GitDir, &gitstore.Options{Own: func(string) bool { return true }, OnWait: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}})
	mustDo(t, err)
	idle := Options{Idle: 200 * time.Millisecond}
	_, err = Fetch(context.Background(), r, "origin", mirror, idle)
	if !errors.Is(err, ErrRemote) {
		t.Errorf("the fetch gave %v, want ErrRemote", err)
	}
	m, err := findRemote(r, "origin")
	mustDo(t, err)
	if _, err = gitPush(context.Background(), r, m, []PushRef{branch("main", h)}, false, idle); !errors.Is(err, ErrRemote) {
		t.Errorf("the push gave %v, want ErrRemote", err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"waiting for origin, which has been silent for 100ms; this ends after 200ms",
		"waiting for origin, which has been silent for 100ms; this ends after 1s",
	}
	if !slices.Equal(said, want) {
		t.Errorf("the user was told %q, want %q", said, want)
	}
}

// Output of git keeps the connection alive. After all objects have arrived, git may work on them for any
// time.
func TestIdleTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := 0
		p := &idleTimer{limit: time.Hour, end: func() { ended++ }}
		p.watching(io.Discard)
		p.restart(true)
		if p.giveUp(); p.expired() {
			t.Error("it was given up after it was done")
		}
		p = &idleTimer{limit: 100 * time.Millisecond, end: func() { ended++ }}
		w := p.watching(io.Discard)
		for range 20 {
			time.Sleep(10 * time.Millisecond)
			fmt.Fprint(w, "Receiving objects:  50% (1/2)\r")
		}
		if p.expired() {
			t.Error("it was given up while output came")
		}
		fmt.Fprint(w, "Receiving objects: 100% (2/2), done.\n")
		time.Sleep(200 * time.Millisecond)
		if p.expired() || ended != 0 {
			t.Error("it was given up after all objects had come")
		}
		p = &idleTimer{limit: time.Millisecond, end: func() { ended++ }}
		p.watching(io.Discard)
		time.Sleep(100 * time.Millisecond)
		if p.stop(); !p.expired() || ended != 1 {
			t.Errorf("silence ended it %d times, want once (expired: %t)", ended, p.expired())
		}
	})
}

// Without the git program, everything that needs it says so and changes nothing.
func TestNoGit(t *testing.T) {
	dir := gitjudge.Bare(t)
	s := newSide(t, remotePeer{Transport: "path", Dir: dir, URL: dir})
	h := growing(t, s.r, gitstore.ZeroHash, 1, "x")[0]
	t.Setenv("PATH", t.TempDir())
	ctx, o := context.Background(), Options{}
	_, err1 := Fetch(ctx, s.r, "origin", mirror, o)
	_, err2 := Push(ctx, s.r, "origin", [][]PushRef{{branch("x", h)}}, o)
	_, err3 := FindTarget(ctx, s.r, "origin", []string{"refs/"}, o)
	_, _, err4 := LsRemote(ctx, s.r, dir, []string{"refs/"}, o)
	err5 := gitrun.GC(ctx, s.r, "")
	for i, err := range []error{err1, err2, err3, err4, err5, gitrun.CheckGit()} {
		if !errors.Is(err, gitrun.ErrNoGit) {
			t.Errorf("call %d: %v, want ErrNoGit", i+1, err)
		}
	}
}

// refsForever sends refs until the other side hangs up, or to a limit that must not be reached.
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

// An endless list of refs is cut off: git's memory is limited.
func TestEndlessRefs(t *testing.T) {
	url := refsForever(t)
	if !testkit.Soak() {
		t.Skip("it takes a while")
	}
	s := newSide(t, remotePeer{URL: url})
	_, err := Fetch(context.Background(), s.r, "origin", mirror, Options{})
	if !errors.Is(err, ErrHostile) {
		t.Errorf("endless refs gave %v, want ErrHostile", err)
	}
}

func appendPacket(b []byte, content string) []byte {
	return append(fmt.Appendf(b, "%04x", len(content)+4), content...)
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
