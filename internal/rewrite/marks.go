package rewrite

import (
	"fmt"
	"strings"
	"tape/internal/secrets"
)

// TakenOut tells what a text has lost that became another one by masking, and the marks
// that stand for it; false if that is not how it became so.
func TakenOut(was, is string) (gone, marks []string, ok bool) {
	rest := was
	for first := true; ; first = false {
		plain, mark, after := splitMark(is)
		at := strings.Index(rest, plain)
		switch {
		case first && !strings.HasPrefix(rest, plain), at < 0:
			return nil, nil, false
		case mark == "" && !first:
			// What is after the last mark ends both.
			if !strings.HasSuffix(rest, plain) {
				return nil, nil, false
			}
			at = len(rest) - len(plain)
		case mark == "":
			return nil, nil, was == is
		}
		if !first {
			gone = append(gone, rest[:at])
		}
		if mark == "" {
			return gone, marks, true
		}
		rest, marks, is = rest[at+len(plain):], append(marks, mark), after
	}
}

// splitMark splits a text at the first mark of something that was masked.
func splitMark(text string) (before, mark, after string) {
	for from := 0; ; {
		i := strings.Index(text[from:], "[redacted")
		if i < 0 {
			return text, "", ""
		}
		i += from
		end := strings.IndexByte(text[i:], ']')
		if end < 0 {
			return text, "", ""
		}
		mark = text[i : i+end+1]
		_, fp, _ := markOf(mark)
		if mark == redacted || fp != "" {
			return text[:i], mark, text[i+end+1:]
		}
		from = i + 1
	}
}

// markOf reads a mark: the rule, and the fingerprint of what it stands for.
func markOf(mark string) (rule, fp string, ok bool) {
	inside, ok := strings.CutPrefix(strings.TrimSuffix(mark, "]"), redactedMark)
	if !ok {
		return "", "", false
	}
	rule, fp, ok = strings.Cut(inside, ":")
	return rule, fp, ok && secrets.IsFingerprint(fp)
}

// Ranges writes ids, in order, as 3,5-9.
func Ranges(ids []int64) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		n := i + 1
		for n < len(ids) && ids[n] == ids[n-1]+1 {
			n++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if fmt.Fprint(&b, ids[i]); n > i+1 {
			fmt.Fprintf(&b, "-%d", ids[n-1])
		}
		i = n
	}
	return b.String()
}
