package purge

import (
	"context"
	"encoding/json"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/resolve"
	"tape/internal/rewrite"
	"tape/internal/snapshot"
	"tape/internal/writer"
)

// record puts the entry that tells of the purge on top of a branch's new history.
func (p *purge) record(ctx context.Context, w *writer.Writer, done PurgedTape) (resolve.Plan, error) {
	var plan resolve.Plan
	next := p.r.To(w.Head)
	if p.isElsewhere() {
		return resolve.Plan{Hash: next, Subject: "purge, as elsewhere"}, nil
	}
	v, err := snapshot.AtCommit(p.s, next)
	if err != nil {
		return plan, err
	}
	last, err := v.LastID()
	if err != nil {
		return plan, err
	}
	data, err := json.Marshal(rewrite.RecordData{Entries: append([]int64{}, done.Entries...), Rules: append([]string{}, p.out.Rules...),
		Fingerprints: append([]string{}, p.out.Fingerprints...), Whole: len(p.mask.Whole) > 0, Old: w.Head.String()})
	if err != nil {
		return plan, err
	}
	line, err := writer.Encode(w.T, last+1, layout.Event(rewrite.PurgedEvent, data))
	if err != nil {
		return plan, err
	}
	b, err := resolve.NewBuilder(v, p.batch.Put)
	if err != nil {
		return plan, err
	}
	if err := b.AddLine(line[:len(line)-1]); err != nil {
		return plan, err
	}
	plan.Subject = "purge: " + layout.CountEntries(int64(len(done.Entries)))
	c := gitstore.Commit{Tree: b.Tree(), Parents: []gitstore.Hash{next}, Message: w.T.Message(plan.Subject, b.Anchor, last+1, last+1,
		layout.Trailer{Key: layout.TrailerPurged, Value: rewrite.Ranges(done.Entries)}, layout.Trailer{Key: layout.TrailerReplaces, Value: w.Head.String()})}
	plan.Hash, err = writer.PutCommit(ctx, w.T, p.batch, &c)
	return plan, err
}
