// Package display prepares recorded text for people: without control characters, in lines of
// a given number of terminal cells, with numbers and times as people write them.
package display

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"tape/internal/store/layout"
)

// Recorded text may come from anybody. Before it reaches a terminal, characters that move the
// cursor, change colours, or reorder or hide text are replaced by visible escapes.

// Text makes text safe to show; newlines and tabs stay.
func Text(s string) string { return Safe(s, "\n\t") }

// Line makes text safe to show on one line.
func Line(s string) string { return Safe(s, "") }

// Safe makes text safe to show, except for the characters in keep.
func Safe(s, keep string) string {
	i, n, shown := Unsafe(s, keep)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i < len(s) {
		b.WriteString(s[:i])
		b.WriteString(shown)
		s = s[i+n:]
		i, n, shown = Unsafe(s, keep)
	}
	b.WriteString(s)
	return b.String()
}

// Unsafe finds the first character of s that must not be shown: its offset, its length in
// bytes, and what to show instead, which is nothing for the \r of \r\n if keep is not empty.
// If there is no such character, i is len(s).
func Unsafe(s, keep string) (i, n int, shown string) {
	for i, r := range s {
		if r >= ' ' && r < 0x7f {
			continue
		}
		invalid := r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError))
		switch {
		case !invalid && !unsafeRune(r), !invalid && strings.ContainsRune(keep, r), r == emojiJoiner && joinsEmoji(s[:i], s[i+utf8.RuneLen(r):]):
			continue
		case strings.HasPrefix(s[i:], "\r\n") && keep != "": // as Windows writes it
			return i, 1, ""
		case invalid, r < utf8.RuneSelf:
			return i, 1, fmt.Sprintf(`\x%02x`, s[i])
		}
		return i, utf8.RuneLen(r), fmt.Sprintf("<U+%04X>", r)
	}
	return len(s), 0, ""
}

// JSON returns valid JSON with escapes (\\u202e) in place of the characters that must not be shown on a terminal. Its
// value stays the same.
func JSON(line []byte) []byte {
	text := string(line)
	var out []byte
	for {
		i, n, _ := Unsafe(text, "\n")
		if n == 0 && out == nil {
			return line
		}
		if out = append(out, text[:i]...); n == 0 {
			return out
		}
		out, text = append(out, escaped(text[i:i+n])...), text[i+n:]
	}
}

// escaped returns a character as an escape of JSON.
func escaped(char string) []byte {
	r, _ := utf8.DecodeRuneInString(char)
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return fmt.Appendf(nil, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(nil, `\u%04x`, r)
}

const emojiJoiner = '\u200d'

// joinsEmoji reports whether a joiner is between the parts of one emoji, such as a family.
func joinsEmoji(before, after string) bool {
	last, n := utf8.DecodeLastRuneInString(before)
	if last == '\ufe0f' { // it selects the coloured form of the emoji before it
		last, _ = utf8.DecodeLastRuneInString(before[:len(before)-n])
	}
	next, _ := utf8.DecodeRuneInString(after)
	return isEmoji(last) && isEmoji(next)
}

func isEmoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2600 && r <= 0x27bf || r >= 0x2b00 && r <= 0x2bff
}

// unsafeRune reports whether r, which is not printable ASCII, is a control character, a format character (a
// bidi control, zero-width character or tag), a separator that some terminals treat as a line end, or a noncharacter.
func unsafeRune(r rune) bool {
	return r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x231a, 0x231b, 1}, {0x23e9, 0x23ec, 1}, {0x23f0, 0x23f3, 3}, {0x25fd, 0x25fe, 1},
		{0x2614, 0x2615, 1}, {0x2648, 0x2653, 1}, {0x267f, 0x2693, 20}, {0x26a1, 0x26a1, 1}, {0x26aa, 0x26ab, 1},
		{0x26bd, 0x26be, 1}, {0x26c4, 0x26c5, 1}, {0x26ce, 0x26d4, 6}, {0x26ea, 0x26ea, 1}, {0x26f2, 0x26f3, 1},
		{0x26f5, 0x26fa, 5}, {0x26fd, 0x2705, 8}, {0x270a, 0x270b, 1}, {0x2728, 0x274c, 36}, {0x274e, 0x2753, 5},
		{0x2754, 0x2755, 1}, {0x2757, 0x2757, 1}, {0x2795, 0x2797, 1}, {0x27b0, 0x27bf, 15}, {0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b55, 5}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xa960, 0xa97c, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe10, 0xfe19, 1}, {0xfe30, 0xfe6b, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{
		{0x16fe0, 0x18cd5, 1}, {0x1aff0, 0x1b2fb, 1}, {0x1f004, 0x1f004, 1}, {0x1f0cf, 0x1f0cf, 1}, {0x1f18e, 0x1f18e, 1},
		{0x1f191, 0x1f19a, 1}, {0x1f200, 0x1f265, 1}, {0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f7e0, 0x1f7eb, 1},
		{0x1f90c, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}, {0x20000, 0x3fffd, 1},
	},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r == emojiJoiner, unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Width returns the number of terminal cells of a line. Terminals disagree about emoji with joiners; for these it is
// never too small.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// ShellWord makes a name safe to show, and to paste into a shell.
func ShellWord(s string) string { return layout.ShellWord(Line(s)) }

// IDRange is "@3 to @7", or "@3".
func IDRange(first, last int64) string {
	if first == last {
		return fmt.Sprintf("@%d", first)
	}
	return fmt.Sprintf("@%d to @%d", first, last)
}

// CountList returns a list with Count as its only element; nil for 0.
func CountList[N int | int64](n N, one, many string) []string {
	if n == 0 {
		return nil
	}
	return []string{Count(n, one, many)}
}

// IDs is "@3 @4 @9".
func IDs(ids []int64) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprintf("@%d", id)
	}
	return strings.Join(out, " ")
}

// KeepEnds shortens a text to the given number of characters at each of its ends. Between them it says how many
// were left out.
func KeepEnds(text string, each int) string {
	left := utf8.RuneCountInString(text) - 2*each
	if left <= 0 {
		return text
	}
	begin, end := 0, len(text)
	for range each {
		_, n := utf8.DecodeRuneInString(text[begin:])
		begin += n
		_, n = utf8.DecodeLastRuneInString(text[:end])
		end -= n
	}
	return fmt.Sprintf("%s\n[… %d characters …]\n%s", string([]rune(text[:begin])), left, string([]rune(text[end:])))
}

// ShortID is the first 12 characters of a commit's id.
func ShortID(commit string) string { return fmt.Sprintf("%.12s", commit) }

// ShortCommit shortens the id with which a text begins that has a commit's id and subject.
func ShortCommit(text string) string {
	id, subject, ok := strings.Cut(text, " ")
	if !ok {
		return ShortID(id)
	}
	return ShortID(id) + " " + subject
}

// Quoted quotes a name for a sentence, and shortens a long one.
func Quoted(name string) string { return Truncate(strconv.Quote(name), 80) }

// Truncate shortens a line to at most a number of cells; 0 leaves it as it is.
func Truncate(s string, cells int) string {
	if cells <= 0 || len(s) <= cells {
		return s
	}
	n, cut := 0, 0
	for i, r := range s {
		w := runeWidth(r)
		if n+w <= cells-1 {
			cut = i + utf8.RuneLen(r)
		}
		if n += w; n > cells {
			return strings.TrimSuffix(s[:cut], string(emojiJoiner)) + "…"
		}
	}
	return s
}

// Shorten is Truncate for very long text, of which it reads only the beginning.
func Shorten(text string, cells int) string {
	const longest = 4 // bytes of a character
	if cells > 0 && len(text) > cells*longest {
		text = strings.ToValidUTF8(text[:cells*longest], "")
	}
	return Truncate(text, cells)
}

// TruncateStart is Truncate at the beginning of a line.
func TruncateStart(s string, cells int) string {
	if cells <= 0 || Width(s) <= cells {
		return s
	}
	for Width(s) >= cells {
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
	}
	return "…" + s
}

// Path returns a path as a line, with ~ for the home directory, which may be "".
func Path(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home); ok && home != "" && (rest == "" || rest[0] == '/') {
		path = "~" + rest
	}
	return Line(path)
}

// Pad fills a line with spaces up to a number of cells.
func Pad(s string, cells int) string {
	return s + strings.Repeat(" ", max(0, cells-Width(s)))
}

// Wrap breaks a line, at spaces if it can, into lines of at most a number of cells; 0 leaves it as it is.
func Wrap(line string, cells int) []string {
	if cells <= 0 || len(line) <= cells {
		return []string{line}
	}
	var out []string
	for line != "" {
		n, end, space := 0, len(line), -1
		for i, r := range line {
			if n += runeWidth(r); n > cells && i > 0 {
				end = i
				break
			}
			if r == ' ' {
				space = i
			}
		}
		if end < len(line) && line[end] != ' ' && space > 0 && strings.TrimSpace(line[:space]) != "" {
			end = space
		}
		out = append(out, strings.TrimRight(line[:end], " "))
		line = strings.TrimLeft(line[end:], " ")
	}
	return out
}

// Wrapped yields the lines of Wrap with their offsets in the text.
func Wrapped(text string, cells int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		at := 0
		for _, line := range Wrap(text, cells) {
			at += max(0, strings.Index(text[at:], line))
			if !yield(at, line) {
				return
			}
			at = min(at+len(line), len(text))
		}
	}
}

// Count is "1 tape" or "3 tapes".
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Entries is "1 entry" or "3 entries".
func Entries[N int | int64](n N) string { return Count(n, "entry", "entries") }

// Bytes is a size: "17 bytes", "1.5 MiB".
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, units := float64(n)/1024, "KMGT"
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", size, units[0])
}
