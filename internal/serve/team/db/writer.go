package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tape/internal/store/layout"
)

// Writer writes the rows of one remote, which it has to itself until it is closed.
type Writer struct {
	db     *DB
	conn   *pgx.Conn // its own, not one of the pool's: workers must not use up the pool, which others need to continue
	remote int32
	parts  map[string]bool  // partitions that exist
	added  map[string]int64 // rows written, by partition
	words  map[string]bool  // some of those that the table of words has
}

// Writer returns the writer of a remote. If another worker has the remote, Writer waits if wait is true;
// otherwise it returns nil and no error.
func (d *DB) Writer(ctx context.Context, remote string, wait bool) (*Writer, error) {
	conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig)
	if err != nil {
		return nil, inWords(err)
	}
	w := &Writer{db: d, conn: conn, parts: map[string]bool{oldPart: true}, added: map[string]int64{}, words: map[string]bool{}}
	ok, err := w.lock(ctx, remote, wait)
	if err != nil || !ok {
		w.Close()
		return nil, inWords(err)
	}
	return w, nil
}

// lock takes the lock of the remote, which it adds to the table of remotes if needed.
func (w *Writer) lock(ctx context.Context, remote string, wait bool) (ok bool, err error) {
	// A commit need not reach the disk at once: the next worker writes again what a power failure loses.
	// lz4 is faster than PostgreSQL's own compression, which versions and builds without lz4 keep.
	if _, err = w.conn.Exec(ctx, `SELECT set_config('tape.all', 'on', false), set_config('synchronous_commit', 'off', false);
		SELECT set_config(name, 'lz4', false) FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)`); err != nil {
		return false, err
	}
	if _, err = w.conn.Exec(ctx, `INSERT INTO remotes (name) VALUES ($1) ON CONFLICT DO NOTHING`, remote); err != nil {
		return false, err
	}
	if err = w.conn.QueryRow(ctx, `SELECT id FROM remotes WHERE name = $1`, remote).Scan(&w.remote); err != nil {
		return false, err
	}
	if wait {
		_, err = w.conn.Exec(ctx, `SELECT pg_advisory_lock($1, $2)`, lockSchema, w.remote)
		ok = err == nil
	} else {
		err = w.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1, $2)`, lockSchema, w.remote).Scan(&ok)
	}
	if err == nil && ok {
		_, err = w.conn.Exec(ctx, `SELECT set_config('tape.all', 'off', false), set_config('tape.remotes', $1, false)`, setOf([]int32{w.remote}))
	}
	return ok, err
}

// Close ends the connection, and with it the lock.
func (w *Writer) Close() {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	_ = w.conn.Close(ctx)
}

// Tape is the row of a tape or fork. schema.sql explains the columns.
type Tape struct {
	ID        int64
	Ref, Name string
	Title     string
	Agent     string
	Model     string
	Project   string
	Authors   []string
	Owner     string
	Started   *time.Time
	Updated   *time.Time
	Entries   int64
	Bytes     int64
	Messages  int
	Calls     int
	Tokens    int64
	Anchors   int
	FirstID   int64
	LastID    int64
	Oldest    time.Time
	Newest    time.Time
	About     string
	Watermark string
}

const tapeColumns = `id, ref, name, title, agent, model, project, authors, owner, started, updated, entries, bytes, messages, calls, tokens, anchors, first_id, last_id, oldest, newest, about, watermark`

// Tapes returns the remote's tapes and forks in the database, by ref.
func (w *Writer) Tapes(ctx context.Context) (map[string]Tape, error) {
	rows, err := w.conn.Query(ctx, `SELECT `+tapeColumns+` FROM tapes WHERE remote = $1`, w.remote)
	if err != nil {
		return nil, inWords(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Tape])
	out := make(map[string]Tape, len(list))
	for _, t := range list {
		out[t.Ref] = t
	}
	return out, inWords(err)
}

// Tried records that a sync began.
func (w *Writer) Tried(ctx context.Context, began time.Time) error {
	_, err := w.conn.Exec(ctx, `UPDATE remotes SET tried = $2 WHERE id = $1`, w.remote, began)
	return inWords(err)
}

// Done makes new rows fast to search, and records the end of a sync: why it failed, or "" for success.
func (w *Writer) Done(ctx context.Context, began time.Time, failure string) error {
	if err := w.tidy(ctx); err != nil {
		return err
	}
	_, err := w.conn.Exec(ctx, `UPDATE remotes SET error = $3, synced = CASE WHEN $3 = '' THEN $2 ELSE synced END WHERE id = $1`, w.remote, began, failure)
	return inWords(err)
}

// Row is the row of an entry. schema.sql explains the columns.
type Row struct {
	ID                         int64
	Date                       time.Time
	Kind, Role, Author, Anchor string
	Phase                      int
	Sign                       int64
	Bytes                      int
	Text, Line                 string
	Words                      []string
}

// Change is a transaction of a Writer.
type Change struct {
	w      *Writer
	tx     pgx.Tx
	months map[string]*month // what it changes in the counts of months, by partition
	added  map[string]int64  // rows written, by partition
	words  map[string]bool   // that are new in the table of words
	gone   map[string]bool   // that removed entries had
}

type month struct {
	at             time.Time
	entries, bytes int64
}

// Begin begins a transaction.
func (w *Writer) Begin(ctx context.Context) (*Change, error) {
	tx, err := w.conn.Begin(ctx)
	return &Change{w: w, tx: tx, months: map[string]*month{}, added: map[string]int64{}, words: map[string]bool{}, gone: map[string]bool{}}, inWords(err)
}

// Rollback undoes the change.
func (c *Change) Rollback(ctx context.Context) { _ = c.tx.Rollback(context.WithoutCancel(ctx)) }

// NewID returns an id for a new tape. It may be called while a Change is writing.
func (w *Writer) NewID(ctx context.Context) (id int64, err error) {
	err = w.db.pool.QueryRow(ctx, `SELECT nextval(pg_get_serial_sequence('tapes', 'id'))`).Scan(&id)
	return id, inWords(err)
}

// Put writes the row of a tape, and replaces an older one with its ID.
func (c *Change) Put(ctx context.Context, t Tape) error {
	parent := ""
	if name, _, ok := strings.Cut(t.Name, "/agent-"); ok && strings.HasPrefix(t.Ref, layout.BranchPrefix) {
		parent = layout.BranchPrefix + layout.TapeSlug(name)
	}
	_, err := c.tx.Exec(ctx, `INSERT INTO tapes (remote, `+tapeColumns+`, parent) OVERRIDING SYSTEM VALUE
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25)
		ON CONFLICT (remote, id) DO UPDATE SET ref=$3, name=$4, title=$5, agent=$6, model=$7, project=$8, authors=$9, owner=$10, started=$11, updated=$12,
		entries=$13, bytes=$14, messages=$15, calls=$16, tokens=$17, anchors=$18, first_id=$19, last_id=$20, oldest=$21, newest=$22, about=$23, watermark=$24, parent=$25`,
		c.w.remote, t.ID, t.Ref, t.Name, t.Title, t.Agent, t.Model, t.Project, t.Authors, t.Owner, t.Started, t.Updated,
		t.Entries, t.Bytes, t.Messages, t.Calls, t.Tokens, t.Anchors, t.FirstID, t.LastID, t.Oldest, t.Newest, t.About, t.Watermark, parent)
	return inWords(err)
}

// Add writes the rows of entries of a tape.
func (c *Change) Add(ctx context.Context, tape int64, rows []Row) error {
	byPart := map[string][]Row{}
	for _, r := range rows {
		part, at := partOf(r.Date)
		if byPart[part] == nil {
			if err := c.w.addPart(ctx, part, at); err != nil {
				return err
			}
		}
		byPart[part] = append(byPart[part], r)
		c.count(part, at, 1, int64(r.Bytes))
		for _, word := range r.Words {
			if !c.w.words[word] && isWord(word) {
				c.words[word] = true
			}
		}
	}
	columns := []string{"remote", "tape", "id", "date", "kind", "role", "author", "phase", "anchor", "sign", "bytes", "text", "line", "words"}
	for part, list := range byPart {
		// This writes into the partition, because PostgreSQL refuses COPY into a table with row security.
		_, err := c.tx.CopyFrom(ctx, pgx.Identifier{part}, columns, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
			r := &list[i]
			return []any{c.w.remote, tape, r.ID, r.Date, r.Kind, r.Role, r.Author, int32(r.Phase), r.Anchor, r.Sign, int32(r.Bytes), r.Text, r.Line, vector(r.Words)}, nil
		}))
		if err != nil {
			return inWords(err)
		}
		c.added[part] += int64(len(list))
	}
	return nil
}

func vector(words []string) pgtype.TSVector {
	v := pgtype.TSVector{Valid: true, Lexemes: make([]pgtype.TSVectorLexeme, len(words))}
	for i, w := range words {
		v.Lexemes[i].Word = w
	}
	return v
}

// count changes the counts of a month.
func (c *Change) count(part string, at time.Time, entries, bytes int64) {
	m := c.months[part]
	if m == nil {
		m = &month{at: at}
		c.months[part] = m
	}
	m.entries += entries
	m.bytes += bytes
}

// Drop removes the entries of a tape, and, with all, the tape. It returns how many entries were removed.
func (c *Change) Drop(ctx context.Context, t Tape, all bool) (n int64, err error) {
	rows, err := c.tx.Query(ctx, `WITH gone AS (DELETE FROM entries WHERE remote = $1 AND tape = $2 AND date >= $3 AND date <= $4 RETURNING date, bytes, words)
		SELECT date_trunc('month', date, 'UTC'), count(*), sum(bytes), (SELECT array_agg(DISTINCT w) FROM gone, unnest(tsvector_to_array(words)) w) FROM gone GROUP BY 1`, c.w.remote, t.ID, t.Oldest, t.Newest)
	if err != nil {
		return 0, inWords(err)
	}
	var at time.Time
	var entries, bytes int64
	var words []string
	_, err = pgx.ForEachRow(rows, []any{&at, &entries, &bytes, &words}, func() error {
		for _, word := range words {
			c.gone[word] = c.gone[word] || isWord(word)
		}
		part, m := partOf(at.UTC())
		c.count(part, m, -entries, -bytes)
		n += entries
		return nil
	})
	if err == nil && all {
		_, err = c.tx.Exec(ctx, `DELETE FROM tapes WHERE remote = $1 AND id = $2`, c.w.remote, t.ID)
	}
	return n, inWords(err)
}

// Commit updates the counts of months and the table of words, and commits the change.
func (c *Change) Commit(ctx context.Context) error {
	if err := c.keepWords(ctx); err != nil {
		return inWords(err)
	}
	for _, part := range slices.Sorted(maps.Keys(c.months)) {
		m := c.months[part]
		if _, err := c.tx.Exec(ctx, `INSERT INTO months (remote, month, part, entries, bytes) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (remote, month) DO UPDATE SET entries = months.entries + $4, bytes = months.bytes + $5`, c.w.remote, m.at, part, m.entries, m.bytes); err != nil {
			return inWords(err)
		}
	}
	if err := c.tx.Commit(ctx); err != nil {
		return inWords(err)
	}
	for part, n := range c.added {
		c.w.added[part] += n
	}
	const most = 1 << 20 // words in memory
	if len(c.gone) > 0 || len(c.w.words) > most {
		clear(c.w.words)
	}
	maps.Copy(c.w.words, c.words)
	return nil
}

// DropRemotes removes the remotes that keep does not name, with all their rows, and returns their names.
func (d *DB) DropRemotes(ctx context.Context, keep []string) (gone []string, err error) {
	rows, err := d.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if slices.Contains(keep, r.Remote) {
			continue
		}
		if err := d.dropRemote(ctx, r.Remote); err != nil {
			return gone, fmt.Errorf("remove %s: %w", r.Remote, err)
		}
		gone = append(gone, r.Remote)
	}
	return gone, nil
}

func (d *DB) dropRemote(ctx context.Context, name string) error {
	w, err := d.Writer(ctx, name, true)
	if err != nil {
		return err
	}
	defer w.Close()
	return inWords(pgx.BeginFunc(ctx, w.conn, func(tx pgx.Tx) error {
		for _, rows := range []string{"entries WHERE remote", "tapes WHERE remote", "months WHERE remote", "words WHERE remote", "remotes WHERE id"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+rows+` = $1`, w.remote); err != nil {
				return err
			}
		}
		return nil
	}))
}
