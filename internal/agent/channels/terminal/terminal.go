// Package terminal is the channel of a person at a terminal, or of a program that writes lines.
package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"tape/hooks"
	"tape/internal/show/display"
)

// Name is the channel's name.
const Name = "cli"

// longestLine is the longest line from a program, in bytes.
const longestLine = 16 << 20

// Options of the channel.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Session string
	Wait    func(ctx context.Context, session string) error // until the session has nothing to do
	Cancel  func(session string)                            // ends the running turn
	End     func()                                          // called when the person leaves
}

// Terminal is the channel.
type Terminal struct {
	Options
	handle hooks.Handler
	keys   *keys       // nil if In is not a terminal
	state  *term.State // of the terminal before Start
	screen *term.Terminal

	mu    sync.Mutex
	shown strings.Builder // the part of the answer that was shown
	open  bool            // the last line shown has no newline yet
	calls map[string]string
}

// Plugin offers the channel.
func Plugin(o Options) *hooks.Plugin {
	return &hooks.Plugin{Name: "terminal", ProvideChannels: func(_ context.Context, h hooks.Handler) ([]hooks.Channel, error) {
		return []hooks.Channel{&Terminal{Options: o, handle: h, calls: map[string]string{}}}, nil
	}}
}

// Name returns "cli".
func (t *Terminal) Name() string { return Name }

// Start begins to read lines.
func (t *Terminal) Start(ctx context.Context) error {
	in, ok := t.In.(*os.File)
	out, okOut := t.Out.(interface{ Fd() uintptr })
	if !ok || !okOut || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		go t.readLines(ctx)
		return nil
	}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	t.state = state
	t.keys = newKeys(func() { t.Cancel(t.Session) }, func(line string) { t.steer(ctx, line) })
	t.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{t.keys, t.Out}, "> ")
	t.screen.SetBracketedPasteMode(true)
	go t.keys.from(in)
	go t.prompt(ctx, in)
	return nil
}

// Stop restores the terminal.
func (t *Terminal) Stop(context.Context) error {
	if t.state == nil {
		return nil
	}
	t.screen.SetBracketedPasteMode(false)
	return term.Restore(int(t.In.(*os.File).Fd()), t.state)
}

// prompt reads lines from a person until Ctrl-D.
func (t *Terminal) prompt(ctx context.Context, in *os.File) {
	defer t.End()
	_ = t.write("session " + display.Line(t.Session) + "; ,help lists commands, Ctrl-C ends a turn, Ctrl-D leaves\n")
	for {
		if w, h, err := term.GetSize(int(in.Fd())); err == nil {
			_ = t.screen.SetSize(w, h)
		}
		t.keys.setRunning(false)
		line, err := t.screen.ReadLine()
		for errors.Is(err, term.ErrPasteIndicator) { // a paste may have several lines; Enter ends it
			var more string
			more, err = t.screen.ReadLine()
			line += "\n" + more
		}
		if err != nil {
			_, _ = io.WriteString(t.Out, "\r\n") // leave the prompt's line
			return
		}
		if !t.say(ctx, line) {
			return
		}
	}
}

// readLines reads lines from a program.
func (t *Terminal) readLines(ctx context.Context) {
	defer t.End()
	lines := bufio.NewScanner(t.In)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if !t.say(ctx, lines.Text()) {
			return
		}
	}
	if err := lines.Err(); err != nil {
		_, _ = fmt.Fprintf(t.Err, "tape: error: read standard input: %s\n", display.Line(err.Error()))
	}
}

// say sends a line and waits for the end of its turn. It returns false if no more may follow.
func (t *Terminal) say(ctx context.Context, line string) bool {
	line = strings.TrimSpace(line)
	if line == "" {
		return ctx.Err() == nil
	}
	if t.keys != nil {
		t.keys.setRunning(true)
	}
	t.mu.Lock()
	t.shown.Reset()
	t.mu.Unlock()
	err := t.handle(ctx, t.message(line))
	if err == nil {
		err = t.Wait(ctx, t.Session)
	} else {
		t.fail(err.Error())
	}
	t.mu.Lock()
	t.endLine()
	t.mu.Unlock()
	return err == nil && line != ",quit"
}

// steer sends a line to the running turn, and shows it: it was typed without an echo.
func (t *Terminal) steer(ctx context.Context, line string) {
	t.mu.Lock()
	t.endLine()
	_ = t.write("> " + display.Line(line) + "\n")
	t.mu.Unlock()
	if err := t.handle(ctx, t.message(line)); err != nil {
		t.fail(err.Error())
	}
}

func (t *Terminal) message(line string) hooks.Envelope {
	return hooks.Envelope{hooks.KeySession: t.Session, hooks.KeyChannel: Name, hooks.KeyChat: "local", hooks.KeyContent: line,
		hooks.KeyKind: hooks.KindNormal, hooks.KeyActive: true}
}

// Send shows an answer, unless it was shown as it came.
func (t *Terminal) Send(_ context.Context, e hooks.Envelope) error {
	content := display.Text(e.Text(hooks.KeyContent))
	if e.Text(hooks.KeyKind) == hooks.KindError {
		t.fail(content)
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if strings.TrimSpace(content) != strings.TrimSpace(t.shown.String()) {
		t.endLine()
		err = t.text(content)
	}
	t.endLine()
	t.shown.Reset()
	return err
}

func (t *Terminal) fail(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLine()
	if t.screen != nil {
		_ = t.write(text + "\n")
		return
	}
	_, _ = fmt.Fprintln(t.Err, text)
}

// OnEvent shows an answer as it comes, and each call of a tool on one line. A program gets the whole
// answer at the end.
func (t *Terminal) OnEvent(_ context.Context, _ hooks.Envelope, e hooks.Event) {
	if t.screen == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	data := hooks.Envelope(e.Data)
	switch e.Kind {
	case hooks.EventText:
		_ = t.text(display.Text(data.Text("delta"))) // if it fails, Send shows the answer again
	case hooks.EventToolCall:
		t.calls[data.Text("id")] = target(data.Text("arguments"))
	case hooks.EventToolResult:
		t.endLine()
		_ = t.write(resultLine(data, t.calls[data.Text("id")]) + "\n")
		delete(t.calls, data.Text("id"))
	}
}

// text shows a piece of the answer.
func (t *Terminal) text(text string) error {
	if text == "" {
		return nil
	}
	t.shown.WriteString(text)
	if rest, ok := strings.CutPrefix(text, "\n\n"); ok && !t.open {
		text = "\n" + rest // the last line has ended already
	}
	t.open = !strings.HasSuffix(text, "\n")
	return t.write(text)
}

func (t *Terminal) endLine() {
	if t.open {
		_ = t.write("\n")
		t.open = false
	}
}

func (t *Terminal) write(text string) error {
	out := t.Out
	if t.screen != nil {
		out = t.screen // keeps the prompt in its place
	}
	_, err := io.WriteString(out, text)
	return err
}
