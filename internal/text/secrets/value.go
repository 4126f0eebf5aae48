package secrets

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// These functions judge values: placeholders, code, locations, random strings.

type byteCounts struct {
	lower, upper, digits, other int
	strange                     int // bytes of other that are rare in names and paths
}

func countBytes(v []byte) byteCounts {
	var a byteCounts
	for _, c := range v {
		switch {
		case isLower(c):
			a.lower++
		case isUpper(c):
			a.upper++
		case isDigit(c):
			a.digits++
		default:
			a.other++
			if bytes.IndexByte([]byte("-_./:,"), c) < 0 {
				a.strange++
			}
		}
	}
	return a
}

func (a byteCounts) letters() int { return a.lower + a.upper }

// entropy returns Shannon's entropy, in bits per byte.
func entropy(v []byte) float64 {
	var counts [256]int
	for _, c := range v {
		counts[c]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(v))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// monotonous reports whether a value has too few different bytes to be random.
func monotonous(v []byte) bool {
	var seen [256]bool
	n := 0
	for _, c := range v {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n < min(6, len(v)/2+1)
}

// transitions counts the places where a letter is beside a digit, or upper case follows lower case.
// Random text has two such places in five bytes. Text that is made of words has few.
func transitions(v []byte) int {
	n := 0
	for i := 1; i < len(v); i++ {
		a, b := v[i-1], v[i]
		if isDigit(a) && isLetter(b) || isLetter(a) && isDigit(b) || isLower(a) && isUpper(b) {
			n++
		}
	}
	return n
}

// isRandom reports whether a value was generated and is not made of words.
func isRandom(v []byte) bool {
	a := countBytes(v)
	if a.letters() == 0 || monotonous(v) || entropy(v) < 3 {
		return false
	}
	if len(v) >= 32 && isHexHash(v) {
		return a.digits >= 4 && a.letters() >= 4
	}
	if a.digits == 0 {
		return len(v) >= 24 && transitions(v)*100 >= len(v)*18
	}
	return transitions(v)*100 >= len(v)*22
}

// isHexHash reports whether a value consists of hexadecimal digits.
func isHexHash(v []byte) bool {
	return len(bytes.Trim(v, "0123456789abcdefABCDEF")) == 0
}

func isUUID(v []byte) bool {
	if len(v) != 36 {
		return false
	}
	for i, c := range v {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !isHex(c) {
			return false
		}
	}
	return true
}

// isLocation reports whether a value is a URL or a path, relative ones included.
func isLocation(v []byte) bool {
	return contains(v, "://") || hasPrefix(v, "~/", "./", "../") || v[0] == '/' && bytes.IndexByte(v[1:], '/') >= 0 ||
		bytes.IndexByte(v, '/') >= 0 && bytes.ContainsAny(v, "._-")
}

// isCode reports whether a value is an expression that a program evaluates, or part of one.
func isCode(v []byte, quoted bool) bool {
	if contains(v, "${", "$(", "{{", "#{", "%(", "<%", "***", "...", "…", "•••") || strings.IndexByte(`$<%{[\`, v[0]) >= 0 {
		return true
	}
	if !quoted && v[0] == '&' && len(bytes.Trim(v[1:], "_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0 {
		return true // an address
	}
	if quoted || !bytes.ContainsAny(v, "`$(){}[]<>\\|*") {
		return false
	}
	// Generated passwords have such characters, too.
	return !isMixed(v) || bytes.ContainsAny(v, "`<>\\|") || hasPrefix(v, "(", "*") || isExpression(v)
}

// isMixed reports whether a value is as mixed as a generated password.
func isMixed(v []byte) bool {
	a := countBytes(v)
	return a.digits > 0 && (a.lower > 0 && a.upper > 0 || a.letters() > 0 && transitions(v)*100 >= len(v)*22)
}

// isExpression reports whether a value without quotes contains a variable, a call, an index,
// a placeholder in braces, or a pattern.
func isExpression(v []byte) bool {
	if contains(v, ".*", ".+", "[^", "()", "[]", "{}", "]{") {
		return true
	}
	for i, c := range v {
		switch c {
		case '$':
			if i+1 == len(v) || isVariable(v[i+1:]) {
				return true
			}
		case '(', '[', '{':
			if isCalled(v[:i]) || c != '(' && isVariable(v[i+1:]) {
				return true
			}
		}
	}
	return false
}

// isVariable reports whether a text begins with a word of letters that may end in a number.
func isVariable(v []byte) bool {
	n := 0
	for n < len(v) && (isLetter(v[n]) || v[n] == '_') {
		n++
	}
	letters := n
	for n < len(v) && isDigit(v[n]) {
		n++
	}
	return letters >= 3 && (n == len(v) || !isWord(v[n]))
}

// isCalled reports whether a text ends in something to call: a name, or names joined by dots.
func isCalled(v []byte) bool {
	from := len(v)
	for from > 0 && (isWord(v[from-1]) || v[from-1] == '.') {
		from--
	}
	return from < len(v) && !isDigit(v[from]) && (from == 0 || bytes.IndexByte([]byte("!&@+-=:,"), v[from-1]) >= 0)
}

// dummies returns words of placeholders, and of other values that are assigned to names of
// secrets but are not secret.
func dummies() map[string]bool {
	words := map[string]bool{}
	for _, word := range []string{
		"placeholder", "credentials", "credential", "passphrase", "replaceme", "changethis", "undefined", "changeit", "changeme",
		"password", "redacted", "required", "disabled", "anything", "whatever", "not-real", "notreal", "sensitive",
		"postgres", "example", "invalid", "replace", "default", "unknown", "private", "enabled", "missing", "mongodb", "letmein",
		"passwd", "secret", "string", "sample", "hidden", "insert", "masked", "change", "qwerty", "abcdef", "number", "bearer", "object", "optional",
		"integer", "boolean", "argon2", "bcrypt", "base64", "sha256", "sha512", "oauth2", "scrypt", "pbkdf2", "ed25519",
		"token", "value", "dummy", "admin", "super", "false", "login", "guest", "mysql", "redis", "empty", "valid", "wrong", "local", "sha1", "int32", "int64", "x509",
		"here", "your", "test", "fake", "user", "none", "null", "true", "root", "pass", "auth", "demo", "todo", "utf8", "temp", "some", "real", "this",
		"with", "from", "text", "name", "type", "data", "file", "hash", "uuid", "mock", "stub",
		"key", "api", "abc", "xyz", "foo", "bar", "baz", "qux", "the", "pwd", "new", "old", "nil", "str", "env", "dev", "app", "hex", "md5", "not", "set", "url",
		"my", "me", "db", "id", "is", "an", "to", "of", "in", "or", "no", "goes", "and", "for", "a", "word", "enter", "choose", "client", "server", "service", "host", "port",
	} {
		words[word] = true
	}
	return words
}

// isDummy reports whether a token says that it is an example.
func isDummy(v []byte) bool {
	return contains(bytes.ToLower(v), "example", "placeholder", "redacted", "changeme", "dummy", "xxxx", "your-", "your_", "yourapi", "yourtoken", "notreal", "insert")
}

// isPlaceholder reports whether a value consists of the words of placeholders, which may have a counting number at the
// end, of sequences and repetitions.
func (s *Scanner) isPlaceholder(v []byte) bool { return isDummy(v) || s.isWords(v, true) }

// isWords reports whether a value consists of whole words of placeholders, sequences and repetitions. A word within
// another one does not count: SuperSecret is a password.
func (s *Scanner) isWords(v []byte, numbered bool) bool {
	for part := range bytes.FieldsFuncSeq(v, func(r rune) bool { return r < 0x80 && !isAlnum(byte(r)) }) {
		word := bytes.ToLower(part)
		if s.dummies[string(word)] || isSequence(word) {
			continue
		}
		bare := bytes.TrimRight(word, "0123456789")
		if number := word[len(bare):]; numbered && len(bare) > 0 && len(number) > 0 && len(number) < 5 && bytes.HasPrefix([]byte("1234"), number) && (s.dummies[string(bare)] || isSequence(bare)) {
			continue
		}
		if numbered && len(bare) == 0 && len(word) < 5 {
			continue // a year, or a part of a date
		}
		return false
	}
	return true
}

// isSequence reports whether a text consists of repetitions and sequences: aaaa, 1234, abcd.
func isSequence(v []byte) bool {
	steps := 0
	for i := 1; i < len(v); i++ {
		if v[i] == v[i-1] || v[i] == v[i-1]+1 {
			steps++
		}
	}
	return len(v) == 1 || steps == len(v)-1
}

func contains(v []byte, texts ...string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(v, []byte(t)) })
}

func hasPrefix(v []byte, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return bytes.HasPrefix(v, []byte(p)) })
}
