package record

import (
	"math"
	"strconv"
	"time"
)

// dateLayout is the format of dates on tapes: UTC, with microseconds.
const dateLayout = "2006-01-02T15:04:05.000000-07:00"

// Date converts a date of a source, raw JSON, to the format of tapes. It reads RFC 3339 and variations
// of ISO 8601, in UTC if there is no zone, and seconds, milli-, micro- or nanoseconds since 1970. It
// returns "" for anything else.
func Date(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	if raw[0] != '"' {
		return epochDate(string(raw))
	}
	s := Text(raw)
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

// epochDate reads a time since 1970, whose size shows the unit.
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
