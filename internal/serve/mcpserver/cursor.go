package mcpserver

import (
	"encoding/base64"
	"encoding/json"

	"tape/internal/store/layout"
)

// cursor is where the next page begins, by values that do not change while tapes grow: the id of
// an entry, the number of a phase, the beginning of a session. It also has the other arguments,
// so that they need not be repeated.
type cursor struct {
	Of    string   `json:"o"` // the tool
	Tape  string   `json:"t,omitempty"`
	From  int64    `json:"f,omitempty"` // the next entry or phase; for sessions, when the last one began, in microseconds
	Last  string   `json:"l,omitempty"` // the name of that last session
	Kinds []string `json:"k,omitempty"`
}

func (c cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func parseCursor(text, of string) (c cursor, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Of != of {
		return c, layout.Invalid("give next_cursor as "+of+" gave it, or none to begin again", "the cursor is not one of %s", of)
	}
	return c, nil
}
