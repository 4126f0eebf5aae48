package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// What drivers are in git's two files: pure functions from the old bytes to the new.
//
// In the configuration they are sections of their own at the end, each of whose lines ends
// in a comment with the mark. `git config` takes the comment away with the value that
// it replaces, so that a line with the mark is always one that the user has not touched.
//
// In the attributes they are a block at the beginning: of two lines about one file the
// later one wins, and that is to be the user's.

// unended is added to the mark where our first section follows a line that had no newline.
const unended = ", after a line without an end"

func (d Drivers) comment() string { return " # " + d.Mark }

// entry is the setting as git's configuration has it: the parts of its name, those
// without a meaning of case in lower case.
func (s Setting) entry() Entry {
	first, last := strings.IndexByte(s.Name, '.'), strings.LastIndexByte(s.Name, '.')
	e := Entry{Section: strings.ToLower(s.Name[:first]), Key: strings.ToLower(s.Name[last+1:]), Value: s.Value}
	if first < last {
		e.Subsection = s.Name[first+1 : last]
	}
	return e
}

func (e Entry) name() string {
	if e.Subsection == "" {
		return e.Section + "." + e.Key
	}
	return e.Section + "." + e.Subsection + "." + e.Key
}

func (e Entry) header() string {
	if e.Subsection == "" {
		return "[" + e.Section + "]"
	}
	return "[" + e.Section + ` "` + e.Subsection + `"]`
}

// concernsEntry reports whether a line of configuration is about something that the
// drivers set: any setting of a driver of the same name, or the very same plain one.
func (d Drivers) concernsEntry(e Entry) bool {
	for _, group := range d.Settings {
		for _, s := range group {
			o := s.entry()
			if o.Section == e.Section && o.Subsection == e.Subsection && (o.Subsection != "" || o.Key == e.Key) {
				return true
			}
		}
	}
	return false
}

// addSettings puts the sections into a configuration; all is what git's files of
// configuration say together.
func (d Drivers) addSettings(old []byte, all []Entry) ([]byte, DriverSetup, error) {
	var out DriverSetup
	rest, present := d.withoutSettings(old)
	ours, err := Entries(present)
	if err != nil {
		return nil, out, err
	}
	for _, e := range all {
		if i := slices.Index(ours, e); i >= 0 {
			ours = slices.Delete(ours, i, i+1)
		} else if d.concernsEntry(e) && !slices.Contains(out.Kept, e.name()) {
			out.Kept = append(out.Kept, e.name())
		}
	}
	added := d.wanted(out.Kept)
	lines := d.lines(added)
	for _, e := range added {
		out.Installed = append(out.Installed, e.name())
	}
	if bytes.Equal(present, lines) {
		return old, out, nil
	}
	next := slices.Clone(rest)
	if len(lines) > 0 && len(rest) > 0 && rest[len(rest)-1] != '\n' {
		head, body, _ := bytes.Cut(lines, []byte("\n"))
		next = append(append(append(next, '\n'), head...), unended+"\n"...)
		lines = body
	}
	next = append(next, lines...)
	return next, out, d.checkEdit(old, next, added)
}

// wanted is what is to be set beside the settings that are the user's own: of a group
// nothing when its first is.
func (d Drivers) wanted(own []string) (out []Entry) {
	has := func(s Setting) bool { return slices.Contains(own, s.entry().name()) }
	for _, group := range d.Settings {
		if len(group) == 0 || has(group[0]) {
			continue
		}
		for _, s := range group {
			if !has(s) {
				out = append(out, s.entry())
			}
		}
	}
	return out
}

// lines writes settings as they stand in the configuration, under their headers.
func (d Drivers) lines(settings []Entry) (out []byte) {
	header := ""
	for _, e := range settings {
		if h := e.header(); h != header {
			header = h
			out = append(out, h+d.comment()+"\n"...)
		}
		out = append(out, "\t"+e.Key+" = "+Quote(e.Value)+d.comment()+"\n"...)
	}
	return out
}

// checkEdit makes sure that git will read from an edited configuration what it read
// before: the same of everything else, and of the drivers what the user wrote and added.
func (d Drivers) checkEdit(old, next []byte, added []Entry) error {
	before, err := Entries(old)
	if err != nil {
		return err
	}
	after, err := Entries(next)
	if err != nil {
		return err
	}
	_, present := d.withoutSettings(old)
	ours, err := Entries(present)
	if err != nil {
		return err
	}
	for _, e := range ours {
		if i := slices.Index(before, e); i >= 0 {
			before = slices.Delete(before, i, i+1)
		}
	}
	if !slices.Equal(append(before, added...), after) {
		return errors.New("the configuration is written in a way that cannot be added to; do it with git config")
	}
	return nil
}

// Entries reads a file of configuration, and follows no includes.
func Entries(raw []byte) (out []Entry, err error) {
	if err := parse(raw, func(e Entry) { out = append(out, e) }); err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	return out, nil
}

// Quote writes a value so that git reads it back whatever is in it.
func Quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// withoutSettings cuts our sections out of a configuration: their headers and every line
// that has the mark. Keys that were added to a section stay, below a header without the
// mark.
func (d Drivers) withoutSettings(old []byte) (rest, present []byte) {
	header, headerAt, joinedAt := "", 0, -1
	kept := false
	// leave ends a section of ours, whose header is needed only by what stays of it.
	leave := func() {
		if header != "" && kept {
			rest = slices.Insert(rest, headerAt, []byte(header+"\n")...)
		}
		header, kept = "", false
	}
	for line := range bytes.Lines(old) {
		text := strings.TrimRight(string(line), " \t\r\n")
		isHeader := strings.HasPrefix(strings.TrimLeft(text, " \t"), "[")
		if isHeader {
			leave()
		}
		plain, joined := strings.CutSuffix(text, unended)
		own, marked := strings.CutSuffix(plain, d.comment())
		switch {
		case isHeader && marked && strings.HasSuffix(own, "]"):
			header, headerAt = own, len(rest)
			if joined {
				joinedAt = len(rest)
			}
			present = append(present, plain+"\n"...)
			continue
		case header != "" && marked && !joined:
			present = append(present, line...)
			continue
		case header != "" && text != "":
			kept = true
		}
		rest = append(rest, line...)
	}
	leave()
	if joinedAt == len(rest) {
		rest = bytes.TrimSuffix(rest, []byte("\n"))
	}
	return rest, present
}

func (d Drivers) blockBegin() string { return "# begin: " + d.Mark }
func (d Drivers) blockEnd() string   { return "# end: " + d.Mark }

// addPatterns puts the drivers' block at the beginning of the attributes.
func (d Drivers) addPatterns(old []byte) ([]byte, DriverSetup) {
	const bom = "\ufeff" // git passes over it, at the beginning only
	rest, _ := d.withoutPatterns(old)
	out := DriverSetup{Installed: slices.Clone(d.Patterns)}
	for line := range bytes.Lines(rest) {
		if text := strings.TrimSpace(strings.TrimPrefix(string(line), bom)); d.concerns(text) {
			out.Kept = append(out.Kept, text)
		}
	}
	var next []byte
	if bytes.HasPrefix(rest, []byte(bom)) {
		next, rest = append(next, bom...), rest[len(bom):]
	}
	next = append(next, d.blockBegin()+"\n"...)
	for _, p := range d.Patterns {
		next = append(next, d.patternLine(p)+"\n"...)
	}
	next = append(next, d.blockEnd()+"\n"...)
	return append(next, rest...), out
}

func (d Drivers) patternLine(pattern string) string {
	return pattern + " " + strings.Join(d.Attributes, " ")
}

// patternOf returns which of the drivers' patterns a line of ours is for: one of now, or
// one with fewer attributes that an older version wrote.
func (d Drivers) patternOf(line string) (pattern string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 2 || !slices.Contains(d.Patterns, fields[0]) {
		return "", false
	}
	for _, attr := range fields[1:] {
		if !slices.Contains(d.Attributes, attr) {
			return "", false
		}
	}
	return fields[0], true
}

// withoutPatterns cuts the block out, and names the patterns that were in it. Lines that
// somebody put into the block stay.
func (d Drivers) withoutPatterns(old []byte) (rest []byte, patterns []string) {
	inside := false
	bom := bytes.HasPrefix(old, []byte("\ufeff"))
	if bom {
		old = old[len("\ufeff"):]
	}
	for line := range bytes.Lines(old) {
		text := strings.TrimRight(string(line), " \t\r\n")
		pattern, ours := d.patternOf(text)
		switch {
		case text == d.blockBegin():
			inside = true
		case inside && text == d.blockEnd():
			inside = false
		case inside && ours:
			patterns = append(patterns, pattern)
		default:
			rest = append(rest, line...)
		}
	}
	if bom {
		rest = append([]byte("\ufeff"), rest...)
	}
	return rest, patterns
}

// concerns reports whether a line of attributes says how a file of the drivers' is treated.
func (d Drivers) concerns(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[attr]") {
		return false
	}
	named := slices.ContainsFunc(fields[1:], func(attr string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(attr, "-!"), "=")
		return name == "binary" || slices.ContainsFunc(d.Attributes, func(a string) bool { return strings.HasPrefix(a, name+"=") })
	})
	pattern := strings.Trim(fields[0], `"`)
	return named && slices.ContainsFunc(d.Samples, func(name string) bool {
		if !strings.Contains(pattern, "/") {
			name = path.Base(name)
		}
		return matchPath(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
	})
}
