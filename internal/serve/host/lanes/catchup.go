package lanes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// catchUp reads what has come since; all of it where the tape is not what it was.
func (l *Lane) catchUp(ctx context.Context, t *repo.Tape) error {
	stamp, last, err := t.Stamp()
	if err != nil || stamp != "" && stamp == l.stamp {
		return err
	}
	l.stamp = ""
	rev, err := t.Store().Revision(ctx, t, "")
	if err != nil {
		return err
	}
	if l.last == 0 {
		if err := l.load(ctx, rev); err != nil {
			return err
		}
	}
	if err := l.read(ctx, rev); err != nil {
		return err
	}
	if last == l.last {
		l.stamp = stamp
	}
	l.save()
	return nil
}

func (l *Lane) read(ctx context.Context, rev *repo.Revision) error {
	if l.last > 0 {
		e, err := entryAt(ctx, rev, l.last)
		if err != nil {
			return err
		}
		if e.ID == l.last && hash(e) == l.raw {
			return l.takeAll(ctx, rev, l.last+1)
		}
	}
	l.last, l.keys, l.order, l.state, l.sizes, l.facts, l.file.last = 0, map[string]Written{}, nil, map[StateKey]StateValue{}, map[StateKey]int{}, newFacts(), 0
	return l.takeAll(ctx, rev, 1)
}

// entryAt is an entry by its number, the zero one if there is none.
func entryAt(ctx context.Context, rev *repo.Revision, id int64) (repo.Entry, error) {
	for e, err := range rev.Entries(ctx, id) {
		return e, err
	}
	return repo.Entry{}, nil
}

// takeAll takes the entries from an id on.
func (l *Lane) takeAll(ctx context.Context, rev *repo.Revision, from int64) error {
	var last repo.Entry
	for e, err := range rev.Entries(ctx, from) {
		if err != nil {
			l.last = 0 // the hash is of another one
			return err
		}
		l.take(e)
		last = e
	}
	if last.ID > 0 {
		l.raw = hash(last)
	}
	return nil
}

// follows takes what the lane itself has written, if the lane had all that was there before. With
// looks the next one will want to know whether others have written.
func (l *Lane) follows(t *repo.Tape, entries []repo.Entry, looks bool) {
	if len(entries) == 0 || l.last == 0 || entries[0].ID != l.last+1 {
		return
	}
	for _, e := range entries {
		l.take(e)
	}
	l.raw, l.stamp = hash(entries[len(entries)-1]), ""
	if looks {
		if now, last, err := t.Stamp(); err == nil && last == l.last {
			l.stamp = now
		}
	}
	l.save()
}

func hash(e repo.Entry) string {
	sum := sha256.Sum256(e.Raw)
	return hex.EncodeToString(sum[:])
}

func (l *Lane) take(e repo.Entry) {
	l.last = e.ID
	if e.Kind == KindState {
		l.takeState(e)
	}
	l.facts.take(e)
	if len(e.Meta) <= 2 {
		return
	}
	key := jsonl.GetString(e.Meta, metaKey)
	if key == "" {
		return
	}
	key = RequestHash([]byte(jsonl.GetString(e.Meta, MetaRun) + "\x00" + key))
	w, ok := l.keys[key]
	if !ok {
		w = Written{First: e.ID, Request: jsonl.GetString(e.Meta, metaRequest)}
		l.order = append(l.order, key)
	}
	w.Last = e.ID
	l.keys[key] = w
	if len(l.order) > 2*keysKept {
		for _, old := range l.order[:keysKept] {
			delete(l.keys, old)
		}
		l.order = append([]string(nil), l.order[keysKept:]...)
	}
}
