package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
)

// show shows each run on a line, and below it, once for each commit, what led to that.
func (o *blameOptions) show(list []blamed) error {
	if len(list) == 0 {
		o.Tell("%s is empty", quoted(o.file))
		return nil
	}
	lines := make([]string, len(list))
	wide := 0
	for i, b := range list {
		if lines[i] = fmt.Sprint(b.First); b.Last > b.First {
			lines[i] += fmt.Sprintf("-%d", b.Last)
		}
		wide = max(wide, len(lines[i]))
	}
	o.Page()
	shown := map[string]bool{}
	for i, b := range list {
		head := o.Style(stdio.Bold+";"+stdio.Yellow, display.Pad(lines[i], wide))
		if !b.Committed() {
			o.Line(head + "  " + b.unknown.text)
			continue
		}
		day := b.Commit.Authored.In(o.Now().Location()).Format("2006-01-02")
		left := max(12, o.Width()-wide-len("  123456789012  2006-01-02  "))
		o.Line(head + "  " + shortID(b.Commit.ID) + "  " + o.Style(stdio.Dim, day) + "  " + o.Fit(display.Line(b.Commit.Subject), left))
		if !shown[b.Commit.ID] {
			shown[b.Commit.ID] = true
			o.showTurns(b, display.Pad("", wide+2))
		}
		if err := o.Written(); err != nil {
			return err
		}
	}
	o.showMore(list)
	return nil
}

func (o *blameOptions) showTurns(b blamed, indent string) {
	cells := 0
	if w := o.Width(); w > 0 {
		cells = max(20, w-len(indent))
	}
	say := func(colour, text string) {
		for _, part := range display.Wrap(text, cells) {
			o.Line(indent + o.Style(colour, part))
		}
	}
	if b.unknown.text != "" {
		say(stdio.Dim, b.unknown.text)
	}
	for _, t := range b.turns {
		if t.Prompt != "" {
			say(stdio.Green, "> "+display.Line(t.Prompt))
		}
		where := "tape " + shellWord(t.Tape) + "  " + idRange(t.First, t.Last)
		if t.Title != "" && t.Title != t.Prompt {
			where += "  " + display.Line(t.Title)
		}
		say("", where)
		if mark := turnMark(t, *b.Commit); mark != "" {
			say(stdio.Dim, mark)
		}
	}
}

// showMore says how to see more.
func (o *blameOptions) showMore(list []blamed) {
	more := "tape search --all-tapes " + shellWord(filepath.Base(o.file)) + " finds where the file was spoken of"
	for _, b := range list {
		if len(b.turns) > 0 {
			more = "tape log --commit " + shortID(b.Commit.ID) + " shows all that was said before the commit"
			break
		}
	}
	if o.Screen().Out {
		o.Say("\n%s", o.Style(stdio.Dim, strings.Join(display.Wrap(more, o.Width()), "\n")))
		return
	}
	_ = o.Flush()
	o.Tell("%s", more)
}

// remark tells what has to be known of what is shown.
func (a *App) remark(text string) {
	switch {
	case a.JSON:
		a.Warn(text)
	case a.Screen().Out:
		a.Say("%s\n", a.Style(stdio.Dim, strings.TrimSpace(text)))
	default:
		a.Tell("%s", text)
	}
}
