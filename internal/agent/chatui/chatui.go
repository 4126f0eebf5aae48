// Package chatui is what a person sees and types at a terminal while an agent works: the agent's calls
// with their output, its answer as it arrives, its questions before it acts, and an editor for messages.
//
// Finished lines are printed above the editor and belong to the terminal from then on: they can be
// scrolled and copied, and stay after the end. Only lines that still change are drawn again.
//
// Three goroutines share the work. The turn's goroutine only queues what happened. The composer renders
// it as lines, which may take long. The program of bubbletea takes keys and draws rendered lines, so
// that a key never waits for an answer to be rendered.
package chatui

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	tea "charm.land/bubbletea/v2"

	"tape/hooks"
	"tape/internal/agent/approve"
	"tape/repo"
)

// Options of a UI. Cancel is always needed, and Send unless Once is set. Any other function may be nil,
// which turns off what it is for. Functions may be called from several goroutines at once.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Env     []string // the environment: it describes the terminal, and names the editor and the pager
	Session string
	Dir     string // the project: paths are relative to it, and @ completes its files
	Once    bool   // there is no editor except for answers to questions, and the UI ends with the turn

	// Send accepts a message: when it returns nil, the message is stored.
	Send func(ctx context.Context, id, text string, how hooks.Admission) error
	// Cancel interrupts the running turn.
	Cancel func()
	// TakeBack takes back a message that waits; false if a turn has read it.
	TakeBack func(ctx context.Context, id string) (bool, error)
	// Mode returns the mode, which decides what needs consent. NextMode changes to the next mode, and
	// describes it in a few words.
	Mode     func() string
	NextMode func() (mode, about string)
	Status   func(ctx context.Context) (Status, error)
	// Past returns the entries of the session's last turns, the oldest first.
	Past func(ctx context.Context) ([]repo.Entry, error)
	// History returns what was typed in the session, the oldest first.
	History func(ctx context.Context) ([]string, error)
	// Whole returns the text of an artifact, as which a long result is stored.
	Whole    func(ctx context.Context, id string) (string, error)
	Commands func(ctx context.Context) ([]string, error) // the names of comma commands
	Models   func(ctx context.Context) ([]string, error) // of the provider
	Sessions func(ctx context.Context) ([]string, error) // the ids of other sessions
	// Pick lets the person choose a session on the whole terminal; "" if none was chosen.
	Pick func(ctx context.Context, in io.Reader, out io.Writer) (session string, err error)
}

// Status is what the line below the editor shows.
type Status struct {
	Model  string
	Used   int64 // tokens of the context, 0: unknown
	Window int64 // tokens that the model takes, 0: unknown
	Last   int64 // the id of the tape's last entry
}

// ChosenSession is the error of [UI.Run] when the person has chosen to continue in another session.
type ChosenSession struct{ Session string }

func (n *ChosenSession) Error() string { return "session " + n.Session + " was chosen" }

// UI is one conversation on a terminal. Its methods may be called from several goroutines. Those that
// report what happened do not block.
type UI struct {
	o        Options
	composer *composer
	program  *tea.Program
	opened   chan struct{} // closed when the prompt is on the screen, which would overwrite lines printed earlier
	sized    atomic.Bool   // the terminal's size is known
	openOnce sync.Once
	over     chan struct{} // closed when Run has returned

	past     []repo.Entry // of the last turns
	pastErr  error
	pastRead chan struct{} // closed when past and pastErr are set

	mu      sync.Mutex
	waiting []waitingMessage
}

// waitingMessage is a message that no turn has read yet.
type waitingMessage struct {
	id, text string
	steers   bool // it is for the running turn; otherwise a turn of its own answers it
}

// New returns a UI; Run runs it.
func New(o Options) *UI {
	u := &UI{o: o, opened: make(chan struct{}), over: make(chan struct{}), pastRead: make(chan struct{})}
	u.composer = newComposer(u)
	return u
}

// ReadPast reads the last turns, which Run shows first: until then, only the editor is shown. Unless Once is set, it
// has to be called exactly once, before an interrupted turn is resumed: that turn's events are shown as they come.
func (u *UI) ReadPast(ctx context.Context) {
	defer close(u.pastRead)
	if u.o.Past != nil {
		u.past, u.pastErr = u.o.Past(ctx)
	}
}

// Run shows the conversation until the person leaves, or, with Once, until the turn has ended. If the
// person has chosen another session, the error is a [*ChosenSession]; if ctx has ended, it is [context.Canceled].
func (u *UI) Run(ctx context.Context) error {
	defer close(u.over)
	running, stop := context.WithCancel(ctx)
	defer stop()
	m := newModel(running, u)
	const fps = 120 // a key is seen within 8 ms
	out := u.o.Out
	if file, ok := out.(*os.File); ok {
		out = watched{file, u}
	}
	u.program = tea.NewProgram(m, tea.WithContext(running), tea.WithInput(u.o.In), tea.WithOutput(out), tea.WithEnvironment(u.o.Env),
		tea.WithFPS(fps), tea.WithoutSignalHandler(), tea.WithWindowSize(unknownWidth, unknownHeight))
	var composing sync.WaitGroup
	composing.Go(func() { u.composer.run(running) })
	_, err := u.program.Run()
	stop()
	composing.Wait()
	switch {
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return context.Canceled
	case err == nil && m.next != "":
		return &ChosenSession{m.next}
	}
	return err
}

// watched is the terminal. The first output after its size is known draws the prompt.
type watched struct {
	*os.File
	ui *UI
}

func (w watched) Write(data []byte) (int, error) {
	n, err := w.File.Write(data)
	if w.ui.sized.Load() {
		w.ui.drawn()
	}
	return n, err
}

// drawn notes that the prompt is on the screen.
func (u *UI) drawn() { u.openOnce.Do(func() { close(u.opened) }) }

// The size that is assumed until the terminal's is known. Until something was drawn, the library prints lines in
// the wrong place, unless it believes that the terminal has a single line.
const unknownWidth, unknownHeight = 80, 1

// TurnBegins shows the message m that a turn answers. ids are those of all messages that it answers.
func (u *UI) TurnBegins(m hooks.Envelope, ids []string) {
	u.removeWaiting(ids...)
	text := m.Text(hooks.KeyContent)
	u.composer.do(func(c *composer) { c.begin(text, ids) })
}

// TurnEnds shows how a turn ended: it was interrupted if ctx has ended.
func (u *UI) TurnEnds(ctx context.Context) {
	interrupted := ctx.Err() != nil
	u.composer.do(func(c *composer) { c.end(interrupted) })
}

// Event shows an event of the running turn.
func (u *UI) Event(e hooks.Event) {
	if e.Kind == hooks.EventSteering {
		id := hooks.Envelope(e.Data).Text("message_id")
		said := u.removeWaiting(id)
		u.composer.do(func(c *composer) { c.steered(said) })
		return
	}
	u.composer.do(func(c *composer) { c.event(e) })
}

// Message shows a message that a turn sends, unless its text was shown as it came.
func (u *UI) Message(e hooks.Envelope) {
	text, kind := e.Text(hooks.KeyContent), e.Text(hooks.KeyKind)
	if e.Text(hooks.KeyStage) == hooks.StageWaiting {
		u.composer.do(func(c *composer) { c.notice(text) })
		return
	}
	u.composer.do(func(c *composer) { c.message(text, kind == hooks.KindError) })
}

// Tell shows a message of the program that is not an error.
func (u *UI) Tell(text string) { u.composer.do(func(c *composer) { c.notice(text) }) }

// Warn shows a warning.
func (u *UI) Warn(text string) { u.composer.do(func(c *composer) { c.message(text, true) }) }

// removeWaiting removes messages from the waiting ones, and returns their texts.
func (u *UI) removeWaiting(ids ...string) (texts []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = slices.DeleteFunc(slices.Clone(u.waiting), func(w waitingMessage) bool { // a caller of waitingMessages may still read the old list
		found := slices.Contains(ids, w.id)
		if found {
			texts = append(texts, w.text)
		}
		return found
	})
	return texts
}

// addWaiting adds a waiting message.
func (u *UI) addWaiting(w waitingMessage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = append(u.waiting, w)
}

// waitingMessages returns the messages that no turn has read yet, the oldest first.
func (u *UI) waitingMessages() []waitingMessage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.waiting
}

// question is a question to the person, with the channel for the answer.
type question struct {
	approve.Request
	answer chan approve.Answer
}

// Ask asks the person whether the agent may do something. It fails if ctx or the UI ends before the answer. There must
// be one question at a time: another one would take its place.
func (u *UI) Ask(ctx context.Context, r approve.Request) (approve.Answer, error) {
	q := &question{r, make(chan approve.Answer, 1)}
	u.composer.do(func(c *composer) { c.space(); c.question = q })
	defer u.composer.do(func(c *composer) { c.question = nil })
	select {
	case a := <-q.answer:
		u.composer.do(func(c *composer) { c.answered(r, a) })
		return a, nil
	case <-ctx.Done():
		return approve.Answer{}, ctx.Err()
	case <-u.over:
		return approve.Answer{}, errors.New("the person has left")
	}
}

// env returns a variable of the environment.
func (u *UI) env(name string) string {
	value := ""
	for _, v := range u.o.Env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

// colors reports whether colours are wanted.
func (u *UI) colors() bool { return u.env("NO_COLOR") == "" }
