package chatui

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"tape/hooks"
	"tape/internal/show/display"
)

// TerminalName is the channel's name.
const TerminalName = "cli"

// longestProgramLine is the longest line from a program, in bytes.
const longestProgramLine = 16 << 20

// TerminalOptions are the options of the channel.
type TerminalOptions struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Session string
	UI      *UI                                             // serves a person; nil: lines of a program are read
	Wait    func(ctx context.Context, session string) error // waits until the session has nothing to do
	End     func(error)                                     // called at the end of the UI or of the lines, with the error that ended it
}

// Terminal is the channel.
type Terminal struct {
	TerminalOptions
	handle hooks.Handler
	over   chan struct{} // closed when the UI has ended, or if there is none
}

// TerminalPlugin offers the channel. A message that comes during a turn is admitted as its sender wants.
func TerminalPlugin(o TerminalOptions) *hooks.Plugin {
	return &hooks.Plugin{
		Name: "terminal",
		ProvideChannels: func(_ context.Context, h hooks.Handler) ([]hooks.Channel, error) {
			return []hooks.Channel{&Terminal{TerminalOptions: o, handle: h, over: make(chan struct{})}}, nil
		},
		AdmitMessage: func(_ context.Context, _ string, m hooks.Envelope, turn hooks.Turn) (hooks.Admission, error) {
			if turn.Running && m.Text(hooks.KeyChannel) == TerminalName {
				return hooks.Admission(m.Text(hooks.KeyAdmission)), nil
			}
			return hooks.Undecided, nil
		},
	}
}

// TypedMessage returns a message with what was typed.
func TypedMessage(session, text string) hooks.Envelope {
	return hooks.Envelope{hooks.KeySession: session, hooks.KeyChannel: TerminalName, hooks.KeyChat: "local", hooks.KeyContent: text,
		hooks.KeyKind: hooks.KindNormal, hooks.KeyActive: true}
}

// Name returns "cli".
func (t *Terminal) Name() string { return TerminalName }

// Start starts the UI, and returns when the last turns were read, or begins to read lines.
func (t *Terminal) Start(ctx context.Context) error {
	if t.UI == nil {
		close(t.over)
		go func() { t.End(t.readLines(ctx)) }()
		return nil
	}
	go func() {
		defer close(t.over)
		t.End(t.UI.Run(ctx))
	}()
	t.UI.ReadPast(ctx) // before an interrupted turn is resumed
	return nil
}

// Stop waits until the UI has given the terminal back. Lines are not waited for.
func (t *Terminal) Stop(context.Context) error {
	<-t.over
	return nil
}

// readLines sends each line that a program writes as a message, when the turn of the one before has ended. It stops at
// the first line that is not stored, and after ,quit.
func (t *Terminal) readLines(ctx context.Context) error {
	lines := bufio.NewScanner(t.In)
	lines.Buffer(nil, longestProgramLine)
	for n := 1; ctx.Err() == nil && lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if err := t.handle(ctx, TypedMessage(t.Session, line)); err != nil {
			return fmt.Errorf("standard input was not sent from line %d on: %w", n, err)
		}
		if err := t.Wait(ctx, t.Session); err != nil || line == ",quit" || line == ",exit" {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}

// Send shows an answer.
func (t *Terminal) Send(_ context.Context, e hooks.Envelope) error {
	if t.UI != nil {
		t.UI.Message(e)
		return nil
	}
	content := display.Text(e.Text(hooks.KeyContent))
	out := t.Out
	if e.Text(hooks.KeyKind) == hooks.KindError {
		if said := strings.TrimSpace(e.Text(hooks.KeyPartial)); said != "" {
			if _, err := io.WriteString(out, display.Text(said)+"\n"); err != nil {
				return err
			}
		}
		out = t.Err
	}
	_, err := io.WriteString(out, strings.TrimSuffix(content, "\n")+"\n")
	return err
}

// OnEvent shows an event of the turn. A program gets only the whole answer, at the end.
func (t *Terminal) OnEvent(_ context.Context, _ hooks.Envelope, e hooks.Event) {
	if t.UI != nil {
		t.UI.Event(e)
	}
}

// TurnBegins shows which messages are answered now.
func (t *Terminal) TurnBegins(m hooks.Envelope, ids []string) {
	if t.UI != nil {
		t.UI.TurnBegins(m, ids)
	}
}

// TurnEnds shows how a turn ended.
func (t *Terminal) TurnEnds(ctx context.Context) {
	if t.UI != nil {
		t.UI.TurnEnds(ctx)
	}
}
