package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"tape/internal/store/activity"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Sums count each fact once, although a copied history is on several tapes: in the tape with the lowest rank and, of
// those with the same rank, the first name. Which tape that is may change when a tape is added, grows, or goes. So the
// sums of such tapes are made anew, from all their entries, once all tapes are in the index.

// otherFacts is the condition that b is the same fact as a, on another tape.
const otherFacts = "FROM facts a JOIN facts b ON b.fact = a.fact AND b.doc >> 26 <> a.doc >> 26 WHERE a.doc BETWEEN ? AND ?"

// sharing returns the tapes that have some of the facts in a range of documents of one tape.
func (d *DB) sharing(first, last int64) (tapes []int64, err error) {
	var no int64
	err = d.rows("SELECT DISTINCT b.doc >> 26 "+otherFacts, []any{first, last}, []any{&no}, func() error {
		tapes = append(tapes, no)
		return nil
	})
	return tapes, err
}

// unsettle notes that the facts in a range of documents may count in another tape than before.
func (d *DB) unsettle(tape, first, last int64) error {
	others, err := d.sharing(first, last)
	if len(others) > 0 {
		for _, no := range append(others, tape) {
			d.unsettled[no] = true
		}
	}
	return err
}

// addFacts adds the facts of new entries of a tape, by their ids.
func (d *DB) addFacts(tape int64, facts []fact) error {
	const atOnce = 100
	for list := range slices.Chunk(facts, atOnce) {
		args := make([]any, 0, 2*len(list))
		for _, f := range list {
			args = append(args, DocOf(tape, f.id), f.fact)
		}
		if err := d.exec("INSERT INTO facts VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(list)-1), args...); err != nil {
			return err
		}
	}
	if len(facts) == 0 {
		return nil
	}
	return d.unsettle(tape, DocOf(tape, facts[0].id), DocOf(tape, facts[len(facts)-1].id))
}

// fact is a fact with the id of its entry.
type fact struct{ id, fact int64 }

// elsewhere returns the ids of a tape's entries whose facts count in another tape.
func (d *DB) elsewhere(tape int64) (map[int64]bool, error) {
	ids := map[int64]bool{}
	var doc int64
	err := d.rows("SELECT DISTINCT a.doc FROM facts a JOIN facts b ON b.fact = a.fact AND b.doc >> 26 <> a.doc >> 26"+
		" JOIN tapes t ON t.no = a.doc >> 26 JOIN tapes o ON o.no = b.doc >> 26"+
		" WHERE a.doc BETWEEN ? AND ? AND (o.rank, o.name) < (t.rank, t.name)", []any{DocOf(tape, 0), DocOf(tape+1, 0) - 1}, []any{&doc}, func() error {
		ids[IDOf(doc)] = true
		return nil
	})
	return ids, err
}

// settle makes the sums of the tapes anew that have, or had, facts which count in other tapes.
func (d *DB) settle(ctx context.Context, in *repo.Store) error {
	for _, no := range slices.Sorted(maps.Keys(d.unsettled)) {
		ids, err := d.elsewhere(no)
		if err != nil {
			return err
		}
		var before int64
		if _, err := d.row("SELECT elsewhere FROM tapes WHERE no = ?", []any{no}, &before); err != nil {
			return err
		}
		if len(ids) == 0 && before == 0 {
			continue
		}
		s, err := d.sumAgain(ctx, in, no, ids)
		if err == nil && s != nil {
			err = d.exec("UPDATE tapes SET activity = ?, elsewhere = ? WHERE no = ?", encodeActivity(*s), len(ids), no)
		}
		if err != nil {
			return err
		}
	}
	clear(d.unsettled)
	return nil
}

// sumAgain makes the sums of a tape anew, from those of its entries that the index has. elsewhere has the ids of those
// whose facts count in another tape. It returns nil if the tape is gone.
func (d *DB) sumAgain(ctx context.Context, in *repo.Store, no int64, elsewhere map[int64]bool) (*activity.Session, error) {
	var name string
	var base, last int64
	if ok, err := d.row("SELECT name, base, entries FROM tapes WHERE no = ?", []any{no}, &name, &base, &last); err != nil || !ok {
		return nil, err
	}
	t, err := in.Tape(ctx, name)
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil // it is about to be dropped
	}
	if err != nil {
		return nil, err
	}
	if err := d.dropSums(no); err != nil {
		return nil, err
	}
	s := &activity.Session{}
	for e, err := range t.Entries(ctx, repo.Query{FirstID: base + 1, LastID: last}) {
		if err != nil {
			return nil, err
		}
		at := int64(0)
		if date, ok := e.Time(); ok {
			at = date.UnixMicro()
		}
		s.Add(e.ID, at, activity.Read(e), elsewhere[e.ID])
	}
	return s, d.addSums(no, s.Take())
}

// Facts returns the facts of all tapes, sorted.
func (d *DB) Facts() (facts []int64, err error) {
	var f int64
	err = d.rows("SELECT DISTINCT fact FROM facts ORDER BY fact", nil, []any{&f}, func() error {
		facts = append(facts, f)
		return nil
	})
	return facts, err
}

// Owner is the tape that a fact counts in.
type Owner struct {
	Rank int64
	Name string
}

// Before reports whether a fact counts in this tape and not in o. Other workspaces have another order.
func (w Owner) Before(o Owner) bool {
	return w.Rank < o.Rank || w.Rank == o.Rank && w.Name < o.Name
}

// Owners returns where facts count, of all tapes of this index.
func (d *DB) Owners(facts map[int64]bool) (map[int64]Owner, error) {
	out := map[int64]Owner{}
	for f := range facts {
		var o Owner
		ok, err := d.row("SELECT t.rank, t.name FROM facts f JOIN tapes t ON t.no = f.doc >> 26 WHERE f.fact = ? ORDER BY t.rank, t.name LIMIT 1", []any{f}, &o.Rank, &o.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			out[f] = o
		}
	}
	return out, nil
}

// sumTables have what was done in the tapes.
var sumTables = []string{"work", "tools", "touches", "said"}

// Without calls f while the sums do not have some facts, which count in another workspace. f sees temporary tables, so
// nothing is written to the index.
func (d *DB) Without(ctx context.Context, in *repo.Store, facts map[int64]bool, f func() error) (err error) {
	defer func() {
		for _, table := range sumTables {
			err = errors.Join(err, d.Script("DROP TABLE IF EXISTS temp."+table))
		}
	}()
	for _, table := range sumTables {
		var sql string
		if _, err := d.row("SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", []any{table}, &sql); err != nil {
			return err
		}
		if err := d.Script(strings.Replace(sql, "CREATE TABLE", "CREATE TEMP TABLE", 1) + "; INSERT INTO temp." + table + " SELECT * FROM main." + table); err != nil {
			return err
		}
	}
	tapes := map[int64]map[int64]bool{} // by tape, the ids of entries with these facts
	for fact := range facts {
		var doc int64
		if err := d.rows("SELECT doc FROM facts WHERE fact = ?", []any{fact}, []any{&doc}, func() error {
			no := TapeOf(doc)
			if tapes[no] == nil {
				tapes[no] = map[int64]bool{}
			}
			tapes[no][IDOf(doc)] = true
			return nil
		}); err != nil {
			return err
		}
	}
	for no, ids := range tapes {
		here, err := d.elsewhere(no)
		if err != nil {
			return err
		}
		maps.Copy(ids, here)
		if _, err := d.sumAgain(ctx, in, no, ids); err != nil {
			return err
		}
	}
	return f()
}

// dropSums removes what was done in a tape.
func (d *DB) dropSums(no int64) error {
	first, last := DocOf(no, 0), DocOf(no+1, 0)-1
	return errors.Join(
		d.exec("DELETE FROM work WHERE tape = ?", no),
		d.exec("DELETE FROM tools WHERE tape = ?", no),
		d.exec("DELETE FROM touches WHERE doc BETWEEN ? AND ?", first, last),
		d.exec("DELETE FROM said WHERE doc BETWEEN ? AND ?", first, last),
	)
}

// storeOf returns the workspace of tapes.
func storeOf(t *Target) *repo.Store { return (*repo.Store)((*workspace.Tape)(t.Tape).Store()) }
