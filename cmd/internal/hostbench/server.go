package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// manyRuns share the requests: a run has 20 a second, and 40 at once.
const manyRuns = 300

// server is tape serve, and a client of it on its unix socket.
type server struct {
	cmd    *exec.Cmd
	admin  string
	pages  string // the path that they are below
	client *http.Client
	runs   []string // their tokens
	mu     sync.Mutex
	next   int
}

func (s *setup) serve(ctx context.Context, ws string) (*server, error) {
	sock := filepath.Join(s.dir, "sock")
	v := &server{cmd: exec.CommandContext(ctx, s.tape, "serve", "--json", "--socket", sock, "--workspace", ws)}
	v.cmd.Env, v.cmd.Dir, v.cmd.Stderr = s.env, s.dir, os.Stderr
	v.cmd.Cancel = func() error { return v.cmd.Process.Signal(os.Interrupt) }
	out, err := v.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := v.cmd.Start(); err != nil {
		return nil, err
	}
	var ready struct{ Token, URL, Link string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		return nil, fmt.Errorf("tape serve did not start: %w", err)
	}
	v.admin = ready.Token
	jar, err := cookiejar.New(nil)
	v.client = &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", sock)
		}}}
	if err != nil {
		return nil, err
	}
	resp, err := v.client.Get("http://localhost" + strings.TrimPrefix(ready.Link, ready.URL)) // the cookie for the pages
	if err != nil {
		return nil, err
	}
	for _, c := range resp.Cookies() {
		v.pages = strings.TrimSuffix(c.Path, "/")
	}
	return v, resp.Body.Close()
}

func (v *server) stop() error {
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return v.cmd.Wait()
}

// memory is the most that the server had resident, where that can be told.
func (v *server) memory() string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", v.cmd.Process.Pid))
	for line := range strings.Lines(string(text)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(size)
		}
	}
	return "unknown"
}

// do sends a request with a token, and reads the answer into into unless that is nil.
func (v *server) do(method, path, token string, body []byte, into any) error {
	r, err := http.NewRequest(method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := v.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, resp.Status, data)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// start starts the runs, and tells how long the first one took: the server reads the tape then.
func (v *server) start() (first time.Duration, err error) {
	for range manyRuns {
		began := time.Now()
		var run struct{ Token string }
		if err := v.do("POST", "/v1/runs", v.admin, []byte(`{"runner":"bench","conversation":"`+longTape+`","input":{"text":"what is next?"}}`), &run); err != nil {
			return 0, err
		}
		if v.runs = append(v.runs, run.Token); first == 0 {
			first = time.Since(began)
		}
	}
	return first, nil
}

// token is that of a run, of one after the other.
func (v *server) token() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.next++
	return v.runs[v.next%len(v.runs)]
}

// get is a request of a run.
func (v *server) get(path string) error { return v.do("GET", path, v.token(), nil, nil) }
