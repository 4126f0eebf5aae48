package cli

import (
	"strconv"
	"time"
)

// ago shows when something happened as people say it, and a date when that is long
// gone. Text that is no date is shown as it stands.
func (a *App) ago(date string) string { return a.since(date, time.DateOnly) }

// when is ago with the time of the day, for entries of one session.
func (a *App) when(date string) string { return a.since(date, minutes) }

const minutes = "2006-01-02 15:04"

func (a *App) since(date, layout string) string {
	t, ok := parseStored(date)
	if !ok {
		return safeLine(date)
	}
	now := a.Now()
	t = t.In(now.Location())
	switch d := now.Sub(t); {
	case d < -time.Minute:
		return t.Format(minutes)
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return past(int(d/time.Minute), "minute")
	case d < 24*time.Hour:
		return past(int(d/time.Hour), "hour")
	case d < 14*24*time.Hour:
		return past(int(d/(24*time.Hour)), "day")
	default:
		return t.Format(layout)
	}
}

func past(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit + " ago"
}

func parseStored(date string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.DateOnly} {
		if t, err := time.Parse(layout, date); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
