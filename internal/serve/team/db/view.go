package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// View answers the queries of one user. All of them go through its methods ask and inMonths, which add the set of remotes
// that the user sees.
type View struct {
	db    *DB
	names map[int32]string // of the remotes, by id
	ids   []int32          // of the remotes
}

// View returns the view of a user who sees the named remotes.
func (d *DB) View(ctx context.Context, remotes []string) (*View, error) {
	v := &View{db: d, names: map[int32]string{}, ids: []int32{}}
	err := d.query(ctx, []string{"tape.remotes", "{}", "tape.all", "on"}, `SELECT id, name FROM remotes WHERE name = ANY ($1) ORDER BY name`, []any{remotes}, func(r pgx.Rows) error {
		var id int32
		var name string
		err := r.Scan(&id, &name)
		v.names[id] = name
		v.ids = append(v.ids, id)
		return err
	})
	return v, inWords(err)
}

// query runs a query in a read-only transaction, with values for settings: names and values in turn. All is sent at once:
// the statements of a batch are one transaction.
func (d *DB) query(ctx context.Context, settings []string, sql string, args []any, each func(rows pgx.Rows) error) (err error) {
	settings = append([]string{"transaction_read_only", "on", "statement_timeout", fmt.Sprint(patience.Milliseconds())}, settings...)
	var set []string
	var values []any
	for i := 0; i < len(settings); i += 2 {
		set = append(set, fmt.Sprintf("set_config('%s', $%d, true)", settings[i], i/2+1))
		values = append(values, settings[i+1])
	}
	b := &pgx.Batch{}
	b.Queue("SELECT "+strings.Join(set, ", "), values...)
	b.Queue(sql, args...)
	results := d.pool.SendBatch(ctx, b)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// setOf returns ids of remotes as an array of PostgreSQL.
func setOf(ids []int32) string {
	return "{" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]") + "}"
}

// see tells row security, the second wall, which remotes a transaction sees.
func see(ctx context.Context, tx pgx.Tx, ids []int32) error {
	_, err := tx.Exec(ctx, `SELECT set_config('tape.remotes', $1, true), set_config('tape.all', 'off', true)`, setOf(ids))
	return err
}

// ask runs a query, whose first parameter is the set of remotes, in a transaction that sees no other remote.
func (v *View) ask(ctx context.Context, sql string, each func(rows pgx.Rows) error, args ...any) error {
	return inWords(v.db.query(ctx, []string{"tape.remotes", setOf(v.ids), "tape.all", "off"}, sql, append([]any{v.ids}, args...), each))
}

// into returns a function that appends the value of a row with one column to a list.
func into[T any](list *[]T) func(pgx.Rows) error {
	return func(r pgx.Rows) error {
		var value T
		err := r.Scan(&value)
		*list = append(*list, value)
		return err
	}
}

// Stored is an entry as the database has it. Secrets in it are masked.
type Stored struct {
	Key
	Date   time.Time
	Author string
	Anchor string // the name of its phase
	Phase  int    // the number of its anchor
	Text   string // what is searched; "" from Entries
	Line   string // the stored line
}

// Read returns entries by their keys; dates has their dates. An entry that does not exist is left out. The rows are
// looked up one by one: a join would read whole months.
func (v *View) Read(ctx context.Context, dates map[Key]time.Time) (map[Key]Stored, error) {
	var tapes, ids []int64
	var remotes []int32
	var at []time.Time
	for k, date := range dates {
		remotes, tapes, ids, at = append(remotes, k.Remote), append(tapes, k.Tape), append(ids, k.ID), append(at, date)
	}
	out := make(map[Key]Stored, len(dates))
	err := v.ask(ctx, `SELECT e.* FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::timestamptz[]) k(remote, tape, id, date)
		CROSS JOIN LATERAL (SELECT e.remote, e.tape, e.id, e.date, e.author, e.anchor, e.phase, e.text, e.line FROM entries e
			WHERE e.remote = k.remote AND e.tape = k.tape AND e.id = k.id AND e.date = k.date LIMIT 1) e WHERE e.remote = ANY ($1)`, func(r pgx.Rows) error {
		var s Stored
		err := r.Scan(&s.Remote, &s.Tape, &s.ID, &s.Date, &s.Author, &s.Anchor, &s.Phase, &s.Text, &s.Line)
		out[s.Key] = s
		return err
	}, remotes, tapes, ids, at)
	return out, err
}

// Authors returns the authors of the view's entries, and the owners of its tapes.
func (v *View) Authors(ctx context.Context) (out []string, err error) {
	err = v.ask(ctx, `SELECT DISTINCT a FROM tapes, unnest(authors || owner) a WHERE remote = ANY ($1) ORDER BY a`, into(&out))
	return out, err
}

// Range says which entries of a session are read.
type Range struct {
	First, Last int64     // ids; Last 0 means to the end
	Kinds       []string  // empty means all
	Roles       []string  // empty means all
	Since       time.Time // zero means all
	Until       time.Time // zero means all
	Reverse     bool      // the last one first
	Most        int       // how many at most
}

// errEnough ends a query early.
var errEnough = errors.New("enough")

// Entries yields the entries of a session in their order, or the last one first, until yield returns false.
func (v *View) Entries(ctx context.Context, s Session, q Range, yield func(Stored) bool) error {
	order := "e.id"
	if q.Reverse {
		order = "e.id DESC"
	}
	if q.Last == 0 {
		q.Last = s.LastID
	}
	if q.Kinds == nil {
		q.Kinds = []string{}
	}
	if q.Roles == nil {
		q.Roles = []string{}
	}
	err := v.ask(ctx, `SELECT e.remote, e.tape, e.id, e.date, e.author, e.anchor, e.phase, e.line FROM entries e
		WHERE e.remote = ANY ($1) AND e.remote = $2 AND e.tape = $3 AND e.date >= $4 AND e.date <= $5 AND e.id >= $6 AND e.id <= $7
		AND ($8::text[] = '{}' OR e.kind = ANY ($8)) AND ($9::text[] = '{}' OR e.role = ANY ($9))
		AND ($10::timestamptz IS NULL OR e.date >= $10) AND ($11::timestamptz IS NULL OR e.date <= $11)
		ORDER BY `+order+` LIMIT $12`, func(r pgx.Rows) error {
		var e Stored
		if err := r.Scan(&e.Remote, &e.Tape, &e.ID, &e.Date, &e.Author, &e.Anchor, &e.Phase, &e.Line); err != nil {
			return err
		}
		if !yield(e) {
			return errEnough
		}
		return nil
	}, s.RemoteID, s.ID, s.Oldest, s.Newest, q.First, q.Last, q.Kinds, q.Roles, orNull(q.Since), orNull(q.Until), q.Most)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
