package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"

	"tape/internal/store/layout"
)

// options are those of the connection to a copy: functions that a schema calls have to be harmless, damaged cells are
// looked for, and the file is not mapped into memory.
const options = "_defensive=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=mmap_size(0)"

// The limits of a question.
const (
	longest   = 30 * time.Second // for an answer
	maxValue  = 64 << 20         // bytes of a value
	maxAnswer = 256 << 20        // bytes of an answer
)

// Numbers of SQLite.
const (
	limitLength = 0  // SQLITE_LIMIT_LENGTH
	full        = 13 // SQLITE_FULL
	tooBig      = 18 // SQLITE_TOOBIG
)

// connect opens the connection, and reads the schema for the first time.
func (d *DB) connect(ctx context.Context) (err error) {
	if d.conn, err = d.db.Conn(ctx); err != nil {
		return d.failed(ctx, err)
	}
	if _, err := sqlite.Limit(d.conn, limitLength, maxValue); err != nil {
		return err
	}
	if _, err := d.conn.ExecContext(ctx, fmt.Sprintf("PRAGMA temp.page_size = 4096; PRAGMA temp.max_page_count = %d", maxAnswer/4096)); err != nil {
		return d.failed(ctx, err)
	}
	return d.Ask(ctx, func([]string, []any) error { return nil }, "SELECT count(*) FROM sqlite_schema")
}

// checkTable refuses a name that is not that of a plain table: a view or a virtual table runs what somebody else wrote,
// and so does a column whose value is computed. A missing table is not refused: the question will be.
func (d *DB) checkTable(ctx context.Context, name string) error {
	kind := ""
	// SQLite reads no schema whose types and names are not those of its statements.
	err := d.Ask(ctx, func(_ []string, row []any) error {
		if kind = fmt.Sprint(row[0]); kind == "table" && fmt.Sprint(row[1]) == "0" {
			kind = "virtual table"
		}
		return nil
	}, "SELECT type, rootpage FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view') ORDER BY type", name)
	if err != nil || kind == "" {
		return err
	}
	if kind != "table" {
		return layout.Invalid("", "%s is not read: %q in it is a %s, which runs statements of whoever made it", d.path, name, kind)
	}
	computed := ""
	err = d.Ask(ctx, func(_ []string, row []any) error {
		computed = fmt.Sprint(row[0])
		return nil
	}, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden > 1", name)
	if err == nil && computed != "" {
		err = layout.Invalid("", "%s is not read: the values of column %q in table %q are computed by what its maker wrote", d.path, computed, name)
	}
	return err
}

// Ask passes the rows of an answer to each, with the names of the columns. The values are nil, int64, float64, string or
// []byte, and may be kept. The question must be about tables that were given to Open. Errors: that of each; ErrInvalid if
// the answer takes too long or is too large, or if the database is damaged.
func (d *DB) Ask(ctx context.Context, each func(names []string, row []any) error, question string, args ...any) error {
	if d.slow {
		return d.tooSlow()
	}
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	// The driver can interrupt the statements of a script while they are run, or made from a huge schema; but not the
	// first one, and not a question while its rows are read. So the answer first becomes a table of its own.
	if _, err := d.conn.ExecContext(ctx, "SELECT 1; DROP TABLE IF EXISTS temp.answer; CREATE TEMP TABLE answer AS "+question, args...); err != nil {
		return d.failed(ctx, err)
	}
	rows, err := d.conn.QueryContext(ctx, "SELECT * FROM temp.answer")
	if err != nil {
		return d.failed(ctx, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return d.failed(ctx, err)
	}
	for rows.Next() {
		row, at := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			at[i] = &row[i]
		}
		if err := rows.Scan(at...); err != nil {
			return d.failed(ctx, err)
		}
		if err := each(names, row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return d.failed(ctx, err)
	}
	return nil
}

// failed returns the error for a question that could not be answered.
func (d *DB) failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		d.slow = true
		return d.tooSlow()
	case ctx.Err() != nil:
		return ctx.Err()
	}
	var code interface{ Code() int }
	if errors.As(err, &code) && code.Code()&0xff == tooBig {
		return layout.Invalid("", "%s has a value of more than %d MiB", d.path, maxValue>>20)
	}
	if errors.As(err, &code) && code.Code()&0xff == full {
		return layout.Invalid("", "%s has too much for one session: more than %d MiB", d.path, maxAnswer>>20)
	}
	return notDatabase(d.path, err)
}

func (d *DB) tooSlow() error {
	return layout.Invalid("", "%s does not answer within %s", d.path, longest)
}
