package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tape/internal/git/disk"
	"tape/internal/store/layout"
	"tape/internal/store/setting"
)

// Settings that run a program, or say where something is sent, are not kept in the workspace, which may
// have come from somebody else; nor are prices. They are in the user's own folder: in one file for all
// workspaces, and in one for each workspace with settings of its own, named after its path. A command that needs
// none of them does not open these files.

// settingsDir is the folder, below Home, of the files for single workspaces.
const settingsDir = "settings"

// globalFile returns the path of the file for all workspaces.
func globalFile() (string, error) {
	home, err := settingsHome()
	return filepath.Join(home, layout.ConfigFile), err
}

// settingsHome returns Home. It refuses one that is itself a workspace, whose files change with its
// branches.
func settingsHome() (string, error) {
	home, err := Home()
	if err == nil && IsWorkspace(home) {
		err = layout.Invalid("set TAPE_HOME to another folder, or move the workspace out of it",
			"%s, where your settings are, is itself a workspace: the files in it may have come from somebody else", home)
	}
	return home, err
}

// settingsFile returns the path of the file for one workspace.
func settingsFile(workspace string) (string, error) {
	home, err := settingsHome()
	return filepath.Join(home, settingsDir, pathName(ResolvePath(workspace), ".json")), err
}

// moveSettings moves the settings of a workspace that is about to be moved.
func moveSettings(from, to string) error {
	old, err := settingsFile(from)
	if err != nil {
		return err
	}
	next, err := settingsFile(to)
	if err != nil {
		return err
	}
	err = (*disk.FS)(nil).Rename(old, next)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no settings
	}
	return layout.Wrap(err, "move settings of %s", from)
}

// keyFolder is the JSON member that identifies the .git folder for which the settings were made. Another folder
// at the same path may come from anybody, with other programs at the paths that the settings name.
const keyFolder = "folder"

// folderID returns the value of keyFolder for this workspace; nil if it is unknown.
func (s *Store) folderID() json.RawMessage {
	number, born, err := identity(s.git.GitDir())
	if err != nil {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(`"%d-%d"`, number, born))
}

// isOther reports whether settings were made for another folder at this one's path.
func (s *Store) isOther(all map[string]json.RawMessage) bool {
	return all[keyFolder] != nil && string(all[keyFolder]) != string(s.folderID())
}

// changeOwn changes the user's settings for this workspace.
func (s *Store) changeOwn(change func(all map[string]json.RawMessage) error) error {
	path, err := settingsFile(s.dir)
	if err != nil {
		return err
	}
	return s.changeUserFile(path, func(all map[string]json.RawMessage) error {
		if s.isOther(all) {
			clear(all)
		}
		all[keyFolder] = s.folderID()
		return change(all)
	})
}

func readUserFile(path string) (map[string]json.RawMessage, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", layout.Classify(err))
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, damagedSettings(path, "not a JSON object: "+err.Error())
	}
	return all, nil
}

// inUserFile returns one setting from a file of settings, which is for workspace s, or for all workspaces if
// s is nil. set reports whether the file has the setting.
func inUserFile(path, key string, s *Store) (value string, set bool, err error) {
	all, err := readUserFile(path)
	raw, set := all[key]
	if err != nil || !set {
		return "", false, err
	}
	if s != nil && s.isOther(all) {
		s.otherOnce.Do(func() {
			s.warn("the settings in " + path + " do not count: they were made for another folder that was here; set them again")
		})
		return "", false, nil
	}
	if value, err = setting.Check(key, raw); err != nil {
		err = damagedSettings(path, fmt.Sprintf("%q: %v", key, err))
	}
	return value, true, err
}

// changeUserFile reads, changes and writes a file of settings, under the one lock that guards all such files.
func (s *Store) changeUserFile(path string, change func(all map[string]json.RawMessage) error) error {
	var d *disk.FS // only the user can read the files, even if the workspace is shared
	if s != nil && s.fs != nil {
		d = &disk.FS{Fault: s.fs.Fault}
	}
	home, err := Home()
	if err != nil {
		return err
	}
	dir := filepath.Join(home, settingsDir)
	if err := d.MkdirAll(dir); err != nil {
		return layout.Classify(err)
	}
	lock, err := d.Lock(context.Background(), filepath.Join(dir, configLock), defaultLockWait)
	if err != nil {
		return layout.Classify(err)
	}
	all, err := readUserFile(path)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	if err == nil {
		err = change(all)
	}
	if err == nil {
		err = writeSettings(d, path, all)
	}
	return errors.Join(err, lock.Unlock())
}

// settingChange checks a value, and returns a function that sets a setting to it, or removes the setting if the
// value is "".
func settingChange(key, value string) (func(all map[string]json.RawMessage) error, error) {
	var raw json.RawMessage
	var err error
	if value != "" {
		raw, err = setting.Value(key, value)
	}
	return func(all map[string]json.RawMessage) error {
		if all[key] = raw; value == "" {
			delete(all, key)
		}
		return nil
	}, err
}

// Setting returns one setting as text. The keys are those of ConfigKeys.
func (s *Store) Setting(key string) (string, error) {
	value, _, err := s.SettingFrom(key)
	return value, err
}

// SettingFrom is Setting; global reports whether the value comes from the settings for all workspaces.
func (s *Store) SettingFrom(key string) (value string, global bool, err error) {
	if !slices.Contains(setting.Keys, key) {
		c := s.Config()
		value, err = c.get(key)
		return value, false, err
	}
	path, err := settingsFile(s.dir)
	if err != nil {
		return "", false, err
	}
	if value, set, err := inUserFile(path, key, s); set || err != nil {
		return value, false, err
	}
	value, err = GlobalSetting(key)
	return value, value != "", err
}

// SetSetting changes one setting of the workspace, durably. "" removes one of the user's settings.
func (s *Store) SetSetting(key, value string) error {
	if !slices.Contains(setting.Keys, key) {
		return s.changeConfig(func(c *Config) error {
			if before := s.CurrentTape(); key == "tape" && value != before {
				c.previous = before
			}
			return c.set(key, value)
		})
	}
	change, err := settingChange(key, value)
	if err != nil {
		return err
	}
	return s.changeOwn(change)
}

// ChangeSetting changes one of the user's settings for the workspace. change gets its present value there, "" if it is
// not set, and returns the new one. If two processes do so at once, neither change is lost.
func (s *Store) ChangeSetting(key string, change func(value string) (string, error)) error {
	return s.changeOwn(func(all map[string]json.RawMessage) (err error) {
		value := ""
		if raw := all[key]; raw != nil {
			value, err = setting.Check(key, raw)
		}
		if err == nil {
			value, err = change(value)
		}
		if err == nil {
			all[key], err = setting.Value(key, value)
		}
		return err
	})
}

// GlobalKeys returns the names of the settings that can be set for all workspaces.
func GlobalKeys() []string { return slices.Clone(setting.Keys) }

// GlobalSetting returns a setting for all workspaces, "" if it is not set.
func GlobalSetting(key string) (string, error) {
	path, err := globalFor(key)
	if err != nil {
		return "", err
	}
	value, _, err := inUserFile(path, key, nil)
	return value, err
}

// SetGlobalSetting changes a setting for all workspaces, durably; "" removes it.
func SetGlobalSetting(key, value string) error {
	path, err := globalFor(key)
	if err != nil {
		return err
	}
	change, err := settingChange(key, value)
	if err != nil {
		return err
	}
	return (*Store)(nil).changeUserFile(path, change)
}

// globalFor returns the path of the file for all workspaces, if key can be set there.
func globalFor(key string) (string, error) {
	if slices.Contains(dataKeys, key) {
		return "", layout.Invalid("set it in each workspace, without --global", "%s describes the data of one workspace, and cannot be set for all", key)
	}
	if !slices.Contains(setting.Keys, key) {
		return "", noSetting(key)
	}
	return globalFile()
}
