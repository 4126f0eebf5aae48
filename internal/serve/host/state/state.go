// Package state shows the state on a tape to a caller of the server. Values are read from the tape when
// they are asked for.
package state

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/mask"
	"tape/repo"
)

// View is the state of one owner, as a caller sees it.
type View struct {
	owner lanes.StateKey
	marks *mask.Masker // nil: the caller sees secrets
	rev   *repo.Revision
	at    map[string]place // by the keys that the caller sees
}

// place is where a value is, under the key on the tape.
type place struct {
	lanes.StateValue
	key string
}

// Of returns the state of one owner on a tape. marks is nil for a caller that sees secrets.
func Of(ctx context.Context, all *lanes.Lanes, t *repo.Tape, owner lanes.StateKey, marks *mask.Masker) (*View, error) {
	v := &View{owner: owner.Group(), marks: marks}
	var stored map[string]lanes.StateValue
	err := all.Hold(ctx, t, func(l *lanes.Lane) (err error) {
		stored = l.State(owner)
		v.rev, err = t.Store().Revision(ctx, t, "")
		return err
	})
	v.at = make(map[string]place, len(stored))
	for key, at := range stored {
		seen := key
		if marks != nil {
			seen = marks.By(at.Run).Text(key)
		}
		if v.at[seen].Seq < at.Seq { // masked keys may collide
			v.at[seen] = place{at, key}
		}
	}
	return v, err
}

// Keys returns the keys in order.
func (v *View) Keys() []string { return slices.Sorted(maps.Keys(v.at)) }

// Get returns a value and the entry that has it. ErrNotFound if there is none.
func (v *View) Get(ctx context.Context, key string) (value json.RawMessage, seq int64, err error) {
	at, ok := v.at[key]
	if !ok {
		return nil, 0, repo.ErrNotFound
	}
	stored := v.owner
	stored.Key = at.key
	value, err = lanes.ReadValue(ctx, v.rev, stored, at.StateValue)
	if v.marks != nil && err == nil {
		value = v.marks.By(at.Run).Named(at.key, value)
	}
	return value, at.Seq, err
}
