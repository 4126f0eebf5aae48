package query

import (
	"context"
	"slices"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// A compaction may keep some of the messages before it: the model sees them after the summary. The anchor of an imported
// compaction then has the keys of the first and the last of them in state.kept; without last, they go on to the anchor.

// keptPhases is how many phases before an anchor are searched for what it keeps: it may keep what the compaction before
// has kept.
const keptPhases = 4

// kept returns the entries before an anchor that the anchor keeps. phase is its place in the list of phases.
func kept(ctx context.Context, v *snapshot.Snapshot, anchor layout.Entry, phase int) ([]span, error) {
	state := jsonl.Get(anchor.Payload, "state", "kept")
	first, last := jsonl.GetString(state, "first"), jsonl.GetString(state, "last")
	if first == "" || phase == 0 || jsonl.Get(anchor.Meta, "source") == nil {
		return nil, nil
	}
	var s span
	w := &snapshot.Walk{V: v, Tape: anchor.Tape, First: max(0, phase-keptPhases), Last: phase - 1}
	err := w.Read(ctx, func(e layout.Entry) bool {
		if s.first == 0 && isFrom(e, first) {
			s.first, s.last = e.ID, anchor.ID-1
		}
		if s.first > 0 && last != "" && isFrom(e, last) {
			s.last = e.ID
		}
		return true
	})
	if err != nil || s.first == 0 {
		return nil, err
	}
	return []span{s}, nil
}

// isFrom reports whether an entry was made from the source record with a key.
func isFrom(e layout.Entry, key string) bool {
	return slices.ContainsFunc(jsonl.Strings(jsonl.Get(e.Meta, "source", "ids")), func(id string) bool {
		return id == key || strings.HasPrefix(id, key+"/")
	})
}
