package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Former versions kept all settings in config.json in the working tree. The first command of
// this version moves them. Afterwards a config.json there is somebody's file.
//
// What runs or sends is moved without a question only below Home, in a workspace that the user's
// own tape has made. Of any other, the user is asked: until then it is kept aside in the
// member "former" of the new file, and nothing uses it.

// formerSettings are those of a config.json of a former version.
type formerSettings struct {
	config Config
	agent  map[string]json.RawMessage
	whole  bool // the file holds nothing else
}

func (s *Store) formerPath() string { return filepath.Join(s.dir, layout.ConfigFile) }

// hasPrivate reports whether tape has been here: there is .git/tape, which no clone carries.
func (s *Store) hasPrivate() bool {
	_, err := os.Stat(s.PrivatePath())
	return err == nil
}

// loadConfig reads the settings when a workspace is opened, or is being made, which isNew says.
// One that may only be read is read with its former settings.
func (s *Store) loadConfig(ctx context.Context, isNew bool) (Config, error) {
	c, found, err := readConfig(s.configPath())
	if found || err != nil {
		return c, err
	}
	if _, err := os.Lstat(s.formerPath()); err != nil {
		c, _, err = readConfig(s.configPath()) // it may have been moved just now
		return c, err
	}
	used := !isNew && s.hasPrivate() // before the lock makes it
	unlock, lockErr := s.LockPrivate(ctx, configLock)
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	if lockErr == nil {
		c, err = s.settle(used)
		err = errors.Join(err, unlock())
	} else {
		var old *formerSettings
		if c, found, err = readConfig(s.configPath()); !found && err == nil {
			if old, err = s.readFormer(used); old != nil {
				c = old.config
			}
		}
	}
	if err != nil && !errors.Is(err, layout.ErrCorrupt) {
		if !errors.Is(err, fs.ErrPermission) {
			s.warn("the settings of a former version stay in " + s.formerPath() + " for now: " + err.Error())
		}
		err = nil
	}
	return c, err
}

// settle reads the settings, and moves those of a former version. The lock of settings is
// held. Where they cannot be moved, there are settings beside the error.
func (s *Store) settle(used bool) (Config, error) {
	c, found, err := readConfig(s.configPath())
	if found || err != nil {
		return c, err
	}
	old, err := s.readFormer(used)
	if err != nil || old == nil {
		return c, err
	}
	return old.config, s.move(old)
}

// readFormer reads the config.json of a former version. What is none gives no settings, and
// nil if there is no such file. Former versions always wrote three members, and never
// committed the file: one that git has came from somebody else.
func (s *Store) readFormer(used bool) (*formerSettings, error) {
	path := s.formerPath()
	st, err := os.Lstat(path)
	if err != nil {
		return nil, nil
	}
	old := &formerSettings{config: defaults()}
	if !used || !st.Mode().IsRegular() || s.committed(layout.ConfigFile) {
		return old, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, layout.Wrap(err, "read settings")
	}
	c := defaults()
	if json.Unmarshal(raw, &c.unknown) != nil || c.unknown["tape"] == nil || c.unknown["commit"] == nil || c.unknown["max_line"] == nil {
		return old, nil
	}
	if string(c.unknown["tape"]) == `""` {
		delete(c.unknown, "tape")
	}
	delete(c.unknown, keyFormer)
	if err := c.take(path); err != nil {
		return nil, err
	}
	old.agent = map[string]json.RawMessage{}
	for _, key := range userKeys {
		if value := c.unknown[key]; value != nil {
			old.agent[key] = value
			delete(c.unknown, key)
		}
	}
	old.whole, c.unknown = len(c.unknown) == 0, nil
	old.config = c
	return old, nil
}

// committed reports whether a file is in the commit that is checked out.
func (s *Store) committed(name string) bool {
	_, h, err := s.git.Head(s.git.GitDir())
	if err != nil {
		return false
	}
	c, err := s.git.Commit(h)
	if err != nil {
		return false
	}
	tree, err := s.git.Tree(c.Tree)
	return err == nil && slices.ContainsFunc(tree, func(e gitstore.TreeEntry) bool { return e.Name == name })
}

// move writes former settings to where they are now. The old file goes last, so that nothing
// is lost in between.
func (s *Store) move(old *formerSettings) error {
	if s.underHome() && IsOwn(s.dir) {
		if err := s.keep(old.agent, false); err != nil {
			return err
		}
	} else {
		old.config.former = old.agent
	}
	if err := old.config.save(s.fs, s.configPath()); err != nil {
		return err
	}
	s.moved = slices.Sorted(maps.Keys(old.config.former))
	if !old.whole {
		return nil
	}
	if err := s.fs.Remove(s.formerPath()); err != nil {
		return fmt.Errorf("remove former settings: %w", err)
	}
	return s.fs.SyncDir(s.dir)
}

// keep writes settings into the user's file for the workspace. What is set there already
// stays, unless over.
func (s *Store) keep(settings map[string]json.RawMessage, over bool) error {
	if len(settings) == 0 {
		return nil
	}
	return s.changeOwn(func(all map[string]json.RawMessage) {
		for key, value := range settings {
			if all[key] == nil || over {
				all[key] = value
			}
		}
	})
}

// underHome reports whether the workspace is one of those that belong to project directories, and
// not one that somebody has put there.
func (s *Store) underHome() bool {
	home, err := Home()
	return err == nil && filepath.Dir(resolved(s.dir)) == resolved(home) && IsOwn(s.dir)
}

// Moved names the settings of a former version that were set aside when this store was opened.
func (s *Store) Moved() []string { return s.moved }

// FormerSetting is a setting of a former version, not in use, with its value.
type FormerSetting struct{ Key, Value string }

// Former are the settings of a former version that run or send something, and to which nobody
// has agreed yet. None of them is in use.
func (s *Store) Former() []FormerSetting {
	var out []FormerSetting
	for _, key := range userKeys {
		if raw := s.config.former[key]; raw != nil {
			text, err := agentChecked(key, raw)
			if err != nil {
				text = string(raw) // TakeOver says what is wrong with it
			}
			out = append(out, FormerSetting{key, text})
		}
	}
	return out
}

// TakeOver makes former settings the user's own.
func (s *Store) TakeOver(list []FormerSetting) error {
	settings := map[string]json.RawMessage{}
	for _, f := range list {
		raw, err := agentValue(f.Key, f.Value)
		if err != nil {
			return err
		}
		settings[f.Key] = raw
	}
	if err := s.keep(settings, true); err != nil {
		return err
	}
	return s.changeConfig(func(c *Config) error {
		maps.DeleteFunc(c.former, func(key string, _ json.RawMessage) bool { return settings[key] != nil })
		return nil
	})
}
