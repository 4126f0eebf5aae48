package chatui

//tape:race: the turn, the composer and the program run side by side

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"tape/hooks"
	"tape/internal/agent/approve"
	"tape/repo"
)

// desk is a UI without a terminal: keys go in, and what is seen comes out.
type desk struct {
	t    *testing.T
	m    *model
	sent []string
	kept []pressed // the letters whose pause is not over
}

func newDesk(t *testing.T, o Options) *desk {
	t.Helper()
	d := &desk{t: t}
	o.Env = append(o.Env, "NO_COLOR=1")
	o.Session, o.Out = "s", io.Discard
	o.Send = func(_ context.Context, _, text string, how hooks.Admission) error {
		d.sent = append(d.sent, strings.TrimSpace(text+" "+string(how)))
		return nil
	}
	d.m = newModel(t.Context(), New(o))
	d.tell(tea.WindowSizeMsg{Width: 60, Height: 20})
	return d
}

// tell gives the program a message, runs the commands that follow, and gives it their messages too. Commands that
// print or wait are left out.
func (d *desk) tell(msg tea.Msg) {
	d.t.Helper()
	_, cmd := d.m.Update(msg)
	d.do(cmd)
}

func (d *desk) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg, ticked:
	case tea.BatchMsg:
		for _, c := range msg {
			d.do(c)
		}
	case pressed:
		d.kept = append(d.kept, msg)
	case sent, takenBack, statusIs, historyIs, notice, wordsFound, page:
		d.tell(msg)
	default: // the library's: it prints
		d.m.printing = false
	}
}

// keys types keys by their names, and text as it is.
func (d *desk) keys(list ...string) {
	d.t.Helper()
	named := map[string]tea.Key{"enter": {Code: tea.KeyEnter}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"left": {Code: tea.KeyLeft}, "backspace": {Code: tea.KeyBackspace}, "delete": {Code: tea.KeyDelete}, "home": {Code: tea.KeyHome}, "esc": {Code: tea.KeyEscape},
		"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt}}
	for _, k := range list {
		key, ok := named[k]
		if letter, isCtrl := strings.CutPrefix(k, "ctrl+"); isCtrl {
			key, ok = tea.Key{Code: rune(letter[0]), Mod: tea.ModCtrl}, true
		}
		if ok {
			d.tell(tea.KeyPressMsg(key))
			continue
		}
		for _, r := range k {
			d.tell(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
}

// begin and end make a turn run.
func (d *desk) begin() { d.tell(frame{running: true}) }
func (d *desk) end()   { d.tell(frame{stopped: true}) }

// wait lets the pause after each letter pass.
func (d *desk) wait() {
	d.t.Helper()
	for _, p := range d.kept {
		d.tell(p)
	}
	d.kept = nil
}

func (d *desk) text() string { return d.m.editor.text() }

func (d *desk) seen() string { return d.m.View().Content }

func (d *desk) want(what string, got, want any) {
	d.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func (d *desk) wantSeen(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(d.seen(), text) {
			d.t.Errorf("no %q in\n%s", text, d.seen())
		}
	}
}

// TestEditor: characters are deleted as they are seen, whatever they consist of.
func TestEditor(t *testing.T) {
	d := newDesk(t, Options{})
	d.keys("你好世界", "backspace", "backspace", "吗")
	d.want("Chinese", d.text(), "你好吗")
	d.want("its cursor", d.m.editor.area.Cursor().X, 2+6)
	d.keys("ctrl+u", "a👩‍💻e\u0301🇩🇪", "backspace")
	d.want("a flag", d.text(), "a👩‍💻e\u0301")
	d.keys("left", "left", "delete")
	d.want("a cluster after the cursor", d.text(), "ae\u0301")
	d.keys("ctrl+e", "backspace")
	d.want("an accent", d.text(), "a")
	d.keys("ctrl+u", "one", "alt+enter", "two", "ctrl+j", "three", "enter")
	d.want("several lines", d.sent, []string{"one\ntwo\nthree"})
	long := strings.Repeat("漢字", 200)
	d.keys(long)
	for range 200 {
		d.keys("backspace")
	}
	d.want("characters left in wrapped lines", utf8.RuneCountInString(d.text()), 200)
	for _, line := range strings.Split(d.seen(), "\n") {
		if xansi.StringWidth(line) > 60 {
			t.Errorf("too wide: %q", line)
		}
	}
}

// TestPaste: a pasted megabyte is shown as a mark, and is sent as it is; a short paste is inserted as text.
func TestPaste(t *testing.T) {
	d := newDesk(t, Options{})
	big := strings.Repeat("a line\twith a tab\n", 60000)
	d.keys("look: ")
	d.tell(tea.PasteMsg{Content: big})
	d.tell(tea.PasteMsg{Content: "short\r\nlines"})
	d.wantSeen("[paste 1: 60001 lines, 1.0 MiB]short")
	d.keys("enter")
	d.want("length of what is sent", len(d.sent[0]), len("look: "+big+"short\nlines"))
	d.keys("up")
	d.want("length in the history", len(d.text()), len(d.sent[0]))
}

// TestHistory: Up and Down walk through what was typed before, and Ctrl-R searches it.
func TestHistory(t *testing.T) {
	d := newDesk(t, Options{History: func(context.Context) ([]string, error) { return []string{"first", "make test", "make lint"}, nil }})
	d.do(d.m.Init())
	d.keys("draft", "up", "up")
	d.want("older", d.text(), "make test")
	d.keys("down", "down")
	d.want("the draft", d.text(), "draft")
	d.keys("ctrl+r", "make")
	d.wantSeen("search: make\n  make lint")
	d.keys("ctrl+r", "enter")
	d.want("found", d.text(), "make test")
	d.keys("ctrl+r", "nothing", "esc")
	d.want("given up", d.text(), "make test")
}

// TestComplete: Tab completes commands, files, models and sessions.
func TestComplete(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"src/main.go", "src/main_test.go", "README.md", ".git/config"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(s ...string) func(context.Context) ([]string, error) {
		return func(context.Context) ([]string, error) { return s, nil }
	}
	d := newDesk(t, Options{Dir: dir, Commands: list(",help", ",model", ",sessions", ",tape.info"), Models: list("a:one", "a:two"), Sessions: list("review")})
	for _, c := range []struct{ typed, want string }{
		{",he", ",help "}, {",model a:t", ",model a:two "}, {",sessions r", ",sessions review "}, {"see @READ", "see @README.md "},
		{"see @sr", "see @src/"}, {"see @src/m", "see @src/main"}, {"see @test.go", "see @src/main_test.go "},
	} {
		d.keys("ctrl+u", c.typed, "tab")
		d.want(c.typed, d.text(), c.want)
	}
	d.keys("ctrl+u", "@src/m", "tab", "tab", "tab")
	d.want("each candidate", d.text(), "@src/main_test.go")
	d.wantSeen("▸ @src/main_test.go")
}

// TestDuringTurn: Enter steers, Tab waits, Up takes back, Esc and Ctrl-C interrupt, and a second Ctrl-C or
// Ctrl-D leaves.
func TestDuringTurn(t *testing.T) {
	cancelled := 0
	d := newDesk(t, Options{Cancel: func() { cancelled++ }, TakeBack: func(context.Context, string) (bool, error) { return true, nil }})
	d.begin()
	d.keys("now", "enter", "later", "tab", "last", "tab", ",help", "enter")
	d.want("sent, and so stored", d.sent, []string{"now steer", "later", "last", ",help"})
	d.wantSeen("steers: now", "then: later", "then: last", "then: ,help")
	d.keys("up", "ctrl+u", "up")
	d.want("taken back", d.text(), "last")
	d.keys("ctrl+u", "kept", "esc")
	d.want("interrupted", cancelled, 1)
	d.want("what is being typed stays", d.text(), "kept")
	d.keys("ctrl+u", "ctrl+d")
	d.want("left by one Ctrl-D during a turn", d.m.leaving, false)
	d.keys("ctrl+d")
	d.want("left by a second Ctrl-D", d.m.leaving, true)
	d.m.leaving = false
	d.keys("esc", "ctrl+c")
	d.want("interrupted again", cancelled, 3)
	d.end()
	d.keys("ctrl+c", "x")
	d.want("left by one Ctrl-C", d.m.leaving, false)
	d.keys("ctrl+c", "ctrl+c", "ctrl+c")
	d.want("left by a second Ctrl-C", d.m.leaving, true)
}

// TestQuit: ,quit during a turn leaves when nothing waits any more.
func TestQuit(t *testing.T) {
	d := newDesk(t, Options{})
	d.begin()
	d.keys("later", "tab", ",quit", "enter")
	messages := d.m.ui.waitingMessages()
	d.m.ui.TurnBegins(nil, []string{messages[0].id})
	d.end()
	d.want("left while a message waits", d.m.leaving, false)
	d.m.ui.TurnBegins(nil, []string{messages[1].id})
	d.end()
	d.want("left when no message waits", d.m.leaving, true)
}

// TestQuitIsNotSent: after ,quit could not be sent, the chat goes on.
func TestQuitIsNotSent(t *testing.T) {
	d := newDesk(t, Options{})
	d.m.ui.o.Send = func(context.Context, string, string, hooks.Admission) error { return errors.New("the disk is full") }
	d.begin()
	d.keys(",quit", "enter")
	d.wantSeen("the disk is full")
	d.end()
	d.want("left after the turn", d.m.leaving, false)
}

// TestSlash: commands may be typed as in other programs; a path is a message.
func TestSlash(t *testing.T) {
	for text, want := range map[string]string{"/help": ",help", "/model local:small": ",model local:small", ",exit": ",quit", "/quit": ",quit",
		"/etc/hosts has what?": "/etc/hosts has what?", "/tmp is full": "/tmp is full", ",git status": ",git status", "!git status": ",git status",
		"/compact": ",compact", "/clear": ",tape.handoff name=clear", "/diff --stat": ",git diff --stat"} {
		d := newDesk(t, Options{})
		d.keys(text, "enter")
		if len(d.sent) != 1 || d.sent[0] != want {
			t.Errorf("%q: sent %q, want %q", text, d.sent, want)
		}
	}
	d := newDesk(t, Options{})
	d.keys("/frobnicate it", "enter")
	d.want("sent by the first Enter", d.sent, []string(nil))
	d.wantSeen("> /frobnicate it", "there is no command /frobnicate")
	d.keys("enter")
	d.want("sent by the second Enter", d.sent, []string{"/frobnicate it"})
	d.keys("/he", "tab")
	d.want("completed", d.text(), "/help ")
}

// TestStatusLine: in a narrow terminal the least important parts are left out; above 60 cells, the keys of a turn stay.
func TestStatusLine(t *testing.T) {
	d := newDesk(t, Options{Mode: func() string { return approve.ModeAuto }})
	d.m.status = Status{Model: "provider:model", Used: 2400, Last: 111}
	d.begin()
	for width, want := range map[int]string{
		120: "mode auto · provider:model · s · context 2.4 k tokens · @111 · Enter steers, Tab waits",
		82:  "mode auto · provider:model · s · context 2.4 k tokens · Enter steers, Tab waits",
		76:  "mode auto · provider:model · context 2.4 k tokens · Enter steers, Tab waits",
		61:  "mode auto · provider:model · Enter steers, Tab waits",
		40:  "mode auto · provider:model",
	} {
		d.tell(tea.WindowSizeMsg{Width: width, Height: 20})
		lines := strings.Split(d.seen(), "\n")
		d.want(fmt.Sprintf("with %d cells", width), strings.ReplaceAll(lines[len(lines)-1], "\u00a0", " "), want)
	}
}

// TestPause: when no more of an answer comes for a while, a spinner shows that the turn goes on.
func TestPause(t *testing.T) {
	d := newDesk(t, Options{})
	live := []block{{lines: []string{"Let me think"}}}
	d.tell(frame{running: true, writing: true, live: live, silent: time.Now()})
	if strings.Contains(d.seen(), "waiting") {
		t.Errorf("a spinner without a pause:\n%s", d.seen())
	}
	d.tell(frame{running: true, writing: true, live: live, silent: time.Now().Add(-time.Minute)})
	d.wantSeen("Let me think\n⠋ waiting for the model 1m")
}

// TestResumedTurn: a resumed turn does not show its prompt twice, and a notice does not look like an error.
func TestResumedTurn(t *testing.T) {
	d := newDesk(t, Options{})
	c := d.m.ui.composer
	entry := func(payload, meta string) repo.Entry {
		return repo.Entry{Kind: repo.KindMessage, Payload: []byte(payload), Meta: []byte(meta)}
	}
	c.past(t.Context(), []repo.Entry{entry(`{"role":"user","content":"/first thing"}`, `{"message_id":"m1"}`), entry(`{"role":"user","content":"second"}`, `{"message_id":"m2"}`)})
	c.begin("second", []string{"m2"})
	c.event(hooks.Event{Kind: hooks.EventNotice, Data: map[string]any{"text": "the context begins anew"}})
	c.begin(",make", nil)
	c.event(hooks.Event{Kind: hooks.EventToolOutput, Data: map[string]any{"id": "x", "name": "bash", "text": "so far"}})
	c.end(false)
	c.begin("third", []string{"m3"})
	said := strings.Join(c.next.done, "\n")
	for _, want := range []string{"> /first thing", "· the turn goes on", "· the context begins anew", "> third"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if strings.Count(said, "> second") != 1 || strings.Contains(said, "✗") || strings.Contains(said, "interrupted") {
		t.Errorf("the prompt is shown twice, or something looks like an error:\n%s", said)
	}
}

// TestMode: Shift-Tab changes to the next mode, and the status line shows it.
func TestMode(t *testing.T) {
	mode := approve.ModeAsk
	d := newDesk(t, Options{Mode: func() string { return mode }, NextMode: func() (string, string) { mode = approve.ModePlan; return mode, "only reading" }})
	d.keys("shift+tab")
	d.wantSeen("mode plan: only reading")
	d.keys("x")
	d.wantSeen("mode plan · s")
}

// TestQuestion tries each way to answer, with a command that has control characters: the terminal must not get them.
func TestQuestion(t *testing.T) {
	for _, c := range []struct {
		keys []string
		rule string
		want approve.Answer
	}{
		{[]string{"y"}, "go test", approve.Answer{Decision: approve.Once}},
		{[]string{"n"}, "go test", approve.Answer{Decision: approve.Deny}},
		{[]string{"s"}, "go test", approve.Answer{Decision: approve.Session}},
		{[]string{"a"}, "go test", approve.Answer{Decision: approve.Always}},
		{[]string{"use make", "enter"}, "go test", approve.Answer{Decision: approve.Deny, Message: "use make"}},
		{[]string{"tab", "no, use make", "enter"}, "go test", approve.Answer{Decision: approve.Deny, Message: "no, use make"}},
		{[]string{"no, use make", "enter"}, "go test", approve.Answer{Decision: approve.Deny, Message: "no, use make"}},
		{[]string{"y", "enter"}, "go test", approve.Answer{Decision: approve.Once}},
		{[]string{"tab", "y", "enter"}, "go test", approve.Answer{Decision: approve.Deny, Message: "y"}},
		{[]string{"n", "backspace", "s"}, "go test", approve.Answer{Decision: approve.Session}},
		{[]string{"as they are", "enter"}, "", approve.Answer{Decision: approve.Deny, Message: "as they are"}},
	} {
		d := newDesk(t, Options{})
		q := &question{approve.Request{Tool: "bash", Title: "run a command", Command: "go test ./...\nrm -rf \x1b[2Jx", Rule: c.rule}, make(chan approve.Answer, 1)}
		d.tell(frame{running: true, question: q})
		if seen := d.seen(); !strings.Contains(seen, "go test ./...") || !strings.Contains(seen, `rm -rf \x1b[2Jx`) || strings.Contains(seen, "\x1b") ||
			strings.Contains(seen, "in this project") != (c.rule != "") {
			t.Errorf("the question with the rule %q:\n%s", c.rule, seen)
		}
		d.keys(c.keys...)
		d.wait()
		select {
		case got := <-q.answer:
			d.want(fmt.Sprint(c.keys), got, c.want)
		default:
			t.Errorf("%v: no answer", c.keys)
		}
	}
	d := newDesk(t, Options{})
	d.begin()
	d.keys("half a sen")
	d.tell(frame{running: true, question: &question{approve.Request{Tool: "bash", Command: strings.Repeat("long\n", 100)}, make(chan approve.Answer, 1)}})
	d.keys("y")
	d.wait()
	d.want("a message that was begun before the question", d.text(), "half a seny")
	d.keys("enter")
	d.want("sent", d.sent, []string{"half a seny steer"})
	d.want("the question is still asked", d.m.question != nil, true)
	if n := strings.Count(d.seen(), "\n"); n > 18 {
		t.Errorf("the view has %d lines, want at most 18", n)
	}
}

// TestSizes: the view fits into a terminal of any size, and has the editor.
func TestSizes(t *testing.T) {
	d := newDesk(t, Options{})
	d.m.status = Status{Model: "provider:model", Used: 10, Window: 100, Last: 7}
	d.keys("typed")
	d.tell(frame{running: true, live: []block{{lines: slices.Repeat([]string{strings.Repeat("wide ", 40)}, 50)}}})
	for _, size := range [][2]int{{120, 40}, {20, 10}, {8, 4}, {60, 3}, {1, 2}, {100, 20}} {
		d.tell(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		lines := strings.Split(d.seen(), "\n")
		if len(lines) > max(2, size[1]) {
			t.Errorf("size %v: %d lines", size, len(lines))
		}
		for _, line := range lines {
			if size[0] > 8 && xansi.StringWidth(line) > size[0] {
				t.Errorf("size %v: too wide: %q", size, line)
			}
		}
	}
	d.wantSeen("> typed", "provider:model · s · context 10 % · @7")
}

// TestStatusFails: a status that could not be read once is read again.
func TestStatusFails(t *testing.T) {
	reads := 0
	d := newDesk(t, Options{Status: func(context.Context) (Status, error) {
		if reads++; reads == 1 {
			return Status{}, errors.New("the tape is locked")
		}
		return Status{Model: "test:two"}, nil
	}})
	d.tell(frame{status: true})
	d.wantSeen("the tape is locked")
	d.tell(frame{status: true})
	d.keys("x")
	d.wantSeen("test:two")
}

// TestBlankPrograms: a setting of only spaces names no program.
func TestBlankPrograms(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "less"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	d := newDesk(t, Options{Env: []string{"PAGER= ", "VISUAL= ", "EDITOR= "}})
	d.keys("ctrl+g")
	d.wantSeen("there is no editor: set EDITOR")
	d.tell(page{text: "a result"})
	d.want("less has the terminal", d.m.away, true)
}

// TestPageNotWritten: a text for the pager that cannot be written leaves nothing in the temporary folder.
func TestPageNotWritten(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the length of paths is Linux's")
	}
	dir := t.TempDir() // below, a folder can be made, but no file in it
	rest := 4095 - len("/tape-result-1234567890") - len(dir)
	dir += strings.Repeat("/"+strings.Repeat("x", 199), rest/200) + strings.Repeat("/x", rest%200/2)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	d := newDesk(t, Options{Env: []string{"PAGER=less"}})
	d.tell(page{text: "a result"})
	d.wantSeen("cannot start less")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left: %v", left, err)
	}
}
