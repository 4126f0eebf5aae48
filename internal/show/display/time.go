package display

import (
	"fmt"
	"strings"
	"time"
)

// Minute is how a date is shown, in the zone of who reads.
const Minute = "2006-01-02 15:04"

// Zone is the local zone's name at a moment.
func Zone(t time.Time) string { return t.Local().Format("MST") }

// ZoneName is the zone with its offset: "CET (UTC+01:00)".
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

// Span is from when until when, on one day with the date once.
func Span(from, until time.Time) string {
	from, until = from.Local(), until.Local()
	end := until.Format(Minute)
	if end[:len(time.DateOnly)] == from.Format(time.DateOnly) {
		end = until.Format("15:04")
	}
	return from.Format(Minute) + " to " + end
}

// Took is how long something took, as far as one wants to know.
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
