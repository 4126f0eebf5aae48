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

// state is what has to outlive the program. There is one for each bot: another bot's updates
// have other numbers.
type state struct {
	// Offset is the update that is asked for next. All before it are safe with the host.
	Offset int64 `json:"offset"`
	// First has the first id of groups that have got another one: their sessions go on.
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
		return fmt.Errorf("which messages of Telegram are known: %w; without the file %s, those of the last 24 hours may be taken once more", err, c.stateFile())
	}
	return nil
}

// change makes a change of the state durable; only then it holds.
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
		return fmt.Errorf("which messages of Telegram are known: %w", err)
	}
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	return nil
}

// first is the id that a chat had before it became a supergroup, else its id.
func (c *Channel) first(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.state.First[id]; f != "" {
		return f
	}
	return id
}

// now is the id of the supergroup that a group has become, else its id.
func (c *Channel) now(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for now, first := range c.state.First {
		if first == id {
			return now
		}
	}
	return id
}

// moved notes that a group has become a supergroup.
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
