package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"tape/internal/show/display"
)

// show shows each run on a line, and below it, once for each commit, what led to that.
func (o *blameOptions) show(list []blamed) error {
	if len(list) == 0 {
		o.tell("%s is empty", quoted(o.file))
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
	o.page()
	shown := map[string]bool{}
	for i, b := range list {
		head := o.style(bold+";"+yellow, display.Pad(lines[i], wide))
		if !b.Committed() {
			o.line(head + "  " + b.unknown.text)
			continue
		}
		day := b.Commit.Authored.In(o.Now().Location()).Format("2006-01-02")
		left := max(12, o.width()-wide-len("  123456789012  2006-01-02  "))
		o.line(head + "  " + shortID(b.Commit.ID) + "  " + o.style(dim, day) + "  " + o.fit(display.Line(b.Commit.Subject), left))
		if !shown[b.Commit.ID] {
			shown[b.Commit.ID] = true
			o.showTurns(b, display.Pad("", wide+2))
		}
		if err := o.written(); err != nil {
			return err
		}
	}
	o.showMore(list)
	return nil
}

func (o *blameOptions) showTurns(b blamed, indent string) {
	cells := 0
	if w := o.width(); w > 0 {
		cells = max(20, w-len(indent))
	}
	say := func(colour, text string) {
		for _, part := range display.Wrap(text, cells) {
			o.line(indent + o.style(colour, part))
		}
	}
	if b.unknown.text != "" {
		say(dim, b.unknown.text)
	}
	for _, t := range b.turns {
		if t.Prompt != "" {
			say(green, "> "+display.Line(t.Prompt))
		}
		where := "tape " + shellWord(t.Tape) + "  " + idRange(t.First, t.Last)
		if t.Title != "" && t.Title != t.Prompt {
			where += "  " + display.Line(t.Title)
		}
		say("", where)
		if mark := turnMark(t, *b.Commit); mark != "" {
			say(dim, mark)
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
	if o.screen().out {
		o.say("\n%s", o.style(dim, strings.Join(display.Wrap(more, o.width()), "\n")))
		return
	}
	_ = o.out.Flush()
	o.tell("%s", more)
}

// remark tells what has to be known of what is shown.
func (a *App) remark(text string) {
	switch {
	case a.json:
		a.warn(text)
	case a.screen().out:
		a.say("%s\n", a.style(dim, strings.TrimSpace(text)))
	default:
		a.tell("%s", text)
	}
}
