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
		Wait: func(context.Context, string) error { return nil }, End: func(error) { close(over) }}, over: make(chan struct{})}
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
		t.Errorf("messages %q, want one, two and ,quit", got)
	}
	if s := out.String(); !strings.HasPrefix(s, "re: one") || strings.Contains(s, "two") || strings.Contains(s, "\x1b") {
		t.Errorf("standard output %q, want only the first and third answer, without control characters", s)
	}
	if s := errs.String(); !strings.Contains(s, "re: two") || strings.Contains(s, "\x1b") {
		t.Errorf("standard error %q, want the second answer, without control characters", s)
	}
}

// TestAdmission: a message that comes during a turn is admitted as its sender wants.
func TestAdmission(t *testing.T) {
	m := Message("s", "x")
	m[hooks.KeyAdmission] = string(hooks.Steer)
	p := Plugin(Options{})
	for _, c := range []struct {
		running bool
		want    hooks.Admission
	}{{false, hooks.Undecided}, {true, hooks.Steer}} {
		if got, err := p.AdmitMessage(t.Context(), "s", m, hooks.Turn{Running: c.running}); got != c.want || err != nil {
			t.Errorf("running %v: %q, %v, want %q", c.running, got, err, c.want)
		}
	}
}
