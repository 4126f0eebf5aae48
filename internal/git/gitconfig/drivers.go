package gitconfig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"tape/internal/git/gitlock"
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
	Mark       string   // stands in a comment at what was written
}

// Setting is one value of git's configuration: section.key, or section.subsection.key.
type Setting struct{ Name, Value string }

// DriverSetup names what of the drivers is in effect: settings and patterns.
type DriverSetup struct {
	Installed []string
	Kept      []string // the user's own, which were found and go before ours
}

// InstallDrivers writes settings into a file of ours that the repository's configuration
// includes, and patterns into .git/info/attributes, where worktrees find them, too. What the
// user has set himself, in any of git's files of configuration or for these files in
// info/attributes, is kept. All other bytes of both files stay. What is in place is not
// written again, and what an older version wrote under the same mark is replaced.
func (c *Config) InstallDrivers(ctx context.Context, d Drivers) (DriverSetup, error) {
	var out, attributes DriverSetup
	err := c.locks.Edit(ctx, c.Guard(), c.OwnPath(), func([]byte) (content []byte, err error) {
		raw, err := os.ReadFile(c.Path())
		if err == nil {
			_, err = d.include(raw, true) // before anything is written
		}
		users, _ := d.withoutFormer(raw)
		content, out = d.settings(c.fresh(append([]byte{}, withoutInclude(users)...)))
		return content, err
	})
	if err == nil {
		err = c.Edit(ctx, func(old []byte) ([]byte, error) {
			_, missing := os.Stat(c.OwnPath()) // all settings are the user's own
			return d.include(old, missing == nil)
		})
	}
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
	var former []byte
	if err == nil {
		err = c.Edit(ctx, func(old []byte) ([]byte, error) {
			_, former = d.withoutFormer(old)
			return d.include(old, false)
		})
	}
	if err == nil {
		err = c.locks.Edit(ctx, c.Guard(), c.OwnPath(), func(old []byte) ([]byte, error) {
			ours, err := Entries(append(former, old...))
			removed = nil
			for _, e := range ours {
				removed = append(removed, e.name())
			}
			return nil, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("remove git's drivers: %w", err)
	}
	return append(removed, patterns...), nil
}

// HasFormerDrivers reports settings that the former version wrote, line by line, into the
// repository's own file of configuration.
func (c *Config) HasFormerDrivers(d Drivers) bool {
	raw, _ := os.ReadFile(c.Path())
	_, former := d.withoutFormer(raw)
	return len(former) > 0
}

// Guard is held by whoever changes the configuration, or the attributes.
func (c *Config) Guard() string { return filepath.Join(c.gitDir, gitlock.OwnDir, "config.lock") }

// Path is the repository's own file of configuration.
func (c *Config) Path() string { return filepath.Join(c.gitDir, "config") }

// AttributesPath is the file of attributes that git shares with nobody.
func (c *Config) AttributesPath() string { return filepath.Join(c.gitDir, "info", "attributes") }

// ownFile is in our folder.
const ownFile = "gitconfig"

// OwnPath is the file of our settings, which the repository's own file includes.
func (c *Config) OwnPath() string { return filepath.Join(c.gitDir, gitlock.OwnDir, ownFile) }

// Fresh is all configuration as it is now.
func (c *Config) Fresh() []Entry { return c.fresh(nil) }

// fresh is all configuration, with own instead of the repository's own file unless it is nil.
func (c *Config) fresh(own []byte) []Entry {
	l := configLoader{gitDir: c.gitDir, home: HomeDir(), own: own, owner: c.Own}
	l.load()
	return l.entries
}

// Edit changes the repository's own file of configuration. edit may run more than once.
func (c *Config) Edit(ctx context.Context, edit func(old []byte) ([]byte, error)) error {
	return c.locks.Edit(ctx, c.Guard(), c.Path(), edit)
}
