package api

import (
	"encoding/json"
)

// TapeItem is a tape or an open fork.
type TapeItem struct {
	Tape    string `json:"tape"`
	Fork    bool   `json:"fork"`
	Entries int64  `json:"entries"`
	Damaged bool   `json:"damaged,omitempty"` // it cannot be read as it is
}

// TapeList are the tapes that the caller may see.
type TapeList struct {
	Items      []TapeItem `json:"items"`
	NextCursor string     `json:"next_cursor"`
	HasMore    bool       `json:"has_more"`
}

// AnchorItem is a phase.
type AnchorItem struct {
	Name    string          `json:"name"`
	Seq     int64           `json:"seq" jsonschema:"the number of the anchor's entry"`
	Phase   int             `json:"phase"`
	Entries int64           `json:"entries"`
	State   json.RawMessage `json:"state"`
}

// AnchorList are the last 1,000 phases of a tape.
type AnchorList struct {
	Items   []AnchorItem `json:"items"`
	HasMore bool         `json:"has_more"`
}

// ContextAnswer are the messages that the next call of a model gets.
type ContextAnswer struct {
	Messages []json.RawMessage `json:"messages"`
	Tokens   int               `json:"tokens"`
}

// DiffAnswer is what two conversations do not share: the entries behind their common beginning.
type DiffAnswer struct {
	Common int64       `json:"common" jsonschema:"how many entries both begin with"`
	A      []EventItem `json:"a"`
	B      []EventItem `json:"b"`
}
