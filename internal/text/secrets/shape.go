package secrets

import (
	"bytes"
	"strconv"
	"strings"
)

type set [256]bool

func setOf(ranges ...string) *set {
	var s set
	for _, r := range ranges {
		if len(r) == 3 && r[1] == '-' {
			for c := int(r[0]); c <= int(r[2]); c++ {
				s[c] = true
			}
			continue
		}
		for _, c := range []byte(r) {
			s[c] = true
		}
	}
	return &s
}

// alphabets returns the alphabets of runs in shapes, by the letter that stands for each.
func alphabets() map[byte]*set {
	return map[byte]*set{
		'd': setOf("0-9"),
		'x': setOf("0-9", "a-f"),
		'X': setOf("0-9", "a-f", "A-F"),
		'U': setOf("0-9", "A-Z"),
		'a': setOf("0-9", "a-z", "A-Z"),
		'_': setOf("0-9", "a-z", "A-Z", "_"),
		'w': setOf("0-9", "a-z", "A-Z", "_-"),
		'j': setOf("0-9", "a-z", "A-Z", "_-."),
		'b': setOf("0-9", "a-z", "A-Z", "+/"),
		'~': setOf("0-9", "a-z", "A-Z", "_~.-"),
		'z': setOf("0-9", "a-z", "A-Z", "+/_-="),
		'%': setOf("0-9", "a-z", "A-Z", "%+/"),
	}
}

// shape is a sequence of literals and of runs of bytes: `SG.{w22}.{w43}`. It has at least one
// literal. Runs before the first literal have a fixed length.
type shape struct {
	rule  string
	parts []part
	lead  int // bytes before the first literal
}

// part is a literal or, if alphabet is not nil, a run of min to max bytes.
type part struct {
	literal  string
	alphabet *set
	min, max int
}

// parseShape parses a shape of rules.txt: {w20} or {w20-40} is a run.
func parseShape(alphabets map[byte]*set, text string) []part {
	var parts []part
	for text != "" {
		literal, rest, _ := strings.Cut(text, "{")
		if literal != "" {
			parts = append(parts, part{literal: literal})
		}
		run, after, ok := strings.Cut(rest, "}")
		if ok {
			least, most, ranged := strings.Cut(run[1:], "-")
			p := part{alphabet: alphabets[run[0]]}
			p.min, _ = strconv.Atoi(least)
			if p.max = p.min; ranged {
				p.max, _ = strconv.Atoi(most)
			}
			parts = append(parts, p)
		}
		text = after
	}
	return parts
}

// match returns where the shape is if its first literal is at i. to is -1 if the text there does not
// have the shape, its longest run is monotonous, or it is a placeholder.
func (s *shape) match(b []byte, i int) (from, to int) {
	from = i - s.lead
	if from < 0 || !startsToken(b, from) {
		return 0, -1
	}
	i = from
	var longest []byte
	for n, p := range s.parts {
		if p.alphabet == nil {
			if !bytes.HasPrefix(b[i:], []byte(p.literal)) {
				return 0, -1
			}
			i += len(p.literal)
			continue
		}
		most := p.max
		if n == len(s.parts)-1 {
			most++ // to see that it is too long
		}
		j := runEnd(p.alphabet, b, i, most)
		if j-i < p.min || j-i > p.max {
			return 0, -1
		}
		if j-i > len(longest) {
			longest = b[i:j]
		}
		i = j
	}
	// A full stop or dash at the end belongs to the sentence around it.
	for last := s.parts[len(s.parts)-1]; i > from && (b[i-1] == '.' || b[i-1] == '-') && last.min < last.max; {
		i--
	}
	if i < len(b) && isWord(b[i]) && b[i-1] != '=' || monotonous(longest) || isDummy(b[from:i]) {
		return 0, -1
	}
	return from, i
}

func isLetter(c byte) bool { return (c|0x20)-'a' < 26 }
func isDigit(c byte) bool  { return c-'0' < 10 }
func isUpper(c byte) bool  { return c-'A' < 26 }
func isLower(c byte) bool  { return c-'a' < 26 }
func isAlnum(c byte) bool  { return isLetter(c) || isDigit(c) }

func isWord(c byte) bool { return isAlnum(c) || c == '_' }

// startsToken reports whether a token can begin at i: not directly after a word, unless that is
// the end of an escape (\n, %3D).
func startsToken(b []byte, i int) bool {
	if i == 0 || !isWord(b[i-1]) {
		return true
	}
	return i >= 2 && b[i-2] == '\\' && strings.IndexByte("nrtbf", b[i-1]) >= 0 ||
		i >= 3 && b[i-3] == '%' && isHex(b[i-2]) && isHex(b[i-1])
}

func isHex(c byte) bool { return isDigit(c) || (c|0x20)-'a' < 6 }
