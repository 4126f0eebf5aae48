package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tape/internal/serve/host/api"
	"tape/internal/testkit"
	"tape/repo"
)

// git runs in the workspace without hooks; failures are logged, because the server writes at the same time.
func (p *peer) git(args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", append([]string{"-C", p.s.Store.Dir(), "-c", "core.hooksPath=/dev/null", "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Logf("git %s: %v: %.300s", strings.Join(args, " "), err, out)
	}
}

// edit changes the last file of entries that is checked out.
func (p *peer) edit(change func(text string) string) {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.s.Store.Dir(), "anchors", "*", "messages.jsonl"))
	if err != nil || len(files) == 0 {
		p.t.Logf("no file: %v", err)
		return
	}
	file := files[len(files)-1]
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file+".new", []byte(change(string(data))), 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.t.Error(err)
	}
}

// askAll reads a tape in every way, and appends to it. Each answer must be right or a clear error, and must
// show nothing of another tape.
func (p *peer) askAll(tape, others string, n int, seen *sync.Map) {
	for _, path := range []string{"/history?conversation_id=" + tape, "/events?direction=forward&conversation_id=" + tape, "/history/search?q=word&conversation_id=" + tape,
		"/tapes/" + tape + "/context", "/tapes/" + tape + "/anchors", "/state/conversation?conversation_id=" + tape, "/tapes"} {
		code, body, _ := p.ask("GET", path, nil)
		p.checkAnswer(path, others, code, body, seen)
	}
	code, body, _ := p.ask("POST", "/tapes/"+tape+"/entries", fmt.Sprintf(`{"entries":[{"kind":"message","payload":{"role":"user","content":"word of %s %d"}}]}`, tape, n))
	p.checkAnswer("append", others, code, body, seen)
}

func (p *peer) checkAnswer(path, others string, code int, body []byte, seen *sync.Map) {
	var e api.ErrorAnswer
	switch {
	case strings.Contains(string(body), "word of "+others):
		p.t.Errorf("%s shows texts of %s: %s", path, others, body)
	case code >= 400 && path == "/tapes", code >= 400 && (json.Unmarshal(body, &e) != nil || e.Error.Code == "" || e.Error.Code == "internal"):
		p.t.Errorf("%s: %d %s", path, code, body)
	}
	seen.Store(fmt.Sprint(code, " ", e.Error.Code, " ", e.Error.Message), path)
}

// TestGitMeanwhile changes the workspace with git, in good ways and bad, while the server reads and
// writes it.
func TestGitMeanwhile(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	ctx, store, seen := t.Context(), p.s.Store, &sync.Map{}
	p.run(api.RunRequest{Conversation: "other"})
	stop := make(chan struct{})
	var group sync.WaitGroup
	for _, names := range [][2]string{{"main", "other"}, {"other", "main"}} {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					p.askAll(names[0], names[1], n, seen)
				}
			}
		})
	}
	p.say("main", "word of main first")
	checkpoint := func() {
		// A reset may have removed entries that were acknowledged: nobody can write until a repair has
		// recorded that.
		if _, err := store.RepairGit(ctx); err != nil {
			t.Error(err)
		}
		if _, err := store.Repair(ctx); err != nil {
			t.Error(err)
		}
		if _, _, err := tapeOf(t, store, "main").Checkpoint(ctx); err != nil {
			t.Error(err)
		}
	}
	steps := []func(){
		func() {
			p.edit(func(s string) string { return strings.Replace(s, "word", "WORD", 1) })
			p.git("commit", "-qam", "edited")
		},
		func() { p.edit(func(string) string { return "" }); p.git("commit", "-qam", "emptied") },
		func() { p.git("rm", "-rqf", "anchors"); p.git("commit", "-qm", "removed") },
		func() { p.git("gc", "-q", "--prune=now"); p.git("repack", "-adq") },
		func() { p.git("update-ref", "-d", "refs/heads/tape/other") },
		func() {
			f, err := tapeOf(t, store, "main").Fork(ctx, fmt.Sprint("f", time.Now().UnixNano()))
			if err == nil {
				_, err = f.Append(ctx, nil, repo.Message("user", "word of main in a fork"))
			}
			if err == nil {
				_, _, err = f.Checkpoint(ctx)
			}
			if err != nil {
				t.Log(err)
				return
			}
			p.git("merge", "-q", "--no-ff", "-m", "by hand", f.Branch())
			p.git("merge", "--abort")
		},
		func() { p.git("checkout", "-q", "HEAD~1", "--", "anchors") },
		func() {
			if o, err := store.Tape(ctx, "other"); err == nil {
				_, err = o.Remove(ctx, true)
				t.Log("removed: ", err)
			}
		},
	}
	for range testkit.Size(1, 5) {
		for _, step := range steps {
			testkit.Pause(50 * time.Millisecond)
			checkpoint()
			p.git("branch", "-f", "good", "tape/main")
			step()
			testkit.Pause(50 * time.Millisecond)
			p.git("reset", "-q", "--hard", "good")
			if err := p.s.own.EnsureConversation(ctx, "other"); err != nil {
				t.Log(err)
			}
		}
	}
	close(stop)
	group.Wait()
	checkpoint()
	seen.Range(func(k, v any) bool { t.Log(k, " ", v); return true })
	for _, name := range []string{"main", "other"} {
		p.want(201, "POST", "/tapes/"+name+"/entries", `{"entries":[{"kind":"message","payload":{"role":"user","content":"the last"}}]}`, nil)
		var page api.Page
		p.want(200, "GET", "/history?limit=1&conversation_id="+name, nil, &page)
		if len(page.Items) != 1 || page.Items[0].Content != "the last" {
			t.Errorf("%s: the last item is %+v, want \"the last\"", name, page)
		}
	}
}
