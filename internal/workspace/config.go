package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"tape/internal/disk"
	"tape/internal/layout"
)

// CommitPolicy says when entries are committed besides handoffs.
type CommitPolicy struct {
	Turn  bool // before each user message: every commit ends with a whole turn
	Every int  // after each N entries; 0: off
}

// String writes the policy as config.json has it: handoff, turn or a number.
func (p CommitPolicy) String() string {
	switch {
	case p.Turn:
		return "turn"
	case p.Every > 0:
		return strconv.Itoa(p.Every)
	}
	return "handoff"
}

// ParseCommitPolicy reads handoff, turn, or the N of "every N entries".
func ParseCommitPolicy(s string) (CommitPolicy, error) {
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

// Config is what config.json sets for one workspace.
type Config struct {
	Tape    string       // the current tape
	Commit  CommitPolicy // when to commit besides handoffs
	MaxLine int          // longest entry line, in bytes
	Redact  Redaction    // what is done with secrets in new entries
	Allowed []string     // fingerprints of what looks like a secret, and is none

	Scanner *lazyScanner
	unknown map[string]json.RawMessage // members of a newer program, kept
}

// configKeys are the settings that Store.Setting and Store.SetSetting know.
var configKeys = []string{"tape", "commit", "max_line", "redact", "allow_secret"}

// ConfigKeys returns the names of all settings.
func ConfigKeys() []string { return slices.Clone(configKeys) }

func loadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, layout.ConfigFile)
	c := Config{MaxLine: layout.DefaultMaxLine, Scanner: new(lazyScanner)}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil // a plain git clone has none; the defaults hold
	}
	if err != nil {
		return c, fmt.Errorf("read settings: %w", layout.Classify(err))
	}
	damaged := func(msg string) error {
		return &layout.CorruptError{File: path, Msg: msg, Fix: "mend the file, or delete it: it holds nothing but settings"}
	}
	if err := json.Unmarshal(raw, &c.unknown); err != nil {
		return c, damaged("not a JSON object: " + err.Error())
	}
	for _, key := range configKeys {
		value, ok := c.unknown[key]
		if !ok {
			continue
		}
		text, err := settingText(value)
		if err != nil {
			return c, damaged(fmt.Sprintf("%q: %v", key, err))
		}
		if err := c.set(key, text); err != nil {
			return c, damaged(fmt.Sprintf("%q: %v", key, err))
		}
		delete(c.unknown, key)
	}
	return c, nil
}

// settingText is how a value in the file is written elsewhere: a list with commas.
func settingText(value json.RawMessage) (text string, err error) {
	switch value[0] {
	case '"':
		err = json.Unmarshal(value, &text)
	case '[':
		var list []string
		err = json.Unmarshal(value, &list)
		text = strings.Join(list, listSeparator)
	default:
		text = string(value)
	}
	return text, err
}

const listSeparator = ","

// set changes one setting after checking its value.
func (c *Config) set(key, value string) error {
	switch key {
	case "tape":
		if err := layout.CheckName("the current tape", value); err != nil {
			return err
		}
		c.Tape = value
	case "commit":
		p, err := ParseCommitPolicy(value)
		if err != nil {
			return err
		}
		c.Commit = p
	case "max_line":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1<<10 || n > 128<<20 {
			return layout.Invalid("", "max_line is a number of bytes from 1024 to %d, not %q", 128<<20, value)
		}
		c.MaxLine = n
	case "redact":
		r, err := ParseRedaction(value)
		if err != nil {
			return err
		}
		c.Redact = r
	case "allow_secret":
		list, err := parseFingerprints(value)
		if err != nil {
			return err
		}
		c.Allowed = list
	default:
		return layout.Invalid("the settings are: "+strings.Join(configKeys, ", "), "there is no setting %q", key)
	}
	return nil
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
		return strings.Join(c.Allowed, listSeparator), nil
	}
	return "", layout.Invalid("the settings are: "+strings.Join(configKeys, ", "), "there is no setting %q", key)
}

func (c *Config) save(d *disk.FS, dir string) error {
	all := maps.Clone(c.unknown)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for _, key := range configKeys {
		value, err := c.get(key)
		if err != nil {
			return err
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return err
		}
		switch {
		case key == "redact" && c.Redact == RedactOff, key == "allow_secret" && len(c.Allowed) == 0:
			delete(all, key) // what does nothing is not in the file
			continue
		case key == "allow_secret":
			raw, err = json.Marshal(c.Allowed)
		case key == "commit" && c.Commit.Every > 0, key == "max_line":
			raw = []byte(value)
		}
		if err != nil {
			return err
		}
		all[key] = raw
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := d.WriteFile(filepath.Join(dir, layout.ConfigFile), append(raw, '\n')); err != nil {
		return fmt.Errorf("write settings: %w", layout.Classify(err))
	}
	return nil
}
