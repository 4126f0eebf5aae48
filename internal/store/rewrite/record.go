package rewrite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// PurgedEvent is the name of the event that records a purge: which entries were changed, the rules and
// fingerprints of what was taken out, and the tape's former commit.
const PurgedEvent = "tape.purged"

// RecordData is the data of a PurgedEvent.
type RecordData struct {
	Entries      []int64  `json:"entries"`
	Rules        []string `json:"rules"`
	Fingerprints []string `json:"fingerprints"`
	Whole        bool     `json:"whole,omitempty"` // all texts of some entries were taken out
	Old          string   `json:"old"`
}

// PurgeRecord reads the record of a purge; ok is false if the commit is not one.
func PurgeRecord(ctx context.Context, s *workspace.Store, h gitstore.Hash) (data RecordData, ok bool, err error) {
	c, err := s.Git().Commit(h)
	if err != nil {
		return data, false, layout.CorruptObject(h, err)
	}
	replaces := c.Trailer(layout.TrailerReplaces)
	if replaces == "" || len(c.Parents) != 1 {
		return data, false, nil
	}
	now, err1 := snapshot.AtCommit(s, h)
	before, err2 := snapshot.AtCommit(s, c.Parents[0])
	if err := cmp.Or(err1, err2); err != nil {
		return data, false, err
	}
	n := 0
	for e, err := range now.After(ctx, before, "") {
		if err != nil {
			return data, false, err
		}
		n++
		if e.Kind != layout.KindEvent || jsonl.GetString(e.Payload, "name") != PurgedEvent {
			return data, false, nil
		}
		if err := json.Unmarshal(jsonl.Get(e.Payload, "data"), &data); err != nil {
			return RecordData{}, false, nil //nolint:nilerr // not a record
		}
	}
	if n != 1 || data.Old != replaces || c.Trailer(layout.TrailerPurged) != Ranges(data.Entries) {
		return RecordData{}, false, nil
	}
	return data, true, nil
}

// Records combines the records of several purges.
type Records struct {
	Prints  map[string]bool // fingerprints of what was masked
	entries map[int64]bool  // changed entries; true if all texts may have been taken out
	whole   bool            // all texts of some entries were taken out
	By      []string        // who purged: the authors of the commits with the records
}

// IsWhole reports whether all texts of an entry may have been taken out; changed is false if the entry was not changed.
func (r Records) IsWhole(id int64) (whole, changed bool) {
	whole, changed = r.entries[id]
	return whole, changed
}

// Entries returns how many entries were changed.
func (r Records) Entries() int64 { return int64(len(r.entries)) }

// Again returns what a purge of another copy of the tape must name to repeat the recorded ones: first the @ID
// of entries to purge whole, separated by spaces, then fingerprints.
func (r Records) Again() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(r.entries)) {
		if r.entries[id] {
			ids = append(ids, fmt.Sprintf("@%d", id))
		}
	}
	return append([]string{strings.Join(ids, " ")}, slices.Sorted(maps.Keys(r.Prints))...)
}

// readRecords combines the records of purges among some commits; ok is false if there are none.
func readRecords(ctx context.Context, s *workspace.Store, commits []gitstore.Hash) (sum Records, ok bool, err error) {
	sum = Records{Prints: map[string]bool{}, entries: map[int64]bool{}}
	for _, h := range commits {
		data, found, err := PurgeRecord(ctx, s, h)
		if err != nil {
			return sum, false, err
		}
		for _, fp := range data.Fingerprints {
			sum.Prints[fp] = true
		}
		for _, id := range data.Entries {
			sum.entries[id] = sum.entries[id] || data.Whole
		}
		sum.whole = sum.whole || data.Whole
		if c, err := s.Git().Commit(h); found && err == nil && !slices.Contains(sum.By, c.Author.Name) {
			sum.By = append(sum.By, c.Author.Name)
		}
		ok = ok || found
	}
	return sum, ok, nil
}
