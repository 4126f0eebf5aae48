package api

import "encoding/json"

// TapeItem is a tape or an open fork.
type TapeItem struct {
	Tape    string `json:"tape"`
	Fork    bool   `json:"fork"`
	Entries int64  `json:"entries"`
	Damaged bool   `json:"damaged,omitempty"` // it cannot be read
}

// TapeList is a page of the tapes that the caller may see.
type TapeList struct {
	Items      []TapeItem `json:"items"`
	NextCursor string     `json:"next_cursor"`
	HasMore    bool       `json:"has_more"`
}

// Begun says which conversation there is now.
type Begun struct {
	ConversationID string `json:"conversation_id"`
	Created        bool   `json:"created" jsonschema:"false: it existed already"`
}

// AnchorItem is an anchor with its phase.
type AnchorItem struct {
	Name    string          `json:"name"`
	Seq     int64           `json:"seq" jsonschema:"the number of the anchor's entry"`
	Phase   int             `json:"phase"`
	Entries int64           `json:"entries"`
	State   json.RawMessage `json:"state"`
}

// AnchorList has the anchors of the last phases of a tape, the oldest first: at most 1,000, and fewer if
// their states are large.
type AnchorList struct {
	Items   []AnchorItem `json:"items"`
	HasMore bool         `json:"has_more"`
}

// ContextAnswer has the messages for the next call of a model.
type ContextAnswer struct {
	Messages []json.RawMessage `json:"messages"`
	Tokens   int               `json:"tokens"`
}

// DiffAnswer has the entries of two conversations after their common beginning: of each, at most the first 100.
type DiffAnswer struct {
	Common   int64       `json:"common" jsonschema:"how many entries both begin with"`
	A        []EventItem `json:"a"`
	AHasMore bool        `json:"a_has_more"`
	B        []EventItem `json:"b"`
	BHasMore bool        `json:"b_has_more"`
}
