package terminal

//tape:race: lines come in while a turn goes on

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"tape/hooks"
)

// TestLines: a program's lines are messages, one after the other, and the output has no control
// characters.
func TestLines(t *testing.T) {
	var out, errs bytes.Buffer
	var got []string
	over := make(chan struct{})
	c := &Terminal{Options: Options{In: strings.NewReader("one\n\n two \n,quit\nthree\n"), Out: &out, Err: &errs, Session: "s",
		Wait: func(context.Context, string) error { return nil }, Cancel: func(string) {}, End: func() { close(over) }}, calls: map[string]string{}}
	c.handle = func(ctx context.Context, m hooks.Envelope) error {
		got = append(got, m.Text(hooks.KeyContent))
		m = hooks.Envelope{hooks.KeyContent: "re: " + m.Text(hooks.KeyContent) + "\x1b[2J"}
		if len(got) == 2 {
			m[hooks.KeyKind] = hooks.KindError
		}
		return c.Send(ctx, m)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-over
	if strings.Join(got, "|") != "one|two|,quit" {
		t.Errorf("messages: %q", got)
	}
	if s := out.String(); !strings.HasPrefix(s, "re: one") || strings.Contains(s, "two") || strings.Contains(s, "\x1b") {
		t.Errorf("standard output: %q", s)
	}
	if s := errs.String(); !strings.Contains(s, "re: two") || strings.Contains(s, "\x1b") {
		t.Errorf("standard error: %q", s)
	}
}

func TestResultLine(t *testing.T) {
	for _, c := range []struct {
		arguments, want string
		data            hooks.Envelope
	}{
		{`{"n":1,"list":["x"],"cmd":"go test\u001b"}`, "• bash go test", hooks.Envelope{"name": "bash", "duration_ms": int64(1200), "content": "PASS\n"}},
		{`{`, "• bash  0s  error: it failed", hooks.Envelope{"name": "bash", "content": "it failed\nbadly", "error": true}},
	} {
		got := resultLine(c.data, target(c.arguments))
		if !strings.HasPrefix(got, c.want) || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("%s: %q", c.arguments, got)
		}
	}
}

// TestInterrupt: Ctrl-C ends a turn; without one it clears the line.
func TestInterrupt(t *testing.T) {
	ended := 0
	k := newKeys(func() { ended++ }, nil)
	k.from(strings.NewReader("a\x03"))
	k.setRunning(true)
	k.from(strings.NewReader("\x03b"))
	k.setRunning(false)
	buf := make([]byte, 10)
	n, err := k.Read(buf)
	if want := "a" + clearLine + "b"; string(buf[:n]) != want || err != nil || ended != 1 {
		t.Errorf("%q, %v, ended %d", buf[:n], err, ended)
	}
	if _, err := k.Read(buf); err == nil {
		t.Error("the end is not told")
	}
}

// TestDuringTurn: a line goes to the running turn; a command, or an unfinished line, waits.
func TestDuringTurn(t *testing.T) {
	var said []string
	k := newKeys(nil, func(line string) { said = append(said, line) })
	k.setRunning(true)
	k.from(strings.NewReader("\x7ftéé\x7fst first\r\r,help\rup\x1b[A\rsecond\r\x1b[200~a\rb\rc\x1b[201~\x1b[200~d\re\x1b[201~\rhal"))
	k.setRunning(false)
	k.from(strings.NewReader("f\r"))
	if strings.Join(said, "|") != "tést first|second" {
		t.Errorf("the turn hears %q", said)
	}
	buf := make([]byte, 100)
	n, _ := k.Read(buf)
	if want := ",help\rup\x1b[A\r\x1b[200~a\rb\rc\x1b[201~\x1b[200~d\re\x1b[201~\rhalf\r"; string(buf[:n]) != want {
		t.Errorf("the prompt gets %q, want %q", buf[:n], want)
	}
}
