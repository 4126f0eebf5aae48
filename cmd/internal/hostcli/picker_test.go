package hostcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"tape/internal/show/display"
	"tape/internal/store/about"
)

var now = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func session(title, project string, here bool) pickerSession {
	return pickerSession{Tape: about.Tape{Name: "n-" + title[:min(4, len(title))], Title: title, Project: project, Agent: "claude-code", Model: "m", Messages: 2,
		Started: now.Add(-2 * time.Hour), Updated: now.Add(-time.Hour)}, Here: here}
}

func pickerOf(sessions ...pickerSession) *sessionPicker {
	return newPicker(pickerOptions{Sessions: sessions, Now: func() time.Time { return now },
		Resume: func(i int) (string, error) {
			if sessions[i].Agent == "" {
				return "", errors.New("the agent is not installed here")
			}
			return "cd /work && agent --resume " + sessions[i].Name, nil
		}})
}

// press sends keys, and what they lead to, to the picker. A word of several letters is typed.
func press(p *sessionPicker, keys ...string) (quit bool) {
	special := map[string]tea.Key{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp},
		"down": {Code: tea.KeyDown}, "pgdown": {Code: tea.KeyPgDown}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome}, "backspace": {Code: tea.KeyBackspace}}
	for _, key := range keys {
		events := []tea.Key{special[key]}
		if events[0].Code == 0 {
			events = nil
			for _, r := range key {
				events = append(events, tea.Key{Code: r, Text: string(r)})
			}
		}
		for _, e := range events {
			_, cmd := pickerModel{p}.Update(tea.KeyPressMsg(e))
			for cmd != nil {
				msg := cmd()
				if _, ok := msg.(tea.QuitMsg); ok {
					quit = true
				}
				_, cmd = pickerModel{p}.Update(msg)
			}
		}
	}
	return quit
}

// pickerScreen is what is seen, without colours.
func pickerScreen(p *sessionPicker) string { return ansi.Strip(pickerModel{p}.View().Content) }

func resize(p *sessionPicker, width, height int) {
	pickerModel{p}.Update(tea.WindowSizeMsg{Width: width, Height: height})
}

func TestFilter(t *testing.T) {
	p := pickerOf(session("add a health check", "/work/shop", true), session("why does the cart test fail?", "/work/shop", true), session("Cart total", "/work/blog", false))
	if s := pickerScreen(p); !strings.Contains(s, "2 · this project") || strings.Contains(s, "blog") {
		t.Errorf("not the sessions of this project:\n%s", s)
	}
	press(p, "tab", "/", "cart") // after a slash c is a letter
	if s := pickerScreen(p); !strings.Contains(s, "2 of 3 · all projects") || strings.Contains(s, "health") {
		t.Errorf("not the sessions with cart in all projects:\n%s", s)
	}
	press(p, " blog")
	if s := pickerScreen(p); !strings.Contains(s, "1 of 3") {
		t.Errorf("not the one session that has both words, one in the project's name:\n%s", s)
	}
	press(p, "zzz")
	if s := pickerScreen(p); !strings.Contains(s, "No matching sessions.") || !strings.Contains(s, "0 of 3") {
		t.Errorf("it does not say that nothing matches:\n%s", s)
	}
	if press(p, "enter", "down", "c") {
		t.Error("enter without a session must do nothing")
	}
	if press(p, "esc") || !strings.Contains(pickerScreen(p), "3 · all projects") {
		t.Errorf("esc does not clear the filter:\n%s", pickerScreen(p))
	}
	if !press(p, "esc") || p.picked != -1 {
		t.Error("esc without a filter does not leave")
	}
}

func TestChoose(t *testing.T) {
	p := pickerOf(session("one", "/a", false), session("two", "/a", false), session("three", "/b", false))
	if !press(p, "t", "down", "enter") || p.picked != 2 {
		t.Errorf("picked %d, want 2", p.picked)
	}
	p = pickerOf(session("one", "/a", false), session("two", "/a", false))
	if !press(p, "down", "down", "up", "up", "up", "end", "enter") || p.picked != 1 {
		t.Errorf("picked %d, want 1", p.picked)
	}
}

func TestCopy(t *testing.T) {
	gone := session("two", "/a", false)
	gone.Agent = ""
	p := pickerOf(session("one", "/a", false), gone)
	press(p, "c")
	if s := pickerScreen(p); !strings.Contains(s, "Copied: cd /work && agent --resume n-one") || strings.Contains(s, "> c") {
		t.Errorf("c does not copy:\n%s", s)
	}
	press(p, "down", "c")
	if s := pickerScreen(p); !strings.Contains(s, "This session cannot go on here: the agent is not installed here") {
		t.Errorf("no reason is given:\n%s", s)
	}
	press(p, "tw", "c")
	if s := pickerScreen(p); !strings.Contains(s, "> twc") {
		t.Errorf("c does not go to the filter while somebody types:\n%s", s)
	}
}

// TestNoCopy: where no command resumes a session, c is a letter, and is not offered as a key.
func TestNoCopy(t *testing.T) {
	p := pickerOf(session("one", "/a", false), session("cart", "/a", false))
	p.Resume = nil
	if s := pickerScreen(p); strings.Contains(s, "copy") {
		t.Errorf("a key is offered that does nothing:\n%s", s)
	}
	press(p, "cart")
	if s := pickerScreen(p); !strings.Contains(s, "> cart") || !strings.Contains(s, "1 of 2") {
		t.Errorf("c does not go to the filter:\n%s", s)
	}
}

// TestScroll keeps the chosen session in sight, also when the window changes.
func TestScroll(t *testing.T) {
	var many []pickerSession
	for i := range 5000 {
		many = append(many, session(fmt.Sprintf("session number %d", i), "/work/shop", false))
	}
	p := pickerOf(many...)
	resize(p, 80, 24)
	for _, step := range []struct {
		key, want string
	}{{"end", "▸ session number 4999"}, {"up", "▸ session number 4998"}, {"pgdown", "▸ session number 4999"}, {"home", "▸ session number 0 "}} {
		if press(p, step.key); !strings.Contains(pickerScreen(p), step.want) {
			t.Fatalf("after %s there is no %q:\n%s", step.key, step.want, pickerScreen(p))
		}
	}
	press(p, "end")
	for _, size := range [][2]int{{20, 8}, {80, 3}, {10, 1}, {1, 1}, {200, 60}, {80, 24}} {
		resize(p, size[0], size[1])
		if size[0] >= 20 && !strings.Contains(pickerScreen(p), "▸ session") {
			t.Errorf("at %v the chosen session is out of sight:\n%s", size, pickerScreen(p))
		}
	}
	if press(p, "backspace", "4321"); !strings.Contains(pickerScreen(p), "1 of 5000") {
		t.Errorf("the filter does not find one of many:\n%s", pickerScreen(p))
	}
}

// TestKeysInLittleRoom: a screen of 60 cells still names every key that a user needs.
func TestKeysInLittleRoom(t *testing.T) {
	p := pickerOf(session("here", "/work/a", true), session("there", "/work/b", false))
	resize(p, 60, 20)
	for _, want := range []string{"enter open", "esc quit", "tab all projects", "copy command"} {
		if !strings.Contains(pickerScreen(p), want) {
			t.Errorf("the list lacks %q:\n%s", want, pickerScreen(p))
		}
	}
}

// TestOddTitles checks that no line is wider than the screen, and that nothing but colours reaches it.
func TestOddTitles(t *testing.T) {
	odd := []string{strings.Repeat("long ", 2000), "👩‍👩‍👧‍👦🎉🎉🎉 emoji 🏳️‍🌈 in a title that is rather long for a line", "עברית من اليمين إلى اليسار " + strings.Repeat("שלום ", 30),
		strings.Repeat("数据库迁移", 30), "two\nlines\tand a tab", "\x1b[31mred\x1b[0m \x1b]0;title\x07", "\u202egnp.exe", "\xff\xfe broken", ""}
	var list []pickerSession
	for _, title := range odd {
		s := session(title, "/work/"+title, true)
		s.Apart = "main 2026-11-26 12:00"
		list = append(list, s)
	}
	for _, width := range []int{1, 2, 10, 20, 33, 60, 80, 120, 300} {
		for _, height := range []int{1, 3, 5, 24} {
			p := pickerOf(list...)
			resize(p, width, height)
			for range list {
				content := pickerModel{p}.View().Content
				lines := strings.Split(content, "\n")
				if len(lines) > height {
					t.Fatalf("%d lines on a screen of %d", len(lines), height)
				}
				for _, line := range lines {
					plain := ansi.Strip(line)
					if width >= 20 && display.Width(plain) > width {
						t.Errorf("a line has %d cells on a screen of %d: %q", display.Width(plain), width, plain)
					}
					if display.Line(plain) != plain || strings.Contains(line, "\x1b]") {
						t.Errorf("unsafe: %q", line)
					}
				}
				press(p, "down")
			}
		}
	}
}

// TestProgram runs the picker as a program, with keys that come as bytes.
func TestProgram(t *testing.T) {
	p := pickerOf(session("one", "/a", false), session("two", "/a", false))
	in, keys := io.Pipe()
	var out bytes.Buffer
	p.In, p.Out, p.Env = in, &out, []string{"TERM=xterm-256color"}
	go func() {
		for _, key := range []string{"\x1b[B", "\r"} {
			io.WriteString(keys, key) //nolint:errcheck // the picker may have left
		}
	}()
	got, err := p.Pick(context.Background())
	if err != nil || got != 1 {
		t.Errorf("picked %d, %v; want 1", got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Pick(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted picker returns %v", err)
	}
}
