package secrets

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
)

// Secret is a secret with its text, which no message may show.
type Secret struct {
	Rule        string // a Rule's ID
	Fingerprint string
	Text        string // as it was found, decoded
}

// IsNotable reports whether a secret is long and unusual enough to search for its text alone.
// A shorter one, or a word, may occur by chance.
func (s Secret) IsNotable() bool {
	const least, leastWord = 8, 16 // bytes
	strange := func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') && r != '_' && r != '-' && r != ' ' }
	return len(s.Text) >= leastWord || len(s.Text) >= least && strings.ContainsFunc(s.Text, strange)
}

// spellings returns the texts by which a secret is found: its own text; the text escaped for a
// JSON string, once and twice, because JSON may be cut off or part of another text; and the
// text escaped for a URL. For a private key, these are also its lines, because a listing or a
// diff separates them.
func (s Secret) spellings() []string {
	out := []string{s.Text}
	for range 2 { // strings in strings
		for _, text := range slices.Clone(out) {
			quoted := jsonl.AppendString(nil, text)
			plain := string(quoted[1 : len(quoted)-1])
			html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(plain)
			out = append(out, plain, html, strings.ReplaceAll(plain, "/", `\/`))
		}
	}
	out = append(out, url.QueryEscape(s.Text), url.PathEscape(s.Text))
	if s.Rule == rulePrivateKey {
		const leastLine = 32 // bytes
		for _, line := range strings.FieldsFunc(strings.ReplaceAll(s.Text, `\n`, "\n"), func(r rune) bool { return r <= ' ' }) {
			if len(line) >= leastLine && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// KnownFinder finds secrets by their texts. It never changes, and may be used from several
// goroutines.
type KnownFinder struct{ scanners []*Scanner }

// NewKnownFinder returns a KnownFinder for a list of secrets, notable or not.
func NewKnownFinder(list []Secret) *KnownFinder {
	const together = 2000 // spellings: an automaton of them takes some megabytes
	var all []trigger
	for _, secret := range list {
		for _, text := range secret.spellings() {
			all = append(all, secret.trigger(text))
		}
	}
	k := &KnownFinder{}
	for part := range slices.Chunk(all, together) {
		s := &Scanner{triggers: part, textsOnly: true}
		s.start()
		k.scanners = append(k.scanners, s)
	}
	return k
}

// trigger returns a trigger that stops at the beginning of a spelling and compares all of it.
func (s Secret) trigger(text string) trigger {
	const head = 16 // bytes
	check := func(w *walker, in []byte, start, _ int) {
		if bytes.HasPrefix(in[start:], []byte(text)) && !inMark(in, start) {
			w.hits = append(w.hits, hit{from: start, to: start + len(text), rule: s.Rule, fingerprint: s.Fingerprint})
		}
	}
	return trigger{literal: text[:min(len(text), head)], check: check}
}

// Mask does what [Scanner.Mask] does, for these secrets.
func (k *KnownFinder) Mask(value []byte) ([]byte, []Finding) {
	var all []Finding
	for _, s := range k.scanners {
		masked, found := s.Mask(value, nil)
		value, all = masked, append(all, found...)
	}
	return value, distinct(all)
}
