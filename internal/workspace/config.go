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
	"tape/internal/disk"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/secrets"
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

// Config is what config.json sets for one workspace.
type Config struct {
	Tape    string       // the current tape
	Commit  CommitPolicy // when to commit besides handoffs
	MaxLine int          // longest entry line, in bytes
	Redact  Redaction    // what is done with secrets in new entries
	Allowed []string     // fingerprints of what looks like a secret, and is none

	Scanner  func() *secrets.Scanner    // made when it is first needed
	previous string                     // the current tape before this one
	agent    map[string]json.RawMessage // settings of the agent, by name
	unknown  map[string]json.RawMessage // members of a newer program, kept
}

// configKeys are the settings that Store.Setting and Store.SetSetting know.
var configKeys = []string{"tape", "commit", "max_line", "redact", "allow_secret",
	"model", "fallback_models", "base_urls", "max_steps", "web_private", "plugins", "mcp_servers", "telegram"}

// keyPrevious is what the file has besides settings: a person switches, and back.
const keyPrevious = "previous_tape"

// ConfigKeys returns the names of all settings.
func ConfigKeys() []string { return slices.Clone(configKeys) }

func loadConfig(dir string) (Config, error) {
	path := filepath.Join(dir, layout.ConfigFile)
	c := Config{MaxLine: jsonl.DefaultMaxLine, Scanner: sync.OnceValue(secrets.New)}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil // a plain git clone has none; the defaults hold
	}
	if err != nil {
		return c, fmt.Errorf("read settings: %w", layout.Classify(err))
	}
	damaged := func(msg string) error {
		return &layout.CorruptError{File: path, Msg: msg, Fix: "correct the file, or delete it: it holds only settings"}
	}
	if err := json.Unmarshal(raw, &c.unknown); err != nil {
		return c, damaged("not a JSON object: " + err.Error())
	}
	for _, key := range configKeys {
		value, ok := c.unknown[key]
		if !ok {
			continue
		}
		text, err := string(value), error(nil)
		if !agentJSON(key) {
			text, err = settingText(value)
		}
		if err == nil {
			err = c.set(key, text)
		}
		if err != nil {
			return c, damaged(fmt.Sprintf("%q: %v", key, err))
		}
		delete(c.unknown, key)
	}
	if value, ok := c.unknown[keyPrevious]; ok {
		if c.previous, err = settingText(value); err != nil {
			return c, damaged(fmt.Sprintf("%q: %v", keyPrevious, err))
		}
		delete(c.unknown, keyPrevious)
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

// set changes one setting. If its value is refused, c is of no use any more.
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
	case "model", "fallback_models", "base_urls", "max_steps", "web_private", "plugins", "mcp_servers", "telegram":
		err = c.setAgent(key, value)
	default:
		_, err = c.get(key)
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
		return strings.Join(c.Allowed, listSeparator), nil
	case "model", "fallback_models", "base_urls", "max_steps", "web_private", "plugins", "mcp_servers", "telegram":
		return c.agentText(key)
	}
	return "", layout.Invalid("the settings are: "+strings.Join(configKeys, ", "), "there is no setting %q", key)
}

func (c *Config) save(d *disk.FS, dir string) error {
	all := map[string]any{"tape": c.Tape, "commit": c.Commit.String(), "max_line": c.MaxLine}
	for _, more := range []map[string]json.RawMessage{c.unknown, c.agent} {
		for key, value := range more {
			all[key] = value
		}
	}
	if c.Commit.Every > 0 {
		all["commit"] = c.Commit.Every
	}
	// What does nothing is not in the file.
	if c.previous != "" {
		all[keyPrevious] = c.previous
	}
	if c.Redact != RedactOff {
		all["redact"] = c.Redact.String()
	}
	if len(c.Allowed) > 0 {
		all["allow_secret"] = c.Allowed
	}
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return layout.Wrap(d.WriteFile(filepath.Join(dir, layout.ConfigFile), append(raw, '\n')), "write settings")
}
