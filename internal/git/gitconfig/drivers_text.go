package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"tape/internal/git/gitlock"
)

// How drivers are written in git's files: pure functions from the old bytes to the new.
//
// Their settings are in a file of ours. The repository's own file includes it at its
// beginning: of two values for a key git uses the later one, which must be the user's.
//
// For the same reason, the drivers' block in the attributes is at the beginning.

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

// Name is the setting as git names it.
func (e Entry) Name() string {
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
		if d.concernsEntry(e) && !slices.Contains(out.Kept, e.Name()) {
			out.Kept = append(out.Kept, e.Name())
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
		out.Installed = append(out.Installed, e.Name())
	}
	return content, out
}

// wanted returns the settings that the user has not made. If the user has made the first of
// a group, the whole group is left out.
func (d Drivers) wanted(own []string) (out []Entry) {
	has := func(s Setting) bool { return slices.Contains(own, s.entry().Name()) }
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
// it is not wanted.
func include(old []byte, wanted bool) ([]byte, error) {
	before, err := Entries(old)
	if err != nil {
		return nil, err
	}
	next := withoutInclude(old)
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
	// Keys before the first section would become part of our section, and keys that were added
	// to our section would lose it.
	if isOurs := func(e Entry) bool { return e == includeEntry }; !slices.Equal(slices.DeleteFunc(before, isOurs), slices.DeleteFunc(after, isOurs)) {
		if wanted {
			return nil, errors.New("tape cannot add its section to .git/config: keys before the first section would become part of it; put them into a section")
		}
		return old, nil // the include stays; its file is removed next
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

// Damage says why git reads nothing of the repository's own configuration, nil if it reads it or there is none.
func (c *Config) Damage() error {
	raw, err := ReadFile(c.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return Damage(raw)
}

// Damage says the same of the content of a file.
func Damage(raw []byte) error {
	entries, err := Entries(raw)
	for _, e := range entries {
		if !e.IsVersion() {
			continue
		}
		if _, numErr := strconv.Atoi(e.Value); numErr != nil {
			err = errors.Join(err, fmt.Errorf("core.repositoryformatversion is %q, which is no number", e.Value))
		}
	}
	return err
}

// IsVersion reports whether an entry says which version the repository's format has.
func (e Entry) IsVersion() bool { return e.Section == "core" && e.Key == "repositoryformatversion" }

// Quote returns a value in a form from which git reads the same value, whatever it contains.
func Quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

func (d Drivers) blockBegin() string { return "# begin: " + d.Mark }
func (d Drivers) blockEnd() string   { return "# end: " + d.Mark }

// addPatterns puts the drivers' block at the beginning of the attributes.
func (d Drivers) addPatterns(old []byte) []byte {
	rest, _ := d.withoutPatterns(old)
	var next []byte
	if bytes.HasPrefix(rest, []byte(bom)) {
		next, rest = append(next, bom...), rest[len(bom):]
	}
	next = append(next, d.blockBegin()+"\n"...)
	for _, p := range d.Patterns {
		next = append(next, p.Glob+" "+strings.Join(p.Attributes, " ")+"\n"...)
	}
	next = append(next, d.blockEnd()+"\n"...)
	return append(next, rest...)
}

// withoutPatterns removes the block, and returns the patterns that were in it. Lines that
// somebody put into the block stay.
func (d Drivers) withoutPatterns(old []byte) (rest []byte, patterns []string) {
	inside := false
	old, hasBOM := bytes.CutPrefix(old, []byte(bom))
	for line := range bytes.Lines(old) {
		text := strings.TrimRight(string(line), " \t\r\n")
		pattern, attributes, _ := strings.Cut(text, " ")
		// An older version wrote fewer attributes.
		ours := slices.ContainsFunc(d.Patterns, func(p Pattern) bool {
			return p.Glob == pattern && strings.HasPrefix(strings.Join(p.Attributes, " "), attributes)
		})
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
