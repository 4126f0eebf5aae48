package forks_test

import (
	"fmt"
	"strings"
	"tape/internal/store/forks"
	"tape/repo"
	"testing"
)

// A fork that is begun and merged within one transaction gives the same as Tape.Merge: verify repeats each merge
// from its parents.
func TestTxForkIsAMerge(t *testing.T) {
	ctx := t.Context()
	s, _, err := repo.Init(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Tape(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Update(ctx, func(tx *repo.Tx) error {
		var open []*forks.TxFork
		for i := range 3 {
			if _, err := tx.Append(ctx, repo.Message("user", fmt.Sprintf("task %d", i))); err != nil {
				return err
			}
			f, err := forks.InTx(ctx, tx, fmt.Sprintf("agent-%d", i))
			if err != nil {
				return err
			}
			open = append(open, f)
			for range 2 + i {
				if err := f.Append(ctx, repo.Message("assistant", strings.Repeat("x", 150_000))); err != nil {
					return err
				}
			}
		}
		if _, err := tx.Handoff(ctx, repo.Anchor{Name: "compacted"}); err != nil {
			return err
		}
		for _, f := range open {
			if err := f.Append(ctx, repo.Draft{Kind: repo.KindAnchor, Payload: []byte(`{"name":"inner"}`)}); err != nil {
				return err
			}
			if err := f.Append(ctx, repo.Event("done", nil)); err != nil {
				return err
			}
			if err := f.Merge(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := m.Summary(ctx)
	if err != nil || sum.Entries != 1+3+1+9+6 || sum.Anchors != 2+3 {
		t.Errorf("summary is %+v, %v", sum, err)
	}
	closed, err := m.ClosedForks(ctx)
	if err != nil || len(closed) != 3 {
		t.Errorf("closed forks are %+v, %v", closed, err)
	}
	report, err := s.Verify(ctx)
	if err != nil || !report.OK {
		t.Errorf("verify: %+v, %v", report, err)
	}
}
