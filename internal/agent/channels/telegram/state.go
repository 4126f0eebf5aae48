package telegram

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
)

// state is stored in a file for the next start of the program. Each bot has its own file, because its updates have
// their own numbers.
type state struct {
	// Offset is the number of the first update to ask for. The host has stored all earlier ones.
	Offset int64 `json:"offset"`
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
		return fmt.Errorf("read the offset of Telegram's updates: %w; if you remove the file %s, messages of the last 24 hours may be answered again", err, c.stateFile())
	}
	return nil
}

// save stores the offset, and the next poll uses it.
func (c *Channel) save(offset int64) error {
	s := state{Offset: offset}
	data, err := json.Marshal(s)
	if err == nil {
		err = (*disk.FS)(nil).WriteFile(c.stateFile(), data)
	}
	if err != nil {
		return fmt.Errorf("store the offset of Telegram's updates: %w", err)
	}
	c.state = s
	return nil
}
