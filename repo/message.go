package repo

import (
	"fmt"
	"strconv"
	"strings"
)

// message is a commit message: subject and trailers.
func (t *Tape) message(subject, anchor string, first, last int64, more ...trailer) string {
	all := append([]trailer{{trailerName, encodeTrailer(t.name)}, {trailerAnchor, encodeTrailer(anchor)}}, more...)
	if entries := entriesTrailer(first, last); entries != "" {
		all = append(all, trailer{trailerEntries, entries})
	}
	var b strings.Builder
	b.WriteString(subject + "\n\n")
	for _, tr := range append(all, trailer{trailerFormat, strconv.Itoa(FormatVersion)}) {
		b.WriteString(tr.key + ": " + tr.value + "\n")
	}
	return b.String()
}

// entriesTrailer names the entries that a commit adds; "" if it adds none.
func entriesTrailer(first, last int64) string {
	if first > last {
		return ""
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// trailer is a line at the end of a commit's message.
type trailer struct{ key, value string }

// oneLine makes a name fit for a subject line.
func oneLine(name string) string {
	const limit = 200 // bytes; the whole name is in the trailer and the anchor
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, name))
	if len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "") + "…"
	}
	return name
}

// printable drops control characters other than line ends and tabs.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// Trailer values are one line of text. A name that is not, is written as JSON.
func encodeTrailer(name string) string {
	if strings.TrimSpace(name) == name && !strings.HasPrefix(name, `"`) && strings.IndexFunc(name, isControl) < 0 {
		return name
	}
	return strconv.Quote(name)
}

func decodeTrailer(value string) string {
	if name, err := strconv.Unquote(value); err == nil && strings.HasPrefix(value, `"`) {
		return name
	}
	return value
}

func isControl(r rune) bool {
	return r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029
}
