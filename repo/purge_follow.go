package repo

import (
	"bytes"
	"context"
	"fmt"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/secrets"
)

// followed is a purge that was made elsewhere.
type followed struct {
	old, purged gitstore.Hash // a commit of the tape, and what it became there
	whole       map[entryDigest]bool
	texts       map[secrets.Secret]bool // that were taken out
}

// followPurge does to the tape, its forks and archives what a purge has done to its history
// elsewhere, as checkPurged tells: old is a commit that both had, next what the other has
// now. No record is added. Then the tape is such that next continues it, or that both have
// gone on from what old became.
//
// ErrConflict if next is not old purged, or the same cannot be done here because the
// scanner was another one; then nothing is changed.
func (t *Tape) followPurge(ctx context.Context, old, next gitstore.Hash, o PurgeOptions) (Purged, error) {
	p, err := t.planFollow(ctx, old, next, o)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		return Purged{}, fmt.Errorf("purge tape %q as elsewhere: %w", t.name, classify(err))
	}
	return p.out, nil
}

func (t *Tape) planFollow(ctx context.Context, old, next gitstore.Hash, o PurgeOptions) (*purge, error) {
	ids, texts, ok, err := t.comparePurged(ctx, old, next)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, conflict("clone it again into another workspace, and compare", "the history of %s was rewritten elsewhere, and not by a purge", t.Branch())
	}
	was, err := t.store.firstParents(ctx, old)
	if err != nil {
		return nil, err
	}
	is, err := t.store.firstParents(ctx, next)
	if err != nil {
		return nil, err
	}
	at := len(is) - len(was)
	f := &followed{old: old, purged: is[at], texts: texts}
	o.IDs, o.Rules, o.Fingerprints, o.Whole, o.DryRun = nil, nil, nil, false, false
	for _, h := range is[:at] {
		data, _, err := t.store.purgeRecord(h)
		if err != nil {
			return nil, err
		}
		o.Fingerprints = append(o.Fingerprints, data.Fingerprints...)
	}
	if f.whole, err = t.wholeEntries(ctx, f.old, f.purged, ids); err != nil {
		return nil, err
	}
	p := &purge{ctx: ctx, s: t.store, t: t, o: o, prints: map[string]bool{}, follow: f}
	return p, nil
}

// wholeEntries are those of a commit that have lost all their text in another one.
func (t *Tape) wholeEntries(ctx context.Context, old, purged gitstore.Hash, ids []int64) (map[entryDigest]bool, error) {
	out := map[entryDigest]bool{}
	after, wanted := map[int64][]byte{}, map[int64]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	for i, h := range []gitstore.Hash{purged, old} {
		v, err := t.store.commitView(h)
		if err != nil {
			return nil, err
		}
		for e, err := range v.behind(ctx, nil, t.name) {
			if err != nil {
				return nil, err
			}
			switch {
			case !wanted[e.ID]:
			case i == 0:
				after[e.ID] = bytes.Clone(e.Raw)
			default:
				parsed, err := jsonl.Parse(e.Raw)
				if err == nil && bytes.Contains(after[e.ID], []byte(`"`+redacted+`"`)) && !bytes.Contains(e.Raw, []byte(`"`+redacted+`"`)) {
					out[digestOf(parsed)] = true
				}
			}
		}
	}
	return out, nil
}
