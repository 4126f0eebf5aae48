package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tape/internal/git/disk"
)

// state is what outlives the program. Each bot has its own file: another bot's updates have other
// numbers.
type state struct {
	// Offset is the first update to ask for. All earlier ones are stored by the host.
	Offset int64 `json:"offset"`
	// First has the first id of groups whose id has changed, so that their sessions go on.
	First map[string]string `json:"first,omitempty"`
}

func (c *Channel) stateFile() string {
	bot, _, _ := strings.Cut(c.api.token, ":")
	return filepath.Join(c.o.Dir, "telegram-"+bot+".json")
}

func (c *Channel) load() error {
	d := (*disk.FS)(nil)
	if err := d.MkdirAll(c.o.Dir); err != nil {
		return err
	}
	data, err := os.ReadFile(c.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &c.state)
	}
	if err != nil {
		return fmt.Errorf("read the offset of Telegram's updates: %w; without the file %s, messages of the last 24 hours may be answered again", err, c.stateFile())
	}
	return nil
}

// change changes the state once the change is on disk.
func (c *Channel) change(f func(*state)) error {
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	s := state{Offset: c.state.Offset, First: maps.Clone(c.state.First)}
	c.mu.Unlock()
	f(&s)
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := (*disk.FS)(nil).WriteFile(c.stateFile(), data); err != nil {
		return fmt.Errorf("store the offset of Telegram's updates: %w", err)
	}
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	return nil
}

// first returns the id that a chat had before it became a supergroup, else id.
func (c *Channel) first(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.state.First[id]; f != "" {
		return f
	}
	return id
}

// current returns the id of the supergroup that a group has become, else id.
func (c *Channel) current(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for current, first := range c.state.First {
		if first == id {
			return current
		}
	}
	return id
}

// moved records that a group has become a supergroup.
func (c *Channel) moved(from string, to int64) error {
	first := c.first(from)
	return c.change(func(s *state) {
		maps.DeleteFunc(s.First, func(_, f string) bool { return f == first })
		if s.First == nil {
			s.First = map[string]string{}
		}
		s.First[strconv.FormatInt(to, 10)] = first
	})
}
