package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tape/internal/git/gitlock"
)

// How drivers are written in git's files: pure functions from the old bytes to the new.
//
// Their settings are in a file of ours. The repository's own file includes it at its
// beginning: of two values for a key git uses the later one, which must be the user's.
//
// In the attributes, the drivers are a block at the beginning, for the same reason.

// includeLines are added to the repository's own file. The section is not a plain include,
// but one whose condition is always true: users add files with `git config include.path
// FILE`, which would replace our line, or fail if there are two.
const includeLines = "[includeIf \"gitdir:**\"]\n\tpath = " + gitlock.OwnDir + "/" + ownFile + "\n"

// bom is ignored by git, but only at the beginning of a file.
const bom = "\ufeff"

// entry returns the setting as an entry of git's configuration: the parts of its name, in
// lower case where case does not matter.
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

// concernsEntry reports whether a line of configuration is about something that the drivers
// set: any setting of a driver with the same name, or exactly the same plain setting.
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

// settings returns the content of our file, given the user's settings.
func (d Drivers) settings(users []Entry) (content []byte, out DriverSetup) {
	for _, e := range users {
		if d.concernsEntry(e) && !slices.Contains(out.Kept, e.name()) {
			out.Kept = append(out.Kept, e.name())
		}
	}
	header := ""
	for _, e := range d.wanted(out.Kept) {
		if header == "" {
			content = append(content, "# "+d.Mark+"; what is set in .git/config goes before it\n"...)
		}
		if h := e.header(); h != header {
			header = h
			content = append(content, h+"\n"...)
		}
		content = append(content, "\t"+e.Key+" = "+Quote(e.Value)+"\n"...)
		out.Installed = append(out.Installed, e.name())
	}
	return content, out
}

// wanted returns the settings that the user has not made. If the user has made the first of
// a group, the whole group is left out.
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

// include adds the include at the beginning of the repository's own file, or removes it if
// it is not wanted. It also removes what the former version wrote.
func (d Drivers) include(old []byte, wanted bool) ([]byte, error) {
	rest, _ := d.withoutFormer(old)
	before, err := Entries(rest)
	if err != nil {
		return nil, err
	}
	next := withoutInclude(rest)
	if wanted {
		text, hasBOM := bytes.CutPrefix(next, []byte(bom))
		next = append([]byte(includeLines), text...)
		if hasBOM {
			next = append([]byte(bom), next...)
		}
	}
	after, err := Entries(next)
	if err != nil {
		return nil, err
	}
	// Keys before the first section would become part of ours, and keys that were added to
	// our section would lose it.
	if isOurs := func(e Entry) bool { return e == includeEntry }; !slices.Equal(slices.DeleteFunc(before, isOurs), slices.DeleteFunc(after, isOurs)) {
		if wanted {
			return nil, errors.New("tape cannot edit this configuration; do it with git config")
		}
		return rest, nil // what it includes is gone
	}
	return next, nil
}

var includeEntry = Entry{Section: "includeif", Subsection: "gitdir:**", Key: "path", Value: gitlock.OwnDir + "/" + ownFile}

func withoutInclude(old []byte) []byte { return bytes.Replace(old, []byte(includeLines), nil, 1) }

// Entries reads a file of configuration, and follows no includes.
func Entries(raw []byte) (out []Entry, err error) {
	if err := parse(raw, func(e Entry) { out = append(out, e) }); err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	return out, nil
}

// Quote returns a value in a form from which git reads the same value, whatever it contains.
func Quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// withoutFormer removes what the former version wrote into the repository's own file:
// sections whose header and lines end in a comment with the mark. Lines that somebody added
// to such a section stay, below a header without the mark.
func (d Drivers) withoutFormer(old []byte) (rest, former []byte) {
	comment := " # " + d.Mark
	inside, header := false, ""
	for line := range bytes.Lines(old) {
		text := strings.TrimRight(string(line), " \t\r\n")
		text = strings.TrimSuffix(text, ", after a line without an end")
		own, marked := strings.CutSuffix(text, comment)
		if strings.HasPrefix(strings.TrimLeft(text, " \t"), "[") {
			inside, header = marked && strings.HasSuffix(own, "]"), own+"\n"
		}
		switch {
		case inside && marked:
			former = append(former, text+"\n"...)
			continue
		case inside && text != "":
			rest = append(rest, header...)
			header = ""
		}
		rest = append(rest, line...)
	}
	return rest, former
}

func (d Drivers) blockBegin() string { return "# begin: " + d.Mark }
func (d Drivers) blockEnd() string   { return "# end: " + d.Mark }

// addPatterns puts the drivers' block at the beginning of the attributes.
func (d Drivers) addPatterns(old []byte) ([]byte, DriverSetup) {
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
		next = append(next, p+" "+strings.Join(d.Attributes, " ")+"\n"...)
	}
	next = append(next, d.blockEnd()+"\n"...)
	return append(next, rest...), out
}

// patternOf returns the drivers' pattern that a line of ours is for: a present line, or one
// with fewer attributes that an older version wrote.
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

// withoutPatterns removes the block, and returns the patterns that were in it. Lines that
// somebody put into the block stay.
func (d Drivers) withoutPatterns(old []byte) (rest []byte, patterns []string) {
	inside := false
	old, hasBOM := bytes.CutPrefix(old, []byte(bom))
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
	if hasBOM {
		rest = append([]byte(bom), rest...)
	}
	return rest, patterns
}

// concerns reports whether a line of attributes applies to files of the drivers.
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
