package db

import (
	"context"
	"fmt"
	"time"
)

// oldPart is the partition of entries without a date, and of those from before the first month.
const oldPart = "entries_old"

var firstMonth = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)

// Dated returns the date by which an entry is sorted: its own, or now if that is more than a month ahead, because
// then a clock was wrong. An entry without a date is sorted before all others.
func Dated(date time.Time, ok bool, now time.Time) time.Time {
	switch {
	case !ok || date.Before(time.Unix(0, 0)):
		return time.Unix(0, 0).UTC()
	case date.After(now.AddDate(0, 1, 0)):
		return now.UTC()
	}
	return date.UTC()
}

// partOf returns the partition of a date, and the month in which it is counted.
func partOf(date time.Time) (part string, month time.Time) {
	if date.Before(firstMonth) {
		return oldPart, firstMonth.AddDate(0, -1, 0)
	}
	month = time.Date(date.Year(), date.Month(), 1, 0, 0, 0, 0, time.UTC)
	return fmt.Sprintf("entries_%04d%02d", month.Year(), month.Month()), month
}

// lockParts is the advisory lock for making partitions.
const lockParts = lockSchema + 1

// addPart makes a partition if it is missing, in a transaction of its own: otherwise other workers would wait until
// the one that fills it ends.
func (w *Writer) addPart(ctx context.Context, part string, month time.Time) error {
	if w.parts[part] {
		return nil
	}
	c, err := w.db.pool.Acquire(ctx)
	if err != nil {
		return inWords(err)
	}
	defer c.Release()
	tx, err := c.Begin(ctx)
	if err != nil {
		return inWords(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var has bool
	if _, err = tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockParts); err == nil {
		err = tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, part).Scan(&has)
	}
	if err == nil && !has {
		const day = "2006-01-02 00:00:00+00"
		_, err = tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE %[1]s (LIKE entries INCLUDING DEFAULTS);
			ALTER TABLE entries ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`, part, month.Format(day), month.AddDate(0, 1, 0).Format(day)))
	}
	if err == nil {
		err = tx.Commit(ctx)
	}
	if err == nil {
		w.parts[part] = true
	}
	return inWords(err)
}

// tidy makes new rows fast to search: it moves pending words into the index, and updates the planner's statistics of
// partitions that have changed much.
func (w *Writer) tidy(ctx context.Context) error {
	for part, n := range w.added {
		var total int64
		_, err := w.conn.Exec(ctx, `SELECT gin_clean_pending_list(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			JOIN pg_am a ON a.oid = c.relam WHERE i.indrelid = to_regclass($1) AND a.amname = 'gin'`, part)
		if err == nil {
			err = w.conn.QueryRow(ctx, `SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass($1)`, part).Scan(&total)
		}
		if err == nil && n*10 >= max(total, 0) {
			_, err = w.conn.Exec(ctx, `ANALYZE `+part)
		}
		if err != nil {
			return inWords(err)
		}
		delete(w.added, part)
	}
	return nil
}
