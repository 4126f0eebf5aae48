package lanes

import (
	"encoding/json"
	"fmt"
	"maps"

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

// StateValue says where a value is. The server does not keep values in memory.
type StateValue struct {
	Seq  int64  // the entry that has it
	Run  string // the run that set it, "" for others
	Size int    // what the value counts for in MaxState, see sizeOf
}

// StatePayload is the payload of an entry of kind state. The newest entry of a key counts.
type StatePayload struct {
	Scope   string          `json:"scope"`
	Owner   string          `json:"owner,omitempty"` // in scopes other than conversation
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Deleted bool            `json:"deleted,omitempty"`
}

// Limits of the state of one owner, or one thread of a conversation.
const (
	MaxState = 16 << 20 // bytes
	MaxKeys  = 4_000    // the server has the keys in memory
)

// state has the keys of a tape's state, by their owners.
type state struct {
	owners map[StateKey]*owner // by StateKey.Group
	count  int                 // of all values
}

// owner has the values of one owner, or of one thread of the conversation.
type owner struct {
	values map[string]StateValue // by key
	bytes  int                   // the sum of their sizes
}

// Group returns the key with an empty name, which is the same for all keys of an owner.
func (k StateKey) Group() StateKey { k.Key = ""; return k }

// sizeOf returns how many bytes a value counts for: those of key and value, and some for the server's memory.
func sizeOf(key string, value []byte) int { return len(key) + len(value) + 64 }

func (s *state) get(k StateKey) (v StateValue, ok bool) {
	if o := s.owners[k.Group()]; o != nil {
		v, ok = o.values[k.Key]
	}
	return v, ok
}

func (s *state) remove(k StateKey) {
	was, ok := s.get(k)
	if !ok {
		return
	}
	o := s.owners[k.Group()]
	o.bytes, s.count = o.bytes-was.Size, s.count-1
	if delete(o.values, k.Key); len(o.values) == 0 {
		delete(s.owners, k.Group())
	}
}

func (s *state) set(k StateKey, v StateValue) {
	s.remove(k)
	if s.owners == nil {
		s.owners = map[StateKey]*owner{}
	}
	o := s.owners[k.Group()]
	if o == nil {
		o = &owner{values: map[string]StateValue{}}
		s.owners[k.Group()] = o
	}
	o.values[k.Key], o.bytes, s.count = v, o.bytes+v.Size, s.count+1
}

// Value returns where a value is; the lane is held.
func (l *Lane) Value(k StateKey) (v StateValue, ok bool) { return l.state.get(k) }

// State returns where the values of one owner are, by their keys; the lane is held.
func (l *Lane) State(owner StateKey) map[string]StateValue {
	if o := l.state.owners[owner.Group()]; o != nil {
		return maps.Clone(o.values)
	}
	return nil
}

// ValueOf returns the value of a key from the entry that should have it, or else ErrRewritten.
func ValueOf(e repo.Entry, k StateKey) (json.RawMessage, error) {
	key, p, ok := stateOf(e.Payload, e.Meta)
	if !ok || e.Kind != KindState || key != k || p.Deleted {
		return nil, ErrRewritten()
	}
	return p.Value, nil
}

// ErrRewritten returns the error for a value that is no longer where it was.
func ErrRewritten() error { return api.Conflict("the tape was rewritten meanwhile: ask again") }

// room says how large the state will be when jobs that are written together have set their values.
type room struct {
	state  *state
	sizes  map[StateKey]int   // of the values that they set; 0: deleted
	totals map[StateKey]total // of the owners of these values, by StateKey.Group
}

type total struct{ keys, bytes int }

// take takes the room of a job's entries, or refuses all of them if they would make an owner's state too large.
func (r *room) take(drafts []repo.Draft) error {
	next := room{r.state, maps.Clone(r.sizes), maps.Clone(r.totals)}
	for _, d := range drafts {
		if d.Kind != KindState {
			continue
		}
		k, p, ok := stateOf(d.Payload, d.Meta)
		if !ok {
			continue
		}
		size := 0
		if !p.Deleted {
			size = sizeOf(k.Key, p.Value)
		}
		was, now := next.put(k, size)
		switch {
		case was == 0 && size > 0 && now.keys > MaxKeys:
			p := api.TooLarge("the state of this scope", MaxState)
			p.Message = fmt.Sprintf("the state of this scope has %d keys, and more are not allowed: delete some, or put several values into one", now.keys-1)
			p.Details = map[string]any{"max_keys": MaxKeys}
			return p
		case size > was && now.bytes > MaxState:
			return api.TooLarge("the state of this scope, with the new value,", MaxState)
		}
	}
	*r = next
	return nil
}

// put sets the size of a value, and returns its former size and its owner's total.
func (r *room) put(k StateKey, size int) (was int, now total) {
	g := k.Group()
	now, known := r.totals[g]
	if o := r.state.owners[g]; o != nil && !known {
		now = total{len(o.values), o.bytes}
	}
	was, known = r.sizes[k]
	if !known {
		v, _ := r.state.get(k)
		was = v.Size
	}
	now.keys += min(size, 1) - min(was, 1)
	now.bytes += size - was
	r.sizes[k], r.totals[g] = size, now
	return was, now
}

// stateOf reads the key and the payload of an entry with state; ok is false if it has none.
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
	if p.Deleted {
		l.state.remove(k)
		return
	}
	l.state.set(k, StateValue{e.ID, jsonl.GetString(e.Meta, MetaRun), sizeOf(k.Key, p.Value)})
}
