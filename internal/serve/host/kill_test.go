package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// serveHelper runs a server in a process of its own.
func serveHelper(dir string) {
	ctx := context.Background()
	store, err := repo.Open(ctx, dir, nil)
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it waits for nothing
	if err != nil {
		panic(err)
	}
	s, err := New(ctx, Options{Store: store, Token: adminToken})
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	panic(s.Serve(ctx, l))
}

// process starts a server in a process of its own, and returns its URL.
func process(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testkit.HelperEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, "http://" + strings.TrimSpace(line) + "/v1"
}

// post returns the status, 0 if there was no answer.
func post(url, key string, body any) int {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	r.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0
	}
	return res.StatusCode
}

// TestKill kills a server under load, several times. Each client repeats what was not
// acknowledged, with its key; in the end each entry is there once.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	store, _, err := repo.Init(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	cmd, url := process(t, dir)
	if code := post(url+"/runs", "run", api.RunRequest{Runner: "r", Conversation: "c"}); code != 201 {
		t.Fatalf("start a run: %d, want 201", code)
	}
	run := ""
	for e, err := range tapeOf(t, store, "c").Entries(t.Context(), repo.Query{Kinds: []string{repo.KindEvent}}) {
		if err != nil {
			t.Fatal(err)
		}
		run = jsonl.GetString(e.Meta, metaRun)
	}
	const writers, each = 8, 150
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("w%d-%d", w, i)
				for code := 0; code != 201 && code != 200; {
					mu.Lock()
					at := url
					mu.Unlock()
					if w == 0 { // results are known by their sequence
						code = post(at+"/runs/"+run+"/results", "", api.ResultsRequest{Results: []api.RunResult{{Sequence: int64(i + 1), Type: "note", Data: json.RawMessage(`{"data":"` + name + `"}`)}}})
					} else {
						code = post(at+"/tapes/c/entries", name, api.AppendRequest{Entries: []api.NewEntry{{Kind: "note", Payload: json.RawMessage(`{"data":"` + name + `"}`)}}})
					}
					if code == 0 {
						testkit.Pause(5 * time.Millisecond)
					} else if code > 201 {
						t.Errorf("%s: %d", name, code)
						return
					}
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	kills := 0
	for done := false; !done; {
		select {
		case <-over:
			done = true
		case <-time.After(150 * time.Millisecond):
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		kills++
		if !done {
			mu.Lock()
			cmd, url = process(t, dir)
			mu.Unlock()
		}
	}
	t.Logf("killed %d times", kills)
	seen := map[string]int{}
	for e, err := range tapeOf(t, store, "c").Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		payload := e.Payload
		if e.Kind == repo.KindEvent {
			payload = jsonl.Get(payload, "data")
		}
		if text := jsonl.GetString(payload, "data"); text != "" {
			seen[text]++
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d of %d entries are there", len(seen), writers*each)
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s is there %d times", name, n)
		}
	}
	if report, err := store.Verify(t.Context()); err != nil || !report.OK {
		t.Errorf("%v %v", report, err)
	}
}

func tapeOf(t *testing.T, s *repo.Store, name string) *repo.Tape {
	t.Helper()
	out, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
