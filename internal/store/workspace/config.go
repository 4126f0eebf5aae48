package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/setting"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// CommitPolicy says when entries are committed, besides at handoffs.
type CommitPolicy struct {
	Turn  bool // before each user message, so that every commit ends with a complete turn
	Every int  // after each N entries; 0: off
}

// String returns the policy as in config.json: handoff, turn or a number.
func (p CommitPolicy) String() string {
	switch {
	case p.Turn:
		return "turn"
	case p.Every > 0:
		return strconv.Itoa(p.Every)
	}
	return "handoff"
}

func parseCommitPolicy(s string) (CommitPolicy, error) {
	switch s {
	case "", "handoff":
		return CommitPolicy{}, nil
	case "turn":
		return CommitPolicy{Turn: true}, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(s, "every "), " entries"))
	if err != nil || n < 1 {
		return CommitPolicy{}, layout.Invalid("use handoff, turn, or a number of entries", "%q is not a commit policy", s)
	}
	return CommitPolicy{Every: n}, nil
}

// Config holds the settings that describe a workspace's data. They are in .git/tape/config.json, which
// no clone copies. Settings that run or send something are the user's: see userconfig.go.
type Config struct {
	Tape    string       // the current tape
	Commit  CommitPolicy // when to commit besides handoffs
	MaxLine int          // longest entry line, in bytes
	Redact  Redaction    // what to do with secrets in new entries
	Allowed []string     // fingerprints of false positives

	Scanner  func() *secrets.Scanner    // built on first use
	previous string                     // the tape that was current before Tape
	unknown  map[string]json.RawMessage // members of a newer version, which stay in the file
}

// dataKeys are the settings in Config.
var dataKeys = []string{"tape", "commit", "max_line", "redact", "allow_secret"}

// keyPrevious is a member of the file that is no setting: the tape to switch back to.
const keyPrevious = "previous_tape"

// ConfigKeys returns the names of all settings.
func ConfigKeys() []string { return slices.Concat(dataKeys, setting.Keys) }

func defaults() Config {
	return Config{MaxLine: jsonl.DefaultMaxLine, Scanner: sync.OnceValue(secrets.New)}
}

// readConfig reads the settings from a file. Those that it lacks, or all if it is missing, are the defaults.
func readConfig(path string) (c Config, err error) {
	c = defaults()
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if st, statErr := os.Stat(filepath.Dir(path)); err != nil && statErr == nil && !st.IsDir() {
		return c, displacedSettings(filepath.Dir(path), "not a folder")
	}
	if st, statErr := os.Lstat(path); err != nil && statErr == nil && !st.Mode().IsRegular() {
		return c, displacedSettings(path, "not a plain file")
	}
	if err != nil {
		return c, fmt.Errorf("read settings: %w", layout.Classify(err))
	}
	if err := json.Unmarshal(raw, &c.unknown); err != nil {
		return c, damagedSettings(path, "not a JSON object: "+err.Error())
	}
	return c, c.parseKnown(path)
}

// displacedSettings is the error for something else in the place of the settings. The hint is a command.
func displacedSettings(path, msg string) error {
	return &layout.CorruptError{File: path, Msg: msg, Fix: "mv " + layout.ShellWord(path) + " " + layout.ShellWord(path+".displaced") + ", and then set again what was set"}
}

func damagedSettings(path, msg string) error {
	return &layout.CorruptError{File: path, Msg: msg, Fix: "correct the file, or delete it: it holds only settings"}
}

// parseKnown moves the members that this version knows from c.unknown into c.
func (c *Config) parseKnown(path string) (err error) {
	for _, key := range slices.Concat(dataKeys, []string{keyPrevious}) {
		value, ok := c.unknown[key]
		if !ok {
			continue
		}
		var text string
		switch key {
		case keyPrevious:
			c.previous, err = setting.Text(value)
		default:
			if text, err = setting.Text(value); err == nil {
				err = c.set(key, text)
			}
		}
		if err != nil {
			return damagedSettings(path, fmt.Sprintf("%q: %v", key, err))
		}
		delete(c.unknown, key)
	}
	return nil
}

// set changes one setting. After an error c must not be used.
func (c *Config) set(key, value string) (err error) {
	switch key {
	case "tape":
		c.Tape, err = value, layout.CheckName("the current tape", value)
	case "commit":
		c.Commit, err = parseCommitPolicy(value)
	case "max_line":
		if c.MaxLine, err = strconv.Atoi(value); err != nil || c.MaxLine < 1<<10 || c.MaxLine > 128<<20 {
			return layout.Invalid("", "max_line is a number of bytes from 1024 to %d, not %q", 128<<20, value)
		}
	case "redact":
		c.Redact, err = parseRedaction(value)
	case "allow_secret":
		c.Allowed, err = parseFingerprints(value)
	default:
		err = noSetting(key)
	}
	return err
}

func (c *Config) get(key string) (string, error) {
	switch key {
	case "tape":
		return c.Tape, nil
	case "commit":
		return c.Commit.String(), nil
	case "max_line":
		return strconv.Itoa(c.MaxLine), nil
	case "redact":
		return c.Redact.String(), nil
	case "allow_secret":
		return strings.Join(c.Allowed, setting.ListSeparator), nil
	}
	return "", noSetting(key)
}

func noSetting(key string) error {
	return layout.Invalid("the settings are: "+strings.Join(ConfigKeys(), ", "), "there is no setting %q", key)
}

func (c *Config) save(d *disk.FS, path string) error {
	all := map[string]any{"commit": c.Commit.String(), "max_line": c.MaxLine}
	for key, value := range c.unknown {
		all[key] = value
	}
	if c.Commit.Every > 0 {
		all["commit"] = c.Commit.Every
	}
	// The other settings are left out where they are defaults.
	if c.Tape != "" {
		all["tape"] = c.Tape
	}
	if c.previous != "" {
		all[keyPrevious] = c.previous
	}
	if c.Redact != RedactOff {
		all["redact"] = c.Redact.String()
	}
	if len(c.Allowed) > 0 {
		all["allow_secret"] = c.Allowed
	}
	return writeSettings(d, path, all)
}

func writeSettings[T any](d *disk.FS, path string, all map[string]T) error {
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return layout.Wrap(d.WriteFile(path, append(raw, '\n')), "write settings")
}
