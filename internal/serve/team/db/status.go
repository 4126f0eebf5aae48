package db

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// RemoteStatus says how far a remote has been read, and whether that failed.
type RemoteStatus struct {
	Remote  string
	Tried   *time.Time // when the last sync began; nil: there was none
	Synced  *time.Time // when the last successful sync began; nil: there was none
	Error   string     // why the last sync failed, "" if it did not
	Tapes   int64
	Entries int64
	id      int32
}

// Status returns the status of all remotes in the database, sorted by name.
func (d *DB) Status(ctx context.Context) (out []RemoteStatus, err error) {
	err = pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('tape.all', 'on', true)`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT id, name, tried, synced, error FROM remotes ORDER BY name`)
		if err != nil {
			return err
		}
		var r RemoteStatus
		if _, err = pgx.ForEachRow(rows, []any{&r.id, &r.Remote, &r.Tried, &r.Synced, &r.Error}, func() error {
			out = append(out, r)
			return nil
		}); err != nil {
			return err
		}
		for i := range out {
			if err := see(ctx, tx, []int32{out[i].id}); err != nil {
				return err
			}
			err := tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM tapes WHERE remote = $1), (SELECT coalesce(sum(entries), 0)::bigint FROM months WHERE remote = $1)`, out[i].id).
				Scan(&out[i].Tapes, &out[i].Entries)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, inWords(err)
}

// Audit records what somebody did.
func (d *DB) Audit(ctx context.Context, who, action, resource string) error {
	_, err := d.pool.Exec(ctx, `INSERT INTO audit (who, action, resource) VALUES ($1, $2, $3)`, short(who), action, short(resource))
	return inWords(err)
}

// AuditTyped records a search whose text somebody may still be typing. It replaces a record of the last seconds whose
// text is the beginning of this one. masked is the text without its secrets, which is what is kept.
func (d *DB) AuditTyped(ctx context.Context, who, text, masked string) error {
	_, err := d.pool.Exec(ctx, `WITH longer AS (UPDATE audit SET resource = $3, date = now()
			WHERE who = $1 AND action = 'search' AND date > now() - interval '3 seconds' AND starts_with($2, resource) RETURNING 1)
		INSERT INTO audit (who, action, resource) SELECT $1, 'search', $3 WHERE NOT EXISTS (SELECT FROM longer)`, short(who), short(text), short(masked))
	return inWords(err)
}

// mostAudited is the length of a text in the audit, in bytes.
const mostAudited = 500

// short returns a text that the audit keeps: a long one is cut.
func short(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > mostAudited {
		text = strings.ToValidUTF8(text[:mostAudited], "") + "…"
	}
	return text
}

// DropAudit removes the records from before a date.
func (d *DB) DropAudit(ctx context.Context, before time.Time) error {
	_, err := d.pool.Exec(ctx, `DELETE FROM audit WHERE date < $1`, before)
	return inWords(err)
}
