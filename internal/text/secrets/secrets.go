// Package secrets finds credentials in text and in entries: tokens whose shape a provider
// has published, private keys, connection strings, assigned passwords, and random strings
// beside a word for secrets. It does no I/O.
//
// One automaton reads the text and stops at literals that are in a secret or near it: the
// first literal of a shape, or a word such as password. Only there a rule checks the text. So
// a text without secrets costs one table look-up a byte, however many rules there are.
//
// False positives cost readers much time. Placeholders are not reported; they are recognised
// by their words, repetitions or syntax. Hashes and identifiers are reported only if they are
// assigned to a name that says that they are secret. An assigned UUID is never reported.
package secrets

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"tape/internal/text/jsonl"
)

// Rule is a kind of secret.
type Rule struct {
	ID    string // like github-token; part of every fingerprint, so it never changes
	Title string // what the secret is, for people
}

// Finding is a secret that was found.
type Finding struct {
	Rule string // a Rule's ID
	// Path is the place in the entry: payload.content[0].text. It continues into JSON
	// inside a string. The path of a secret in a key ends in that key. A long key is shown
	// as "…". "" in plain text.
	Path string
	// Masked is an excerpt that is safe to show: the beginning and end of the secret and
	// some text before it, without control characters.
	Masked string
	// Fingerprint is 16 hex digits of a hash over rule and secret: the same wherever the
	// secret is found, and the secret cannot be read from it.
	Fingerprint string
}

// Scanner looks for secrets by all rules. Making one takes a fraction of a millisecond;
// it never changes, and may be used from several goroutines.
type Scanner struct {
	automaton
	triggers  []trigger
	dummies   map[string]bool
	pool      sync.Pool // of *walker
	textsOnly bool      // it finds known texts and has no rules: see KnownFinder

	base64, url64, escaped *set
	bearer, random         *set // the bytes of bearer tokens and other random strings

	// The bytes that end an assigned value: in quotes, in an env file, in a command, elsewhere.
	quotes             map[byte]*set
	blank, shell, stop *set
}

// New returns a Scanner.
func New() *Scanner {
	alphabet := alphabets()
	s := &Scanner{triggers: allTriggers(alphabet), dummies: dummies(),
		base64: alphabet['b'], url64: alphabet['w'], escaped: alphabet['%'],
		bearer: setOf("0-9", "a-z", "A-Z", "_~.+/=-"), random: alphabet['z'],
		quotes: map[byte]*set{'"': setOf("\"\n\r"), '\'': setOf("'\n\r"), '`': setOf("`\n\r")},
		blank:  setOf("\x00-\x20", "\\"), shell: setOf("\x00-\x20", "\\\"'`;|<>()"), stop: setOf("\x00-\x20", "\\\"'`,;&<>()[]{}|"),
	}
	s.start()
	return s
}

func (s *Scanner) start() {
	words := make([]string, len(s.triggers))
	for i, t := range s.triggers {
		words[i] = t.literal
	}
	s.automaton = newAutomaton(words)
	s.pool.New = func() any { return &walker{s: s} }
}

// Text returns the secrets of a text, each once. A text that is a JSON object or array is
// scanned as JSON.
func (s *Scanner) Text(text []byte) []Finding {
	w := s.pool.Get().(*walker)
	defer w.release()
	if isContainer(text) && jsonl.Valid(text) == nil {
		w.value(text, 0, nil, 0)
	} else {
		w.text(text, nil)
	}
	return w.distinct()
}

// Line returns the secrets of a stored entry or any other JSON value, each once. Every key
// and every string is scanned by itself, decoded. The error says why the line is not JSON.
func (s *Scanner) Line(line []byte) ([]Finding, error) {
	if err := jsonl.Valid(line); err != nil {
		return nil, fmt.Errorf("scan for secrets: %w", err)
	}
	w := s.pool.Get().(*walker)
	defer w.release()
	w.value(line, 0, nil, 0)
	return w.distinct(), nil
}

// maxRounds bounds how often a value is scanned to mask it.
const maxRounds = 4

// Mask replaces each secret of a valid JSON value by "[redacted:RULE:FINGERPRINT]", also in
// JSON inside a string, and returns what it replaced, each once. No other byte changes, and
// a value without secrets is returned as it is. Findings for which skip reports true stay;
// skip may be nil.
func (s *Scanner) Mask(value []byte, skip func(Finding) bool) ([]byte, []Finding) {
	return s.MaskAs(value, skip, Finding.Mark)
}

// MaskAs is Mask with other marks, such as those of [Finding.Keyed].
func (s *Scanner) MaskAs(value []byte, skip func(Finding) bool, mark func(Finding) string) ([]byte, []Finding) {
	var all []Finding
	value, _ = s.rounds(value, 0, skip, mark, func(list []spot) {
		for _, found := range list {
			all = append(all, found.Finding)
		}
	})
	return value, distinct(all)
}

// MaskLimited is MaskAs with a limit for the number of secrets, to bound memory and time. It
// returns how many it replaced. If there are more than the limit, it returns nil and a number
// above the limit.
func (s *Scanner) MaskLimited(value []byte, limit int, mark func(Finding) string) (out []byte, found int) {
	out, over := s.rounds(value, limit+1, nil, mark, func(list []spot) { found += len(list) })
	if over || found > limit {
		return nil, limit + 1
	}
	return out, found
}

// Secrets returns the secrets that Mask replaces, with their texts, each once.
func (s *Scanner) Secrets(value []byte, skip func(Finding) bool) []Secret {
	var all []Secret
	known := map[Secret]bool{}
	s.rounds(value, 0, skip, Finding.Mark, func(list []spot) {
		for _, found := range list {
			secret := Secret{found.Rule, found.Fingerprint, found.secret}
			if !known[secret] {
				known[secret] = true
				all = append(all, secret)
			}
		}
	})
	return all
}

// rounds masks a value until no secret is left, at most maxRounds times, and passes to tell what
// each round replaces. It gives up when a round finds tooMany secrets; 0 means that it never
// gives up.
func (s *Scanner) rounds(value []byte, tooMany int, skip func(Finding) bool, mark func(Finding) string, tell func([]spot)) (out []byte, over bool) {
	// Beside a new mark, text may look like a secret that did not before.
	for range maxRounds {
		w := s.pool.Get().(*walker)
		w.tooMany = tooMany
		w.value(value, 0, nil, 0)
		if w.over {
			w.release()
			return nil, true
		}
		masked, found := w.masked(value, skip, mark)
		w.release()
		if len(found) == 0 {
			break
		}
		value = masked
		tell(found)
	}
	return value, false
}

const marker = "[redacted:"

// Mark is the text that replaces a masked secret.
func (f Finding) Mark() string { return marker + f.Rule + ":" + f.Fingerprint + "]" }

// fingerprintSize is the length of a fingerprint in bytes of the hash.
const fingerprintSize = 8

func fingerprint(rule string, secret []byte) string {
	if rule == rulePrivateKey {
		secret = withoutSpace(secret)
	}
	h := sha256.New()
	h.Write([]byte(rule))
	h.Write([]byte{0})
	h.Write(secret)
	return hex.EncodeToString(h.Sum(nil)[:fingerprintSize])
}

// IsFingerprint reports whether text has the form of a fingerprint.
func IsFingerprint(text string) bool {
	return len(text) == 2*fingerprintSize && strings.Trim(text, "0123456789abcdef") == ""
}

// withoutSpace removes white space and its escapes such as \n, so that a key has the same
// fingerprint however its lines are wrapped.
func withoutSpace(b []byte) []byte {
	b = []byte(strings.NewReplacer(`\n`, "", `\r`, "", `\t`, "", `\`, "").Replace(string(b)))
	return bytes.Join(bytes.FieldsFunc(b, func(r rune) bool { return r <= ' ' }), nil)
}

// excerpt shows the place of a secret without revealing it. text[clear:h.from]
// has no other secret in it.
func excerpt(text []byte, h hit, clear int) string {
	const context, head = 24, 32 // bytes
	from := max(clear, h.from-context)
	if nl := bytes.LastIndexByte(text[from:h.from], '\n'); nl >= 0 {
		from += nl + 1
	}
	for from < h.from && !utf8.RuneStart(text[from]) {
		from++
	}
	secret := text[h.from:h.to]
	var shown string
	switch n := len(secret); {
	case h.rule == rulePrivateKey:
		shown = string(secret[:min(n, head)]) + "…"
	case n >= 24:
		shown = string(secret[:6]) + "…" + string(secret[n-2:])
	case n >= 12:
		shown = string(secret[:2]) + "…" + string(secret[n-1:])
	default:
		shown = "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f {
			return ' '
		}
		return r
	}, strings.TrimLeft(string(text[from:h.from]), " \t")+shown)
}

func distinct(found []Finding) []Finding {
	var out []Finding
	seen := map[string]bool{}
	for _, f := range found {
		if !seen[f.Fingerprint] {
			seen[f.Fingerprint] = true
			out = append(out, f)
		}
	}
	return out
}
