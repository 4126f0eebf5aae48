package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseSince reads the beginning of a range of dates.
func ParseSince(s string, now time.Time) (time.Time, error) {
	t, _, err := parseBound(s, now)
	return t, err
}

// ParseUntil reads the end of a range of dates; a bare date lasts until its last
// microsecond.
func ParseUntil(s string, now time.Time) (time.Time, error) {
	t, bare, err := parseBound(s, now)
	if bare {
		t = t.AddDate(0, 0, 1).Add(-time.Microsecond)
	}
	return t, err
}

// parseBound reads a date, today, yesterday, now, or "3 days ago".
func parseBound(s string, now time.Time) (t time.Time, bare bool, err error) {
	s = strings.TrimSpace(s)
	day := now.UTC().Truncate(24 * time.Hour)
	switch strings.ToLower(s) {
	case "now":
		return now, false, nil
	case "today":
		return day, true, nil
	case "yesterday":
		return day.AddDate(0, 0, -1), true, nil
	}
	if t, ok := parseAgo(s, now); ok {
		return t, false, nil
	}
	t, err = parseDate(s)
	if err != nil {
		return t, false, Invalid("write dates as 2026-11-20, 2026-11-20T09:30:00Z, yesterday or \"2 days ago\"", "%v", err)
	}
	return t, len(s) == len(time.DateOnly), nil
}

func parseAgo(s string, now time.Time) (time.Time, bool) {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ' ' || r == '.' })
	if len(words) != 3 || words[2] != "ago" {
		return now, false
	}
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 0 || n > 100_000 {
		return now, false
	}
	switch strings.TrimSuffix(words[1], "s") {
	case "second":
		return now.Add(-time.Duration(n) * time.Second), true
	case "minute":
		return now.Add(-time.Duration(n) * time.Minute), true
	case "hour":
		return now.Add(-time.Duration(n) * time.Hour), true
	case "day":
		return now.AddDate(0, 0, -n), true
	case "week":
		return now.AddDate(0, 0, -7*n), true
	case "month":
		return now.AddDate(0, -n, 0), true
	case "year":
		return now.AddDate(-n, 0, 0), true
	}
	return now, false
}

// FormatDate writes a time as entries carry it: microseconds and a numeric zone.
func FormatDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

// parseDate reads the dates that entries carry; without a zone they are UTC.
func parseDate(s string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is not a date", s)
}
