package gitconfig

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"tape/internal/git/gitlock"
)

// Initial is the configuration of a new repository. It overrides global settings that would
// break the format: line endings, index versions that only git can read, and automatic gc,
// which would start while we write. Modes of files say nothing: a shared or foreign disk has its own.
func Initial() string {
	lines := []string{
		"[core]",
		"\trepositoryformatversion = 0",
		"\tfilemode = false",
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

// Bytes are attributes by which git changes neither line ends nor anything else of a file, whatever core.autocrlf
// and the user's own attributes say.
const Bytes = "* -text -filter -ident !working-tree-encoding\n"

// KeepBytes adds Bytes to the repository's own attributes, unless they are there.
func (c *Config) KeepBytes(ctx context.Context) error {
	return c.locks.Edit(ctx, c.Guard(), c.AttributesPath(), func(old []byte) ([]byte, error) {
		if bytes.Contains(old, []byte(Bytes)) {
			return old, nil
		}
		return append([]byte(Bytes), bytes.TrimPrefix(old, []byte(bom))...), nil
	})
}

// Drivers say how git treats some files of a repository: through programs that make text
// of them or merge them (gitattributes(5), "Performing text diffs of binary files" and
// "Defining a custom merge driver"), and through plain settings.
type Drivers struct {
	// Settings come in groups: if the user has set the first of a group, the others have no
	// meaning, and are left out.
	Settings [][]Setting
	Patterns []Pattern
	Mark     string // a comment that identifies what was written
}

// Pattern gives attributes, as in diff=name, to the files that match a glob of gitattributes(5).
type Pattern struct {
	Glob       string
	Attributes []string
}

// Setting is one value of git's configuration: section.key, or section.subsection.key.
type Setting struct{ Name, Value string }

// DriverSetup names the settings and patterns of the drivers that are in effect.
type DriverSetup struct {
	Installed []string
	Kept      []string // the user's own, which take precedence over ours
}

// InstallDrivers writes settings into a file of ours that the repository's configuration
// includes, and patterns into .git/info/attributes, where worktrees find them, too. The
// user's own settings and attributes take precedence. All other bytes of both files stay. What
// is in place is not written again, and what an older version wrote under the same mark is
// replaced.
func (c *Config) InstallDrivers(ctx context.Context, d Drivers) (DriverSetup, error) {
	var out DriverSetup
	err := c.locks.Edit(ctx, c.Guard(), c.OwnPath(), func([]byte) (content []byte, err error) {
		raw, err := os.ReadFile(c.Path())
		if err == nil {
			_, err = include(raw, true) // before anything is written
		}
		content, out = d.settings(c.fresh(append([]byte{}, withoutInclude(raw)...)))
		return content, err
	})
	if err == nil {
		err = c.Edit(ctx, func(old []byte) ([]byte, error) {
			_, missing := os.Stat(c.OwnPath()) // the file is missing if all settings are the user's own
			return include(old, missing == nil)
		})
	}
	if err == nil {
		err = c.locks.Edit(ctx, c.Guard(), c.AttributesPath(), func(old []byte) ([]byte, error) { return d.addPatterns(old), nil })
	}
	if err != nil {
		return DriverSetup{}, fmt.Errorf("set up git's drivers: %w", err)
	}
	for _, p := range d.Patterns {
		out.Installed = append(out.Installed, p.Glob)
	}
	return out, nil
}

// RemoveDrivers removes what InstallDrivers wrote, and nothing else, and returns what it
// removed. If somebody has added keys below the include, the include stays without its file.
func (c *Config) RemoveDrivers(ctx context.Context, d Drivers) (removed []string, err error) {
	var patterns []string
	err = c.locks.Edit(ctx, c.Guard(), c.AttributesPath(), func(old []byte) (rest []byte, err error) {
		rest, patterns = d.withoutPatterns(old)
		return rest, nil
	})
	if err == nil {
		err = c.Edit(ctx, func(old []byte) ([]byte, error) { return include(old, false) })
	}
	if err == nil {
		err = c.locks.Edit(ctx, c.Guard(), c.OwnPath(), func(old []byte) ([]byte, error) {
			ours, err := Entries(old)
			removed = nil
			for _, e := range ours {
				removed = append(removed, e.Name())
			}
			return nil, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("remove git's drivers: %w", err)
	}
	return append(removed, patterns...), nil
}

// Guard is the lock that must be held to change the configuration or the attributes.
func (c *Config) Guard() string { return filepath.Join(c.gitDir, gitlock.OwnDir, "config.lock") }

// Path is the path of the repository's own configuration file.
func (c *Config) Path() string { return filepath.Join(c.gitDir, "config") }

// AttributesPath is the path of .git/info/attributes, which clones do not get.
func (c *Config) AttributesPath() string { return filepath.Join(c.gitDir, "info", "attributes") }

// ownFile is the name of our file of settings, in our folder.
const ownFile = "gitconfig"

// OwnPath is the path of our file of settings, which the repository's own file includes.
func (c *Config) OwnPath() string { return filepath.Join(c.gitDir, gitlock.OwnDir, ownFile) }

// ReadAll reads all configuration as it is now, and leaves out what cannot be read.
func (c *Config) ReadAll() []Entry { return c.fresh(nil) }

// fresh reads all configuration. Unless config is nil, it is used instead of the repository's own file.
func (c *Config) fresh(config []byte) []Entry {
	l := configLoader{gitDir: c.gitDir, home: HomeDir(), config: config, owner: c.Own}
	l.load()
	return l.entries
}

// Edit changes the repository's own configuration file. edit may run more than once.
func (c *Config) Edit(ctx context.Context, edit func(old []byte) ([]byte, error)) error {
	return c.locks.Edit(ctx, c.Guard(), c.Path(), edit)
}
