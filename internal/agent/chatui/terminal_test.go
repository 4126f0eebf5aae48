package chatui

//tape:race: lines come in while a turn goes on

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"tape/hooks"
)

// TestLines: a program's lines are messages, one after the other, and the output has no control
// characters.
func TestLines(t *testing.T) {
	var out, errs bytes.Buffer
	var got []string
	over := make(chan error)
	c := &Terminal{TerminalOptions: TerminalOptions{In: strings.NewReader("one\n\n two \n,quit\nthree\n"), Out: &out, Err: &errs, Session: "s",
		Wait: func(context.Context, string) error { return nil }, End: func(err error) { over <- err }}, over: make(chan struct{})}
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
	if err := <-over; err != nil {
		t.Errorf("after ,quit, the lines end with %v", err)
	}
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

// TestLinesFail: the lines end with an error if they cannot be read, or if one was not stored.
func TestLinesFail(t *testing.T) {
	for want, in := range map[string]io.Reader{
		"from line 3 on: the disk is full":        strings.NewReader("one\n\ntwo\nthree\n"),
		"read standard input: the pipe is broken": io.MultiReader(strings.NewReader("one\n"), iotest.ErrReader(errors.New("the pipe is broken"))),
	} {
		over := make(chan error)
		c := &Terminal{TerminalOptions: TerminalOptions{In: in, Wait: func(context.Context, string) error { return nil }, End: func(err error) { over <- err }},
			over: make(chan struct{})}
		c.handle = func(_ context.Context, m hooks.Envelope) error {
			if m.Text(hooks.KeyContent) != "one" {
				return errors.New("the disk is full")
			}
			return nil
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-over; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the lines end with %v, want %s", err, want)
		}
	}
}

// TestAdmission: a message that comes during a turn is admitted as its sender wants.
func TestAdmission(t *testing.T) {
	m := TypedMessage("s", "x")
	m[hooks.KeyAdmission] = string(hooks.Steer)
	p := TerminalPlugin(TerminalOptions{})
	for _, c := range []struct {
		running bool
		want    hooks.Admission
	}{{false, hooks.Undecided}, {true, hooks.Steer}} {
		if got, err := p.AdmitMessage(t.Context(), "s", m, hooks.Turn{Running: c.running}); got != c.want || err != nil {
			t.Errorf("running %v: %q, %v, want %q", c.running, got, err, c.want)
		}
	}
}
