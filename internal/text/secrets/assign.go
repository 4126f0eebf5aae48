package secrets

import (
	"bytes"
	"cmp"
	"slices"
)

// strength is how strongly a name suggests that its value is a secret.
type strength int

const (
	nothing strength = iota
	weak             // key, auth: often not a secret
	medium           // token, secret, api_key: a secret if the value is random
	strong           // password: a secret unless the value looks like a placeholder, a name or code
)

// classify judges a name by its end: DB_PASSWORD holds a secret, PASSWORD_FILE does not.
func classify(name []byte) strength {
	var buf [96]byte
	flat := buf[:0]
	for _, c := range name[max(0, len(name)-len(buf)):] {
		if isAlnum(c) {
			flat = append(flat, fold(c))
		}
	}
	flat = bytes.TrimRight(flat, "0123456789")
	for _, stage := range []string{"prod", "production", "staging", "dev"} {
		flat = bytes.TrimSuffix(flat, []byte(stage))
	}
	ends := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return bytes.HasSuffix(flat, []byte(word)) })
	}
	switch {
	case string(name) == "PWD" || string(name) == "OLDPWD":
		return nothing // the working directory of shells
	case ends("password", "passwd", "passphrase", "pwd", "passwort"):
		return strong
	case ends("pass"):
		return passWord(name)
	case ends("publickey", "pubkey", "primarykey", "foreignkey", "sortkey", "partitionkey", "cachekey", "hotkey", "storagekey", "routingkey", "objectkey",
		"idempotencykey", "nexttoken", "pagetoken", "continuationtoken", "synctoken", "canceltoken", "cancellationtoken", "hostkey", "monkey", "turkey",
		"allowsecret"): // --allow-secret and allow_secret take fingerprints
		return nothing
	case ends("secret", "token", "apikey", "accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey", "masterkey", "authkey", "licensekey",
		"servicekey", "accountkey", "appkey", "sessionkey", "deploykey", "clientkey", "subscriptionkey", "adminkey", "secretkeybase", "credential", "credentials"):
		return medium
	case ends("key", "auth", "authorization"):
		return weak
	}
	return nothing
}

// passWord judges names that end in pass: DB_PASS, but not bypass.
func passWord(name []byte) strength {
	for i := len(name) - len("pass"); i >= 0; i-- {
		if !bytes.EqualFold(name[i:i+len("pass")], []byte("pass")) {
			continue
		}
		if i == 0 || !isLetter(name[i-1]) || isUpper(name[i]) && isLower(name[i-1]) || bytes.Equal(name, bytes.ToUpper(name)) && len(name) < 12 {
			return strong
		}
		break
	}
	return nothing
}

// assignment is a value that is assigned to a name.
type assignment struct {
	from, to int // of the value
	name     int // where its name begins
	quoted   bool
	env      bool   // NAME=value, as in shells and env files
	sql      bool   // PASSWORD 'value'
	command  bool   // a word of a shell command
	rule     string // the rule for a password; "" means rulePassword
}

// word checks the name around text[start:end], whose value may be a secret, and what follows the name.
func (w *walker) word(text []byte, start, end int) {
	w.words++
	if end <= w.named {
		return
	}
	const longest = 64
	to := end
	for to < len(text) && to-end < longest && (isWord(text[to]) || text[to] == '-') {
		to++
	}
	w.named = to
	from := start
	for from > 0 && start-from < longest && (isWord(text[from-1]) || text[from-1] == '-' || text[from-1] == '.') {
		from--
	}
	if from > 0 && from < start && text[from-1] == '\\' {
		from++ // the n belongs to \n
	}
	name := bytes.TrimRight(text[from:to], "-")
	to = from + len(name)
	name = bytes.TrimLeft(name, "-.")
	if bytes.EqualFold(name, []byte("bearer")) {
		w.bearer(text, to)
		return
	}
	if v, ok := w.s.assignment(text, from, to); ok {
		if k := classify(name); k != nothing && (k == strong || !v.sql) {
			w.judge(text, v, name, k)
		}
		return
	}
	if bytes.EqualFold(name, []byte("password")) && w.netrc(text, from, to) {
		return
	}
	if k := classify(name); k == strong {
		w.said(text, to, k, verbs())
	}
	// A long random name is probably base64 that contains "key" by chance.
	if len(name) < 16 || transitions(name)*100 < len(name)*18 {
		w.randomBeside(text, to, name)
	}
}

// assignedKey checks a string that is the value of a JSON key.
func (w *walker) assignedKey(text, key []byte) {
	if k := classify(key); k != nothing && len(text) <= longestValue && len(text) > 0 {
		w.judge(text, assignment{from: 0, to: len(text), quoted: true}, key, k)
	}
}

// longestValue is the length in bytes of the longest value that is found only because of the name it is assigned to.
const longestValue = 512

// assignment reads the operator and the value that follow the name text[from:i]. It returns false if
// there are none.
func (s *Scanner) assignment(text []byte, from, i int) (assignment, bool) {
	none := assignment{}
	nameEnd := i
	for i < len(text) && i-nameEnd < 6 && bytes.IndexByte([]byte("\"'`\\])"), text[i]) >= 0 {
		i++
	}
	closed := i
	i = skipBlanks(text, i)
	if i >= len(text) {
		return none, false
	}
	v := assignment{name: from}
	literal := false // the value has to be in quotes
	switch c := text[i]; {
	case c == '=' || c == ':' || (c == '?' || c == '+' || c == '!') && i+1 < len(text) && text[i+1] == '=':
		v.env = c == '=' && i == nameEnd && isUpperName(text[from:nameEnd])
		sign := i
		for i++; i < len(text) && (text[i] == '=' || text[i] == '>'); {
			i++
		}
		// A literal that is compared with a password may be that password; public rule sets
		// report it, too. A variable is not reported.
		literal = hasPrefix(text[sign:i], "==", "!=")
	case c == '>' && from > 0 && text[from-1] == '<':
		i++
	case i > closed && bytes.HasPrefix(text[from:], []byte("-")): // --token value
	case i > closed && closed == nameEnd && (c == '\'' || c == '"'):
		v.sql = true
	case c == ',' && isFirstArgument(text[:from], text[nameEnd:closed]):
		literal = true
		i++
	default:
		return none, false
	}
	if !v.read(s, text, skipBlanks(text, i)) || literal && !v.quoted {
		return none, false
	}
	// There may be a type before the value: name: string = "value".
	if next := skipBlanks(text, v.to); !v.quoted && next < len(text)-1 && text[next] == '=' && countBytes(text[v.from:v.to]).digits == 0 {
		if !v.read(s, text, skipBlanks(text, next+1)) {
			return none, false
		}
	}
	return v, true
}

// isFirstArgument reports whether a name in quotes is the first argument of a call, as in define('NAME' or setenv("NAME".
// before and after are the text around the name.
func isFirstArgument(before, after []byte) bool {
	quote := bytes.Trim(after, `\`)
	if len(quote) != 1 || !isQuote(quote[0]) || !bytes.HasSuffix(before, quote) {
		return false
	}
	before, called := bytes.CutSuffix(bytes.TrimRight(before[max(0, len(before)-8):len(before)-1], `\ `), []byte("("))
	return called && len(before) > 0 && isWord(before[len(before)-1])
}

func skipBlanks(text []byte, i int) int {
	for n := 0; n < 8 && i < len(text) && (text[i] == ' ' || text[i] == '\t'); n++ {
		i++
	}
	return i
}

func isUpperName(name []byte) bool {
	a := countBytes(name)
	return a.upper > 0 && a.lower == 0 && a.other == bytes.Count(name, []byte("_"))
}

// read finds the value that begins at i, in quotes or without, and reports whether there is one.
func (v *assignment) read(s *Scanner, text []byte, i int) bool {
	if i+1 < len(text) && bytes.IndexByte([]byte("rbufRBUF@"), text[i]) >= 0 && isQuote(text[i+1]) {
		i++
	}
	for i < len(text) && text[i] == '\\' {
		i++
	}
	if i >= len(text) {
		return false
	}
	v.quoted = isQuote(text[i])
	var quote byte
	if v.quoted {
		quote = text[i]
		i++
	}
	v.from, v.to = i, i
	stops := v.stops(s, quote)
	for v.to < len(text) && v.to-v.from <= longestValue && !stops[text[v.to]] {
		v.to++
	}
	if v.to-v.from > longestValue {
		return false
	}
	for v.quoted && v.to > v.from && text[v.to-1] == '\\' {
		v.to-- // the backslash of an escaped quote
	}
	if v.env && !v.quoted {
		v.to = v.from + len(unwrapped(text[v.from:v.to], lineBefore(text, v.name)))
		return v.to > v.from
	}
	if !v.quoted {
		if to := s.lineValueEnd(text, v.name, v.from); to > v.to {
			v.to = to
			return true
		}
	}
	isCall := !v.quoted && v.to < len(text) && (text[v.to] == '(' || text[v.to] == '[' || text[v.to] == '{')
	return !isCall && v.to > v.from
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// stops are the bytes that end the value.
func (v *assignment) stops(s *Scanner, quote byte) *set {
	switch {
	case v.quoted:
		return s.quotes[quote]
	case v.env:
		return s.blank
	case v.command:
		return s.shell
	}
	return s.stop
}

// judge adds a hit if a value that is assigned to a name of strength k looks like a secret.
func (w *walker) judge(text []byte, v assignment, name []byte, k strength) {
	value := text[v.from:v.to]
	if len(value) < shortest || bytes.ContainsAny(value, " \t\n") || isCode(value, v.quoted) || isLocation(value) || isUUID(value) ||
		!printable(value) || inMark(text, v.from+1) || bytes.Contains(value, []byte(marker)) {
		return
	}
	if (IsFingerprint(string(value)) || IsKeyed(string(value))) && isRule(name) {
		return // RULE:FINGERPRINT, as in the list of findings in meta
	}
	switch {
	case k == weak && isAuth(name) && w.s.isLogin(value):
		w.contextHit(text, v.from, v.to, ruleBasicAuth)
	case k == strong:
		if isPassword(value, v) && !w.s.isPlaceholder(value) {
			w.contextHit(text, v.from, v.to, cmp.Or(v.rule, rulePassword))
		}
	case len(value) < 16 || !isRandom(value) || w.s.isPlaceholder(value) || isIdentifier(value):
	case k == medium:
		rule := ruleAssigned
		if len(value) == 40 && isAWS(name, text, v.from) {
			rule = ruleAWSSecret
		}
		w.contextHit(text, v.from, v.to, rule)
	case isDense(value):
		w.contextHit(text, v.from, v.to, ruleAssigned)
	}
}

// isAuth reports whether a name ends in auth. Docker and npm give such names to credentials in base64.
func isAuth(name []byte) bool {
	return len(name) >= 4 && bytes.EqualFold(name[len(name)-4:], []byte("auth"))
}

func isRule(name []byte) bool {
	return slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == string(name) })
}

func printable(v []byte) bool {
	return !bytes.ContainsFunc(v, func(r rune) bool { return r < ' ' || r >= 0x7f })
}

// isPassword reports whether a value can be a password. Outside of files of variables, a value needs digits or unusual
// punctuation, which names and types rarely have, and more digits if it is not in quotes.
func isPassword(value []byte, v assignment) bool {
	a := countBytes(value)
	switch {
	case v.env && v.rule == "":
		return a.letters() > 0 && (a.digits+a.strange > 0 || len(value) >= 8)
	case a.letters() == 0 || a.digits+a.strange == 0:
		return false
	case v.quoted || v.rule != "":
		return len(value) >= 8 || a.strange > 0
	}
	digits := len(value) - len(bytes.TrimRight(value, "0123456789"))
	nameLike := a.strange == 0 && digits == a.digits && digits < 4
	return len(value) >= 8 && a.digits >= 2 && !nameLike
}

func isAWS(name, text []byte, from int) bool {
	flat := bytes.ReplaceAll(bytes.ToLower(name), []byte("_"), nil)
	before := bytes.ToLower(text[max(0, from-100):from])
	return contains(flat, "secretaccesskey", "aws") || contains(before, "aws", "akia")
}

// isDense reports whether a value is as random as a key: three kinds of characters, few of
// them repeated.
func isDense(v []byte) bool {
	a := countBytes(v)
	return len(v) >= 24 && len(v) <= 128 && a.lower > 0 && a.upper > 0 && a.digits > 0 && !isHexHash(v) && transitions(v)*100 >= len(v)*28 && entropy(v) >= 4
}

// isIdentifier reports whether a value begins like something that is random but not secret: the id of a call, a
// message or a run, a hash, a public key, a certificate, a picture or a URN.
func isIdentifier(v []byte) bool {
	return hasPrefix(v, "toolu_", "msg_", "call_", "req_", "resp_", "chatcmpl-", "gen-", "run_", "run-", "thread_", "asst_", "file-", "file_", "org-", "proj_",
		"user_", "session_", "evt_", "cus_", "pi_", "price_", "prod_", "sub_", "acct_", "srvtoolu_", "fc_", "rs_", "ws_",
		"sha1-", "sha256-", "sha384-", "sha512-", "sha256:", "SHA256:", "h1:", "AAAA", "MII", "iVBOR", "data:", "urn:", "MCowBQYDK2V", "MFkwEwYH")
}

// randomBeside finds a random string after a word such as token, on the same line.
func (w *walker) randomBeside(text []byte, i int, name []byte) {
	const reach = 40 // bytes
	random := w.s.random
	if i < len(text) && random[text[i]] {
		return // a part of something longer
	}
	for end := min(len(text), i+reach); i < end && text[i] != '\n'; {
		from := i
		for i < len(text) && random[text[i]] && i-from <= 128 {
			i++
		}
		if i == from {
			i++
			continue
		}
		if v := text[from:i]; isDense(v) && !isIdentifier(v) && !isLocation(v) && !isDummy(v) && !continues(text, from, i) && classify(name) != nothing {
			w.contextHit(text, from, i, ruleEntropy)
			return
		}
	}
}

// continues reports whether text[from:to] is only a part of a name or an expression.
func continues(text []byte, from, to int) bool {
	if from > 0 && bytes.IndexByte([]byte(".:$\\/@"), text[from-1]) >= 0 {
		return true
	}
	return to < len(text) && (text[to] == '(' || text[to] == '.' && to+1 < len(text) && isWord(text[to+1]))
}
