package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// What a driver is in git's two files: pure functions from the old bytes to the new.
//
// In the configuration it is a section of its own at the end, each of whose lines ends
// in a comment with the mark. `git config` takes the comment away with the value that
// it replaces, so that a line with the mark is always one that the user has not touched.
//
// In the attributes it is a block at the beginning: of two lines about one file the
// later one wins, and that is to be the user's.

// unended is added to the mark where our section follows a line that had no newline.
const unended = ", after a line without an end"

func (d DiffDriver) settingName(key string) string { return "diff." + d.Name + "." + key }
func (d DiffDriver) header() string                { return `[diff "` + d.Name + `"]` }
func (d DiffDriver) comment() string               { return " # " + d.Mark }

// addSettings puts the driver's section into a configuration; all is what git's files
// of configuration say together.
func (d DiffDriver) addSettings(old []byte, all []configEntry) ([]byte, DiffSetup, error) {
	var out DiffSetup
	rest, section := d.withoutSettings(old)
	ours, err := configEntries(section)
	if err != nil {
		return nil, out, err
	}
	own := map[string]bool{} // the keys of the user
	for _, e := range all {
		if i := slices.Index(ours, e); i >= 0 {
			ours = slices.Delete(ours, i, i+1)
		} else if d.has(e) {
			if name := d.settingName(e.key); !slices.Contains(out.Kept, name) {
				out.Kept = append(out.Kept, name)
			}
			own[e.key] = true
		}
	}
	var lines []byte
	var added []configEntry
	for i, s := range d.Settings {
		if own[s.Key] && i == 0 {
			break
		}
		if !own[s.Key] {
			lines = append(lines, "\t"+s.Key+" = "+configQuote(s.Value)+d.comment()+"\n"...)
			added = append(added, configEntry{section: "diff", subsection: d.Name, key: strings.ToLower(s.Key), value: s.Value})
			out.Installed = append(out.Installed, d.settingName(s.Key))
		}
	}
	if _, present, _ := bytes.Cut(section, []byte("\n")); bytes.Equal(present, lines) {
		return old, out, nil
	}
	next := slices.Clone(rest)
	if len(lines) > 0 {
		head := d.header() + d.comment()
		if len(rest) > 0 && rest[len(rest)-1] != '\n' {
			head = "\n" + head + unended
		}
		next = append(append(next, head+"\n"...), lines...)
	}
	return next, out, d.checkEdit(old, next, added)
}

func (d DiffDriver) has(e configEntry) bool { return e.section == "diff" && e.subsection == d.Name }

// checkEdit makes sure that git will read from an edited configuration what it read
// before: the same of everything else, and of the driver what the user wrote and added.
func (d DiffDriver) checkEdit(old, next []byte, added []configEntry) error {
	before, err := configEntries(old)
	if err != nil {
		return err
	}
	after, err := configEntries(next)
	if err != nil {
		return err
	}
	_, section := d.withoutSettings(old)
	ours, err := configEntries(section)
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

func configEntries(raw []byte) (out []configEntry, err error) {
	if err := parseConfig(raw, func(e configEntry) { out = append(out, e) }); err != nil {
		return nil, fmt.Errorf("read the repository's configuration: %w", err)
	}
	return out, nil
}

// configQuote writes a value so that git reads it back whatever is in it.
func configQuote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}

// withoutSettings cuts the driver's section out of a configuration: its header and every
// line that has the mark. Keys that were added to the section stay, below a header
// without the mark.
func (d DiffDriver) withoutSettings(old []byte) (rest, section []byte) {
	inside, kept, joined, headerAt := false, false, false, 0
	// leave ends our section, whose header is needed only by what stays of it.
	leave := func() {
		if inside && kept {
			rest = slices.Insert(rest, headerAt, []byte(d.header()+"\n")...)
		}
		inside, kept = false, false
	}
	for line := range bytes.Lines(old) {
		text := strings.TrimRight(string(line), " \t\r\n")
		switch {
		case text == d.header()+d.comment() || text == d.header()+d.comment()+unended:
			leave()
			inside, headerAt, joined = true, len(rest), strings.HasSuffix(text, unended)
			if section == nil {
				section = append(section, text+"\n"...)
			}
			continue
		case strings.HasPrefix(strings.TrimLeft(text, " \t"), "["):
			leave()
		case inside && strings.HasSuffix(text, d.comment()):
			section = append(section, line...)
			continue
		case inside && text != "":
			kept = true
		}
		rest = append(rest, line...)
	}
	if joined && !kept && headerAt == len(rest) {
		rest = bytes.TrimSuffix(rest, []byte("\n"))
	}
	leave()
	return rest, section
}

func (d DiffDriver) blockBegin() string { return "# begin: " + d.Mark }
func (d DiffDriver) blockEnd() string   { return "# end: " + d.Mark }

// addPatterns puts the driver's block at the beginning of the attributes.
func (d DiffDriver) addPatterns(old []byte) ([]byte, DiffSetup) {
	const bom = "\ufeff" // git passes over it, at the beginning only
	rest, _ := d.withoutPatterns(old)
	out := DiffSetup{Installed: slices.Clone(d.Patterns)}
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

func (d DiffDriver) patternLine(pattern string) string { return pattern + " diff=" + d.Name }

// withoutPatterns cuts the block out, and names the patterns that were in it. Lines that
// somebody put into the block stay.
func (d DiffDriver) withoutPatterns(old []byte) (rest []byte, patterns []string) {
	inside := false
	bom := bytes.HasPrefix(old, []byte("\ufeff"))
	if bom {
		old = old[len("\ufeff"):]
	}
	for line := range bytes.Lines(old) {
		text := strings.TrimRight(string(line), " \t\r\n")
		i := slices.IndexFunc(d.Patterns, func(p string) bool { return d.patternLine(p) == text })
		switch {
		case text == d.blockBegin():
			inside = true
		case inside && text == d.blockEnd():
			inside = false
		case inside && i >= 0:
			patterns = append(patterns, d.Patterns[i])
		default:
			rest = append(rest, line...)
		}
	}
	if bom {
		rest = append([]byte("\ufeff"), rest...)
	}
	return rest, patterns
}

// concerns reports whether a line of attributes says how a file of the driver's is shown.
func (d DiffDriver) concerns(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 2 || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "[attr]") {
		return false
	}
	shown := slices.ContainsFunc(fields[1:], func(attr string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(attr, "-!"), "=")
		return name == "diff" || name == "binary"
	})
	pattern := strings.Trim(fields[0], `"`)
	return shown && slices.ContainsFunc(d.Samples, func(name string) bool {
		if !strings.Contains(pattern, "/") {
			name = path.Base(name)
		}
		return matchPath(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
	})
}
