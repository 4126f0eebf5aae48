package hostcli

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"tape/internal/show/display"
	"tape/internal/store/about"
)

var (
	dim    = lipgloss.NewStyle().Faint(true)
	chosen = lipgloss.NewStyle().Bold(true)
	accent = lipgloss.NewStyle().Foreground(lipgloss.Cyan)
)

func (m pickerModel) View() tea.View {
	if m.finished {
		return tea.NewView("")
	}
	var lines []string
	if m.around() > 0 {
		lines = append(lines, m.head())
	}
	if m.around() >= 5 {
		lines = append(lines, "")
	}
	lines = append(lines, m.list()...)
	switch m.around() {
	case 5:
		lines = append(lines, "", m.detail(), m.foot())
	case 2:
		lines = append(lines, m.foot())
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen, v.WindowTitle = true, "tape"
	return v
}

// head is the filter, with how many sessions match.
func (p *sessionPicker) head() string {
	count := strconv.Itoa(len(p.shown))
	if total := p.total(); total != len(p.shown) {
		count += " of " + strconv.Itoa(total)
	}
	if p.both {
		if p.here {
			count += " · this project"
		} else {
			count += " · all projects"
		}
	}
	room := p.width - display.Width(count) - 2
	if room < 20 {
		count, room = "", p.width
	}
	p.filter.SetWidth(max(1, room-display.Width(p.filter.Prompt)-1))
	p.filter.Placeholder = display.Truncate("type to filter", max(1, room-display.Width(p.filter.Prompt)-1))
	left := p.filter.View()
	if count == "" {
		return left
	}
	return left + strings.Repeat(" ", max(2, p.width-lipgloss.Width(left)-display.Width(count))) + dim.Render(count)
}

// total is how many sessions there are without the filter.
func (p *sessionPicker) total() (n int) {
	for _, s := range p.Sessions {
		if !p.here || s.Here {
			n++
		}
	}
	return n
}

// columns are the widths of a line's parts; 0 is none.
type columns struct{ title, project, agent, updated int }

// columns returns the widths for these sessions. A part that leaves too little room for the title is left out.
func (p *sessionPicker) columns(lines []pickerSession) (c columns) {
	for _, s := range lines {
		c.project = max(c.project, display.Width(display.Line(s.ProjectBranch())))
		c.agent = max(c.agent, display.Width(display.Line(s.Agent)))
		c.updated = max(c.updated, display.Width(p.updated(s)))
	}
	left := p.width - len("> ")
	take := func(cells *int, least int) {
		if *cells == 0 || left-*cells-2 < least {
			*cells = 0
			return
		}
		left -= *cells + 2
	}
	take(&c.updated, 24)
	c.project = min(c.project, p.width/4)
	take(&c.project, 30)
	take(&c.agent, 60)
	c.title = max(1, left)
	return c
}

func (p *sessionPicker) list() []string {
	if len(p.shown) == 0 {
		lines := []string{"  " + display.Truncate("No matching sessions.", max(1, p.width-2))}
		return append(lines, make([]string, p.rows()-1)...)
	}
	end := min(p.top+p.rows(), len(p.shown))
	var visible []pickerSession
	for _, i := range p.shown[p.top:end] {
		visible = append(visible, p.Sessions[i])
	}
	c := p.columns(visible)
	lines := make([]string, 0, p.rows())
	for i, s := range visible {
		lines = append(lines, p.row(s, c, p.top+i == p.at))
	}
	return append(lines, make([]string, max(0, p.rows()-len(lines)))...)
}

func (p *sessionPicker) row(s pickerSession, c columns, isChosen bool) string {
	mark, title := "  ", display.Pad(fit(s, c.title), c.title)
	if isChosen {
		mark, title = accent.Render("▸ "), chosen.Render(title)
	}
	rest := ""
	for _, part := range []struct {
		text  string
		cells int
	}{{s.ProjectBranch(), c.project}, {s.Agent, c.agent}, {p.updated(s), c.updated}} {
		if part.cells > 0 {
			rest += "  " + display.Pad(display.Truncate(display.Line(part.text), part.cells), part.cells)
		}
	}
	return mark + title + dim.Render(strings.TrimRight(rest, " "))
}

// fit returns a title for a number of cells. The end that tells it from others is kept if it needs at most half of
// them.
func fit(s pickerSession, cells int) string {
	suffix := display.Line(s.Suffix())
	if s.Title == "" || display.Width(suffix)*2 > cells {
		suffix = ""
	}
	title := s.Title
	if title == "" {
		title = s.Name
	}
	if s.Starred {
		title = "★ " + title
	}
	return display.Truncate(display.Line(title), cells-display.Width(suffix)) + suffix
}

// detail says more about the chosen session, or what a key has done.
func (p *sessionPicker) detail() string {
	if p.said != "" {
		return display.Truncate(display.Line(p.said), p.width)
	}
	if len(p.shown) == 0 {
		return ""
	}
	s := p.Sessions[p.shown[p.at]]
	var parts []string
	for _, part := range []string{s.Agent, hashed(s.Tags), about.MarksText(s.Marks), s.Model, display.Span(s.Started, s.Updated), display.Count(s.Messages, "message", "messages"),
		display.Count(s.ToolCalls, "tool call", "tool calls")} {
		if part != "" {
			parts = append(parts, display.Line(part))
		}
	}
	return dim.Render(display.Truncate(strings.Join(parts, " · "), p.width))
}

// foot names the keys, as far as there is room.
func (p *sessionPicker) foot() string {
	if p.around() < 5 && p.said != "" {
		return p.detail()
	}
	keys := [][2]string{{"enter", "open"}, {"esc", "quit"}}
	if p.filter.Value() != "" {
		keys[1][1] = "clear"
	}
	if p.both && p.here {
		keys = append(keys, [2]string{"tab", "all projects"})
	} else if p.both {
		keys = append(keys, [2]string{"tab", "this project"})
	}
	if p.Resume != nil {
		resume := [2]string{"c", "copy resume command"}
		if p.typing {
			resume[0] = "↓ c"
		}
		if p.width < 80 {
			resume[1] = "copy command"
		}
		keys = append(keys, resume)
	}
	keys = append(keys, [2]string{"↑↓", "choose"})
	if !p.typing {
		keys = append(keys, [2]string{"/", "filter"})
	}
	out, used := "", 0
	for _, key := range keys {
		cells := display.Width(key[0]) + 1 + len(key[1])
		if used > 0 {
			cells += 3
		}
		if used+cells > p.width {
			continue
		}
		if used > 0 {
			out += "   "
		}
		out, used = out+accent.Render(key[0])+" "+dim.Render(key[1]), used+cells
	}
	return out
}
