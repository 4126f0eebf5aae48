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

// ParseUntil reads the end of a range; a bare date lasts until its last microsecond.
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
	unit := strings.TrimSuffix(words[1], "s")
	if d, ok := map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}[unit]; ok {
		return now.Add(-time.Duration(n) * d), true
	}
	date, ok := map[string]struct{ years, months, days int }{"day": {0, 0, 1}, "week": {0, 0, 7}, "month": {0, 1, 0}, "year": {1, 0, 0}}[unit]
	return now.AddDate(-n*date.years, -n*date.months, -n*date.days), ok
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
