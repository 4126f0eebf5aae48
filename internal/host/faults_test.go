package host

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tape/internal/host/api"
	"tape/internal/testkit"
	"tape/repo"
)

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	for n := 64 << 10; err == nil || n > 1; n = max(n/2, 1) {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// writesOf are requests that need room, each with a number that shows in what they leave.
func writesOf(p, runner *peer, run string) map[string]func(n int) (status int, body []byte) {
	big := strings.Repeat("x", 60_000)
	return map[string]func(n int) (status int, body []byte){
		"append": func(n int) (int, []byte) {
			s, b, _ := p.with("Idempotency-Key", fmt.Sprint("a", n)).ask("POST", "/tapes/c/entries", fmt.Sprintf(`{"entries":[{"kind":"message","payload":{"role":"user","content":"n%dn%s"}}]}`, n, big))
			return s, b
		},
		"artifact": func(n int) (int, []byte) {
			s, b, _ := runner.ask("POST", "/artifacts?name=big", fmt.Sprint(n, big))
			return s, b
		},
		"state": func(n int) (int, []byte) {
			s, b, _ := runner.ask("PUT", "/state/conversation/k", fmt.Sprintf(`"%d %s"`, n, big))
			return s, b
		},
		"results": func(n int) (int, []byte) {
			s, b, _ := runner.ask("POST", "/runs/"+run+"/results", fmt.Sprintf(`{"results":[{"sequence":%d,"type":"message.completed","data":{"content":"r%dr%s"}}]}`, n, n, big))
			return s, b
		},
	}
}

// TestFullDisk: what there is no room for is refused with 507 and leaves nothing, what is there can
// be read, and with room again the same server goes on.
func TestFullDisk(t *testing.T) {
	disk := testkit.SmallDisk(t, 8<<20)
	store, _, err := repo.Init(t.Context(), filepath.Join(disk, "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := newPeerOf(t, store)
	run := p.run(api.RunRequest{Conversation: "c"})
	runner := p.as(run.Token)
	p.say("c", "before")
	writes := writesOf(p, runner, run.RunID)
	ballast := filepath.Join(disk, "ballast")
	acknowledged := map[string]int{}
	n := 0
	for round := range 3 {
		fill(t, ballast)
		for name, write := range writes {
			refused := false
			for range 40 { // a file may have room for a little yet
				n++
				*p.now = p.now.Add(1e9)
				status, body := write(n)
				if status/100 == 2 {
					acknowledged[fmt.Sprint(name, n)]++
					continue
				}
				if status != http.StatusInsufficientStorage || !strings.Contains(string(body), `"insufficient_storage"`) {
					t.Fatalf("round %d, %s: %d %s", round, name, status, body)
				}
				refused = true
				break
			}
			if !refused {
				t.Errorf("%s was never refused", name)
			}
		}
		*p.now = p.now.Add(1e9)
		runner.want(200, "GET", "/history", nil, nil)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for name, write := range writes {
			n++
			*p.now = p.now.Add(1e9)
			if status, body := write(n); status/100 != 2 {
				t.Fatalf("round %d, %s with room again: %d %s", round, name, status, body)
			}
			acknowledged[fmt.Sprint(name, n)]++
		}
	}
	all := ""
	for e, err := range tapeOf(t, store, "c").Entries(t.Context(), repo.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all += string(e.Payload[:min(len(e.Payload), 200)]) + "\n"
	}
	for i := 1; i <= n; i++ {
		for name, mark := range map[string]string{"append": fmt.Sprintf("n%dn", i), "results": fmt.Sprintf("r%dr", i)} {
			if got, want := strings.Count(all, mark), acknowledged[fmt.Sprint(name, i)]; got != want {
				t.Errorf("%s %d is there %d times, acknowledged %d", name, i, got, want)
			}
		}
	}
	verified(t, store)
}

func verified(t *testing.T, store *repo.Store) {
	t.Helper()
	report, err := store.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range report.Problems {
		t.Error(problem)
	}
}

// asksOn asks about the tape main until the end, which says how often each status was the answer.
func (p *peer) asksOn() (end func() map[int]int) {
	stop := make(chan struct{})
	statuses := map[int]int{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				path := []string{"/history?conversation_id=main", "/tapes", "/history/search?q=mainly&conversation_id=main", "/tapes/main/context", "/tapes/main/anchors", "/events?conversation_id=main", "/diff?a=main&b=other"}[(n+i)%7]
				status, body, _ := p.ask("GET", path, nil)
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				if strings.Contains(path, "main") && !strings.Contains(path, "other") && strings.Contains(string(body), "otherwise") {
					p.t.Errorf("%s shows another tape: %s", path, body)
				}
				if status >= 500 && !strings.Contains(string(body), `"damaged"`) && !strings.Contains(string(body), `"busy"`) {
					p.t.Errorf("%s: %d %s", path, status, body)
				}
			}
		})
	}
	return func() map[int]int {
		close(stop)
		asking.Wait()
		return statuses
	}
}

// TestGitMeanwhile: git changes the workspace under a server that is asked all the time. Each answer
// is of one state or the other, or says what is wrong; nothing of another tape is ever in it.
func TestGitMeanwhile(t *testing.T) {
	p := newPeer(t)
	store := p.s.Store
	dir := store.Dir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("git %v: %v: %s", args, err, out) // git may refuse
		}
	}
	p.run(api.RunRequest{Conversation: "other"})
	for i := range 20 {
		p.say("main", fmt.Sprint("mainly ", i))
		p.say("other", fmt.Sprint("otherwise ", i))
	}
	for _, tape := range []string{"main", "other"} {
		p.want(201, "POST", "/tapes/"+tape+"/handoff", map[string]string{"name": "next"}, nil)
		p.say(tape, map[string]string{"main": "mainly after", "other": "otherwise after"}[tape])
	}
	end := p.asksOn()
	phase := filepath.Join(dir, "anchors", "002_next")
	for range 3 {
		git("add", "-A")
		git("commit", "-qm", "by hand")
		git("checkout", "-q", "-b", "aside")
		git("checkout", "-q", "tape/main")
		git("branch", "-D", "aside")
		git("gc", "-q", "--prune=now")
		if f, err := os.OpenFile(filepath.Join(phase, "messages.jsonl"), os.O_APPEND|os.O_WRONLY, 0); err == nil {
			fmt.Fprintln(f, `{"id":1,"kind":"message","payload":{"role":"user","content":"mainly wrong"},"meta":{},"date":"2026-01-01T00:00:00Z"}`)
			f.Close()
		}
		time.Sleep(50 * time.Millisecond)
		git("checkout", "-q", "--", ".")
		git("reset", "-q", "--hard", "HEAD")
		if err := os.Rename(phase, phase+".away"); err == nil {
			time.Sleep(50 * time.Millisecond)
			if err := os.Rename(phase+".away", phase); err != nil {
				t.Fatal(err)
			}
		}
		git("update-ref", "refs/heads/tape/gone", "HEAD")
		git("update-ref", "-d", "refs/heads/tape/gone")
	}
	statuses := end()
	t.Logf("answers by status: %v", statuses)
	p.want(200, "GET", "/history?conversation_id=main", nil, nil)
	if statuses[200] == 0 {
		t.Error("nothing was answered")
	}
	p.say("main", "mainly at last")
	verified(t, store)
}
