package secrets

import (
	"bytes"
	"encoding/base64"
	"slices"

	"tape/internal/text/jsonl"
)

// Rules that need more than an alphabet and a length. Each is called with a place where the
// automaton found its literal.

// runEnd returns the end of the run of bytes of an alphabet that begins at i. The run has max
// bytes at most.
func runEnd(alphabet *set, text []byte, i, max int) int {
	from := i
	for i < len(text) && i-from < max && alphabet[text[i]] {
		i++
	}
	return i
}

// privateKey finds keys from BEGIN to END, or to where the copy breaks off.
func (w *walker) privateKey(text []byte, start, end int) {
	const longest, shortestBody = 64 << 10, 60
	if !bytes.HasPrefix(text[start:], []byte("-----BEGIN ")) {
		return
	}
	label := bytes.Index(text[end:min(len(text), end+64)], []byte("-----"))
	if label < 0 || !bytes.Contains(text[end:end+label], []byte("PRIVATE KEY")) {
		return
	}
	from := end + label + len("-----")
	to := min(len(text), from+longest)
	next := bytes.Index(text[from:to], []byte("-----"))
	whole := next >= 0 && bytes.HasPrefix(text[from+next:], []byte("-----END "))
	if whole {
		to = from + next
	} else {
		limit := to
		if next >= 0 {
			limit = from + next
		}
		to = from
		for to < limit && (w.s.random[text[to]] || text[to] <= ' ' || text[to] == '\\') {
			to++
		}
	}
	body := 0
	for _, c := range text[from:to] {
		if w.s.base64[c] {
			body++
		}
	}
	if body < shortestBody || monotonous(text[from:to]) || isDummy(text[from:to]) {
		return
	}
	if whole {
		last := bytes.Index(text[to+len("-----"):min(len(text), to+80)], []byte("-----"))
		if last >= 0 {
			to += len("-----") + last + len("-----")
		}
	}
	w.hit(text, start, to, rulePrivateKey)
}

// jwt finds three parts in base64, the first of which is JSON.
func (w *walker) jwt(text []byte, start, end int) {
	const longest, shortestPart = 8 << 10, 10
	if string(text[start:end]) != "eyJ" || !startsToken(text, start) || start > 0 && (text[start-1] == '.' || text[start-1] == '-') {
		return
	}
	at := start
	var parts [3][]byte
	for i := range parts {
		to := runEnd(w.s.url64, text, at, longest)
		parts[i] = text[at:to]
		if to-at < shortestPart || i < 2 && (to >= len(text) || text[to] != '.') {
			return
		}
		at = to + 1
	}
	header, err := base64.RawURLEncoding.DecodeString(string(parts[0]))
	if err != nil || jsonl.Valid(header) != nil || monotonous(parts[2]) {
		return
	}
	claims, _ := base64.RawURLEncoding.DecodeString(string(parts[1]))
	if bytes.Contains(claims, []byte("John Doe")) && bytes.Contains(claims, []byte("1234567890")) {
		return // the example of most tutorials
	}
	w.hit(text, start, at-1, ruleJWT)
}

// url finds the password of scheme://user:password@host.
func (w *walker) url(text []byte, start, end int) {
	const longest = 300
	if start == 0 || !isAlnum(text[start-1]) {
		return
	}
	at, to := -1, end
	isShare := endsInOne(bytes.ToLower(text[:start][max(0, start-8):]), []string{"smb", "cifs"}) // smb://DOMAIN;user:password@host
	for to < len(text) && to-end < longest && (!endsUser(text[to]) || isShare && at < 0 && bytes.IndexByte([]byte(`;\`), text[to]) >= 0) {
		if text[to] == '@' {
			at = to
		}
		to++
	}
	if at < 0 {
		return
	}
	user, password, ok := bytes.Cut(text[end:at], []byte(":"))
	host := text[at+1 : to]
	if !ok || len(password) < 4 || len(host) == 0 || !isAlnum(host[0]) && host[0] != '[' && host[0] != '_' || bytes.EqualFold(user, password) ||
		isCode(password, true) || bytes.ContainsAny(password, "{}$") || hasPrefix(password, "%s", ":") || bytes.Contains(password, []byte(marker)) || isDummy(password) || w.s.isWords(password, false) {
		return
	}
	a := countBytes(password)
	if isSample(host) && (a.digits+a.strange == 0 || len(password) < 10) {
		return
	}
	w.hit(text, at-len(password), at, ruleURLPassword)
}

// endsUser reports whether a byte ends the user and host of a URL.
func endsUser(c byte) bool {
	return c <= ' ' || c == 0x7f || bytes.IndexByte([]byte("/?\\\"'`<>(),;|"), c) >= 0
}

// isSample reports whether a host is this machine, or an example.
func isSample(host []byte) bool {
	host = bytes.ToLower(host)
	name, _, _ := bytes.Cut(host, []byte(":"))
	return hasPrefix(name, "localhost", "127.0.0.1", "0.0.0.0") || hasPrefix(host, "[::1]") || bytes.Contains(name, []byte("example.")) ||
		slices.Contains([]string{"host", "hostname"}, string(name))
}

// basic finds the credentials of an Authorization header: user:password in base64.
func (w *walker) basic(text []byte, _, end int) {
	to := runEnd(w.s.base64, text, end, 256)
	for to < len(text) && text[to] == '=' {
		to++
	}
	if w.s.isLogin(text[end:to]) {
		w.hit(text, end, to, ruleBasicAuth)
	}
}

// isLogin reports whether a value is user:password in base64.
func (s *Scanner) isLogin(value []byte) bool {
	plain, err := base64.StdEncoding.DecodeString(string(value))
	if err != nil {
		return false
	}
	user, password, ok := bytes.Cut(plain, []byte(":"))
	if !ok || len(user)+len(password) < 8 || len(password) < 4 || !printable(plain) || bytes.Equal(user, password) || bytes.EqualFold(user, []byte("aladdin")) {
		return false // Aladdin is the example of the standard
	}
	return !s.isPlaceholder(password)
}

// bearer finds the token after the word Bearer.
func (w *walker) bearer(text []byte, i int) {
	from := skipBlanks(text, i)
	to := runEnd(w.s.bearer, text, from, longestValue+1)
	for to > from && text[to-1] == '.' {
		to--
	}
	v := text[from:to]
	if from == i || len(v) < 16 || len(v) > longestValue || !isRandom(v) || isLocation(v) || isIdentifier(v) || isDummy(v) {
		return
	}
	w.contextHit(text, from, to, ruleBearer)
}

// azureSignature finds the signature of a shared access URL: 32 bytes in base64, escaped.
func (w *walker) azureSignature(text []byte, start, end int) {
	to := runEnd(w.s.escaped, text, end, 100)
	if v := text[end:to]; startsToken(text, start) && len(v) >= 46 && len(v) <= 96 && bytes.HasSuffix(v, []byte("%3D")) && !monotonous(v) && !isDummy(v) {
		w.hit(text, end, to, ruleAzureKey)
	}
}

// discord finds a bot's token after the word discord: a number in base64, the time, a signature.
func (w *walker) discord(text []byte, _, end int) {
	const reach = 120 // bytes
	for i := end; i < min(len(text), end+reach); i++ {
		if text[i] < 'M' || text[i] > 'O' || !startsToken(text, i) {
			continue
		}
		one := runEnd(w.s.url64, text, i, 32)
		if one-i < 23 || one-i > 30 || one >= len(text) || text[one] != '.' {
			continue
		}
		two := runEnd(w.s.url64, text, one+1, 8)
		if two-one-1 < 6 || two-one-1 > 7 || two >= len(text) || text[two] != '.' {
			continue
		}
		three := runEnd(w.s.url64, text, two+1, 50)
		if n := three - two - 1; n < 27 || n > 42 || monotonous(text[two+1:three]) {
			continue
		}
		w.hit(text, i, three, ruleDiscord)
		return
	}
}
