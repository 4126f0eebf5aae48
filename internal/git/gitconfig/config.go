// Package gitconfig reads git's configuration as git does, says who commits, and sets up how git
// treats some files, without changing the user's settings.
package gitconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tape/internal/git/gitlock"
)

// Config is the configuration of a repository, as it was at its first use. Its methods may be
// called from several goroutines.
type Config struct {
	gitDir string
	locks  gitlock.Locks
	own    func(gitDir string) bool // whether all settings of the repository count; nil: no
	report func(names []string)     // gets what Ignored returns; may be nil

	once    sync.Once
	entries []Entry
	ignored []string // see Ignored
	err     error

	person func() []Entry // what counts for the identity, see ForProject
}

// Ignored names the settings of the repository that are overridden because it is not the user's own: those with
// the verdict [Overridden].
func (c *Config) Ignored() []string {
	_, _ = c.Load()
	return slices.Clone(c.ignored)
}

// New returns the configuration of the repository whose .git folder is gitDir. own reports whether that folder is
// the user's own, and is called only when that matters; nil means no. report, unless nil, is called with the
// names that [Config.Ignored] returns, if there are any.
func New(gitDir string, locks gitlock.Locks, own func(gitDir string) bool, report func(names []string)) *Config {
	c := &Config{gitDir: gitDir, locks: locks, own: own, report: report}
	c.ForProject(nil)
	return c
}

// ForProject says whose work the repository records: project returns the .git folder of another repository, or "".
// Who commits, and how commits are signed, then follows from the settings of the user that count there or here, and
// from the name and address that are set there. What is set here, or in the environment, takes precedence.
func (c *Config) ForProject(project func() string) {
	c.person = sync.OnceValue(func() []Entry {
		entries, _ := c.Load()
		if project == nil {
			return entries
		}
		dir := project()
		if dir == "" {
			return entries
		}
		l := configLoader{gitDir: c.gitDir, project: dir, home: HomeDir(), owner: c.Own}
		l.load()
		return l.entries
	})
}

// Entry is one line of configuration. Section and key are in lower case, because git ignores
// their case; a subsection is as written.
type Entry struct {
	Section, Subsection, Key string
	Value                    string // "true" for a key without "="
	Local                    bool   // from the repository's own files
}

// maxIncludes bounds the depth of include.path, as git does.
const maxIncludes = 10

// maxFiles bounds the number of files that are read: files may include each other.
const maxFiles = 100

// Value returns the value that git's configuration gives to section.subsection.key (subsection
// may be empty). The last one wins, in git's order: system, user, repository, worktree of the
// main working tree, GIT_CONFIG_COUNT, the options -c of a git that has started us. In a repository that is not the user's own, only the
// harmless ones of its own settings count ([Judge]). The files are read once. Files that are
// missing, or that the user may not read, have no values. Of a file that cannot be parsed, the
// values before the error count; [Config.Load] and [Config.Identity] report the file.
//
// include.path and includeIf are followed, in somebody else's repository only ours.
func (c *Config) Value(section, subsection, key string) (string, bool) {
	entries, _ := c.Load()
	return lookup(entries, strings.ToLower(section), subsection, strings.ToLower(key))
}

func lookup(entries []Entry, section, subsection, key string) (string, bool) {
	for _, e := range slices.Backward(entries) {
		if e.Key == key && e.Section == section && e.Subsection == subsection {
			return e.Value, true
		}
	}
	return "", false
}

// ForUser returns the value as the git that the user runs sees it: all settings count. Each call reads the files.
func (c *Config) ForUser(section, subsection, key string) (string, bool) {
	l := configLoader{gitDir: c.gitDir, home: HomeDir(), owner: func() bool { return true }}
	l.load()
	return lookup(l.entries, strings.ToLower(section), subsection, strings.ToLower(key))
}

// Bool returns a boolean; false if the value is missing or invalid.
func (c *Config) Bool(section, subsection, key string) bool {
	v, _ := c.Value(section, subsection, key)
	return configTrue(v)
}

func configTrue(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(v)
	return err == nil && n != 0
}

// Load returns all settings that count and can be read, and an error about the rest. A file that is
// missing, or that the user may not read, is no error.
func (c *Config) Load() ([]Entry, error) {
	c.once.Do(func() {
		l := configLoader{gitDir: c.gitDir, home: HomeDir(), owner: c.Own}
		l.load()
		c.entries, c.ignored, c.err = l.entries, l.ignored, errors.Join(l.errs...)
		if len(l.ignored) > 0 && c.report != nil {
			c.report(l.ignored)
		}
	})
	return c.entries, c.err
}

// HomeDir is the user's home, or "". Like git, it uses HOME on every system.
func HomeDir() string {
	home, _ := os.UserHomeDir() // "" with an error
	return cmp.Or(os.Getenv("HOME"), home)
}

// configLoader reads configuration files in order of precedence, weakest first.
type configLoader struct {
	gitDir, home string
	project      string      // the .git folder of another repository whose conditions count, too; or ""
	urls         *[]string   // of the remotes, for hasconfig:; nil: not read yet
	noURLs       bool        // hasconfig: counts as not met
	config       []byte      // used instead of the repository's config file, unless nil
	owner        func() bool // whether the repository is the user's own
	local        bool        // the files that are read now are the repository's
	ignored      []string    // see Config.Ignored
	files        int         // how many were read
	entries      []Entry
	errs         []error
}

func (l *configLoader) load() {
	if !configTrue(os.Getenv("GIT_CONFIG_NOSYSTEM")) {
		system := "/etc/gitconfig"
		if p, ok := os.LookupEnv("GIT_CONFIG_SYSTEM"); ok {
			system = p
		}
		l.file(system, 0)
	}
	if global, ok := os.LookupEnv("GIT_CONFIG_GLOBAL"); ok {
		l.file(global, 0)
	} else {
		if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
			l.file(filepath.Join(dir, "git", "config"), 0)
		} else if l.home != "" {
			l.file(filepath.Join(l.home, ".config", "git", "config"), 0)
		}
		if l.home != "" {
			l.file(filepath.Join(l.home, ".gitconfig"), 0)
		}
	}
	if l.project != "" {
		l.personOf(l.project)
	}
	l.local = true
	if path := filepath.Join(l.gitDir, "config"); l.config != nil {
		l.parse(path, l.config, 0)
	} else {
		l.file(path, 0)
	}
	if v, _ := lookup(l.entries, "extensions", "", "worktreeconfig"); configTrue(v) {
		l.file(filepath.Join(l.gitDir, "config.worktree"), 0)
	}
	l.local = false
	if kept, names := dropIgnored(l.entries); len(kept) < len(l.entries) && !l.owner() {
		l.entries, l.ignored = kept, names
	}
	l.environment()
}

// personOf adds the name and address that a repository's own file sets. Nothing else of it counts.
func (l *configLoader) personOf(gitDir string) {
	raw, err := ReadFile(filepath.Join(gitDir, "config"))
	if err != nil {
		return
	}
	entries, _ := Entries(raw)
	for _, e := range entries {
		if slices.Contains([]string{"user", "author", "committer"}, e.Section) && (e.Key == "name" || e.Key == "email") {
			l.entries = append(l.entries, e)
		}
	}
}

// environment adds GIT_CONFIG_KEY_<n> and GIT_CONFIG_VALUE_<n>, then what git hands on of its options -c.
func (l *configLoader) environment() {
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	for i := range min(n, 1000) {
		n := strconv.Itoa(i)
		l.setting(os.Getenv("GIT_CONFIG_KEY_"+n), os.Getenv("GIT_CONFIG_VALUE_"+n))
	}
	for name, value := range parameters(os.Getenv("GIT_CONFIG_PARAMETERS")) {
		l.setting(name, value)
	}
}

func (l *configLoader) setting(name, value string) {
	if strings.Contains(name, ".") {
		l.entries = append(l.entries, Setting{name, value}.entry())
	}
}

// file adds the settings of one file. The file may be missing, or unreadable as in a sandbox.
func (l *configLoader) file(name string, depth int) {
	if name == "" {
		return
	}
	read := os.ReadFile
	if l.local {
		read = ReadFile
	}
	raw, err := read(name)
	if err != nil {
		if st, serr := os.Stat(name); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && serr == nil && !st.IsDir() {
			l.errs = append(l.errs, fmt.Errorf("read git configuration: %w", err))
		}
		return
	}
	if l.files++; l.files > maxFiles {
		l.errs = append(l.errs, fmt.Errorf("read git configuration: more than %d files are included", maxFiles))
		return
	}
	l.parse(name, raw, depth)
}

func (l *configLoader) parse(name string, raw []byte, depth int) {
	err := parse(raw, func(e Entry) {
		e.Local = l.local
		l.entries = append(l.entries, e)
		if target := l.included(name, e); target != "" && depth < maxIncludes {
			l.file(target, depth+1)
		}
	})
	if err != nil {
		l.errs = append(l.errs, fmt.Errorf("read git configuration %s: %w", name, err))
	}
}

// included returns the path of the file that an entry includes, or "". name is the file with the entry.
func (l *configLoader) included(name string, e Entry) string {
	if e.Key != "path" || e.Value == "" {
		return ""
	}
	switch {
	case e.Section == "include" && e.Subsection == "":
	case e.Section == "includeif" && l.conditionMet(name, e.Subsection):
	default:
		return ""
	}
	if l.local && !e.isOurInclude() && !l.owner() {
		return ""
	}
	target := ExpandHome(e.Value, l.home)
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return target
}

// matchPath reports whether a path matches a pattern, part by part; "**" stands for any number of parts.
func matchPath(pattern, parts []string) bool {
	switch {
	case len(pattern) == 0:
		return len(parts) == 0
	case pattern[0] == "**" && matchPath(pattern[1:], parts):
		return true
	case len(parts) == 0:
		return false
	case pattern[0] == "**":
		return matchPath(pattern, parts[1:])
	}
	ok, err := path.Match(pattern[0], parts[0])
	return err == nil && ok && matchPath(pattern[1:], parts[1:])
}

// ExpandHome resolves a leading "~/".
func ExpandHome(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && home != "" {
		return strings.TrimSuffix(filepath.ToSlash(home), "/") + "/" + rest
	}
	return p
}
