package repo

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/internal/jsonl"
	"tape/internal/secrets"
)

// redacted stands for a text that was taken out as a whole. What stands for a secret that
// the scanner knows begins alike, and says which it was.
const (
	redacted     = "[redacted]"
	redactedMark = "[redacted:"
)

// finder finds secrets, and masks them.
type finder interface {
	Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding)
}

// masker says what is masked: the secrets that match, and all texts of some entries. It
// goes by what an entry says, not by its id, so that copies of an entry are masked alike
// wherever a merge has put them.
type masker struct {
	find  finder
	match func(f secrets.Finding) bool
	whole map[entryDigest]bool

	rules, prints map[string]bool // of what was masked
	removed       map[string]bool // texts that were masked, where they are long enough to be looked for
}

// entryDigest is a checksum of what an entry says.
type entryDigest [sha256.Size]byte

func digestOf(e jsonl.Entry) entryDigest { return sha256.Sum256([]byte(content(e))) }

func newMasker(find finder) *masker {
	return &masker{find: find, match: func(secrets.Finding) bool { return false }, whole: map[entryDigest]bool{},
		rules: map[string]bool{}, prints: map[string]bool{}, removed: map[string]bool{}}
}

// value masks secrets in a JSON value.
func (m *masker) value(raw []byte) []byte {
	out, found := m.find.Mask(raw, func(f secrets.Finding) bool { return !m.match(f) })
	for _, f := range found {
		m.rules[f.Rule], m.prints[f.Fingerprint] = true, true
	}
	return out
}

// line masks a stored line, given without its newline. One that is no entry is a text.
func (m *masker) line(line []byte) ([]byte, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		if jsonl.Valid(line) == nil {
			return m.value(line), nil
		}
		return []byte(m.text(string(line))), nil
	}
	out := m.value(line)
	if m.whole[digestOf(e)] {
		out = withoutTexts(out)
	}
	if bytes.Equal(out, line) {
		return line, nil
	}
	now, err := jsonl.Parse(out)
	if err != nil || now.ID != e.ID || now.Kind != e.Kind || now.Date != e.Date {
		return nil, invalid("the entry has to be taken out by hand", "the secret of entry %d is in its kind or date, which purge cannot change", e.ID)
	}
	m.note(line, out)
	return out, nil
}

// text masks secrets in a text that is not JSON.
func (m *masker) text(text string) string {
	if !utf8.ValidString(text) {
		return text
	}
	quoted := jsonl.AppendString(nil, text)
	masked := m.value(quoted)
	if bytes.Equal(quoted, masked) {
		return text
	}
	out, ok := jsonl.String(masked)
	if !ok {
		return text
	}
	m.noteText(text, out)
	return out
}

// note keeps the texts that were taken out of a line.
func (m *masker) note(was, is []byte) {
	before, after := stringsOf(was), stringsOf(is)
	if len(before) != len(after) {
		return
	}
	for i := range before {
		if before[i].raw != after[i].raw {
			m.noteText(before[i].text(), after[i].text())
		}
	}
}

// noteText keeps what was taken out of a text. What is short may stand elsewhere by chance.
func (m *masker) noteText(was, is string) {
	const secretSize, textSize = 8, 24 // bytes
	least := secretSize
	if is == redacted {
		least = textSize
	}
	gone, _, _ := takenOut(was, is)
	for _, text := range gone {
		if len(text) >= least {
			m.removed[text] = true
		}
	}
}

// holds reports whether a text has something in it that is masked.
func (m *masker) holds(text []byte) bool {
	const most = 500 // of more, only what the finder knows: each is a look at the whole text
	for secret := range m.removed {
		if len(m.removed) <= most && bytes.Contains(text, []byte(secret)) {
			return true
		}
	}
	for part := range bytes.SplitSeq(text, []byte{0}) {
		clean := strings.ToValidUTF8(string(part), "\n")
		if m.text(clean) != clean {
			return true
		}
	}
	return false
}

// jsonString is a string in a JSON text.
type jsonString struct {
	before string // what is between the one before it and this one
	raw    string // in quotes
	path   string // payload.content[].text; of a key, that of its object
	key    bool
}

func (s jsonString) text() string {
	text, _ := jsonl.String([]byte(s.raw))
	return text
}

// stringsOf lists the strings of valid JSON, and what is behind the last one as if it were
// a string without quotes.
func stringsOf(b []byte) []jsonString {
	var out []jsonString
	var path []string // an object's is "" until a key comes, an array's "[]"
	key := false
	from := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '{':
			path, key = append(path, ""), true
		case '[':
			path = append(path, "[]")
		case '}', ']':
			path, key = path[:max(0, len(path)-1)], false
		case ',':
			key = len(path) > 0 && path[len(path)-1] != "[]"
		case '"':
			end, _ := jsonl.StringEnd(b, i+1)
			s := jsonString{before: string(b[from:i]), raw: string(b[i:end]), key: key}
			if key && len(path) > 0 {
				s.path = joinPath(path[:len(path)-1])
				path[len(path)-1] = s.text()
			} else {
				s.path = joinPath(path)
			}
			out, key = append(out, s), false
			from, i = end, end
			continue
		}
		i++
	}
	return append(out, jsonString{before: string(b[from:])})
}

func joinPath(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
}

// keptWhole are the strings of a payload that stay where all texts are taken out: without
// them readers could not tell what the entry is, or to what it belongs.
func keptWhole(kind, path string) bool {
	switch path {
	case "payload.role", "payload.tool_call_id", "payload.content[].type",
		"payload.calls[].id", "payload.calls[].type", "payload.calls[].function.name",
		"payload.tool_calls[].id", "payload.tool_calls[].type", "payload.tool_calls[].function.name":
		return true
	case "payload.name":
		return kind == KindAnchor || kind == KindEvent
	case "payload.kind":
		return kind == KindError
	}
	return false
}

// withoutTexts takes all texts out of the payload of an entry.
func withoutTexts(line []byte) []byte {
	e, err := jsonl.Parse(line)
	if err != nil {
		return line
	}
	var out []byte
	for _, s := range stringsOf(line) {
		out = append(out, s.before...)
		if s.key || !strings.HasPrefix(s.path, "payload.") || s.raw == `""` || keptWhole(e.Kind, s.path) {
			out = append(out, s.raw...)
		} else {
			out = append(out, `"`+redacted+`"`...)
		}
	}
	return out
}

// takenOut tells what a text has lost that became another one by masking, and the marks
// that stand for it; false if that is not how it became so.
func takenOut(was, is string) (gone, marks []string, ok bool) {
	rest := was
	for first := true; ; first = false {
		plain, mark, behind := cutMark(is)
		at := strings.Index(rest, plain)
		switch {
		case first && !strings.HasPrefix(rest, plain), at < 0:
			return nil, nil, false
		case mark == "" && !first:
			// What is behind the last mark ends both.
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
		rest, marks, is = rest[at+len(plain):], append(marks, mark), behind
	}
}

// cutMark splits a text at the first mark of something that was masked.
func cutMark(text string) (before, mark, behind string) {
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

// redaction says which marks may stand in a masked text.
type redaction struct {
	prints map[string]bool
	whole  bool
}

// text reports whether a text became another one by masking, and nothing else.
func (a redaction) text(was, is string) bool {
	if was == is {
		return true
	}
	if is == redacted {
		return a.whole
	}
	_, marks, ok := takenOut(was, is)
	return ok && !slices.ContainsFunc(marks, func(mark string) bool {
		_, fp, _ := markOf(mark)
		return !a.prints[fp] && !strings.Contains(was, mark)
	})
}

// line reports whether an entry became another one by masking. What a summary names is
// told to follows: the commit as it was, and as it is.
func (a redaction) line(was, is []byte, follows func(was, is string) bool) bool {
	before, after := stringsOf(was), stringsOf(is)
	if len(before) != len(after) {
		return false
	}
	for i, b := range before {
		n := after[i]
		switch {
		case b.before != n.before || b.key != n.key:
			return false
		case b.raw == n.raw:
		case b.path == "meta.origin.commit" && !b.key && follows(b.text(), n.text()):
		case b.path == "kind", b.path == "date", !a.text(b.text(), n.text()):
			return false
		}
	}
	return true
}

// ranges writes ids, in order, as 3,5-9.
func ranges(ids []int64) string {
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
