package host

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"tape/repo"
)

// TestRecordsAreInOrder: bursts of one flush are recorded in the order of their first calls.
func TestRecordsAreInOrder(t *testing.T) {
	var got []string
	l := newAuditLog(time.Now, nil, func(_ context.Context, drafts []repo.Draft) error {
		for _, d := range drafts {
			var r auditRecord
			if err := json.Unmarshal(d.Payload, &r); err != nil {
				t.Fatal(err)
			}
			got = append(got, r.RunID)
		}
		return nil
	})
	const runs = 20
	for from := range 2 { // in the second round, the bursts go on after they were recorded, and are ordered again
		got = nil
		for i := range 2 * runs {
			l.Add(auditRecord{RunID: strconv.Itoa((from + i) % runs), Result: "not_found"})
		}
		if err := l.Flush(t.Context()); err != nil || len(got) != runs {
			t.Fatalf("%d records are written (%v), want one for each of %d runs: %q", len(got), err, runs, got)
		}
		for i, run := range got {
			if run != strconv.Itoa((from+i)%runs) {
				t.Fatalf("record %d is of run %s, want %d: %q", i, run, (from+i)%runs, got)
			}
		}
	}
}
