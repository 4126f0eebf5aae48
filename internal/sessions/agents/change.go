package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
)

// Change is what installing or uninstalling makes of a file.
type Change struct {
	File   string // as the agent calls it
	Target string // the file itself, where links lead
	Before []byte // nil: it is not there
	After  []byte // nil: it goes
	Backup string // of Before, once it was applied
}

// Install plans what to write into the settings of an agent. Files that are as they should be
// are left out.
func Install(f *record.Format, w record.Where, o Options) ([]Change, error) {
	return plan(f.Agent, w, o.MCP, func(file string, raw []byte, hooks, mcp bool) ([]byte, error) {
		switch {
		case hooks && f.Agent.Plugin != nil:
			return installPlugin(f, raw, o)
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

// Uninstall plans how to take out of the settings what Install has written. A file that nobody else
// has changed gets the bytes that it had before.
func Uninstall(f *record.Format, w record.Where, receipts string) ([]Change, error) {
	return plan(f.Agent, w, true, func(file string, raw []byte, hooks, mcp bool) ([]byte, error) {
		if raw == nil {
			return nil, nil
		}
		if was, ok := before(receipts, file, raw); ok {
			return was, nil
		}
		switch {
		case hooks && f.Agent.Plugin != nil:
			return uninstallPlugin(raw), nil
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

// plan asks for each file of an agent what is to become of it, and says whether it has hooks, MCP servers or both.
func plan(a *record.Agent, w record.Where, mcp bool, what func(file string, raw []byte, hooks, mcp bool) ([]byte, error)) ([]Change, error) {
	hooksAt, mcpAt := HooksFile(a, w), mcpFile(a, w)
	files := []string{hooksAt}
	if mcp && mcpAt != hooksAt {
		files = append(files, mcpAt)
	}
	var out []Change
	for _, file := range files {
		c := Change{File: file}
		var err error
		if c.Target, err = target(file); err == nil {
			c.Before, err = os.ReadFile(c.Target)
		}
		if errors.Is(err, fs.ErrNotExist) && c.Target != "" {
			c.Before, err = nil, nil
		}
		if err == nil {
			c.After, err = what(file, c.Before, file == hooksAt, file == mcpAt)
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

func edit(raw []byte, how func(*document) error) ([]byte, error) {
	d, err := readDocument(raw)
	if err != nil {
		return nil, err
	}
	was := bytes.Clone(d.raw)
	if err := how(d); err != nil {
		return nil, err
	}
	if bytes.Equal(was, d.raw) {
		return raw, nil
	}
	return d.raw, nil
}

// target is the file that a name means: a link stays one.
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

// writable refuses a file that its owner has made read-only: that was meant.
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

// receipt tells what a file was before we changed it.
type receipt struct {
	Created bool   `json:"created,omitempty"`
	Before  []byte `json:"before,omitempty"`
	After   []byte `json:"after"`
}

// before is what a file was before it was changed, if nobody has changed it since.
func before(receipts, file string, now []byte) ([]byte, bool) {
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

// Apply makes a change. What was there is kept in the folder of the receipts first.
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
		if was, ok := before(receipts, c.File, c.Before); ok {
			r.Created, r.Before = was == nil, was // ours already: it goes back to what was before that
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

// write puts the new content in the place of the old one, with its permissions.
func (c *Change) write(d *disk.FS) error {
	mode := disk.FilePerm
	if st, err := os.Stat(c.Target); err == nil {
		mode = st.Mode().Perm()
	}
	if err := d.MkdirAll(filepath.Dir(c.Target)); err != nil {
		return err
	}
	f, err := d.CreateTemp(filepath.Dir(c.Target), "."+filepath.Base(c.Target)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(c.After)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = d.Rename(f.Name(), c.Target)
	}
	if err != nil {
		return errors.Join(err, d.Remove(f.Name()))
	}
	return d.SyncDir(filepath.Dir(c.Target))
}
