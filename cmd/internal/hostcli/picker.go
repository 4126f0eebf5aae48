package hostcli

// The list of sessions from which a person chooses on a terminal: what tape shows when it is called alone, and tape chat for ,sessions. A key that is a letter goes to the filter, except c, which copies the command that resumes the chosen session. After /, while somebody types, and in the chat's list, c is a letter, too.

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"tape/internal/show/display"
	"tape/internal/store/about"
)

// pickerSession is a line of the list.
type pickerSession struct {
	about.Tape
	Here bool // of the current directory's project
}

// pickerOptions are what the picker shows and does.
type pickerOptions struct {
	Sessions []pickerSession // the newest first
	In       io.Reader
	Out      io.Writer
	Env      []string // tells the terminal's abilities
	Now      func() time.Time
	// Resume returns the command that resumes a session, or an error that says why it cannot go on. It is
	// called in a goroutine of its own. nil: c is a letter like others.
	Resume func(session int) (command string, err error)
}

// sessionPicker shows a list of sessions that can be filtered. Filter and position stay from one Pick to the next.
type sessionPicker struct {
	pickerOptions
	filter   textinput.Model
	typing   bool     // letters go to the filter, c as well
	here     bool     // only sessions of the current directory's project are listed
	both     bool     // there are others, too
	texts    []string // of each session, what the filter searches
	shown    []int    // the sessions that match
	at, top  int      // the chosen one and the first line, in shown
	width    int
	height   int
	said     string // about the last key
	picked   int    // the session that Pick returns; -1: none
	finished bool
}

// hashed returns tags as people type them: with and without the #.
func hashed(tags []string) string {
	if len(tags) == 0 {
		return ""
	}
	return "#" + strings.Join(tags, " #")
}

// newPicker returns a picker. It begins with the sessions of the current directory's project, if there are any.
func newPicker(o pickerOptions) *sessionPicker {
	p := &sessionPicker{pickerOptions: o, filter: textinput.New(), texts: make([]string, len(o.Sessions)), width: 80, height: 24}
	p.filter.Prompt, p.filter.Placeholder = "> ", "type to filter"
	p.filter.CharLimit = 200
	p.filter.Focus()
	styles := p.filter.Styles()
	styles.Cursor.Blink = false
	p.filter.SetStyles(styles)
	others := false
	for i, s := range o.Sessions {
		p.texts[i] = strings.ToLower(strings.Join([]string{s.Title, s.Apart, s.ProjectBranch(), s.Project, s.Agent, s.Name, hashed(s.Tags)}, "\n"))
		p.here, others = p.here || s.Here, others || !s.Here
	}
	p.both = p.here && others
	p.applyFilter()
	return p
}

// Pick shows the list, and returns which session was chosen, or -1 if the person left.
func (p *sessionPicker) Pick(ctx context.Context) (session int, err error) {
	p.picked, p.finished, p.said = -1, false, ""
	_, err = tea.NewProgram(pickerModel{p}, tea.WithContext(ctx), tea.WithInput(p.In), tea.WithOutput(p.Out), tea.WithEnvironment(p.Env)).Run()
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return -1, context.Canceled
	}
	return p.picked, err
}

// pickerModel is the picker as the library knows it.
type pickerModel struct{ *sessionPicker }

// resumed is the message with what Resume returned.
type resumed struct {
	command string
	err     error
}

func (m pickerModel) Init() tea.Cmd { return nil }

func (m pickerModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.scroll()
	case resumed:
		if msg.err != nil {
			m.said = "This session cannot go on here: " + msg.err.Error()
			return m, nil
		}
		m.said = "Copied: " + msg.command
		return m, tea.SetClipboard(msg.command)
	case tea.KeyPressMsg:
		m.said = ""
		return m, m.key(msg)
	case tea.PasteMsg:
		return m, m.typed(msg)
	}
	return m, nil
}

// key does what a key asks for.
func (p *sessionPicker) key(msg tea.KeyPressMsg) tea.Cmd {
	switch key := msg.String(); key {
	case "ctrl+c":
		return p.leave(-1)
	case "esc":
		if p.filter.Value() == "" {
			return p.leave(-1)
		}
		p.filter.SetValue("")
		p.applyFilter()
	case "ctrl+d":
		if p.filter.Value() == "" {
			return p.leave(-1)
		}
	case "enter", "ctrl+j":
		if len(p.shown) > 0 {
			return p.leave(p.shown[p.at])
		}
	case "tab":
		if p.both {
			p.here = !p.here
			p.applyFilter()
		}
	case "up", "ctrl+p":
		p.move(-1)
	case "down", "ctrl+n":
		p.move(1)
	case "pgup":
		p.move(-p.rows())
	case "pgdown":
		p.move(p.rows())
	case "home":
		p.move(-len(p.shown))
	case "end":
		p.move(len(p.shown))
	case "c":
		if p.typing || p.Resume == nil {
			return p.typed(msg)
		}
		return p.copyCommand()
	case "/":
		if p.typing {
			return p.typed(msg)
		}
		p.typing = true
	default:
		return p.typed(msg)
	}
	return nil
}

func (p *sessionPicker) leave(session int) tea.Cmd {
	p.picked, p.finished = session, true
	return tea.Quit
}

// typed gives a key or a pasted text to the filter.
func (p *sessionPicker) typed(msg tea.Msg) tea.Cmd {
	before := p.filter.Value()
	var cmd tea.Cmd
	if p.filter, cmd = p.filter.Update(msg); p.filter.Value() != before {
		p.applyFilter()
	}
	p.typing = p.filter.Value() != ""
	return cmd
}

func (p *sessionPicker) copyCommand() tea.Cmd {
	if len(p.shown) == 0 {
		return nil
	}
	session := p.shown[p.at]
	return func() tea.Msg {
		command, err := p.Resume(session)
		return resumed{command, err}
	}
}

// applyFilter finds the sessions that have all words of the filter.
func (p *sessionPicker) applyFilter() {
	words := strings.Fields(strings.ToLower(p.filter.Value()))
	p.shown, p.at, p.top = p.shown[:0], 0, 0
next:
	for i, text := range p.texts {
		if p.here && !p.Sessions[i].Here {
			continue
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				continue next
			}
		}
		p.shown = append(p.shown, i)
	}
}

func (p *sessionPicker) move(by int) {
	p.typing = false
	p.at = max(0, min(p.at+by, len(p.shown)-1))
	p.scroll()
}

// scroll keeps the chosen session in sight.
func (p *sessionPicker) scroll() {
	p.top = max(p.at-p.rows()+1, min(p.top, p.at))
	p.top = max(0, min(p.top, len(p.shown)-p.rows()))
}

// rows is how many sessions there is room for.
func (p *sessionPicker) rows() int { return max(1, p.height-p.around()) }

// around is how many lines are used for other things: the filter, a space, what is chosen, the keys.
func (p *sessionPicker) around() int {
	switch {
	case p.height >= 10:
		return 5
	case p.height >= 4:
		return 2
	case p.height >= 2:
		return 1
	}
	return 0
}

// updated is when the session was last updated, for the list.
func (p *sessionPicker) updated(s pickerSession) string { return display.Briefly(p.Now(), s.Updated) }
