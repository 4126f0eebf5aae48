package lanes

import (
	"encoding/json"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
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
	Run   string // that has set it, "" for others
}

// StatePayload is that of an entry of kind state: the newest of a key counts.
type StatePayload struct {
	Scope   string          `json:"scope"`
	Owner   string          `json:"owner,omitempty"` // whose it is, of scopes other than conversation
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Deleted bool            `json:"deleted,omitempty"`
}

// MostState bounds what one owner, or one thread of a conversation, has of state, in bytes: the
// server has all state in memory.
const MostState = 16 << 20

// of is a key without its name: whose the state is.
func (k StateKey) of() StateKey { k.Key = ""; return k }

func sizeOf(key string, v StateValue) int { return len(key) + len(v.Value) + 64 }

// room refuses entries that would make somebody's state too large; the lane is held.
func (l *Lane) room(drafts []repo.Draft) error {
	for _, d := range drafts {
		if d.Kind != KindState {
			continue
		}
		k, p, ok := stateOf(d.Payload, d.Meta)
		if !ok || p.Deleted {
			continue
		}
		more := sizeOf(k.Key, StateValue{Value: p.Value})
		if was, ok := l.state[k]; ok {
			more -= sizeOf(k.Key, was)
		}
		if more > 0 && l.sizes[k.of()]+more > MostState {
			return api.TooLarge("the state of this scope, with the new value,", MostState)
		}
	}
	return nil
}

func stateOf(payload, meta []byte) (k StateKey, p StatePayload, ok bool) {
	if json.Unmarshal(payload, &p) != nil || p.Key == "" {
		return k, p, false
	}
	k = StateKey{Scope: p.Scope, Owner: p.Owner, Key: p.Key}
	if p.Scope == ScopeConversation {
		k.Thread = jsonl.GetString(meta, MetaThread)
	}
	return k, p, true
}

func (l *Lane) takeState(e repo.Entry) {
	k, p, ok := stateOf(e.Payload, e.Meta)
	if !ok {
		return
	}
	if was, ok := l.state[k]; ok {
		l.sizes[k.of()] -= sizeOf(k.Key, was)
	}
	if p.Deleted {
		delete(l.state, k)
		return
	}
	l.state[k] = StateValue{p.Value, e.ID, jsonl.GetString(e.Meta, MetaRun)}
	l.sizes[k.of()] += sizeOf(k.Key, l.state[k])
}
