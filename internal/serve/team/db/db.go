// Package db is the team's database: its schema, the rows of tapes, tokens, and the audit, which records who
// searched for what. No other package uses PostgreSQL.
//
// A [View] answers the queries of one user, and puts the set of remotes that the user sees into each of them. A
// [Writer] writes the rows of one remote, which it has to itself.
package db

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tape/internal/store/layout"
)

// Version is the version of what is stored. Raise it when more than comments in schema.sql change, or the terms of an
// entry, for example by a new property in package snapshot. [DB.Prepare] then replaces the tables, and the next sync
// fills them.
const Version = 10

// patience is how long a statement of a user may take.
const patience = 30 * time.Second

//go:embed schema.sql
var schema string

// dropDerived drops the tables that are filled from git, and their functions.
const dropDerived = `
DROP TABLE IF EXISTS entries, tapes, months, words, remotes CASCADE;
DROP FUNCTION IF EXISTS tape_find, tape_best, tape_count, tape_seen CASCADE;
`

// lockSchema is the advisory lock for changes of the schema. With the id of a remote, it is the lock of the remote.
const lockSchema = 0x7461_7065

// DB is a pool of connections to the team's database.
type DB struct {
	pool *pgxpool.Pool
	key  []byte // nil before Prepare or Use
}

// Open connects to a database. Its address is a URL or a list of settings, as for psql.
func Open(ctx context.Context, address string) (*DB, error) {
	c, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, layout.Invalid("write it as postgres://USER@HOST/NAME, or postgres:///NAME?host=FOLDER for a socket", "the database's address cannot be read")
	}
	c.ConnConfig.RuntimeParams["application_name"] = "tape"
	c.ConnConfig.RuntimeParams["timezone"] = "UTC"
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, inWords(err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, inWords(err)
	}
	return &DB{pool: pool}, nil
}

// Close closes all connections.
func (d *DB) Close() { d.pool.Close() }

// inWords returns an error that says in a sentence why the database cannot be used. An error that says so already
// stays as it is.
func inWords(err error) error {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	var known *layout.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.As(err, &known):
		return err
	case errors.As(err, &pg) && pg.Code == "3D000":
		return &layout.Error{Class: layout.ErrBusy, Msg: pg.Message, Way: []layout.Hint{{Text: "createdb makes one, and tape team sync fills it"}}}
	case errors.As(err, &pg) && (pg.Code == "28P01" || pg.Code == "28000"):
		return layout.Invalid("put the password into PGPASSFILE, PGPASSWORD or database_file", "the database refuses the user: %s", pg.Message)
	case errors.As(err, &pg) && pg.Code == "42501":
		return layout.Invalid("make the user of team.toml the owner of the database", "the database does not allow it: %s", pg.Message)
	case errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "53") || pg.Code == "57P03"):
		return &layout.Error{Class: layout.ErrBusy, Msg: "the database cannot do it now: " + pg.Message}
	case errors.As(err, &pg) && pg.Code == "57014":
		return &layout.Error{Class: layout.ErrBusy, Msg: fmt.Sprintf("it took the database longer than %s", patience), Way: []layout.Hint{{Text: "give more words, a session or dates"}}}
	case errors.As(err, &pg) && (pg.Code == "22021" || pg.Code == "22P05"):
		return layout.Invalid("", "a text has a NUL byte, or is not UTF-8")
	case errors.As(err, &pg) && pg.Code == "42P01":
		return &layout.Error{Class: layout.ErrBusy, Msg: "database", Cause: ErrNoTables, Way: []layout.Hint{{Kind: layout.SyncTeam}}}
	case errors.As(err, &connect):
		return &layout.Error{Class: layout.ErrBusy, Msg: "the database does not answer: " + causeOf(connect), Way: []layout.Hint{{Text: "start PostgreSQL, or name another address in team.toml: database"}}}
	case errors.As(err, &pg):
		return &layout.Error{Class: err, Msg: "database: " + pg.Message + " (" + pg.Code + ")"}
	}
	return &layout.Error{Class: err, Msg: "database: " + err.Error()}
}

// ErrNoTables is the error for a database that was emptied while it was used.
var ErrNoTables = errors.New("it has no tables of tape")

// causeOf returns why a connection failed, without the address, which may have a password.
func causeOf(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			first, _, _ := strings.Cut(err.Error(), "\n") // there is a line for each address that was tried
			return first
		}
		err = next
	}
}

// Server says which server it is, and how large the database is.
func (d *DB) Server(ctx context.Context) (text string, err error) {
	err = d.pool.QueryRow(ctx, `SELECT 'PostgreSQL ' || current_setting('server_version') || ', database ' || current_database() || ' of ' ||
		pg_size_pretty(pg_database_size(current_database())) || ', as user ' || current_user`).Scan(&text)
	return text, inWords(err)
}

// State says what a database contains.
type State int

// States of a database.
const (
	Empty   State = iota // nothing
	Ours                 // this version's schema
	Older                // the schema of an older version
	Newer                // the schema of a newer version
	Foreign              // something else
)

// State finds out what the database contains, and changes nothing.
func (d *DB) State(ctx context.Context) (State, error) {
	return state(ctx, d.pool)
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func state(ctx context.Context, q querier) (State, error) {
	var ours bool
	var tables int
	err := q.QueryRow(ctx, `SELECT to_regclass('tape_team') IS NOT NULL, (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f'))`).Scan(&ours, &tables)
	if err != nil {
		return Empty, inWords(err)
	}
	switch {
	case !ours && tables == 0:
		return Empty, nil
	case !ours:
		return Foreign, nil
	}
	var version int
	err = q.QueryRow(ctx, `SELECT version FROM tape_team`).Scan(&version)
	switch {
	case err != nil:
		return Foreign, inWords(err)
	case version < Version:
		return Older, nil
	case version > Version:
		return Newer, nil
	}
	return Ours, nil
}

// Err returns why a database in this state cannot be used, with a hint; nil for Ours.
func (s State) Err() error {
	switch s {
	case Empty:
		return layout.NotFound("", "the database is empty").Try(layout.SyncTeam)
	case Older:
		return layout.Conflict("", "the database was made by an older version of tape").Try(layout.RebuildTeam)
	case Newer:
		return layout.Conflict("install that version here, too", "the database was made by a newer version of tape")
	case Foreign:
		return layout.Conflict("name an empty one: createdb makes it", "the database has tables of another program")
	}
	return nil
}

// Prepare makes the tables in an empty database, and replaces those of an older version: the next sync fills them,
// and tokens and audit stay. It returns a sentence about what it did, "" if there was nothing to do.
func (d *DB) Prepare(ctx context.Context) (did string, err error) {
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockSchema); err != nil {
			return err
		}
		st, err := state(ctx, tx)
		if err != nil {
			return err
		}
		switch st {
		case Empty:
			did = "made the tables"
			return makeSchema(ctx, tx)
		case Older:
			did = "the database was made by an older version: it is filled again from the remotes"
			return remakeSchema(ctx, tx)
		}
		return st.Err()
	})
	if err != nil {
		return "", inWords(err)
	}
	return did, d.readKey(ctx)
}

func makeSchema(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, schema); err != nil {
		return err
	}
	key := make([]byte, 32)
	rand.Read(key)
	_, err := tx.Exec(ctx, `INSERT INTO tape_team (version, key) VALUES ($1, $2)`, Version, key)
	return err
}

// remakeSchema replaces the tables. It keeps tokens, audit and key, which git does not have.
func remakeSchema(ctx context.Context, tx pgx.Tx) error {
	kept := `ALTER TABLE tape_team RENAME TO former_team; ALTER TABLE tokens RENAME TO former_tokens; ALTER TABLE audit RENAME TO former_audit;`
	back := `INSERT INTO tokens (hash, name, groups, created, expires, revoked, used) SELECT hash, name, groups, created, expires, revoked, used FROM former_tokens;
		INSERT INTO audit (date, who, action, resource) SELECT date, who, action, resource FROM former_audit;
		UPDATE tape_team SET key = (SELECT key FROM former_team LIMIT 1);
		DROP TABLE former_team, former_tokens, former_audit;`
	if _, err := tx.Exec(ctx, dropDerived+kept); err != nil {
		return err
	}
	if err := makeSchema(ctx, tx); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, back)
	return err
}

// Use makes sure that the database has this version's schema. Unlike Prepare, it changes nothing.
func (d *DB) Use(ctx context.Context) error {
	st, err := d.State(ctx)
	if err == nil {
		err = st.Err()
	}
	if err == nil {
		err = d.readKey(ctx)
	}
	return err
}

func (d *DB) readKey(ctx context.Context) error {
	return inWords(d.pool.QueryRow(ctx, `SELECT key FROM tape_team`).Scan(&d.key))
}

// Key returns the secret of this database, which Prepare or Use has read. It signs cursors, and keys the marks that
// replace secrets.
func (d *DB) Key() []byte { return d.key }

// Notes returns what is wrong with the database or its user, one sentence for each problem.
func (d *DB) Notes(ctx context.Context) (notes []string, err error) {
	var number int
	var version string
	var bypasses bool
	err = d.pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		(SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)`).Scan(&number, &version, &bypasses)
	if err != nil {
		return nil, inWords(err)
	}
	const oldest = 130000
	if number < oldest {
		notes = append(notes, "PostgreSQL "+version+" is too old: install 13 or later")
	}
	if bypasses {
		notes = append(notes, "row security does not apply to the database's user, a superuser or one with BYPASSRLS: name another user")
	}
	return notes, nil
}
