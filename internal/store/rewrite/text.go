package rewrite

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"unicode/utf8"
)

// Finder finds and masks secrets.
type Finder interface {
	Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding)
	Secrets(value []byte, skip func(secrets.Finding) bool) []secrets.Secret
}

// Masker decides what is masked: the secrets that match, wherever their texts occur, and all texts of
// some entries. Entries are identified by content, not id, so that copies made by merges are masked in
// the same way.
type Masker struct {
	find     Finder
	Match    func(f secrets.Finding) bool
	Whole    map[entryDigest]bool
	requests []layout.Entry // the entries of Whole, because README.md may show the text of one

	Learning bool                    // nothing is masked, but Texts collects the secrets that would be
	Texts    map[secrets.Secret]bool // secrets that matched
	known    *secrets.KnownFinder    // finds the secrets that are masked everywhere
	Short    []secrets.Secret        // the other secrets, masked only where the finder detects them

	Rules, Prints map[string]bool // of what was masked
	Missed        map[string]bool // fingerprints of Short secrets that were left somewhere
	files         map[string]bool // names of artifacts whose content is taken out
	removed       map[string]bool // texts taken out of whole entries, if long enough to search for
}

type entryDigest [sha256.Size]byte

// DigestOf identifies an entry by its content.
func DigestOf(e layout.Entry) entryDigest {
	return sha256.Sum256([]byte(resolve.Content(jsonl.Entry{Kind: e.Kind, Payload: e.Payload, Date: e.Date})))
}

// NewMasker returns a Masker that masks nothing until Match is set or a whole entry is named.
func NewMasker(find Finder) *Masker {
	return &Masker{find: find, Match: func(secrets.Finding) bool { return false }, Whole: map[entryDigest]bool{},
		Texts: map[secrets.Secret]bool{}, known: secrets.NewKnownFinder(nil),
		Rules: map[string]bool{}, Prints: map[string]bool{}, Missed: map[string]bool{}, files: map[string]bool{}, removed: map[string]bool{}}
}

// StopLearning ends learning: from now on, the secrets in Texts are masked.
func (m *Masker) StopLearning() {
	m.Learning, m.Short = false, nil
	var list []secrets.Secret
	for _, secret := range slices.SortedStableFunc(maps.Keys(m.Texts), func(a, b secrets.Secret) int {
		return cmp.Or(strings.Compare(a.Fingerprint, b.Fingerprint), strings.Compare(a.Text, b.Text))
	}) {
		if secret.IsNotable() {
			list = append(list, secret)
		} else {
			m.Short = append(m.Short, secret)
		}
	}
	m.known = secrets.NewKnownFinder(list)
}

// value masks the secrets in JSON. When learning, it only collects them.
func (m *Masker) value(raw []byte) []byte {
	skip := func(f secrets.Finding) bool { return !m.Match(f) }
	if m.Learning {
		for _, secret := range m.find.Secrets(raw, skip) {
			m.Texts[secret] = true
		}
		return raw
	}
	const rounds = 4 // next to a mark, a text may look like another secret
	for range rounds {
		out, found := m.find.Mask(raw, skip)
		out, more := m.known.Mask(out)
		for _, f := range slices.Concat(found, more) {
			m.Rules[f.Rule], m.Prints[f.Fingerprint] = true, true
		}
		raw = out
		if len(more) == 0 {
			break
		}
	}
	for _, secret := range m.Short {
		if !m.Missed[secret.Fingerprint] && bytes.Contains(raw, []byte(secret.Text)) {
			m.Missed[secret.Fingerprint] = true
		}
	}
	return raw
}

// Line masks a stored line, given without its newline. A line that is not an entry is masked as text.
// ErrInvalid if the entry's kind or date would change.
func (m *Masker) Line(line []byte) ([]byte, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		if jsonl.Valid(line) == nil {
			return m.value(line), nil
		}
		return []byte(m.Text(string(line))), nil
	}
	out := m.value(line)
	whole := !m.Learning && m.Whole[DigestOf(layout.Entry{Kind: e.Kind, Payload: e.Payload, Date: e.Date})]
	if !whole && bytes.Equal(out, line) {
		return line, nil
	}
	out = replaceStrings(line, out, func(was, is jsonString) string {
		switch {
		case !was.key && (was.path == "meta.origin.tape" || was.path == "meta.origin.fork"):
			return was.raw // names stay, because repeated merges put them into entries
		case !whole || is.key || !strings.HasPrefix(is.path, "payload.") || is.raw == `""` || keptWhole(e.Kind, is.path):
			return is.raw
		}
		const least = 24 // bytes: a shorter text may occur elsewhere by chance
		if text := was.text(); len(text) >= least {
			m.removed[text] = true
		}
		return `"` + redacted + `"`
	})
	if bytes.Equal(out, line) {
		return line, nil
	}
	now, err := jsonl.Parse(out)
	if err != nil || now.ID != e.ID || now.Kind != e.Kind || now.Date != e.Date {
		return nil, layout.Invalid("the entry has to be removed by hand", "the secret of entry %d is in its kind or date, which purge cannot change", e.ID)
	}
	return out, nil
}

// Text masks secrets in a text that is not JSON. While it is masked, other characters stand for bytes that are
// not valid UTF-8. These are the last private ones, whose own bytes are replaced, too.
func (m *Masker) Text(text string) string {
	if parts := strings.Split(text, "\x00"); len(parts) > 1 { // in parts, because binary content may be large
		for i, part := range parts {
			parts[i] = m.Text(part)
		}
		return strings.Join(parts, "\x00")
	}
	if utf8.ValidString(text) {
		return m.valid(text)
	}
	const standIn = utf8.MaxRune - 0xff // plus a byte, which is 0x80 or more
	var in, out []byte
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		part := text[:n]
		text = text[n:]
		if r < standIn+0x80 && (r != utf8.RuneError || n > 1) {
			in = append(in, part...)
			continue
		}
		for _, b := range []byte(part) {
			in = utf8.AppendRune(in, standIn+rune(b))
		}
	}
	for _, r := range m.valid(string(in)) {
		if r < standIn+0x80 {
			out = utf8.AppendRune(out, r)
		} else {
			out = append(out, byte(r-standIn))
		}
	}
	return string(out)
}

// valid masks secrets in a text that is valid UTF-8.
func (m *Masker) valid(text string) string {
	if out, ok := jsonl.String(m.value(jsonl.AppendString(nil, text))); ok {
		return out
	}
	return text
}

// name masks secrets in a file name, without the characters of marks that file names cannot have.
func (m *Masker) name(name string) string {
	return marks().ReplaceAllStringFunc(m.Text(name), strings.NewReplacer("[", "", ":", "-", "]", "").Replace)
}

// Holds reports whether a text contains something that is masked.
func (m *Masker) Holds(text []byte) bool {
	const most = 500 // with more removed texts, search only for secrets: each search reads the whole text
	for secret := range m.removed {
		if len(m.removed) <= most && bytes.Contains(text, []byte(secret)) {
			return true
		}
	}
	return m.Text(string(text)) != string(text)
}

type jsonString struct {
	before string // what is between the previous string and this one
	raw    string // in quotes
	path   string // such as payload.content[].text; for a key, the path of its object
	key    bool
}

func (s jsonString) text() string {
	text, _ := jsonl.String([]byte(s.raw))
	return text
}

// stringsOf lists the strings of valid JSON. A last item has only before: what follows the last string.
func stringsOf(b []byte) []jsonString {
	var out []jsonString
	var path []string // "" for an object until a key comes, "[]" for an array
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

// replaceStrings replaces each string of a masked JSON value with the result of raw, which gets the string
// before and after masking. The one before is empty if the two values do not have the same number of strings.
func replaceStrings(was, is []byte, raw func(was, is jsonString) string) (out []byte) {
	before, after := stringsOf(was), stringsOf(is)
	if len(before) != len(after) {
		before = make([]jsonString, len(after))
	}
	for i, s := range after {
		out = append(append(out, s.before...), raw(before[i], s)...)
	}
	return out
}

func joinPath(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[]", "[]")
}

// keptWhole reports whether a string of a payload stays when all texts are taken out: without it,
// readers could not tell what the entry is, or what it belongs to.
func keptWhole(kind, path string) bool {
	if _, member, ok := strings.Cut(path, ".artifact."); ok && member != "name" {
		return true // the content is taken out, and nothing else refers to it
	}
	switch path {
	case "payload.role", "payload.tool_call_id", "payload.content[].type",
		"payload.calls[].id", "payload.calls[].type", "payload.calls[].function.name",
		"payload.tool_calls[].id", "payload.tool_calls[].type", "payload.tool_calls[].function.name":
		return true
	case "payload.name":
		return kind == layout.KindAnchor || kind == layout.KindEvent
	case "payload.kind":
		return kind == layout.KindError
	}
	return false
}
