//go:build unix

package hostcli

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tape/cmd/internal/agentstest/model"
)

// held is a command that writes a line, and goes on when the file "go" is there.
const held = `echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over`

// TestWatch: a running command is seen while it runs, at any width and through a resize; its whole
// result is in the pager.
func TestWatch(t *testing.T) {
	for _, width := range []int{60, 120} {
		c := narrowed(t, width)
		c.Type("kept")
		c.Until("> kept")
		c.Resize(width, 40)
		c.UntilIt("has the editor once", func(seen string) bool { return strings.Count(seen, "> kept") == 1 && strings.Contains(seen, "begun") })
		c.file("go", "")
		c.Until("exit 0 · 22 lines", "199", "All is done.", "tokens in", "> kept")
		c.Keys("C-o")
		c.Until("180\n  181\n  182") // PAGER is cat
		c.Until("> kept")
	}
}

// narrowed returns a talk in which a command runs, with a terminal of width cells that has become narrow. What is drawn at
// the moment of the change may leave a line behind, which no program can know of; so this is tried three times.
func narrowed(t *testing.T, width int) *talk {
	t.Helper()
	for try := 1; ; try++ {
		c := newTalk(t, model.Script{"work": {{Calls: []model.Call{tool("bash", `{"cmd":"`+held+`; seq 180 199"}`)}}, {Text: "All is **done**."}}}, width, "TAPE_MODE=auto")
		c.start()
		c.Say("work", "begun", "openai:scripted")
		c.Resize(30, 20)
		c.UntilIt("shows the command in the narrow terminal", func(seen string) bool {
			return strings.Contains(seen, "bash  echo begun; whi…") && strings.Contains(seen, "  begun\n\n>")
		})
		switch {
		case strings.Count(c.Seen(), "bash  echo begun") == 1:
			return c
		case try == 3:
			t.Fatalf("a terminal that becomes narrow has lines twice:\n%s", c.Seen())
		}
		c.file("go", "")
	}
}

// TestLongResult: a result that is kept as an artifact says how much of it is not shown, and the pager has all of it,
// also after the session is opened again.
func TestLongResult(t *testing.T) {
	t.Parallel()
	c := newTalk(t, model.Script{"work": {{Calls: []model.Call{tool("bash", `{"cmd":"seq 1 60000"}`)}}, {Text: "All is done."}}}, 80, "TAPE_MODE=auto", "PAGER=grep 55.00$")
	for _, begin := range []func(){func() { c.start(); c.Say("work", "All is done.", "tokens in") }, func() { c.start(); c.Until("what came before") }} {
		begin()
		c.Until("exit 0 · 60000 lines", "… 59995 more, Ctrl-O shows all", "60000")
		c.Keys("C-o")
		c.UntilIt("shows what the model does not get, and then the editor", func(seen string) bool {
			_, below, ok := strings.Cut(seen, "55000\n  55100\n  55200")
			return ok && strings.Contains(below, "\n>")
		})
		c.Type(",exit")
		c.Until("> ,exit") // otherwise Enter may come with it, as in a text that is pasted
		c.Keys("Enter")
		c.Until("left 0")
	}
}

// TestFirstPrompt: the first prompt does not wait until it is known whether commands can be confined.
func TestFirstPrompt(t *testing.T) {
	t.Parallel()
	c := newTalk(t, nil, 80)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\nwhile [ ! -e '"+c.project+"/go' ]; do sleep 0.05; done\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.options.Env = append(c.options.Env, "PATH="+dir+":"+os.Getenv("PATH"))
	c.start()
	c.Type("typed")
	c.Until("> typed")
	c.file("go", "")
}

// TestInterrupt: Ctrl-C and Esc interrupt a turn and say so, Ctrl-C twice leaves, and the next turn works.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := newTalk(t, model.Script{"work": {{Calls: []model.Call{tool("bash", `{"cmd":"echo begun; sleep 1000"}`)}}}, "again": {{Calls: []model.Call{tool("bash", `{"cmd":"echo begun anew; sleep 1000"}`)}}}, "next": {{Text: "Here I am."}}}, 80, "TAPE_MODE=auto")
	c.start()
	c.Say("work", "begun")
	c.Keys("C-c")
	c.Until("interrupted after")
	c.Say("again", "begun anew")
	c.Keys("Escape")
	c.Until("echo begun anew; sleep 1000  interrupted")
	c.Say("next", "Here I am.", "tokens in")
	c.idle()
	c.Keys("C-c")
	c.Until("Ctrl-C again leaves")
	c.Keys("C-c")
	c.Until("left 0")
}

// TestSilentModel: while a model streams nothing, the screen says how long the turn has waited. Esc interrupts it.
func TestSilentModel(t *testing.T) {
	t.Parallel()
	c := newTalk(t, model.Script{"work": {{Text: "never", Pause: time.Hour}}, "next": {{Text: "Here I am."}}}, 80)
	c.start()
	c.Say("work")
	c.UntilIt("shows how long it waits", regexp.MustCompile(`waiting for the model [1-9]\d*s`).MatchString)
	c.Keys("Escape")
	c.Until("✗ interrupted after")
	c.Say("next", "Here I am.", "tokens in")
}

// TestKilledAndResumed: a chat that is killed while a tool runs goes on when it is opened again, shows
// what came before, and answers the message that waited.
func TestKilledAndResumed(t *testing.T) {
	t.Parallel()
	c := newTalk(t, model.Script{"first": {{Text: "The first answer."}},
		"work": {{Calls: []model.Call{tool("bash", `{"cmd":"echo begun; echo $PPID >pid; sleep 1000"}`)}}, {Text: "I went on."}}, "queued": {{Text: "I waited."}}}, 80, "TAPE_MODE=auto")
	c.start()
	c.Say("first", "The first answer.")
	c.Say("work", "begun")
	c.Type("queued")
	c.Until("> queued")
	c.Keys("Tab")
	c.Until("then: queued")
	pids, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(pids) == 0 {
		t.Skip("there is no /proc to find the chat in")
	}
	killed := 0
	for _, file := range pids {
		raw, err := os.ReadFile(file)
		if err != nil || string(raw) != strings.Join(c.options.Argv, "\x00")+"\x00" {
			continue
		}
		pid := 0
		for _, d := range strings.Split(file, "/")[2] {
			pid = 10*pid + int(d-'0')
		}
		if env, err := os.ReadFile(filepath.Join(filepath.Dir(file), "environ")); err == nil && strings.Contains(string(env), c.store.Dir()) && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("killed %d chats, want 1", killed)
	}
	c.Until("left 137")
	c.screen = startScreen(t, c.options)
	c.Until("> first", "The first answer.", "what came before", "I went on.", "I waited.")
	c.idle()
	c.Keys("C-d")
	c.Until("left 0")
	checkEntries(t, c.store, "interrupted: the program ended before the call had a result", "I went on.")
}

// TestType: Backspace deletes a Chinese character as it is seen, also in wrapped and in several lines. What was typed
// is in the history after a restart.
func TestType(t *testing.T) {
	t.Parallel()
	c := newTalk(t, model.Script{"你好": {{Text: "再见"}}}, 60)
	c.start()
	c.Type(strings.Repeat("漢字", 20) + "你好吗")
	c.UntilIt("wraps the text", func(seen string) bool {
		return strings.Contains(seen, "字你好吗") && strings.Count(seen, "漢") == 20
	})
	for range 43 {
		c.Keys("BSpace")
	}
	c.UntilIt("is empty", func(seen string) bool { return !strings.ContainsAny(seen, "漢字吗") })
	c.Type("你好吗")
	c.Keys("BSpace", "C-j")
	c.Say("zweite", "> 你好\n  zweite", "再见", "tokens in")
	c.Keys("C-d")
	c.Until("left 0")
	c.start()
	c.Until("再见", "what came before")
	c.Keys("C-r")
	c.Type("zwei")
	c.Until("search: zwei\n  你好 zweite")
	c.Keys("Enter", "C-g") // EDITOR is cat
	c.Until("> 你好\n  zweite\n")
}

// TestApprove answers questions for consent in each way.
func TestApprove(t *testing.T) {
	t.Parallel()
	bash := func(cmd string) model.Step { return model.Step{Calls: []model.Call{tool("bash", `{"cmd":"`+cmd+`"}`)}} }
	c := newTalk(t, model.Script{
		"once":   {bash("touch one"), {Text: "It is made."}},
		"refuse": {bash("touch two"), {Text: "Then not."}},
		"tell":   {bash("touch three"), {Text: "As you say."}},
		"always": {bash("touch four"), bash("touch five"), {Text: "Both are made."}},
		"edit":   {{Calls: []model.Call{tool("fs_edit", `{"path":"a.txt","old":"old","new":"new"}`)}}, {Text: "It is changed."}},
	}, 100)
	c.file("a.txt", "an old text\n")
	c.start()
	c.Say("once", "touch one", "y yes")
	c.Type("y")
	c.Until("✓ allowed: bash touch one", "It is made.", "tokens in")
	c.UntilIt("is ready for the next message", func(seen string) bool { return !strings.Contains(seen, "Enter steers") })
	if seen := c.Seen(); strings.Contains(seen, "? run a command") || strings.Count(seen, "touch one") != 2 {
		t.Errorf("the question is still there:\n%s", seen)
	}
	c.Say("refuse", "touch two", "n no")
	c.Type("n")
	c.Until("✗ refused: bash touch two", "Then not.")
	c.Say("tell", "touch three", "n no")
	c.screen.Say("use the shell's own >", "✗ refused: bash touch three", "As you say.")
	c.Say("edit", "- an old text", "+ an new text", "y yes")
	c.Type("y")
	c.Until("+1 -1", "It is changed.")
	c.Say("always", "touch four", "always in this session")
	c.Type("s")
	c.Until("allowed in this session: touch", "Both are made.")
	for name, want := range map[string]bool{"one": true, "two": false, "three": false, "four": true, "five": true} {
		if _, err := os.Stat(filepath.Join(c.project, name)); (err == nil) != want {
			t.Errorf("the file %s exists: %v, want %v", name, err == nil, want)
		}
	}
	checkEntries(t, c.store, "use the shell's own >")
}

// TestRunOnScreen: on a terminal, tape run shows a turn as a chat does, and its answer once.
func TestRunOnScreen(t *testing.T) {
	t.Parallel()
	c := newTalk(t, model.Script{"work": {{Text: "First I look.", Calls: []model.Call{tool("bash", `{"cmd":"echo seen"}`)}}, {Text: "That was all."}}}, 80, "TAPE_MODE=auto")
	c.options.Argv = append([]string{c.options.Argv[0]}, "run", "work")
	c.screen = startScreen(t, c.options)
	c.Until("> work", "First I look.", "▸ bash  echo seen  ✓ exit 0 · 1 line", "That was all.", "left 0")
	if strings.Count(c.Seen(), "That was all.") != 1 {
		t.Errorf("the answer is not shown just once:\n%s", c.Seen())
	}
}

// TestOnboard: wrong answers are asked for again, the server's models are listed, and a chat follows.
func TestOnboard(t *testing.T) {
	c := newTalk(t, model.Script{"Answer with the word yes": {{Text: "yes"}}, "hello": {{Text: "Welcome."}}}, 100)
	modelURL := ""
	for _, v := range c.options.Env {
		if rest, ok := strings.CutPrefix(v, "OPENAI_BASE_URL="); ok {
			modelURL = strings.TrimSuffix(rest, "/v1")
		}
		if home, ok := strings.CutPrefix(v, "TAPE_HOME="); ok {
			t.Setenv("TAPE_HOME", home)
		}
	}
	target, err := url.Parse(modelURL)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"id":"small"},{"id":"large","context_length":1000}]}`))
	})
	mux.Handle("/", httputil.NewSingleHostReverseProxy(target))
	server := httptest.NewServer(mux)
	defer server.Close()
	c.options.Argv = append([]string{c.options.Argv[0]}, "onboard")
	c.options.Env = append(c.options.Env, "TAPE_MODEL=", "OPENAI_BASE_URL=", "OPENAI_API_KEY=", "MINE_BASE_URL=http://127.0.0.1:1/v1")
	const kept = `{"base_url":"http://127.0.0.1:1","allow_users":["7","@ann"],"allow_chats":["-1"]}`
	if err := c.store.SetSetting("telegram", kept); err != nil {
		t.Fatal(err)
	}
	c.screen = startScreen(t, c.options)
	c.Until("Provider (")
	c.Say("mine", "MINE_BASE_URL has the address", "Key (not shown")
	c.Say("", "It does not work", "Ask for address and key again?")
	c.Type("yes")
	c.Keys("Enter")
	c.UntilIt("names the variable again", func(seen string) bool {
		return strings.Count(seen, "MINE_BASE_URL has the address of its API: http://127.0.0.1:1/v1. Unset it to be asked.\nKey (not shown") == 2
	})
	c.Keys("C-c")
	c.Until("left ")
	c.options.Env = append(c.options.Env, "MINE_BASE_URL=")
	c.screen = startScreen(t, c.options)
	c.Until("Provider (")
	c.Say("no such thing!", "only letters")
	c.Say("mine", "Address of its API, such as")
	c.Say("nowhere", "begins with http")
	c.Say(server.URL+"/v1", "Key (not shown")
	c.Say("", "1  large", "2  small", "Model (")
	c.Say("huge", `no model "huge"`)
	c.Say("2", "It answers.", "Channel")
	c.Say("pigeon", "Please answer terminal or telegram.")
	c.Say("telegram", "with commas) [7, @ann]:")
	c.Say("", "Token of the bot")
	c.Say("", "tape gateway", "Talk to the agent now?")
	if got, err := c.store.Setting("telegram"); got != kept || err != nil {
		t.Errorf("the setting telegram has become %s, %v", got, err)
	}
	c.Say("", "mine:small · cli:local")
	c.Say("hello", "Welcome.", "tokens in")
	c.Keys("C-d")
	c.Until("left 0")
	c.options.Argv = append(c.options.Argv, "--check")
	c.screen = startScreen(t, c.options)
	c.Until("ok  server    it has 2 models", "ok  model     mine:small answers", "left 0")
	server.Close()
	c.screen = startScreen(t, c.options)
	c.Until("bad model     mine:small does not answer", "left 2")
}
