package host

import (
	"context"
	"crypto/sha256"
	"fmt"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// catchUp applies the entries that were added since its last call, or all entries if the tape was rewritten.
func (l *tapeQueue) catchUp(ctx context.Context, t *repo.Tape) error {
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

// read applies the entries after the last applied one, or all, if that one is no longer on the tape.
func (l *tapeQueue) read(ctx context.Context, rev *repo.Revision) error {
	if l.last > 0 {
		e, err := tapeEntryAt(ctx, rev, l.last)
		if err != nil {
			return err
		}
		if e.ID == l.last && hash(e) == l.raw {
			return l.applyFrom(ctx, rev, l.last+1)
		}
	}
	l.last, l.keys, l.order, l.state, l.facts, l.file.last = 0, map[string]writtenJob{}, nil, state{}, newFacts(), 0
	return l.applyFrom(ctx, rev, 1)
}

// tapeEntryAt returns the entry with an id, or the next one if that is missing; the zero entry if there is none.
func tapeEntryAt(ctx context.Context, rev *repo.Revision, id int64) (repo.Entry, error) {
	for e, err := range rev.Entries(ctx, id) {
		return e, err
	}
	return repo.Entry{}, nil
}

// applyFrom applies the entries from an id on.
func (l *tapeQueue) applyFrom(ctx context.Context, rev *repo.Revision, from int64) error {
	var last repo.Entry
	for e, err := range rev.Entries(ctx, from) {
		if err != nil {
			l.last = 0 // l.raw is not the hash of the last applied entry
			return err
		}
		l.apply(e)
		last = e
	}
	if last.ID > 0 {
		l.raw = hash(last)
	}
	return nil
}

// applyOwn applies entries that the queue itself has written, if it was up to date before. With withStamp, it
// also notes the tape's stamp, by which the next catchUp knows whether others have written since.
func (l *tapeQueue) applyOwn(t *repo.Tape, entries []repo.Entry, withStamp bool) {
	if len(entries) == 0 || l.last == 0 || entries[0].ID != l.last+1 {
		return
	}
	for _, e := range entries {
		l.apply(e)
	}
	l.raw, l.stamp = hash(entries[len(entries)-1]), ""
	if withStamp {
		if now, last, err := t.Stamp(); err == nil && last == l.last {
			l.stamp = now
		}
	}
	l.save()
}

func hash(e repo.Entry) string { return fmt.Sprintf("%x", sha256.Sum256(e.Raw)) }

// apply adds an entry to what the queue knows of the tape.
func (l *tapeQueue) apply(e repo.Entry) {
	l.last = e.ID
	if e.Kind == kindState {
		l.applyState(e)
	}
	l.facts.apply(e)
	if len(e.Meta) <= 2 {
		return
	}
	key := jsonl.GetString(e.Meta, metaKey)
	if key == "" {
		return
	}
	key = requestHash([]byte(jsonl.GetString(e.Meta, metaRun) + "\x00" + key))
	w, ok := l.keys[key]
	if !ok {
		w = writtenJob{First: e.ID, Request: jsonl.GetString(e.Meta, metaRequest)}
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
