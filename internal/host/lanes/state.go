package lanes

import (
	"encoding/json"

	"tape/internal/jsonl"
	"tape/repo"
)

// KindState is the kind of the entries that state is made of.
const KindState = "state"

// ScopeConversation is the scope of state that is in the tape of its conversation.
const ScopeConversation = "conversation"

// StateKey names a value: its scope, whose it is, and its name there. Thread is that of a value of
// scope conversation that a thread has for itself.
type StateKey struct{ Scope, Owner, Key, Thread string }

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
	k := StateKey{Scope: p.Scope, Owner: p.Owner, Key: p.Key}
	if p.Scope == ScopeConversation {
		k.Thread = jsonl.GetString(e.Meta, MetaThread)
	}
	if p.Deleted {
		delete(l.state, k)
		return
	}
	l.state[k] = StateValue{p.Value, e.ID}
}
