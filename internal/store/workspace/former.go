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
	"tape/internal/store/setting"
)

// Former versions kept all settings in config.json in the working tree. The first command of this
// version moves them. Afterwards a config.json there is an ordinary file of the user's.
//
// Settings that run or send something are moved without asking only if the workspace is directly below
// Home and the user's own. Otherwise they are kept, unused, in the member "former" of the new file until
// the user agrees.

// formerSettings are the settings in a former version's config.json.
type formerSettings struct {
	config Config
	agent  map[string]json.RawMessage
	isAll  bool // the file holds only settings, and can be removed
}

func (s *Store) formerPath() string { return filepath.Join(s.dir, layout.ConfigFile) }

// hasPrivate reports whether tape has been used here: .git/tape exists, and clones do not copy it.
func (s *Store) hasPrivate() bool {
	_, err := os.Stat(s.PrivatePath())
	return err == nil
}

// loadConfig reads the settings of a workspace that is being opened, or, if isNew, created. If the settings
// of a former version cannot be moved, for example in a read-only workspace, they are used where they are.
func (s *Store) loadConfig(ctx context.Context, isNew bool) (Config, error) {
	c, found, err := readConfig(s.configPath())
	if found || err != nil {
		return c, err
	}
	if _, err := os.Lstat(s.formerPath()); err != nil {
		c, _, err = readConfig(s.configPath()) // another process may have moved it just now
		return c, err
	}
	used := !isNew && s.hasPrivate() // asked before the lock creates .git/tape
	unlock, lockErr := s.LockPrivate(ctx, configLock)
	if ctx.Err() != nil {
		return c, ctx.Err()
	}
	if lockErr == nil {
		c, err = s.currentConfig(used)
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

// currentConfig reads the settings, and moves those of a former version. The caller must hold configLock. The
// result is usable even if the move failed. used is whether tape was used here before.
func (s *Store) currentConfig(used bool) (Config, error) {
	c, found, err := readConfig(s.configPath())
	if found || err != nil {
		return c, err
	}
	old, err := s.readFormer(used)
	if err != nil || old == nil {
		return c, err
	}
	return old.config, s.moveFormer(old)
}

// readFormer reads a former version's config.json; nil if the file is missing. If the file was not
// written by a former version, the settings are the defaults. Former versions always wrote three members,
// and never committed the file, so a file that git tracks came from somebody else.
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
	if err := c.parseKnown(path); err != nil {
		return nil, err
	}
	old.agent = map[string]json.RawMessage{}
	for _, key := range setting.Keys {
		if value := c.unknown[key]; value != nil {
			old.agent[key] = value
			delete(c.unknown, key)
		}
	}
	old.isAll, c.unknown = len(c.unknown) == 0, nil
	old.config = c
	return old, nil
}

// committed reports whether the checked out commit has a file.
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

// moveFormer writes former settings to their new places. The old file is removed last, so that nothing is
// lost if this is interrupted.
func (s *Store) moveFormer(old *formerSettings) error {
	if s.underHome() {
		if err := s.addUserSettings(old.agent, false); err != nil {
			return err
		}
	} else {
		old.config.former = old.agent
	}
	if err := old.config.save(s.fs, s.configPath()); err != nil {
		return err
	}
	s.moved = slices.Sorted(maps.Keys(old.config.former))
	if !old.isAll {
		return nil
	}
	if err := s.fs.Remove(s.formerPath()); err != nil {
		return fmt.Errorf("remove former settings: %w", err)
	}
	return s.fs.SyncDir(s.dir)
}

// addUserSettings adds settings to the user's file for the workspace. Existing values stay unless overwrite
// is set.
func (s *Store) addUserSettings(settings map[string]json.RawMessage, overwrite bool) error {
	if len(settings) == 0 {
		return nil
	}
	return s.changeOwn(func(all map[string]json.RawMessage) error {
		for key, value := range settings {
			if all[key] == nil || overwrite {
				all[key] = value
			}
		}
		return nil
	})
}

// underHome reports whether the workspace is directly below Home, as workspaces of projects are, and is the
// user's own.
func (s *Store) underHome() bool {
	home, err := Home()
	return err == nil && filepath.Dir(ResolvePath(s.dir)) == ResolvePath(home) && IsOwn(s.dir)
}

// Moved returns the names of the former settings that were set aside when this store was opened.
func (s *Store) Moved() []string { return s.moved }

// FormerSetting is an unused setting of a former version.
type FormerSetting struct{ Key, Value string }

// Former returns the settings of a former version that run or send something and that the user has not
// agreed to. None of them is in use.
func (s *Store) Former() []FormerSetting {
	var out []FormerSetting
	former := s.Config().former
	for _, key := range setting.Keys {
		if raw := former[key]; raw != nil {
			text, err := setting.Check(key, raw)
			if err != nil {
				text = string(raw) // TakeOver returns the error
			}
			out = append(out, FormerSetting{key, text})
		}
	}
	return out
}

// TakeOver moves former settings into the user's own settings for the workspace, and replaces those there.
func (s *Store) TakeOver(list []FormerSetting) error {
	settings := map[string]json.RawMessage{}
	for _, f := range list {
		raw, err := setting.Value(f.Key, f.Value)
		if err != nil {
			return err
		}
		settings[f.Key] = raw
	}
	if err := s.addUserSettings(settings, true); err != nil {
		return err
	}
	return s.changeConfig(func(c *Config) error {
		maps.DeleteFunc(c.former, func(key string, _ json.RawMessage) bool { return settings[key] != nil })
		return nil
	})
}
