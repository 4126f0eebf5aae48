package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// EntriesTrailer returns the value of TrailerEntries, the entries that a commit adds; "" for none.
func EntriesTrailer(first, last int64) string {
	if first > last {
		return ""
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// Trailer is a line at the end of a commit's message.
type Trailer struct{ Key, Value string }

// OneLine makes a name fit into a subject line.
func OneLine(name string) string {
	const limit = 200 // bytes; the full name is in the trailer and the anchor
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if IsControl(r) {
			return ' '
		}
		return r
	}, name))
	if len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "") + "…"
	}
	return name
}

// Printable removes control characters except line ends and tabs.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// EncodeTrailer returns a trailer's value, one line of text. A name that does not fit is quoted.
func EncodeTrailer(name string) string {
	if strings.TrimSpace(name) == name && !strings.HasPrefix(name, `"`) && strings.IndexFunc(name, IsControl) < 0 {
		return name
	}
	return strconv.Quote(name)
}

// DecodeTrailer is the inverse of EncodeTrailer.
func DecodeTrailer(value string) string {
	if name, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		return name
	}
	return value
}

// IsControl reports whether a character must not be in a line of text.
func IsControl(r rune) bool {
	return r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029
}

// CountEntries returns "1 entry", "12 entries".
func CountEntries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.FormatInt(n, 10) + " entries"
}
