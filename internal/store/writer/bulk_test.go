package writer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// bulkTapes are the names of tapes that are created together.
var bulkTapes = []string{"one", "other/tape", "three"}

// createBulk creates tapes in bulk, with entries and phases of their own, and returns those that somebody else
// created meanwhile.
func createBulk(ctx context.Context, s *repo.Store, names ...string) (lost []string, err error) {
	bulk := writer.NewBulk((*workspace.Store)(s))
	defer bulk.Discard()
	for _, name := range names {
		tx, err := bulk.Create(ctx, name, writer.TapeStart{First: repo.Anchor{Name: repo.FirstAnchor}})
		if err == nil {
			err = fillTx(ctx, tx, name)
		}
		if err != nil {
			return nil, err
		}
	}
	return bulk.Commit(ctx)
}

func fillTx(ctx context.Context, tx *writer.Tx, what string) error {
	for i := range 2 {
		if _, err := tx.Append(ctx, repo.Message("user", fmt.Sprint(what, " ", i))); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if _, err := tx.Append(ctx, repo.Event("run", nil)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if _, err := tx.Handoff(ctx, repo.Anchor{Name: fmt.Sprint("step ", i)}); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	if _, err := tx.Append(ctx, storetest.Big(layout.SealSize, "fills a file ")); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	_, err := tx.Append(ctx, repo.Message("user", "behind it"))
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	_, err = tx.Commit(ctx)
	return err
}

// addBare adds to a tape without working tree.
func addBare(ctx context.Context, s *repo.Store, name string) error {
	t, err := (*workspace.Store)(s).Tape(ctx, name)
	if err != nil {
		return err
	}
	tx, err := writer.BeginBare(ctx, t)
	if err != nil {
		return err
	}
	return fillTx(ctx, tx, "more")
}

// Tapes created in bulk are like others: they can be written to, forked, merged, verified and collected, with and
// without a working tree.
func TestBulk(t *testing.T) {
	s := storetest.New(t, nil)
	if lost, err := createBulk(t.Context(), s, bulkTapes...); err != nil || lost != nil {
		t.Fatalf("creating tapes in bulk: lost %v, error %v", lost, err)
	}
	for _, name := range bulkTapes {
		if dir := storetest.Tape(t, s, name).WorkTree(); dir != "" {
			t.Errorf("%s has the working tree %s", name, dir)
		}
	}
	storetest.Healthy(t, s.Dir())
	storetest.Must(t, addBare(t.Context(), s, "one"))
	storetest.Append(t, storetest.Tape(t, s, "other/tape"), repo.Message("user", "by hand"))
	storetest.Must(t, addBare(t.Context(), s, "other/tape"))
	for name, want := range map[string]int{"one": 17, "other/tape": 18, "three": 9} {
		all := storetest.Entries(t, storetest.Tape(t, s, name), repo.Query{})
		if len(all) != want || all[len(all)-1].ID != int64(want) {
			t.Errorf("%s has %d entries, want %d", name, len(all), want)
		}
	}
	if _, err := createBulk(t.Context(), s, "one"); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("creating a tape that exists: %v, want ErrConflict", err)
	}
	storetest.Healthy(t, s.Dir())
}

// Several create the same tapes in bulk, and one creates them one by one. Each tape is created once, and no entry is
// lost.
func TestBulkRaces(t *testing.T) {
	s := storetest.New(t, nil)
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("tape-", i))
	}
	var made sync.Map
	claim := func(name string) {
		if _, twice := made.LoadOrStore(name, true); twice {
			t.Errorf("%s was made twice", name)
		}
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			own := storetest.OpenFaulty(t, s.Dir(), nil)
			bulk := writer.NewBulk((*workspace.Store)(own))
			var mine []string
			for _, name := range names {
				tx, err := bulk.Create(t.Context(), name, writer.TapeStart{First: repo.Anchor{Name: repo.FirstAnchor}})
				if errors.Is(err, repo.ErrConflict) {
					continue
				}
				mine = append(mine, name)
				if storetest.Must(t, err); !tx.InBulk() {
					claim(name)
					mine = mine[:len(mine)-1]
				}
				storetest.Must(t, fillTx(t.Context(), tx, name))
			}
			lost, err := bulk.Commit(t.Context())
			storetest.Must(t, err)
			gone := map[string]bool{}
			for _, name := range lost {
				gone[name] = true
			}
			for _, name := range mine {
				if !gone[name] {
					claim(name)
				}
			}
		})
	}
	group.Go(func() {
		own := storetest.OpenFaulty(t, s.Dir(), nil)
		for _, name := range names[5:8] {
			if _, err := own.CreateTape(t.Context(), name); err == nil {
				claim(name)
			} else if !errors.Is(err, repo.ErrConflict) {
				t.Error(err)
			}
		}
	})
	group.Wait()
	for _, name := range names {
		if n := len(storetest.Entries(t, storetest.Tape(t, s, name), repo.Query{})); n != 9 && n != 1 {
			t.Errorf("%s has %d entries, want 1 or 9", name, n)
		}
	}
	storetest.Healthy(t, s.Dir())
}
