package cli

import (
	"fmt"
	"strings"
	"time"

	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// How numbers, names and entries stand in sentences.

func quoted(name string) string { return display.Quoted(name) }

// shellWord makes a name safe to show, and to copy from a hint into a shell.
func shellWord(s string) string { return layout.ShellWord(display.Line(s)) }

func idRange(first, last int64) string {
	if first == last {
		return fmt.Sprintf("@%d", first)
	}
	return fmt.Sprintf("@%d to @%d", first, last)
}

// some is how many there are of something, and nothing where there are none.
func some[N int | int64](n N, one, many string) []string {
	if n == 0 {
		return nil
	}
	return []string{display.Count(n, one, many)}
}

func shortID(commit string) string { return fmt.Sprintf("%.12s", commit) }

func named(ids []int64) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprintf("@%d", id)
	}
	return strings.Join(out, " ")
}

// writtenBy names who wrote something, given as Name <mail>, for the end of a line; "" if that
// goes without saying.
func writtenBy(author string) string {
	name, _, _ := strings.Cut(author, " <")
	if name == "" {
		return ""
	}
	return " by " + display.Truncate(display.Line(name), 30)
}

// ago shows when something happened as people say it, and a date when that is long
// gone. Text that is no date is shown as it stands.
func (a *App) ago(date string) string { return a.since(date, time.DateOnly) }

// when is ago with the time of the day, for entries of one session.
func (a *App) when(date string) string { return a.since(date, display.Minute) }

func (a *App) since(date, layout string) string {
	t, ok := parseStored(date)
	if !ok {
		return display.Line(date)
	}
	now := a.Now()
	t = t.In(now.Location())
	switch d := now.Sub(t); {
	case d < -time.Minute:
		return t.Format(display.Minute)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return display.Count(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 24*time.Hour:
		return display.Count(int(d/time.Hour), "hour", "hours") + " ago"
	case d < 14*24*time.Hour:
		return display.Count(int(d/(24*time.Hour)), "day", "days") + " ago"
	default:
		return t.Format(layout)
	}
}

// briefly is ago in a few cells, for lists.
func (a *App) briefly(t time.Time) string {
	now := a.Now()
	t = t.In(now.Location())
	switch d := now.Sub(t); {
	case t.IsZero():
		return "unknown"
	case d < -time.Minute || d >= 14*24*time.Hour:
		return t.Format(time.DateOnly)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh ago", d/time.Hour)
	default:
		return fmt.Sprintf("%dd ago", d/(24*time.Hour))
	}
}

func parseStored(date string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, date); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
