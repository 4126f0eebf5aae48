package lanes

import (
	"encoding/json"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// KindState is the kind of the entries with state.
const KindState = "state"

// ScopeConversation is the scope of the state that is on the conversation's own tape.
const ScopeConversation = "conversation"

// StateKey names a value: its scope, its owner and its name. In the scope conversation, Thread is the
// thread to which it belongs.
type StateKey struct{ Scope, Owner, Key, Thread string }

// StateValue is a value and the entry that has it.
type StateValue struct {
	Value json.RawMessage
	Seq   int64
	Run   string // the run that set it, "" for others
}

// StatePayload is the payload of an entry of kind state. The newest entry of a key counts.
type StatePayload struct {
	Scope   string          `json:"scope"`
	Owner   string          `json:"owner,omitempty"` // in scopes other than conversation
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Deleted bool            `json:"deleted,omitempty"`
}

// MaxState limits the state of one owner, or one thread of a conversation, in bytes: the server has
// all state in memory.
const MaxState = 16 << 20

// owner is a key without its name.
func (k StateKey) owner() StateKey { k.Key = ""; return k }

func sizeOf(key string, v StateValue) int { return len(key) + len(v.Value) + 64 }

// checkRoom refuses entries that would make an owner's state too large; the lane is held.
func (l *Lane) checkRoom(drafts []repo.Draft) error {
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
		if more > 0 && l.sizes[k.owner()]+more > MaxState {
			return api.TooLarge("the state of this scope, with the new value,", MaxState)
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

func (l *Lane) applyState(e repo.Entry) {
	k, p, ok := stateOf(e.Payload, e.Meta)
	if !ok {
		return
	}
	if was, ok := l.state[k]; ok {
		l.sizes[k.owner()] -= sizeOf(k.Key, was)
	}
	if p.Deleted {
		delete(l.state, k)
		return
	}
	l.state[k] = StateValue{p.Value, e.ID, jsonl.GetString(e.Meta, MetaRun)}
	l.sizes[k.owner()] += sizeOf(k.Key, l.state[k])
}
