package host

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"tape/repo"
)

// How a caller of the server sees the state on a tape. Values are read from the tape when they are asked for.

// stateView is the state of one owner, as a caller sees it.
type stateView struct {
	owner stateKey
	marks *Masker // nil: the caller sees secrets
	rev   *repo.Revision
	at    map[string]place // by the keys that the caller sees
}

// place is where a value is, under the key on the tape.
type place struct {
	StateValue
	key string
}

// stateViewOf returns the state of one owner on a tape. marks is nil for a caller that sees secrets.
func stateViewOf(ctx context.Context, all *tapeQueues, t *repo.Tape, owner stateKey, marks *Masker) (*stateView, error) {
	v := &stateView{owner: owner.Group(), marks: marks}
	var stored map[string]StateValue
	err := all.Hold(ctx, t, func(l *tapeQueue) (err error) {
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
func (v *stateView) Keys() []string { return slices.Sorted(maps.Keys(v.at)) }

// Size is about how many bytes a key and its value have.
func (v *stateView) Size(key string) int { return v.at[key].Size }

// stateValue is a value and the entry that has it.
type stateValue struct {
	JSON json.RawMessage
	Seq  int64
}

// near is how many entries apart two values may be that are read in one pass.
const near = 1_000

// Values returns the values of keys, by key. Keys that do not exist are left out. Errors: errRewritten if
// a value is no longer where it was.
func (v *stateView) Values(ctx context.Context, keys ...string) (map[string]stateValue, error) {
	out, wanted := map[string]stateValue{}, []string{}
	for _, key := range keys {
		if _, ok := v.at[key]; ok {
			wanted = append(wanted, key)
		}
	}
	slices.SortFunc(wanted, func(a, b string) int { return cmp.Compare(v.at[a].Seq, v.at[b].Seq) })
	for len(wanted) > 0 {
		before := len(wanted)
		for e, err := range v.rev.Entries(ctx, v.at[wanted[0]].Seq) {
			if err != nil {
				return nil, err
			}
			if at := v.at[wanted[0]]; e.ID == at.Seq {
				if out[wanted[0]], err = v.value(e, at); err != nil {
					return nil, err
				}
				wanted = wanted[1:]
			}
			if len(wanted) == 0 || v.at[wanted[0]].Seq-e.ID > near {
				break
			}
		}
		if len(wanted) == before {
			return nil, errRewritten()
		}
	}
	return out, nil
}

func (v *stateView) value(e repo.Entry, at place) (stateValue, error) {
	stored := v.owner
	stored.Key = at.key
	value, err := valueOf(e, stored)
	if v.marks != nil && err == nil {
		value = v.marks.By(at.Run).Named(at.key, value)
	}
	return stateValue{value, at.Seq}, err
}
