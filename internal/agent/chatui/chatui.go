// Package chatui is what a person sees and types at a terminal while an agent works: its calls with
// what they write, its answer as it comes, questions before it acts, and an editor for what is said.
//
// What is over is printed above the editor, and belongs to the terminal from then on: it can be
// scrolled, copied, and is there after the end. Only what still changes is drawn again.
//
// Three goroutines share the work. The turn's only puts what happened into a list. The composer makes
// lines of it, which may take long. The program of bubbletea takes keys, and draws lines that are
// ready, so that a key never waits for an answer to be rendered.
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

// Options of a UI. Functions may be nil: what they are for is missing then. They are called beside the
// program, one by one or several at once.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Env     []string // tells the terminal's abilities, the editor and the pager
	Session string
	Dir     string // the project: paths are relative to it, and @ completes its files
	Once    bool   // there is no editor, and the UI ends with the turn

	// Send accepts a message: when it returns nil, the message is stored.
	Send func(ctx context.Context, id, text string, how hooks.Admission) error
	// Cancel interrupts the running turn.
	Cancel func()
	// TakeBack takes a message back that waits; false if a turn has read it.
	TakeBack func(ctx context.Context, id string) (bool, error)
	// Mode says what needs consent; NextMode chooses the next one, and says in a few words what it is.
	Mode     func() string
	NextMode func() (mode, about string)
	Status   func(ctx context.Context) (Status, error)
	// Past returns the entries of the session's last turns, the oldest first.
	Past func(ctx context.Context) ([]repo.Entry, error)
	// History returns what was typed in the session and those of the project, the oldest first.
	History func(ctx context.Context) ([]string, error)
	// Whole returns the artifact that a long result has become.
	Whole    func(ctx context.Context, id string) (string, error)
	Commands func(ctx context.Context) ([]string, error) // the names of comma commands
	Models   func(ctx context.Context) ([]string, error) // of the provider
	Sessions func(ctx context.Context) ([]string, error) // the ids of other sessions
	// Pick lets the person choose a session on the whole terminal; "" is none.
	Pick func(ctx context.Context, in io.Reader, out io.Writer) (session string, err error)
}

// Status is what the line below the editor says.
type Status struct {
	Model  string
	Used   int64 // tokens of the context, 0: unknown
	Window int64 // tokens that the model takes, 0: unknown
	Last   int64 // the id of the tape's last entry
}

// Next is a session that the person has chosen to go on with; the UI has ended for it.
type Next struct{ Session string }

func (n *Next) Error() string { return "session " + n.Session + " was chosen" }

// UI is one conversation on a terminal. Its methods may be called from several goroutines; those that
// tell what happened do not wait.
type UI struct {
	o        Options
	composer *composer
	program  *tea.Program
	opened   chan struct{} // closed when the prompt is on the screen; what is printed before that would be drawn over
	sized    atomic.Bool   // the terminal's size is known
	drew     sync.Once
	over     chan struct{} // closed when Run has returned

	before  []repo.Entry // of the last turns
	problem error        // in reading them
	known   chan struct{}

	mu      sync.Mutex
	waiting []waiting
}

// waiting is a message that was typed during a turn.
type waiting struct {
	id, text string
	steers   bool // for the running turn; otherwise a turn of its own answers it
}

// New returns a UI; Run runs it.
func New(o Options) *UI {
	u := &UI{o: o, opened: make(chan struct{}), over: make(chan struct{}), known: make(chan struct{})}
	u.composer = newComposer(u)
	return u
}

// ReadPast reads what came before, which Run waits for. A turn that goes on has to begin later: what it does is
// shown as it comes.
func (u *UI) ReadPast(ctx context.Context) {
	defer close(u.known)
	if u.o.Past != nil {
		u.before, u.problem = u.o.Past(ctx)
	}
}

// Run shows the conversation until the person leaves, or, with Once, until the turn has ended. If the
// person has chosen another session, the error is a [Next].
func (u *UI) Run(ctx context.Context) error {
	defer close(u.over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := newModel(ctx, u)
	const fps = 120 // a key is seen within 8 ms
	out := u.o.Out
	if file, ok := out.(*os.File); ok {
		out = watched{file, u}
	}
	u.program = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(u.o.In), tea.WithOutput(out), tea.WithEnvironment(u.o.Env),
		tea.WithFPS(fps), tea.WithoutSignalHandler(), tea.WithWindowSize(unknownWidth, unknownHeight))
	var composing sync.WaitGroup
	composing.Go(func() { u.composer.run(ctx) })
	_, err := u.program.Run()
	stop()
	composing.Wait()
	switch {
	case errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return context.Canceled
	case err == nil && m.next != "":
		return &Next{m.next}
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

func (u *UI) drawn() { u.drew.Do(func() { close(u.opened) }) }

// The size of a terminal before it is known. The library prints lines in the wrong place until something
// was drawn, unless it takes the terminal for one of a single line.
const unknownWidth, unknownHeight = 80, 1

// TurnBegins is told which messages a turn answers.
func (u *UI) TurnBegins(m hooks.Envelope, ids []string) {
	u.read(ids...)
	text := m.Text(hooks.KeyContent)
	u.composer.do(func(c *composer) { c.begin(text, ids) })
}

// TurnEnds is told how a turn ended.
func (u *UI) TurnEnds(ctx context.Context) {
	interrupted := ctx.Err() != nil
	u.composer.do(func(c *composer) { c.end(interrupted) })
}

// Event shows an event of the running turn.
func (u *UI) Event(e hooks.Event) {
	if e.Kind == hooks.EventSteering {
		id := hooks.Envelope(e.Data).Text("message_id")
		said := u.read(id)
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

// Tell shows a message of the program that is no error.
func (u *UI) Tell(text string) { u.composer.do(func(c *composer) { c.notice(text) }) }

// Warn shows a warning.
func (u *UI) Warn(text string) { u.composer.do(func(c *composer) { c.message(text, true) }) }

// read removes messages from the waiting ones, and returns their texts.
func (u *UI) read(ids ...string) (texts []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = slices.DeleteFunc(slices.Clone(u.waiting), func(w waiting) bool { // waits has returned the old list
		found := slices.Contains(ids, w.id)
		if found {
			texts = append(texts, w.text)
		}
		return found
	})
	return texts
}

// wait adds a waiting message.
func (u *UI) wait(w waiting) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = append(u.waiting, w)
}

// waits returns the waiting messages.
func (u *UI) waits() []waiting {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.waiting
}

// question is a question to the person, and where the answer goes.
type question struct {
	approve.Request
	answer chan approve.Answer
}

// Ask asks the person whether the agent may do something.
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
