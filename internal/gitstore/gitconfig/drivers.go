package gitconfig

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"tape/internal/gitstore/gitlock"
)

// Initial is the configuration of a new repository. What a user set globally
// and would break the format is overruled: line endings, index versions that only
// git can read, collections that start by themselves beside our writers.
func Initial() string {
	lines := []string{
		"[core]",
		"\trepositoryformatversion = 0",
		"\tfilemode = " + strconv.FormatBool(runtime.GOOS != "windows"),
		"\tbare = false",
		"\tlogallrefupdates = true",
		"\tfsync = all",
		"\tautocrlf = false",
		"\tquotepath = false",
		"\tsplitindex = false",
	}
	switch runtime.GOOS {
	case "darwin":
		lines = append(lines, "\tignorecase = true", "\tprecomposeunicode = true")
	case "windows":
		lines = append(lines, "\tignorecase = true", "\tsymlinks = false", "\tlongpaths = true")
	}
	lines = append(lines, "[index]", "\tversion = 2", "[gc]", "\tauto = 0", "[tag]", "\tsort = version:refname", "")
	return strings.Join(lines, "\n")
}

// Drivers say how git treats some files of a repository: through programs that make text
// of them or merge them (gitattributes(5), "Performing text diffs of binary files" and
// "Defining a custom merge driver"), and through plain settings.
type Drivers struct {
	// Settings come in groups: where the first of a group is the user's own, the others
	// mean nothing and are left out.
	Settings   [][]Setting
	Attributes []string // as in diff=name, of the files
	Patterns   []string // of the files, as attributes name them
	Samples    []string // paths of such files: attributes that match one concern them all
	Mark       string   // stands in a comment at what was written, so that it is found again
}

// Setting is one value of git's configuration, by its full name: section.key, or
// section.subsection.key.
type Setting struct{ Name, Value string }

// DriverSetup names what of the drivers is in effect: settings and patterns.
type DriverSetup struct {
	Installed []string
	Kept      []string // the user's own, which were found and go before ours
}

// InstallDrivers writes drivers into the repository's configuration and into
// .git/info/attributes, where worktrees find them, too. What the user has set himself, in
// any of git's files of configuration or for these files in info/attributes, is kept.
// All other bytes of both files stay. What is in place is not written again, and what an
// older version wrote under the same mark is replaced.
func (c *Config) InstallDrivers(ctx context.Context, d Drivers) (DriverSetup, error) {
	var out, attributes DriverSetup
	err := c.Edit(ctx, func(old []byte) (next []byte, err error) {
		next, out, err = d.addSettings(old, c.Fresh())
		return next, err
	})
	if err == nil {
		err = c.locks.Edit(ctx, c.Guard(), c.AttributesPath(), func(old []byte) (next []byte, err error) {
			next, attributes = d.addPatterns(old)
			return next, nil
		})
	}
	if err != nil {
		return DriverSetup{}, fmt.Errorf("set up git's drivers: %w", err)
	}
	out.Installed = append(out.Installed, attributes.Installed...)
	out.Kept = append(out.Kept, attributes.Kept...)
	return out, nil
}

// RemoveDrivers takes away what InstallDrivers wrote, nothing else, and names it.
func (c *Config) RemoveDrivers(ctx context.Context, d Drivers) (removed []string, err error) {
	var patterns []string
	err = c.locks.Edit(ctx, c.Guard(), c.AttributesPath(), func(old []byte) (rest []byte, err error) {
		rest, patterns = d.withoutPatterns(old)
		return rest, nil
	})
	if err == nil {
		err = c.Edit(ctx, func(old []byte) ([]byte, error) {
			rest, present := d.withoutSettings(old)
			ours, err := Entries(present)
			removed = nil
			for _, e := range ours {
				removed = append(removed, e.name())
			}
			if err == nil {
				err = d.checkEdit(old, rest, nil)
			}
			return rest, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("take away git's drivers: %w", err)
	}
	return append(removed, patterns...), nil
}

// Guard is held by whoever changes the configuration, or the attributes.
func (c *Config) Guard() string { return filepath.Join(c.gitDir, gitlock.OwnDir, "config.lock") }

// Path is the repository's own file of configuration.
func (c *Config) Path() string { return filepath.Join(c.gitDir, "config") }

// AttributesPath is the file of attributes that git shares with nobody.
func (c *Config) AttributesPath() string { return filepath.Join(c.gitDir, "info", "attributes") }

// Fresh is all configuration as it is now.
func (c *Config) Fresh() []Entry {
	l := configLoader{gitDir: c.gitDir, home: HomeDir()}
	l.load()
	return l.entries
}

// Edit changes the repository's own file of configuration. edit may run more than once.
func (c *Config) Edit(ctx context.Context, edit func(old []byte) ([]byte, error)) error {
	return c.locks.Edit(ctx, c.Guard(), c.Path(), edit)
}
