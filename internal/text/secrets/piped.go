package secrets

import "bytes"

// Passwords that commands read from their standard input, and those that stand between other words of a command.

// standardInput finds what is given to a command with an option like --password-stdin: by echo or printf before it, or after <<<.
func (w *walker) standardInput(text []byte, start, end int) {
	const reach = 512 // bytes
	from := max(0, start-reach)
	from += bytes.LastIndexByte(text[from:start], '\n') + 1
	if pipe := bytes.LastIndexByte(text[from:start], '|'); pipe >= 0 {
		to := from + len(bytes.TrimRight(text[from:from+pipe], " \t"))
		for _, program := range []string{"echo ", "printf "} {
			at := bytes.LastIndex(text[from:to], []byte(program))
			if at >= 0 && startsToken(text, from+at) {
				w.lastWord(text, from+at+len(program), to)
				return
			}
		}
	}
	limit := min(len(text), end+reach)
	for i := end; i < limit && !endsCommand(text, i); i++ {
		if bytes.HasPrefix(text[i:], []byte("<<<")) {
			v := assignment{name: start, command: true}
			if v.read(w.s, text, skipBlanks(text, i+len("<<<"))) {
				w.givenPassword(text, v, nil, ruleCommand)
			}
			return
		}
	}
}

// lastWord checks the last word of what echo or printf print. A line break that printf has at its end does not belong to it.
func (w *walker) lastWord(text []byte, i, to int) {
	var last assignment
	for i = skipBlanks(text, i); i < to; i = skipBlanks(text, i) {
		v := assignment{name: i, command: true}
		if !v.read(w.s, text, i) {
			i++
			continue
		}
		last, i = v, v.to
		for i < to && text[i] > ' ' { // its closing quotation mark
			i++
		}
	}
	for bytes.HasSuffix(text[last.from:last.to], []byte(`\n`)) {
		last.to -= len(`\n`)
	}
	if last.to > last.from {
		w.givenPassword(text, last, nil, ruleCommand)
	}
}

// windowsNet finds the password in net use X: \\host\share PASSWORD /user:NAME, and in net user NAME PASSWORD /add.
func (w *walker) windowsNet(text []byte, start, end int) {
	const longest = 512 // bytes of a command
	line, _, _ := bytes.Cut(text[end:min(len(text), end+longest)], []byte("\n"))
	if !startsToken(text, start) || len(line) == 0 || line[0] > ' ' {
		return
	}
	toShare := bytes.HasSuffix(text[start:end], []byte("e")) || bytes.HasSuffix(text[start:end], []byte("E"))
	if lower := bytes.ToLower(line); toShare && !contains(lower, "/user:") || !toShare && !contains(lower, "/add") {
		return
	}
	expected, words := false, 0
	for i := end; i < end+len(line); {
		if i = skipBlanks(text, i); i >= end+len(line) {
			return
		}
		to := end + len(line)
		if n := bytes.IndexAny(text[i:to], " \t"); n > 0 {
			to = i + n
		}
		word := bytes.ToLower(text[i:to])
		isOption := word[0] == '/'
		if expected && !isOption && !hasPrefix(word, `\`, "*") {
			v := assignment{name: start, command: true}
			if v.read(w.s, text, i) {
				w.givenPassword(text, v, nil, ruleCommand)
			}
			return
		}
		if !isOption {
			words++
		}
		expected = toShare && (hasPrefix(word, `\\`, "/user:") || expected) || !toShare && words == 1
		i = to
	}
}
