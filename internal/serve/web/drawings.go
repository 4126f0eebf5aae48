package web

// Drawings of pages: inline SVG without script or styles of its own, whose colours come from the page's style sheet by classes.

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"tape/internal/show/display"
	"tape/internal/show/outline"
)

// esc escapes a text for an attribute or an element.
func esc(s string) string { return template.HTMLEscapeString(display.Line(s)) }

// num returns a coordinate as text.
func num(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

func done(b *strings.Builder) template.HTML { return template.HTML(b.String()) } //nolint:gosec // each piece is escaped or a number

// drawnDay is what was done on a day.
type drawnDay struct {
	Date  time.Time
	Value float64 // in any unit
	Title string  // in words
	Link  string  // "": none
}

// levels is how many shades the days of a calendar have.
const levels = 4

// calendarSVG draws days in columns of weeks that begin on Monday. The days must be consecutive; the first column
// has the week of the first day.
func calendarSVG(days []drawnDay, label string) template.HTML {
	if len(days) == 0 {
		return ""
	}
	const cell, gap, top, left = 10, 3, 26, 46
	most := 0.0
	for _, d := range days {
		most = max(most, d.Value)
	}
	row := func(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }
	weeks := (row(days[0].Date) + len(days) + 6) / 7
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="calendar" viewBox="0 0 %d %d" role="group" aria-label="%s">`, left+weeks*(cell+gap), top+7*(cell+gap), esc(label))
	for i, name := range []string{"Mon", "", "Wed", "", "Fri"} {
		if name != "" {
			fmt.Fprintf(&b, `<text x="0" y="%d">%s</text>`, top+i*(cell+gap)+cell+2, name)
		}
	}
	last := time.Month(0)
	lastAt := -100
	for i, d := range days {
		week := (row(days[0].Date) + i) / 7
		x, y := left+week*(cell+gap), top+row(d.Date)*(cell+gap)
		if m := d.Date.Month(); m != last && d.Date.Day() <= 7 {
			if last = m; x-lastAt >= 48 && week < weeks-1 {
				fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`, x, top-8, m.String()[:3])
				lastAt = x
			}
		}
		level := 0
		if d.Value > 0 {
			level = min(levels, 1+int(math.Sqrt(d.Value/most)*levels*0.999))
		}
		rect := fmt.Sprintf(`<rect class="d%d" x="%d" y="%d" width="%d" height="%d" rx="2"/>`, level, x, y, cell, cell)
		switch {
		case d.Link != "":
			rect = fmt.Sprintf(`<a href="%s"><title>%s</title>%s</a>`, esc(d.Link), esc(d.Title), rect)
		case d.Value > 0:
			rect = fmt.Sprintf(`<g><title>%s</title>%s</g>`, esc(d.Title), rect)
		}
		b.WriteString(rect)
	}
	b.WriteString("</svg>")
	return done(&b)
}

// daysSVG draws days as columns. most is the highest value as text, and stands at the top.
func daysSVG(days []drawnDay, label, most string) template.HTML {
	if len(days) == 0 {
		return ""
	}
	const height = 120
	highest := 0.0
	for _, d := range days {
		highest = max(highest, d.Value)
	}
	var b strings.Builder
	width := max(len(days), 14) * 10
	fmt.Fprintf(&b, `<div class="chart"><p class="most">%s</p><svg class="columns" viewBox="0 0 %d %d" preserveAspectRatio="none" role="group" aria-label="%s">`, esc(most), width, height, esc(label))
	for i, d := range days {
		if d.Value <= 0 || highest == 0 {
			continue
		}
		h := max(1.5, d.Value/highest*height)
		rect := fmt.Sprintf(`<title>%s</title><rect x="%d" y="%s" width="8" height="%s"/>`, esc(d.Title), i*10+1, num(height-h), num(h))
		if d.Link != "" {
			rect = fmt.Sprintf(`<a href="%s">%s</a>`, esc(d.Link), rect)
		} else {
			rect = "<g>" + rect + "</g>"
		}
		b.WriteString(rect)
	}
	b.WriteString("</svg>")
	fmt.Fprintf(&b, `<p class="ends"><span>%s</span><span>%s</span></p></div>`, days[0].Date.Format("2 Jan 2006"), days[len(days)-1].Date.Format("2 Jan 2006"))
	return done(&b)
}

// barSVG draws a share of a whole as a bar, and bad, a part of the share, in the colour of errors. Both are from 0 to 1.
func barSVG(share, bad float64) template.HTML {
	share, bad = bound(share), min(bound(bad), bound(share))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="rest" width="100" height="8"/><rect class="share" width="%s" height="8"/>`, num(share*100))
	if bad > 0 {
		fmt.Fprintf(&b, `<rect class="bad" x="%s" width="%s" height="8"/>`, num((share-bad)*100), num(bad*100))
	}
	b.WriteString("</svg>")
	return done(&b)
}

func bound(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return max(0, min(f, 1))
}

// stripSVG draws the course of a session from left to right: prompts above, calls as columns below, failed calls in the
// colour of errors, handoffs as lines over the whole height, pauses as gaps. A session without calls has no drawing.
// link returns the address of an entry.
func stripSVG(s outline.Strip, link func(entry int64) string) template.HTML {
	const width, top, height = 960, 14, 46
	most := 0
	for _, bin := range s.Bins {
		most = max(most, bin.Calls)
	}
	if most == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" preserveAspectRatio="none" role="group" aria-label="The session over time: prompts, calls, errors, handoffs">`, width, height)
	fmt.Fprintf(&b, `<rect class="ground" y="%d" width="%d" height="%d"/>`, top, width, height-top)
	open := func(entry int64, title string) {
		fmt.Fprintf(&b, `<a href="%s" data-go="%d" tabindex="-1"><title>%s</title>`, esc(link(entry)), entry, esc(title))
	}
	for _, p := range s.Pauses {
		fmt.Fprintf(&b, `<rect class="pause" x="%s" y="%d" width="4" height="%d"><title>%s</title></rect>`, num(p.At*width-2), top, height-top, esc("a pause of "+display.Work(p.Long)))
	}
	step := float64(width) / float64(len(s.Bins))
	for i, bin := range s.Bins {
		if bin.Calls == 0 {
			continue
		}
		h := max(5, math.Sqrt(float64(bin.Calls)/float64(most))*(height-top-2))
		title := display.Count(bin.Calls, "call", "calls")
		if bin.Errors > 0 {
			title += ", " + strconv.Itoa(bin.Errors) + " failed"
		}
		open(bin.Entry, title)
		x, w := num(float64(i)*step), num(step-1)
		fmt.Fprintf(&b, `<rect class="call" x="%s" y="%s" width="%s" height="%s"/>`, x, num(height-h), w, num(h))
		if bin.Errors > 0 {
			bad := max(4, h*float64(bin.Errors)/float64(bin.Calls))
			fmt.Fprintf(&b, `<rect class="bad" x="%s" y="%s" width="%s" height="%s"/>`, x, num(height-bad), w, num(bad))
		}
		b.WriteString("</a>")
	}
	for _, m := range s.Marks {
		x := m.At * (width - 4)
		if m.Sign == outline.Handoff {
			open(m.Entry, "handoff")
			fmt.Fprintf(&b, `<rect class="handoff" x="%s" y="0" width="2" height="%d"/></a>`, num(x), height)
			continue
		}
		open(m.Entry, "prompt")
		fmt.Fprintf(&b, `<rect class="prompt" x="%s" y="0" width="4" height="%d"/></a>`, num(x), top-3)
	}
	b.WriteString("</svg>")
	return done(&b)
}
