package display

import (
	"strconv"
	"time"
)

// space keeps a number and its unit on one line.
const space = "\u00a0"

// Number is a number in about three digits: "842", "12.8 M".
func Number(n int64) string {
	if n > -1000 && n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	value, unit := float64(n), ""
	for _, u := range []string{"k", "M", "G", "T"} {
		if value /= 1000; value < 999.5 && value > -999.5 || u == "T" {
			unit = u
			break
		}
	}
	digits := 0
	if value < 99.95 && value > -99.95 {
		digits = 1
	}
	return strconv.FormatFloat(value, 'f', digits, 64) + space + unit
}

// Work is how long somebody worked: "45 s", "12 min", "3 h 20 min". It is "" below a millisecond.
func Work(d time.Duration) string {
	n := func(n int, unit string) string { return strconv.Itoa(n) + space + unit }
	switch {
	case d < time.Millisecond:
		return ""
	case d < time.Second:
		return n(int(d.Milliseconds()), "ms")
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + space + "s"
	case d < 90*time.Second:
		return n(int(d.Seconds()+0.5), "s")
	case d < time.Hour:
		return n(int(d.Minutes()+0.5), "min")
	}
	minutes := int(d.Minutes() + 0.5)
	if minutes%60 == 0 || minutes >= 24*60 {
		return n((minutes+30)/60, "h")
	}
	return n(minutes/60, "h") + " " + n(minutes%60, "min")
}
