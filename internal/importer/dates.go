package importer

import (
	"math"
	"strconv"
	"time"
)

// dateLayout is how tapes spell dates: UTC, with microseconds.
const dateLayout = "2006-01-02T15:04:05.000000-07:00"

// normalDate spells a date of a source, a raw JSON value, as tapes do. It
// accepts RFC 3339 and the common variations of ISO 8601, a missing zone
// meaning UTC, and seconds, milliseconds, microseconds or nanoseconds since
// 1970. Anything else gives "".
func normalDate(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] != '"' {
		return epochDate(string(raw))
	}
	if d := utcDate(raw[1 : len(raw)-1]); d != "" {
		return d
	}
	s := text(raw)
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05",
		"2006-01-02 15:04:05", "2006-01-02T15-04-05", "2006-01-02T15:04Z07:00", time.DateOnly,
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return formatDate(t)
		}
	}
	return epochDate(s)
}

func formatDate(t time.Time) string {
	t = t.UTC()
	if y := t.Year(); y < 1 || y > 9999 {
		return ""
	}
	return t.Format(dateLayout)
}

// epochDate reads a count since 1970; its size tells the unit.
func epochDate(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
		return ""
	}
	micros := v
	switch {
	case v < 1e11:
		micros = v * 1e6
	case v < 1e14:
		micros = v * 1e3
	case v < 1e17:
	case v < 1e20:
		micros = v / 1e3
	default:
		return ""
	}
	return formatDate(time.UnixMicro(int64(math.Round(micros))))
}

// utcDate is the quick way for what nearly all records have:
// 2026-11-20T09:30:00.123Z, with at most nine digits of fraction.
func utcDate(b []byte) string {
	const whole = len("2006-01-02T15:04:05")
	if len(b) < whole+1 || b[len(b)-1] != 'Z' {
		return ""
	}
	for i, c := range b[:whole] {
		if want := "0000-00-00T00:00:00"[i]; want == '0' {
			if c < '0' || c > '9' {
				return ""
			}
		} else if c != want {
			return ""
		}
	}
	two := func(i int) int { return int(b[i]-'0')*10 + int(b[i+1]-'0') }
	// The 29th and later days of a month are left to the slow way.
	if m, d := two(5), two(8); m < 1 || m > 12 || d < 1 || d > 28 {
		return ""
	}
	if two(11) > 23 || two(14) > 59 || two(17) > 59 || two(0) == 0 && two(2) == 0 {
		return ""
	}
	out := make([]byte, 0, len(dateLayout))
	out = append(out, b[:whole]...)
	fraction := b[whole : len(b)-1]
	if len(fraction) > 0 {
		if fraction[0] != '.' || len(fraction) < 2 || len(fraction) > 10 {
			return ""
		}
		fraction = fraction[1:]
		for _, c := range fraction {
			if c < '0' || c > '9' {
				return ""
			}
		}
	}
	out = append(out, '.')
	for i := range 6 {
		if i < len(fraction) {
			out = append(out, fraction[i])
		} else {
			out = append(out, '0')
		}
	}
	return string(append(out, "+00:00"...))
}
