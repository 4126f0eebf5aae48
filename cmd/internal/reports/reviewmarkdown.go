package reports

import (
	"fmt"
	"strings"

	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
)

// markdown writes the review to paste into a pull request: a table of the commits, and below it what was asked and what
// failed, folded.
func (v *shownReview) markdown() error {
	v.Line("**" + v.plain(v.Summary()) + "**")
	v.Line("")
	v.Line("| commit | what was asked | how it is known |")
	v.Line("|---|---|---|")
	for _, c := range v.Credits {
		v.Line("| " + v.code(c.ID[:min(len(c.ID), 9)]) + " " + v.cell(c.Subject) + " | " + v.asked(c) + " | " + v.known(c) + " |")
	}
	v.folded("What failed on the way", v.failedLines())
	var open []string
	for _, r := range v.Open {
		open = append(open, "- "+v.plain(r.Prompt)+after(": ", r.Ended()))
	}
	v.folded("Asked in these sessions, with nothing of it in these commits", open)
	return v.Written()
}

func (v *shownReview) asked(c trace.Credit) string {
	var out []string
	for _, s := range c.Shares {
		if s.Prompt != "" {
			out = append(out, v.cell(s.Prompt))
		}
	}
	return strings.Join(out, "<br>")
}

func (v *shownReview) known(c trace.Credit) string {
	switch {
	case c.Merge:
		return "a merge"
	case len(c.Shares) == 0:
		return "by hand or unknown"
	}
	var out []string
	for _, s := range c.Shares {
		out = append(out, v.code(fmt.Sprintf("%s@%d", s.Tape, s.First))+" "+review.Evidence(s, c))
	}
	return strings.Join(out, "<br>")
}

func (v *shownReview) failedLines() (out []string) {
	for _, r := range v.Requests {
		for _, f := range r.Failed {
			out = append(out, "- "+v.plain(r.Prompt)+": "+v.code(f.Tool+" "+f.Brief))
		}
	}
	return out
}

func (v *shownReview) folded(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	v.Line("")
	v.Line(fmt.Sprintf("<details><summary>%s (%d)</summary>\n", title, len(lines)))
	for _, line := range lines {
		v.Line(line)
	}
	v.Line("\n</details>")
}

// plain is a text on one line, without secrets, in which Markdown and HTML have no meaning.
func (v *shownReview) plain(text string) string { return escaped(v.mask(text)) }

func escaped(text string) string {
	var out strings.Builder
	for _, r := range display.PageLine(text) {
		switch {
		case strings.ContainsRune("\\`*_[]#|~@", r): // "@" would notify somebody
			fmt.Fprintf(&out, "&#%d;", r)
		case r == '<':
			out.WriteString("&lt;")
		case r == '&':
			out.WriteString("&amp;")
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// cell is plain for a text of which the beginning is enough.
func (v *shownReview) cell(text string) string { return escaped(display.Truncate(v.mask(text), 120)) }

func (v *shownReview) code(text string) string { return "<code>" + v.cell(text) + "</code>" }
