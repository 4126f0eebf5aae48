package mcpserver

import (
	"encoding/base64"
	"encoding/json"

	"tape/internal/store/layout"
)

// cursor is where the next page begins. In a workspace, it has values that do not change while tapes
// grow: the id of an entry, the number of a phase, the beginning of a session. It also has the other
// arguments, so that they need not be repeated.
type cursor struct {
	Of    string   `json:"o"` // the tool
	Tape  string   `json:"t,omitempty"`
	From  int64    `json:"f,omitempty"` // the next entry or phase; in a list of sessions, when the last one began, in microseconds
	Last  string   `json:"l,omitempty"` // the name of that last session (for a team: its id)
	Kinds []string `json:"k,omitempty"`

	Project string `json:"p,omitempty"`
	Scope   string `json:"s,omitempty"`
}

func (c cursor) String() string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// parseCursor reads a cursor that a tool returned.
func parseCursor(text, tool string) (c cursor, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Of != tool {
		return c, layout.Invalid("give next_cursor as "+tool+" returned it, or none to begin again", "the cursor does not belong to %s", tool)
	}
	return c, nil
}
