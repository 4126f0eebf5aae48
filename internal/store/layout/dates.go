package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const dateExamples = `dates are written as 2026-11-20, "2026-11-20 09:30", 2026-11-20T09:30:00Z, 2026-11, 3d, 2h, "2 days ago", today, yesterday, monday or "last week"`

// ParseSince parses the beginning of a range of dates. Dates without a zone are in the zone of now.
// Errors: ErrInvalid.
func ParseSince(s string, now time.Time) (time.Time, error) {
	from, _, err := parseRange(s, now)
	return from, err
}

// ParseUntil is ParseSince for the end of a range: a day, week, month or year ends with its last microsecond.
func ParseUntil(s string, now time.Time) (time.Time, error) {
	from, next, err := parseRange(s, now)
	if err == nil && next.After(from) {
		return next.Add(-time.Microsecond), nil
	}
	return from, err
}

// parseRange parses a moment or a day, week, month or year. For a moment, from and next are equal;
// otherwise next is where the next day, week, month or year begins.
func parseRange(s string, now time.Time) (from, next time.Time, err error) {
	s = strings.TrimSpace(s)
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r == ' ' || r == '.' })
	if from, next, ok := namedRange(words, now); ok {
		return from, next, nil
	}
	if t, ok := parseAge(words, now); ok {
		return t, t, nil
	}
	for layout, length := range map[string]span{"2006": {years: 1}, "2006-01": {months: 1}, time.DateOnly: {days: 1}} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, length.after(t), nil
		}
	}
	t, err := parseDate(s, now.Location())
	if err != nil {
		return t, t, Invalid(dateExamples, "%v", err)
	}
	return t, t, nil
}

// span is a length of time in calendar units.
type span struct{ years, months, days int }

func (s span) after(t time.Time) time.Time { return t.AddDate(s.years, s.months, s.days) }

func (s span) before(t time.Time) time.Time { return t.AddDate(-s.years, -s.months, -s.days) }

// namedRange parses now, today, yesterday, a weekday (the last such day up to today), and this or last
// week, month, year or weekday. Weeks begin on Monday.
func namedRange(words []string, now time.Time) (from, next time.Time, ok bool) {
	which, name := "this", ""
	switch len(words) {
	case 1:
		name = words[0]
	case 2:
		which, name = words[0], words[1]
	}
	if which != "this" && which != "last" {
		return from, next, false
	}
	year, month, day := now.Date()
	from = time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	length := span{days: 1}
	switch alone := len(words) == 1; {
	case alone && name == "now":
		return now, now, true
	case alone && name == "today":
	case alone && name == "yesterday":
		which = "last"
	case !alone && name == "week":
		from, length = from.AddDate(0, 0, -(int(now.Weekday())+6)%7), span{days: 7}
	case !alone && name == "month":
		from, length = time.Date(year, month, 1, 0, 0, 0, 0, now.Location()), span{months: 1}
	case !alone && name == "year":
		from, length = time.Date(year, 1, 1, 0, 0, 0, 0, now.Location()), span{years: 1}
	default:
		weekday, known := parseWeekday(name)
		if !known {
			return from, next, false
		}
		back := (int(now.Weekday()-weekday) + 7) % 7
		if from = from.AddDate(0, 0, -back); which == "last" && back == 0 {
			from = from.AddDate(0, 0, -7)
		}
		return from, length.after(from), true
	}
	if which == "last" {
		from = length.before(from)
	}
	return from, length.after(from), true
}

func parseWeekday(name string) (time.Weekday, bool) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if full := strings.ToLower(day.String()); name == full || name == full[:3] {
			return day, true
		}
	}
	return 0, false
}

// parseAge parses how long ago something was: 3d, 2h, "3 days ago".
func parseAge(words []string, now time.Time) (time.Time, bool) {
	if len(words) == 1 {
		i := strings.IndexFunc(words[0], func(r rune) bool { return r < '0' || r > '9' })
		unit, ok := map[string]string{"s": "second", "m": "minute", "min": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}[words[0][max(i, 0):]]
		if !ok {
			return now, false
		}
		words = []string{words[0][:i], unit, "ago"}
	}
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
	length, ok := map[string]span{"day": {days: n}, "week": {days: 7 * n}, "month": {months: n}, "year": {years: n}}[unit]
	return length.before(now), ok
}

// FormatDate formats a time as in entries: microseconds and a numeric zone.
func FormatDate(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

// parseDate parses the dates of entries. Dates without a zone are in the given zone.
func parseDate(s string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is not a date", s)
}
