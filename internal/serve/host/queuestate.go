package host

import (
	"encoding/json"
	"fmt"
	"maps"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// kindState is the kind of the entries with state.
const kindState = "state"

// scopeConversation is the scope of the state that is on the conversation's own tape.
const scopeConversation = "conversation"

// stateKey names a value: its scope, its owner and its name. In the scope conversation, Thread is the
// thread to which it belongs.
type stateKey struct{ Scope, Owner, Key, Thread string }

// StateValue says where a value is. The server does not keep values in memory.
type StateValue struct {
	Seq  int64  // the entry that has it
	Run  string // the run that set it, "" for others
	Size int    // what the value counts for in maxStateBytes, see sizeOf
}

// statePayload is the payload of an entry of kind state. The newest entry of a key counts.
type statePayload struct {
	Scope   string          `json:"scope"`
	Owner   string          `json:"owner,omitempty"` // in scopes other than conversation
	Key     string          `json:"key"`
	Value   json.RawMessage `json:"value"`
	Deleted bool            `json:"deleted,omitempty"`
}

// Limits of the state of one owner, or one thread of a conversation.
const (
	maxStateBytes = 16 << 20 // bytes
	maxKeys       = 4_000    // the server has the keys in memory
)

// state has the keys of a tape's state, by their owners.
type state struct {
	owners map[stateKey]*stateOwner // by stateKey.Group
	count  int                      // of all values
}

// stateOwner has the values of one owner, or of one thread of the conversation.
type stateOwner struct {
	values map[string]StateValue // by key
	bytes  int                   // the sum of their sizes
}

// Group returns the key with an empty name, which is the same for all keys of an owner.
func (k stateKey) Group() stateKey { k.Key = ""; return k }

// sizeOf returns how many bytes a value counts for: those of key and value, and some for the server's memory.
func sizeOf(key string, value []byte) int { return len(key) + len(value) + 64 }

func (s *state) get(k stateKey) (v StateValue, ok bool) {
	if o := s.owners[k.Group()]; o != nil {
		v, ok = o.values[k.Key]
	}
	return v, ok
}

func (s *state) remove(k stateKey) {
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

func (s *state) set(k stateKey, v StateValue) {
	s.remove(k)
	if s.owners == nil {
		s.owners = map[stateKey]*stateOwner{}
	}
	o := s.owners[k.Group()]
	if o == nil {
		o = &stateOwner{values: map[string]StateValue{}}
		s.owners[k.Group()] = o
	}
	o.values[k.Key], o.bytes, s.count = v, o.bytes+v.Size, s.count+1
}

// Value returns where a value is; the queue is held.
func (l *tapeQueue) Value(k stateKey) (v StateValue, ok bool) { return l.state.get(k) }

// State returns where the values of one owner are, by their keys; the queue is held.
func (l *tapeQueue) State(owner stateKey) map[string]StateValue {
	if o := l.state.owners[owner.Group()]; o != nil {
		return maps.Clone(o.values)
	}
	return nil
}

// valueOf returns the value of a key from the entry that should have it, or else errRewritten.
func valueOf(e repo.Entry, k stateKey) (json.RawMessage, error) {
	key, p, ok := stateOf(e.Payload, e.Meta)
	if !ok || e.Kind != kindState || key != k || p.Deleted {
		return nil, errRewritten()
	}
	return p.Value, nil
}

// errRewritten returns the error for a value that is no longer where it was.
func errRewritten() error { return api.Conflict("the tape was rewritten meanwhile: ask again") }

// room says how large the state will be when jobs that are written together have set their values.
type room struct {
	state  *state
	sizes  map[stateKey]int   // of the values that they set; 0: deleted
	totals map[stateKey]total // of the owners of these values, by stateKey.Group
}

type total struct{ keys, bytes int }

// take takes the room of a job's entries, or refuses all of them if they would make an owner's state too large.
func (r *room) take(drafts []repo.Draft) error {
	next := room{r.state, maps.Clone(r.sizes), maps.Clone(r.totals)}
	for _, d := range drafts {
		if d.Kind != kindState {
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
		case was == 0 && size > 0 && now.keys > maxKeys:
			p := api.TooLarge("the state of this scope", maxStateBytes)
			p.Message = fmt.Sprintf("the state of this scope has %d keys, and more are not allowed: delete some, or put several values into one", now.keys-1)
			p.Details = map[string]any{"max_keys": maxKeys}
			return p
		case size > was && now.bytes > maxStateBytes:
			return api.TooLarge("the state of this scope, with the new value,", maxStateBytes)
		}
	}
	*r = next
	return nil
}

// put sets the size of a value, and returns its former size and its owner's total.
func (r *room) put(k stateKey, size int) (was int, now total) {
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
func stateOf(payload, meta []byte) (k stateKey, p statePayload, ok bool) {
	if json.Unmarshal(payload, &p) != nil || p.Key == "" {
		return k, p, false
	}
	k = stateKey{Scope: p.Scope, Owner: p.Owner, Key: p.Key}
	if p.Scope == scopeConversation {
		k.Thread = jsonl.GetString(meta, metaThread)
	}
	return k, p, true
}

func (l *tapeQueue) applyState(e repo.Entry) {
	k, p, ok := stateOf(e.Payload, e.Meta)
	if !ok {
		return
	}
	if p.Deleted {
		l.state.remove(k)
		return
	}
	l.state.set(k, StateValue{e.ID, jsonl.GetString(e.Meta, metaRun), sizeOf(k.Key, p.Value)})
}
