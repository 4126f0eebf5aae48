package repo

import (
	"context"
	"encoding/json"

	"tape/internal/gitstore"
)

// record puts the entry that tells of the purge on top of a branch's new history.
func (p *purge) record(ctx context.Context, w *writer, done PurgedTape) (plannedCommit, error) {
	var plan plannedCommit
	next := p.r.to(w.head)
	if p.isElsewhere() {
		return plannedCommit{hash: next, subject: "purge, as elsewhere"}, nil
	}
	v, err := p.s.commitView(next)
	if err != nil {
		return plan, err
	}
	last, err := v.lastID()
	if err != nil {
		return plan, err
	}
	data, err := json.Marshal(recordData{Entries: append([]int64{}, done.Entries...), Rules: append([]string{}, p.out.Rules...),
		Fingerprints: append([]string{}, p.out.Fingerprints...), Whole: len(p.mask.whole) > 0, Old: w.head.String()})
	if err != nil {
		return plan, err
	}
	line, err := w.t.encode(last+1, Event(PurgedEvent, data))
	if err != nil {
		return plan, err
	}
	b, err := newBuilder(v, p.batch.Put)
	if err != nil {
		return plan, err
	}
	if err := b.addLine(line[:len(line)-1]); err != nil {
		return plan, err
	}
	plan.subject = "purge: " + countEntries(int64(len(done.Entries)))
	c := gitstore.Commit{Tree: b.tree(), Parents: []gitstore.Hash{next}, Message: w.t.message(plan.subject, b.anchor, last+1, last+1,
		trailer{trailerPurged, ranges(done.Entries)}, trailer{trailerReplaces, w.head.String()})}
	plan.hash, err = w.t.putCommit(ctx, p.batch, &c)
	return plan, err
}
