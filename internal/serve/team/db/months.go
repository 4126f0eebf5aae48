package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
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

// addPart makes a partition if it is missing, in a transaction of its own. Otherwise other workers would wait for the
// end of the transaction that fills it.
func (w *Writer) addPart(ctx context.Context, part string, month time.Time) error {
	if w.parts[part] {
		return nil
	}
	c, err := w.db.pool.Acquire(ctx)
	if err != nil {
		return inWords(err)
	}
	defer c.Release()
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		var has bool
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockParts)
		if err == nil {
			err = tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, part).Scan(&has)
		}
		if err == nil && !has {
			const day = "2006-01-02 00:00:00+00"
			_, err = tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE %[1]s (LIKE entries INCLUDING DEFAULTS);
				ALTER TABLE entries ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`, part, month.Format(day), month.AddDate(0, 1, 0).Format(day)))
		}
		return err
	})
	if err == nil {
		w.parts[part] = true
	}
	return inWords(err)
}

// lockWords, with a hash of a partition's name, is the advisory lock for making the partition's index of words. It is
// not lockParts: a transaction that holds up the index may itself wait for lockParts.
const lockWords = lockSchema + 2

// tidy makes new rows fast to search, in the partitions to which this sync added rows, and in those that have no index,
// because a worker was killed. It tidies two partitions at once, over connections that are not the pool's: a
// transaction that it waits for may need one from the pool.
func (w *Writer) tidy(ctx context.Context) error {
	rows, err := w.conn.Query(ctx, `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'entries'::regclass
		AND NOT EXISTS (SELECT FROM pg_class x WHERE x.relname = c.relname || '_words' AND x.relnamespace = c.relnamespace)`)
	if err != nil {
		return inWords(err)
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return inWords(err)
	}
	for _, part := range missing {
		w.added[part] += 0 // now it is a key of added
	}
	todo := make(chan string, len(w.added))
	for part := range w.added {
		todo <- part
	}
	close(todo)
	work := func(c *pgx.Conn) error {
		for part := range todo {
			if slices.Contains(missing, part) {
				if err := makeIndex(ctx, c, part); err != nil {
					return err
				}
			}
			if err := tidyPart(ctx, c, part, w.added[part]); err != nil {
				return err
			}
		}
		return nil
	}
	var other errgroup.Group
	if len(todo) > 1 {
		other.Go(func() error {
			if c, err := pgx.ConnectConfig(ctx, w.conn.Config()); err == nil {
				defer func() { _ = c.Close(ctx) }()
				return work(c)
			}
			return nil // probably too many connections: the writer's own does it all
		})
	}
	err = work(w.conn)
	if err := cmp.Or(err, other.Wait()); err != nil {
		return inWords(err)
	}
	clear(w.added)
	return nil
}

// makeIndex makes the index of a partition's words. It is called when the partition has rows, because then several
// indexes can be made at once. It waits for all transactions that write into the partition. With little memory,
// PostgreSQL sorts the words in the processor's cache: for 83,000 entries of 40 words, it takes a third less time with
// 16 MB than with the usual 64 MB, and the index is smaller.
func makeIndex(ctx context.Context, c *pgx.Conn, part string) error {
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2)), set_config('maintenance_work_mem', '16MB', true)`, lockWords, part)
		if err == nil {
			_, err = tx.Exec(ctx, fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %[1]s_words ON %[1]s USING gin (words) WITH (fastupdate = on, gin_pending_list_limit = 16384)`, part))
		}
		return err
	})
}

// tidyPart moves pending words into the index of a partition. It updates the planner's statistics if at least one row
// in ten is new.
func tidyPart(ctx context.Context, c *pgx.Conn, part string, added int64) error {
	var total int64
	_, err := c.Exec(ctx, `SELECT gin_clean_pending_list(to_regclass($1))`, part+"_words")
	if err == nil {
		err = c.QueryRow(ctx, `SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass($1)`, part).Scan(&total)
	}
	if err == nil && added*10 >= max(total, 0) {
		_, err = c.Exec(ctx, `ANALYZE `+part+` (remote, tape, id, date, words)`)
	}
	return err
}
