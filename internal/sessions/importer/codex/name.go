package codex

import (
	"bytes"
	"path/filepath"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// index is the list with the names of sessions, in the folder of the settings. Not every version writes a name into the
// session as well (openai/codex#16280, xintaofei/codeg#457).
const index = "session_index.jsonl"

// putName emits the name that a person, or Codex, gave the session. Of several in the list, the last one counts.
func (c *reader) putName() {
	id, _ := nameOf(c.Stem())
	if id == "" {
		return
	}
	up := filepath.Join("..", "..", "..", "..") // sessions/YEAR/MONTH/DAY
	if path, err := filepath.Abs(c.Name); err == nil && filepath.Base(filepath.Dir(path)) == archived {
		up = ".."
	}
	var named []byte
	for line := range bytes.Lines(c.Source.Beside(filepath.Join(up, index))) {
		line = bytes.TrimSpace(line)
		if bytes.Contains(line, []byte(id)) && jsonl.Valid(line) == nil && jsonl.GetString(line, "id") == id && jsonl.GetString(line, "thread_name") != "" {
			named = line
		}
	}
	if named == nil {
		return
	}
	hidden := c.Hidden
	c.Hidden = false
	if key := "name:" + record.ContentKey(named, 1); !c.Has(key) {
		c.Put(record.Event(key, "", "thread_name_updated", pick(named, "thread_name", "updated_at")))
	}
	c.Hidden = hidden
}
