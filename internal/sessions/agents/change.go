package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
)

// Change is how installing or uninstalling changes a file.
type Change struct {
	File   string // as the agent calls it
	Target string // the file itself, after following links
	Before []byte // nil: it does not exist
	After  []byte // nil: it is removed
	Backup string // the file with Before, after Apply
	script bool
}

// Install plans what to write into an agent's settings. Files that need no change are left out.
func Install(f *record.Format, w record.Where, o Options) ([]Change, error) {
	switch {
	case o.MCP && f.Agent.MCP == nil:
		return nil, layout.Invalid("", "%s has no MCP servers: install without --mcp", f.Title)
	case f.Agent.Hooks == "" && !o.MCP:
		return nil, layout.Invalid("the command watch records its sessions; --mcp registers only the MCP server", "%s has no hooks to record with", f.Title)
	case f.Agent.Hooks == "" && o.Push:
		return nil, layout.Invalid("install without it", "--push is for hooks, and %s has none to record with", f.Title)
	}
	return plan(f, w, o.MCP, func(file string, raw []byte, hooks, mcp bool) ([]byte, error) {
		switch {
		case hooks && f.Agent.Plugin != nil:
			return installPlugin(f, raw, o)
		case hooks && f.Agent.Scripts:
			return installScript(f, raw, o)
		case hooks && f.Agent.OwnFile != nil:
			return installFile(f, raw, o)
		case hooks && filepath.Ext(file) == ".toml":
			return addHooksTOML(f, raw, o)
		case filepath.Ext(file) == ".toml":
			return addTOML(f.Agent, raw, o.Program)
		}
		return edit(raw, func(d *document) (err error) {
			if hooks {
				err = d.addHooks(f, o)
			}
			if o.MCP && mcp && err == nil {
				err = d.addMCP(f.Agent, o.Program)
			}
			return err
		})
	})
}

// Uninstall plans how to remove what Install has written. A file that nobody else has changed since gets the bytes that
// it had before, which are in the folder of receipts.
func Uninstall(f *record.Format, w record.Where, receipts string) ([]Change, error) {
	return plan(f, w, true, func(file string, raw []byte, hooks, mcp bool) ([]byte, error) {
		if raw == nil {
			return nil, nil
		}
		if original, ok := before(receipts, file, raw); ok {
			return original, nil
		}
		switch {
		case hooks && f.Agent.Plugin != nil:
			return uninstallOwn(raw, pluginMark), nil
		case hooks && f.Agent.Scripts:
			return uninstallOwn(raw, scriptMark), nil
		case hooks && f.Agent.OwnFile != nil:
			return uninstallFile(f, raw)
		case hooks && filepath.Ext(file) == ".toml":
			return removeHooksTOML(f, raw)
		case filepath.Ext(file) == ".toml":
			return removeTOML(raw), nil
		}
		return edit(raw, func(d *document) (err error) {
			if hooks {
				err = d.removeHooks(f)
			}
			if mcp && err == nil {
				err = d.removeMCP(f.Agent)
			}
			return err
		})
	})
}

// plan calls change for each of an agent's files, with whether the file has the hooks, the MCP servers or both. It
// returns the files that change makes different.
func plan(f *record.Format, w record.Where, mcp bool, change func(file string, raw []byte, hooks, mcp bool) ([]byte, error)) ([]Change, error) {
	files, mcpAt := hookFiles(f, w), mcpFile(f.Agent, w)
	hooks := len(files)
	if mcp && !slices.Contains(files, mcpAt) {
		files = append(files, mcpAt)
	}
	var out []Change
	for i, file := range files {
		c := Change{File: file, script: f.Agent.Scripts && i < hooks}
		var err error
		if c.Target, err = target(file); err == nil {
			c.Before, err = os.ReadFile(c.Target)
		}
		if errors.Is(err, fs.ErrNotExist) && c.Target != "" {
			c.Before, err = nil, nil
		}
		if err == nil {
			c.After, err = change(file, c.Before, i < hooks, file == mcpAt)
		}
		if err == nil && !bytes.Equal(c.Before, c.After) {
			err = writable(c.Target)
			out = append(out, c)
		}
		if err != nil {
			return nil, layout.Invalid("", "%s is left as it is: %v", file, err)
		}
	}
	return out, nil
}

// edit returns a settings file after change has changed it; raw itself if it has not.
func edit(raw []byte, change func(*document) error) ([]byte, error) {
	d, err := readDocument(raw)
	if err != nil {
		return nil, err
	}
	original := bytes.Clone(d.raw)
	if err := change(d); err != nil {
		return nil, err
	}
	if bytes.Equal(original, d.raw) {
		return raw, nil
	}
	return d.raw, nil
}

// target returns the path of the file that a name leads to. Links are followed, not replaced.
func target(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		return real, nil
	}
	if _, lerr := os.Lstat(file); lerr == nil {
		return "", fmt.Errorf("it is a link that leads nowhere: %w", err)
	}
	return file, nil
}

// writable refuses a file that its owner has made read-only on purpose, and what is not a file.
func writable(file string) error {
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return errors.New("it is not a file")
	case st.Mode().Perm()&0o200 == 0:
		return errors.New("it is read-only")
	}
	return nil
}

// receipt records what a file was before tape changed it.
type receipt struct {
	Created bool   `json:"created,omitempty"`
	Before  []byte `json:"before,omitempty"`
	After   []byte `json:"after"`
}

// before returns the content of a file before tape changed it, nil if there was no file. ok is false if somebody else
// has changed the file since, or if there is no receipt.
func before(receipts, file string, now []byte) (content []byte, ok bool) {
	var r receipt
	raw, err := os.ReadFile(receiptFile(receipts, file))
	if err != nil || json.Unmarshal(raw, &r) != nil || !bytes.Equal(r.After, now) {
		return nil, false
	}
	if r.Created {
		return nil, true
	}
	return append([]byte{}, r.Before...), true
}

func receiptFile(receipts, file string) string {
	return filepath.Join(receipts, hash(file)+".json")
}

// Apply makes a change, and first saves the old content in the folder of receipts. If installs is set, it also writes a
// receipt there, so that Uninstall can restore the old content.
func (c *Change) Apply(d *disk.FS, receipts string, installs bool) error {
	if err := d.MkdirAll(receipts); err != nil {
		return err
	}
	if c.Before != nil {
		c.Backup = filepath.Join(receipts, hash(c.File)+"-"+filepath.Base(c.File))
		if err := d.WriteFile(c.Backup, c.Before); err != nil {
			return err
		}
	}
	if installs {
		r := receipt{Created: c.Before == nil, Before: c.Before, After: c.After}
		if original, ok := before(receipts, c.File, c.Before); ok {
			r.Created, r.Before = original == nil, original // installed again: uninstalling restores the first content
		}
		raw, err := json.Marshal(r)
		if err == nil {
			err = d.WriteFile(receiptFile(receipts, c.File), raw)
		}
		if err != nil {
			return err
		}
	}
	if c.After == nil {
		return errors.Join(d.Remove(c.Target), d.SyncDir(filepath.Dir(c.Target)))
	}
	return c.write(d)
}

// write replaces the content and keeps the permissions.
func (c *Change) write(d *disk.FS) error {
	mode := disk.FilePerm
	if c.script {
		mode = 0o700
	}
	if st, err := os.Stat(c.Target); err == nil {
		mode = st.Mode().Perm()
	}
	if err := d.MkdirAll(filepath.Dir(c.Target)); err != nil {
		return err
	}
	return d.WriteFileMode(c.Target, c.After, mode)
}
