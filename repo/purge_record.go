package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// recordData is the data of the event that records a purge.
type recordData struct {
	Entries      []int64  `json:"entries"`
	Rules        []string `json:"rules"`
	Fingerprints []string `json:"fingerprints"`
	Whole        bool     `json:"whole,omitempty"` // of some, all texts were taken out
	Old          string   `json:"old"`
}

// record puts the entry that tells of the purge on top of a branch's new history.
func (p *purge) record(w *writer, done PurgedTape) (plannedCommit, error) {
	var plan plannedCommit
	next := p.r.to(w.head)
	if p.follow != nil {
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
	plan.hash, err = w.t.putCommit(p.ctx, p.batch, &c)
	return plan, err
}

// purgeRecord reads the record of a purge, if a commit is one.
func (s *Store) purgeRecord(h gitstore.Hash) (data recordData, ok bool, err error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return data, false, corruptObject(h, err)
	}
	replaces := c.Trailer(trailerReplaces)
	if replaces == "" || len(c.Parents) != 1 {
		return data, false, nil
	}
	now, err := s.commitView(h)
	if err != nil {
		return data, false, err
	}
	before, err := s.commitView(c.Parents[0])
	if err != nil {
		return data, false, err
	}
	n := 0
	for e, err := range now.behind(context.Background(), before, "") {
		if err != nil {
			return data, false, err
		}
		n++
		if e.Kind != KindEvent || jsonl.GetString(e.Payload, "name") != PurgedEvent {
			return data, false, nil
		}
		if err := json.Unmarshal(jsonl.Get(e.Payload, "data"), &data); err != nil {
			return recordData{}, false, nil //nolint:nilerr // then it is none
		}
	}
	ok = n == 1 && data.Old == replaces && c.Trailer(trailerPurged) == ranges(data.Entries)
	if !ok {
		return recordData{}, false, nil
	}
	return data, true, nil
}

// purgeAgain is what the command has to name that purges another copy of the tape as the
// records among some commits say it was purged here.
func (t *Tape) purgeAgain(ctx context.Context, commits []gitstore.Hash) (string, error) {
	prints, entries := map[string]bool{}, map[int64]bool{}
	for _, h := range commits {
		data, _, err := t.store.purgeRecord(h)
		if err != nil {
			return "", err
		}
		for _, fp := range data.Fingerprints {
			prints[fp] = true
		}
		for _, id := range data.Entries {
			entries[id] = entries[id] || data.Whole
		}
	}
	var out []string
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		e, err := t.Entry(ctx, id)
		if err != nil {
			return "", err
		}
		if entries[id] && bytes.Contains(e.Raw, []byte(`"`+redacted+`"`)) {
			out = append(out, fmt.Sprintf("@%d", id))
		}
	}
	if len(out) > 0 {
		out = append(out, "--whole")
	}
	for _, fp := range slices.Sorted(maps.Keys(prints)) {
		out = append(out, "--fingerprint "+fp)
	}
	return strings.Join(out, " "), nil
}
