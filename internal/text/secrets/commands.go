package secrets

import "bytes"

// Passwords in the arguments of commands, and in the files that commands read them from.

// givenPassword checks a value that stands where a user's password is expected.
func (w *walker) givenPassword(text []byte, v assignment, user []byte, rule string) {
	if bytes.EqualFold(user, text[v.from:v.to]) || bytes.EqualFold(user, []byte("anonymous")) || bytes.EqualFold(user, []byte("ftp")) {
		return // a password equal to the user is a sample, and the user anonymous has none
	}
	v.rule = rule
	if v.command && v.to < len(text) && text[v.to] != '\'' {
		v.quoted = false // a shell expands variables in double quotes
	}
	w.judge(text, v, nil, strong)
}

// curl finds the passwords in options that take user:password.
func (w *walker) curl(text []byte, start, end int) {
	const longest = 4 << 10 // bytes of a command
	if bytes.HasPrefix(text[end:], []byte(".exe")) {
		end += len(".exe")
	}
	if start < w.command || !startsToken(text, start) || end < len(text) && (isWord(text[end]) || text[end] == '-' || text[end] == '.') {
		return
	}
	limit := min(len(text), end+longest)
	i := end
	for i < limit && !endsCommand(text, i) {
		c, before := text[i], text[i-1]
		i++
		switch {
		case c == '-' && (before <= ' ' || isQuote(before)):
			if at := userOption(text, i-1); at > 0 {
				i = max(i, w.userPassword(text, at))
			}
		case isQuote(c) && (before <= ' ' || before == '=') && (i == limit || text[i] != '-'):
			if n := bytes.IndexByte(text[i:limit], c); n >= 0 {
				i += n + 1
			}
		}
	}
	w.command = i
}

// endsCommand reports whether a shell command ends at i: at a line break, also one written as
// \n, unless the line is continued, or at an operator with a blank after it.
func endsCommand(text []byte, i int) bool {
	switch text[i] {
	case '\n':
		before := bytes.TrimRight(text[max(0, i-4):i], " \r")
		return len(before) == 0 || bytes.IndexByte([]byte("\\`^"), before[len(before)-1]) < 0
	case '\\':
		return i+1 < len(text) && text[i+1] == 'n' && text[i-1] != '\\'
	case ';', '|', '&':
		return i+1 < len(text) && text[i+1] <= ' '
	}
	return false
}

// userOption returns where the value begins if the option at i takes user:password, or -1.
// A short option may have others before it: -sSu.
func userOption(text []byte, i int) int {
	for _, long := range []string{"--user", "--proxy-user"} {
		if rest := text[i:]; bytes.HasPrefix(rest, []byte(long)) && len(rest) > len(long) {
			if c := rest[len(long)]; c == '=' || c == '\\' || c <= ' ' || isQuote(c) {
				return nextWord(text, i+len(long))
			}
			return -1
		}
	}
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == 'u' || c == 'U':
			return nextWord(text, i+1)
		case bytes.IndexByte([]byte("sSkLvifgG#0146"), c) < 0: // the options that take no value
			return -1
		}
	}
	return -1
}

// nextWord returns where the next word of a command or element of a list begins: "-u", "x".
func nextWord(text []byte, i int) int {
	for i < len(text) && (text[i] == '\\' || isQuote(text[i]) && i+1 < len(text) && bytes.IndexByte([]byte(" ,"), text[i+1]) >= 0) {
		i++
	}
	if i < len(text) && (text[i] == '=' || text[i] == ',') {
		i++
	}
	return skipBlanks(text, i)
}

// userPassword checks the password in user:password at i, and returns where it ends.
func (w *walker) userPassword(text []byte, i int) int {
	v := assignment{name: i, command: true}
	v.read(w.s, text, i)
	user, _, ok := bytes.Cut(text[v.from:v.to], []byte(":"))
	if !ok {
		return v.to
	}
	if v.from += len(user) + 1; v.from == v.to && !v.quoted && v.to < len(text) && isQuote(text[v.to]) {
		v.read(w.s, text, v.to) // user:'password'
	}
	if v.to > v.from {
		w.givenPassword(text, v, user, ruleCommand)
	}
	return v.to
}

// sshpass finds the password that the option -p gives to sshpass.
func (w *walker) sshpass(text []byte, start, end int) {
	const option = "-p"
	i := skipBlanks(text, end)
	if !startsToken(text, start) || i == end || !bytes.HasPrefix(text[i:], []byte(option)) {
		return
	}
	v := assignment{name: start, command: true}
	if v.read(w.s, text, skipBlanks(text, i+len(option))) {
		w.givenPassword(text, v, nil, ruleCommand)
	}
}

// netrc checks the text after the word password at text[from:to], and reports whether the
// word belongs to a netrc file. In such a file, machine and a host, or default, and the user's
// name come before it, on any line.
func (w *walker) netrc(text []byte, from, to int) bool {
	// An entry of a netrc file has up to four pairs: machine, port, login and account. The
	// word login has to be in the reach bytes before the word password.
	const pairs, reach = 4, 256
	at := skipBlanks(text, to)
	if at == to || at == len(text) || !bytes.Contains(text[max(0, from-reach):from], []byte("login")) {
		return false
	}
	var user, value, key []byte
	for range pairs {
		value, from = wordBefore(text, from)
		key, from = wordBefore(text, from)
		switch {
		case user != nil && (endsInWord(value, "default") || endsInWord(key, "machine")):
			v := assignment{name: to, env: true}
			if v.read(w.s, text, at) {
				w.givenPassword(text, v, user, ruleNetrc)
			}
			return true
		case string(key) == "login":
			user = value
		case string(key) != "account" && string(key) != "port":
			return false
		}
	}
	return false
}

// wordBefore returns the word before i, and where it begins. White space bounds it, also white space
// that is written as \n.
func wordBefore(text []byte, i int) (word []byte, at int) {
	const longest = 256
	least := max(0, i-longest)
	for i > least && space(text, i-1) > 0 {
		i -= space(text, i-1)
	}
	to := i
	for i > least && space(text, i-1) == 0 {
		i--
	}
	return text[i:to], i
}

// space returns the length of the white space that ends with the byte at i.
func space(text []byte, i int) int {
	switch {
	case text[i] <= ' ':
		return 1
	case i > 0 && text[i-1] == '\\' && (text[i] == 'n' || text[i] == 'r' || text[i] == 't'):
		return 2
	}
	return 0
}

// endsInWord reports whether a text ends in a whole word.
func endsInWord(text []byte, word string) bool {
	rest, ok := bytes.CutSuffix(text, []byte(word))
	return ok && (len(rest) == 0 || !isWord(rest[len(rest)-1]))
}
