package purge

import (
	"context"
	"encoding/json"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
)

// record puts the entry that records the purge on top of a branch's new history, unless the purge follows one
// that was made elsewhere.
func (p *purge) record(ctx context.Context, w *writer.Writer, ids []int64) (plan commits.Plan, err error) {
	next := p.r.To(w.Head)
	if p.followsOther() {
		return commits.Plan{Hash: next, Subject: "purge, as elsewhere"}, nil
	}
	v, err := snapshot.AtCommit(p.s, next)
	if err != nil {
		return plan, err
	}
	c, err := commits.On(w.T, v, p.batch)
	if err != nil {
		return plan, err
	}
	data, err := json.Marshal(rewrite.RecordData{Entries: append([]int64{}, ids...), Rules: append([]string{}, p.out.Rules...),
		Fingerprints: append([]string{}, p.out.Fingerprints...), Whole: len(p.mask.Whole) > 0, Old: w.Head.String()})
	if err != nil {
		return plan, err
	}
	line, err := writer.Encode(w.T, c.Last+1, layout.Event(rewrite.PurgedEvent, data))
	if err != nil {
		return plan, err
	}
	err = c.Add(ctx, "purge: "+layout.CountEntries(int64(len(ids))), [][]byte{line[:len(line)-1]}, nil,
		layout.Trailer{Key: layout.TrailerPurged, Value: rewrite.Ranges(ids)}, layout.Trailer{Key: layout.TrailerReplaces, Value: w.Head.String()})
	return c.Plan, err
}
