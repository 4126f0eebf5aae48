package lanes

import (
	"encoding/json"

	"tape/repo"
)

// KindState is the kind of the entries that state is made of.
const KindState = "state"

// StateKey names a value: its scope, whose it is, and its name there.
type StateKey struct{ Scope, Owner, Key string }

// StateValue is one, with the entry that has it.
type StateValue struct {
	Value json.RawMessage
	Seq   int64
}

// StatePayload is that of an entry of kind state: the newest of a key counts.
type StatePayload struct {
	Scope   string          `json:"scope"`
	Owner   string          `json:"owner,omitempty"` // whose it is, of scopes other than conversation
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Deleted bool            `json:"deleted,omitempty"`
}

func (l *Lane) takeState(e repo.Entry) {
	var p StatePayload
	if json.Unmarshal(e.Payload, &p) != nil || p.Key == "" {
		return
	}
	k := StateKey{p.Scope, p.Owner, p.Key}
	if p.Deleted {
		delete(l.state, k)
		return
	}
	l.state[k] = StateValue{p.Value, e.ID}
}
