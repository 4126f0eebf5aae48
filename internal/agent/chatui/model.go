package chatui

import (
	"context"
	"crypto/rand"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	xansi "github.com/charmbracelet/x/ansi"

	"tape/hooks"
)

// model is the program of bubbletea: it handles keys and draws.
type model struct {
	ui            *UI
	ctx           context.Context
	width, height int
	editor        *editor
	opened        bool

	frame    frame
	drawn    []string // the last view
	cursorAt *tea.Position
	outbox   []string // finished lines that are not printed yet
	printing bool
	tick     int // of spinners
	ticking  bool

	question *question
	asked    []string // the command or diff that it asks about
	sentence bool     // a sentence is being typed as the answer
	drafts   bool     // the editor has a message that was begun before the question

	search   *search
	complete *completion
	known    map[string][]string // the words for completion, by kind
	lookedUp map[string]bool     // the kinds of words that were looked up

	status        Status
	readingStatus bool
	said          string // a line below the editor, shown until the next key
	armed         bool   // Ctrl-C or Ctrl-D was typed: a second one leaves
	leaving       bool
	quits         bool   // the UI ends when no turn runs and no message waits
	away          bool   // another program has the terminal
	next          string // the session to continue in
	refused       string // a message that was not sent, because it looked like a command
}

// search is a search of the history.
type search struct {
	text  string
	at    int    // index of the entry that was found
	draft string // what was in the editor before
}

// Messages of the program to itself.
type (
	printed  struct{}
	ticked   struct{}
	statusIs struct {
		Status
		err error
	}
	historyIs []string
	notice    string
	sent      struct {
		id, text string
		err      error
	}
	takenBack struct {
		waitingMessage
		ok  bool
		err error
	}
	wordsFound struct {
		kind  string
		words []string
	}
	picked struct {
		session string
		err     error
	}
)

func newModel(ctx context.Context, u *UI) *model {
	return &model{ui: u, ctx: ctx, width: 80, height: 24, editor: newEditor(u.colors()), known: map[string][]string{}, lookedUp: map[string]bool{}}
}

// Init starts to read what the first prompt does not wait for.
func (m *model) Init() tea.Cmd {
	o := m.ui.o
	if o.Once {
		return tea.RequestWindowSize
	}
	return tea.Batch(tea.RequestWindowSize, m.readStatus(), func() tea.Msg {
		if o.History == nil {
			return nil
		}
		list, err := o.History(m.ctx)
		if err != nil {
			return notice("what was typed before cannot be read: " + err.Error())
		}
		return historyIs(list)
	})
}

// open shows what comes before the first prompt, once the terminal's size is known.
func (m *model) open() {
	o := m.ui.o
	if m.opened {
		return
	}
	m.opened = true
	defer m.ui.sized.Store(true)
	if _, isFile := o.Out.(*os.File); !isFile { // there is no way to see that the first view is drawn
		defer m.ui.drawn()
	}
	if o.Once {
		return
	}
	m.ui.composer.first(func(c *composer) {
		c.print(c.fit(c.paint.faint("session "+shown(o.Session)+" · ,help lists commands · Esc interrupts, Ctrl-D leaves")), "")
		select {
		case <-m.ui.pastRead:
		case <-m.ctx.Done():
			return
		}
		if err := m.ui.pastErr; err != nil {
			c.message("the last turns cannot be read: "+err.Error(), true)
		}
		c.past(m.ctx, m.ui.past)
	})
}

// Update handles a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Height == unknownHeight {
			break
		}
		m.reflow(msg.Width)
		m.width, m.height = msg.Width, msg.Height
		m.editor.area.SetWidth(max(4, msg.Width))
		m.editor.area.MaxHeight = max(1, min(10, msg.Height/3))
		m.ui.composer.resize(msg.Width, msg.Height)
		m.open()
	case frame:
		cmd = m.takeFrame(msg)
	case printed:
		m.printing = false
	case ticked:
		m.ticking = false
		m.tick++
	case statusIs:
		m.readingStatus = false
		if msg.err != nil {
			m.said = msg.err.Error()
		} else {
			m.status = msg.Status
		}
	case historyIs:
		m.editor.remember(msg)
	case notice:
		m.said = string(msg)
	case sent:
		cmd = m.wasSent(msg)
	case takenBack:
		m.wasTakenBack(msg)
	case wordsFound:
		m.known[msg.kind] = msg.words
	case pressed:
		m.letterAlone(msg)
	case page:
		if msg.err != nil {
			m.said = msg.err.Error()
		} else {
			cmd = m.pager(msg.text)
		}
	case programEnded:
		cmd = m.back(msg)
	case picked:
		m.away = false
		if msg.err != nil {
			m.said = msg.err.Error()
		} else if msg.session != "" && msg.session != m.ui.o.Session {
			m.next, m.leaving = msg.session, true
		}
	case tea.PasteMsg:
		if !m.ui.o.Once || m.question != nil {
			m.search, m.complete = nil, nil
			m.editor.insert(strings.ToValidUTF8(msg.Content, "\uFFFD"))
		}
	case tea.KeyPressMsg:
		cmd = m.key(msg)
	}
	return m, tea.Batch(cmd, m.print(), m.spin(), m.lookUp())
}

// reflow is called when the terminal's width changes. A terminal that becomes narrower wraps the drawn
// lines, which the library does not notice: it would leave some of them above the new ones. So reflow
// moves the cursor to where the library believes it to be.
func (m *model) reflow(width int) {
	if !m.opened || width >= m.width || width < 1 || m.cursorAt == nil {
		return
	}
	extra := m.cursorAt.X / width
	for _, line := range m.drawn[:min(m.cursorAt.Y, len(m.drawn))] {
		extra += max(0, xansi.StringWidth(strings.TrimRight(xansi.Strip(line), " "))-1) / width
	}
	if extra > 0 {
		_, _ = io.WriteString(m.ui.o.Out, xansi.CursorUp(extra)) // at once: before anything is drawn again
	}
}

// takeFrame shows what the composer has made.
func (m *model) takeFrame(f frame) tea.Cmd {
	m.outbox = append(m.outbox, f.done...)
	m.frame = f
	m.frame.done = nil
	switch {
	case f.question != nil && (m.question == nil || f.question != m.question) && len(f.question.answer) == 0:
		m.ask(f.question)
	case f.question == nil && m.question != nil:
		m.question, m.asked, m.sentence, m.drafts = nil, nil, false, false
	}
	var cmds []tea.Cmd
	if f.status {
		cmds = append(cmds, m.readStatus())
	}
	if f.stopped {
		m.armed, m.said = false, ""
		m.leaving = m.leaving || m.ui.o.Once || m.quits && len(m.ui.waitingMessages()) == 0
	}
	return tea.Batch(cmds...)
}

// tallest returns how many lines may be drawn. Finished lines are printed above them: the library garbles
// the screen if both together do not fit on it.
func (m *model) tallest() int { return max(2, m.height*2/3) }

// print prints finished lines, as many at a time as fit above what is drawn. When all are printed, the program ends if
// the person leaves.
func (m *model) print() tea.Cmd {
	if m.printing || m.away || !m.opened {
		return nil
	}
	if len(m.outbox) == 0 {
		if m.leaving {
			return tea.Quit
		}
		return nil
	}
	n := min(len(m.outbox), max(1, m.height-m.tallest()))
	text := strings.Join(m.outbox[:n], "\n")
	if text == "" {
		text = " " // the library prints nothing otherwise
	}
	m.outbox = m.outbox[n:]
	m.printing = true
	return tea.Sequence(tea.Println(text), func() tea.Msg { return printed{} })
}

// spin keeps spinners turning.
func (m *model) spin() tea.Cmd {
	const every = 100 * time.Millisecond
	if m.ticking || !m.frame.running {
		return nil
	}
	m.ticking = true
	return tea.Tick(every, func(time.Time) tea.Msg { return ticked{} })
}

func (m *model) readStatus() tea.Cmd {
	if m.ui.o.Status == nil || m.readingStatus {
		return nil
	}
	m.readingStatus = true
	return func() tea.Msg {
		s, err := m.ui.o.Status(m.ctx)
		return statusIs{s, err}
	}
}

// tell shows a line below the editor until the next key.
func (m *model) tell(text string) tea.Cmd {
	m.said = text
	return nil
}

// send sends a message. It is stored at once, even if it has to wait for the end of the running turn.
func (m *model) send(text string, how hooks.Admission) tea.Cmd {
	id := "message-" + strings.ToLower(rand.Text()[:16])
	m.ui.addWaiting(waitingMessage{id: id, text: text, steers: how == hooks.Steer})
	return func() tea.Msg { return sent{id, text, m.ui.o.Send(m.ctx, id, text, how)} }
}

func (m *model) wasSent(s sent) tea.Cmd {
	if s.err == nil {
		return nil
	}
	m.isNotSent(s.id, s.text)
	if m.editor.empty() {
		m.editor.set(s.text)
	}
	return m.tell(s.err.Error())
}

// isNotSent is called for a message that was not sent after all.
func (m *model) isNotSent(id, text string) {
	m.ui.removeWaiting(id)
	if name, _, _ := strings.Cut(text, " "); name == ",quit" {
		m.quits = false
	}
}

// takeBack takes back the last message that was typed during the turn, and puts it into the editor.
func (m *model) takeBack() tea.Cmd {
	list := m.ui.waitingMessages()
	w := list[len(list)-1]
	if m.ui.o.TakeBack == nil {
		return nil
	}
	return func() tea.Msg {
		ok, err := m.ui.o.TakeBack(m.ctx, w.id)
		return takenBack{w, ok, err}
	}
}

func (m *model) wasTakenBack(t takenBack) {
	switch {
	case t.err != nil:
		m.said = t.err.Error()
	case !t.ok:
		m.said = "too late: the model has it"
	default:
		m.isNotSent(t.id, t.text)
		if !m.editor.empty() {
			t.text += "\n" + m.editor.text()
		}
		m.editor.set(t.text)
	}
}

// lookUp finds the words with which what is being typed can be completed, one kind of words at a time.
func (m *model) lookUp() tea.Cmd {
	text := m.editor.area.Value()
	o := m.ui.o
	for _, k := range []struct {
		kind  string
		typed bool // the text may go on with such a word
		find  func(context.Context) ([]string, error)
	}{
		{"commands", strings.HasPrefix(text, ","), o.Commands},
		{"models", strings.HasPrefix(asCommand(text), ",model "), o.Models},
		{"sessions", strings.HasPrefix(asCommand(text), ",sessions "), o.Sessions},
		{"files", strings.Contains(text, "@"), func(ctx context.Context) ([]string, error) { return files(ctx, o.Dir), nil }},
	} {
		if k.typed && !m.lookedUp[k.kind] && k.find != nil {
			m.lookedUp[k.kind] = true
			return func() tea.Msg {
				list, err := k.find(m.ctx)
				if err != nil {
					return notice(k.kind + ": " + err.Error())
				}
				return wordsFound{k.kind, list}
			}
		}
		if !k.typed { // next time, the list may be another one
			delete(m.lookedUp, k.kind)
		}
	}
	return nil
}
