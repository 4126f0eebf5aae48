package api

import "encoding/json"

// StateAnswer is a value of state.
type StateAnswer struct {
	Scope   string          `json:"scope"`
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Version string          `json:"version" jsonschema:"for If-Match; the header ETag has it, too"`
}

// StateList is a page of a scope's keys.
type StateList struct {
	Items      []StateAnswer `json:"items"`
	NextCursor string        `json:"next_cursor"`
	HasMore    bool          `json:"has_more"`
}

// Deleted says that something was deleted.
type Deleted struct {
	Deleted bool `json:"deleted"`
}
