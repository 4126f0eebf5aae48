package reports

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/show/report"
)

// DigestSession is a session of a digest.
type DigestSession struct {
	report.Session
	Short string // a short name of the tape, for people
}

// DigestFormats are the formats for people.
var DigestFormats = [...]string{"text", "markdown"}

// ShowDigest shows sessions by day and project.
func ShowDigest(s *stdio.Streams, list []DigestSession, format string) error {
	zone := s.Now().Location()
	day := func(g DigestSession) string { return g.Last.In(zone).Format(time.DateOnly) }
	slices.SortStableFunc(list, func(a, b DigestSession) int {
		return cmp.Or(strings.Compare(day(a), day(b)), strings.Compare(a.Project(), b.Project()), a.Last.Compare(b.Last), strings.Compare(a.About.Name, b.About.Name))
	})
	if s.JSON || len(list) == 0 {
		object := func(g DigestSession) stdio.Object { return g.object(day(g)) }
		return stdio.Listing[DigestSession]{None: "No matching sessions.", Object: object}.Show(s, list, nil)
	}
	s.Page()
	p := &printer{Streams: s, markdown: format == "markdown", prompts: promptsOf(len(list))}
	last, project := "", ""
	for _, g := range list {
		if d := day(g); d != last {
			p.day(g.Last.In(zone), last == "")
			last, project = d, "\x00"
		}
		if name := g.Project(); name != project {
			p.project(cmp.Or(name, "no project"))
			project = name
		}
		p.session(g)
		if err := s.Written(); err != nil {
			return err
		}
	}
	return nil
}

// promptsOf returns how many prompts of each session are shown, so that a week fits on a screen or two.
func promptsOf(sessions int) int {
	switch {
	case sessions <= 5:
		return 8
	case sessions <= 15:
		return 4
	}
	return 2
}

func (g DigestSession) object(day string) stdio.Object {
	var prompts, files []string
	for _, said := range g.Prompts {
		prompts = append(prompts, said.Text)
	}
	for _, f := range g.Files {
		files = append(files, g.Path(f.Path))
	}
	commits := stdio.Objects(g.UniqueCommits(), func(text string) stdio.Object {
		id, subject, _ := strings.Cut(text, " ")
		return stdio.Object{{"id", id}, {"subject", subject}}
	})
	return append(stdio.Object{{"day", day}}.With("outcome", g.Outcome), stdio.Object{{"project", stdio.OrNull(g.About.Project)}, {"tape", g.About.Name}, {"title", stdio.OrNull(g.About.Title)},
		{"prompts", prompts}, {"files", files}, {"commits", commits}, {"end", g.End()}}...).With("workspace", g.Workspace)
}

type printer struct {
	*stdio.Streams
	markdown bool
	prompts  int
}

func (p *printer) day(at time.Time, first bool) {
	if !first {
		p.Line("")
	}
	if p.markdown {
		p.Line("## " + at.Format("Monday, 2006-01-02"))
		return
	}
	p.Line(p.Style(stdio.Bold+";"+stdio.Yellow, at.Format("Monday 2006-01-02")))
}

func (p *printer) project(name string) {
	name = display.Line(name)
	if p.markdown {
		p.Line("\n### " + escape(name) + "\n")
		return
	}
	p.Line(p.Style(stdio.Bold, display.Truncate("  "+name, p.Width())))
}

func (p *printer) session(g DigestSession) {
	title := cmp.Or(display.Line(g.About.Title), display.Line(g.About.Name))
	if g.About.Apart != "" {
		title += " · " + display.Line(g.About.Apart)
	}
	p.title(title, display.Line(cmp.Or(g.Short, g.About.Name)))
	prompts := g.OtherPrompts()
	for _, said := range prompts[:min(len(prompts), p.prompts)] {
		p.item(stdio.Green, "> ", "asked: ", said.Text)
	}
	if n := len(prompts) - p.prompts; n > 0 {
		p.item(stdio.Dim, "  ", "", "… and "+display.Count(n, "more request", "more requests"))
	}
	if n := len(g.Files); n > 0 {
		var added, removed int64
		names := make([]string, n)
		for i, f := range g.Files {
			added, removed, names[i] = added+f.Added, removed+f.Removed, g.Path(f.Path)
			if p.Width() > 0 {
				names[i] = filepath.Base(names[i])
			}
		}
		p.item("", "± ", "changed: ", fmt.Sprintf("%s +%d -%d  %s", display.Count(n, "file", "files"), added, removed, strings.Join(names, ", ")))
	}
	const most = 3
	commits := g.UniqueCommits()
	for _, c := range commits[:min(most, len(commits))] {
		p.item(stdio.Cyan, "* ", "committed: ", display.ShortCommit(c))
	}
	if n := len(commits) - most; n > 0 {
		p.item(stdio.Dim, "  ", "", "… and "+display.Count(n, "more commit", "more commits"))
	}
	if g.Outcome == "" || !saysNothing(g.End()) {
		p.item(stdio.Dim, "= ", "end: ", g.End())
	}
	p.item(stdio.Dim, "→ ", "came out: ", g.Outcome)
}

// saysNothing reports whether an answer only says that it is the last one.
func saysNothing(answer string) bool {
	switch strings.ToLower(strings.Trim(answer, " .!…")) {
	case "done", "all done", "ok", "okay", "finished", "completed", "complete":
		return true
	}
	return false
}

// title shows a session's title and name. On a terminal, the name is at the end of the line.
func (p *printer) title(title, name string) {
	if p.markdown {
		p.Line("- **" + escape(title) + "** · `" + strings.ReplaceAll(name, "`", "'") + "`")
		return
	}
	if p.Width() == 0 {
		p.Line("    " + title + "  " + name)
		return
	}
	room := max(10, p.Width()-len("    ")-display.Width(name)-2)
	p.Line("    " + display.Pad(display.Truncate(title, room), room) + "  " + p.Style(stdio.Dim, name))
}

// item shows a fact about a session in a line.
func (p *printer) item(style, sign, label, text string) {
	if text = display.Line(text); text == "" {
		return
	}
	if p.markdown {
		p.Line("  - " + label + escape(text))
		return
	}
	p.Line(p.Style(style, display.Truncate("      "+sign+text, p.Width())))
}

// escape keeps recorded text from being read as Markdown.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "]", `\]`, "#", `\#`).Replace(text)
}
