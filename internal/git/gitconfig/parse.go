package gitconfig

import (
	"bytes"
	"fmt"
	"strings"
)

// parse reads git's configuration syntax (git-config(1), "Syntax") and calls emit for
// each value in order, up to an error. It is our own because the order of an include and
// its neighbours matters, and because a parser with generated tables would slow the start
// of each command.
func parse(raw []byte, emit func(Entry)) error {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(raw, 0) >= 0 {
		return errNul
	}
	p := &configParser{src: strings.ReplaceAll(string(raw), "\r\n", "\n"), line: 1}
	for {
		switch c := p.next(); {
		case c == eof:
			return nil
		case isSpace(c):
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			if err := p.header(); err != nil {
				return p.at(err)
			}
		case isLetter(c):
			p.pos--
			e, err := p.assignment()
			if err != nil {
				return p.at(err)
			}
			if e.Section != "" { // git ignores keys before any section
				emit(e)
			}
		default:
			return p.at(fmt.Errorf("unexpected %q", c))
		}
	}
}

const eof byte = 0

// configParser is a cursor over one file.
type configParser struct {
	src                 string
	pos, line           int
	section, subsection string
}

func (p *configParser) next() byte {
	if p.pos >= len(p.src) {
		return eof
	}
	c := p.src[p.pos]
	p.pos++
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *configParser) peek() byte {
	if p.pos >= len(p.src) {
		return eof
	}
	return p.src[p.pos]
}

func (p *configParser) at(err error) error { return fmt.Errorf("line %d: %w", p.line, err) }

func (p *configParser) skipLine() {
	c := p.next()
	for c != '\n' && c != eof {
		c = p.next()
	}
}

// take returns the characters of a class at the cursor, and moves past them.
func (p *configParser) take(class func(c byte) bool) string {
	start := p.pos
	for class(p.peek()) {
		p.pos++
	}
	return p.src[start:p.pos]
}

func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isSpace(c byte) bool  { return isBlank(c) || c == '\n' || c == '\r' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isWord(c byte) bool   { return isLetter(c) || c >= '0' && c <= '9' || c == '-' }

// header reads what follows "[": `name]`, `name "sub"]`, or the old `name.sub]`.
func (p *configParser) header() error {
	name := strings.ToLower(p.take(func(c byte) bool { return isWord(c) || c == '.' }))
	p.section, p.subsection, _ = strings.Cut(name, ".")
	if p.section == "" {
		return fmt.Errorf("a section without a name")
	}
	if p.take(isBlank) != "" {
		if err := p.quotedSubsection(); err != nil {
			return err
		}
	}
	if p.next() != ']' {
		return fmt.Errorf("section %q is not closed", name)
	}
	return nil
}

func (p *configParser) quotedSubsection() error {
	if p.next() != '"' {
		return fmt.Errorf("section %q: expected a quoted name", p.section)
	}
	var b strings.Builder
	for {
		c := p.next()
		if c == '\\' {
			c = p.next()
		} else if c == '"' {
			p.subsection = b.String()
			return nil
		}
		if c == '\n' || c == eof {
			return fmt.Errorf("section %q: the quoted name does not end", p.section)
		}
		b.WriteByte(c)
	}
}

func (p *configParser) assignment() (Entry, error) {
	e := Entry{Section: p.section, Subsection: p.subsection, Key: strings.ToLower(p.take(isWord))}
	p.take(isBlank)
	var err error
	switch p.peek() {
	case '=':
		p.pos++
		e.Value, err = p.value()
	case '\n', eof, '#', ';':
		p.skipLine()
		e.Value = "true"
	default:
		err = fmt.Errorf("key %q: expected =", e.Key)
	}
	return e, err
}

// value reads up to the end of the line: quotes may open and close anywhere, white
// space outside them is trimmed at both ends, a backslash continues the line.
func (p *configParser) value() (string, error) {
	var b strings.Builder
	quoted, spaces := false, []byte(nil)
	for {
		c := p.next()
		switch {
		case c == '\n' || c == eof:
			if quoted {
				return "", fmt.Errorf("a quote is not closed")
			}
			return b.String(), nil
		case !quoted && (c == '#' || c == ';'):
			p.skipLine()
			return b.String(), nil
		case !quoted && isSpace(c):
			if b.Len() > 0 {
				spaces = append(spaces, c)
			}
			continue
		}
		b.Write(spaces)
		spaces = spaces[:0]
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			c = p.next()
			at := strings.IndexByte("tnb\\\"", c)
			if at < 0 && c != '\n' {
				return "", fmt.Errorf("unknown escape \\%c", c)
			}
			if at >= 0 {
				b.WriteByte("\t\n\b\\\""[at])
			}
		default:
			b.WriteByte(c)
		}
	}
}

// Header reads the header of a section; ok is false if the line is not a header.
func Header(line string) (section, subsection string, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "[")
	if !ok {
		return "", "", false
	}
	p := &configParser{src: text}
	err := p.header()
	return p.section, p.subsection, err == nil
}
