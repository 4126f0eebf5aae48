package display

import (
	"fmt"
	"strings"
	"time"
)

// Minute is the layout of dates with a time of day, which are shown in the reader's zone.
const Minute = "2006-01-02 15:04"

// Zone returns the name of the local zone at a time.
func Zone(t time.Time) string { return t.Local().Format("MST") }

// ZoneName returns the local zone at a time with its offset: "CET (UTC+01:00)".
func ZoneName(t time.Time) string {
	offset := "UTC" + t.Local().Format("-07:00")
	switch name := Zone(t); {
	case name == "UTC":
		return name
	case strings.ContainsAny(name, "+-"):
		return offset
	default:
		return name + " (" + offset + ")"
	}
}

// Span returns a range of time, as "2026-11-20 10:00 to 11:30"; the date is repeated if the day changes.
func Span(from, until time.Time) string {
	from, until = from.Local(), until.Local()
	end := until.Format(Minute)
	if end[:len(time.DateOnly)] == from.Format(time.DateOnly) {
		end = until.Format("15:04")
	}
	return from.Format(Minute) + " to " + end
}

// Took returns a duration, rounded for display.
func Took(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Ago returns how long ago a date was, as "5 minutes ago", or after two weeks the date in the given
// layout. Text that is not a date is shown as it is.
func Ago(now time.Time, date, layout string) string {
	t, ok := ParseStored(date)
	if !ok {
		return Line(date)
	}
	t = t.In(now.Location())
	switch d := now.Sub(t); {
	case d < -time.Minute:
		return t.Format(Minute)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return Count(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 24*time.Hour:
		return Count(int(d/time.Hour), "hour", "hours") + " ago"
	case d < 14*24*time.Hour:
		return Count(int(d/(24*time.Hour)), "day", "days") + " ago"
	default:
		return t.Format(layout)
	}
}

// Briefly is Ago in at most ten cells, for lists.
func Briefly(now, t time.Time) string {
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

// ParseStored reads the date of an entry.
func ParseStored(date string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, date); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
