package index

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"tape/index/internal/store"
	"tape/repo"
)

// logical returns the content of an index, without the numbers that it assigns to tapes: one line for each
// row, in an order that does not depend on how the index was made.
func logical(t testing.TB, path string) []string {
	t.Helper()
	var out []string
	for _, q := range []string{
		`SELECT 'entry', tape, id, kind, anchor_name, anchor_seq, file_path, line_offset, created_at, summary, byte_offset, byte_length
			FROM entries ORDER BY tape, id`,
		`SELECT 'line', t.name, l.doc & 0x3ffffff, l.created, l.sign, l.summary FROM lines l JOIN tapes t ON t.no = l.doc >> 26 ORDER BY 2, 3`,
		`SELECT 'label', t.name, b.block & 0xfffff, k.kind, k.summary FROM label_blocks b JOIN labels k ON k.no = b.label JOIN tapes t ON t.no = b.block >> 20
			ORDER BY 2, 3, 4, 5`,
		`SELECT 'phase', t.name, p.seq, p.name, p.folder, p.first_id, p.last_id FROM phases p JOIN tapes t ON t.no = p.tape ORDER BY 2, 3`,
		`SELECT 'dates', t.name, (d.block << 10 & 0x3ffffff), d.low, d.high, d.undated, d.bytes FROM dates d JOIN tapes t ON t.no = d.block >> 16 ORDER BY 2, 3`,
		`SELECT 'work', t.name, w.quarter, w.model, w.person, w.turns, w.active, w.input, w.output, w.cache_read, w.cache_write, w.cache_long, w.noted_cost, w.calls, w.failed
			FROM work w JOIN tapes t ON t.no = w.tape ORDER BY 2, 3, 4, 5`,
		`SELECT 'tool', t.name, w.quarter, w.name, w.calls, w.failed, w.active FROM tools w JOIN tapes t ON t.no = w.tape ORDER BY 2, 3, 4`,
		`SELECT 'touch', t.name, o.doc & 0x3ffffff, p.path, p.base, o.at, o.reads, o.writes, o.added, o.removed
			FROM touches o JOIN paths p ON p.no = o.path JOIN tapes t ON t.no = o.doc >> 26 ORDER BY 2, 3, 4`,
		`SELECT 'said', t.name, s.doc & 0x3ffffff, s.at, s.is_commit, s.text FROM said s JOIN tapes t ON t.no = s.doc >> 26 ORDER BY 2, 3`,
		`SELECT 'tape', t.name, t.branch, p.name, t.base, t.base_bytes, t.entries, t.bytes, t.newest, t.mark, t.about, t.project, t.agent, t.session, t.activity
			FROM tapes t LEFT JOIN tapes p ON p.no = t.parent ORDER BY t.branch`,
		`SELECT 'strange rows', (SELECT count(*) FROM lines WHERE doc >> 26 NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM files WHERE tape NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM label_blocks WHERE block >> 20 NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM phases WHERE tape NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM work WHERE tape NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM tools WHERE tape NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM touches WHERE doc >> 26 NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM said WHERE doc >> 26 NOT IN (SELECT no FROM tapes)),
			(SELECT count(*) FROM lines) - (SELECT count(*) FROM entries),
			(SELECT count(*) FROM tapes WHERE parent != 0 AND parent NOT IN (SELECT no FROM tapes))`,
	} {
		out = append(out, rowsOf(t, path, q)...)
	}
	// SQLite's own reader lists the words, so that our reader is not checked against itself.
	return append(out, rowsOf(t, path, `SELECT 'word', v.term, t.name, v.doc & 0x3ffffff FROM temp.vocabulary v JOIN tapes t ON t.no = v.doc >> 26
		ORDER BY v.term, t.name, v.doc & 0x3ffffff`)...)
}

// rowsOf reads rows of a database file; temp.vocabulary has the words of its index.
func rowsOf(t testing.TB, path, query string) []string {
	t.Helper()
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab('main', 'entries_fts', 'instance')"); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values, dest := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			b.WriteString(v.String + " | ")
		}
		out = append(out, b.String())
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return out
}

// rebuilt makes a new index of a workspace elsewhere, and returns its file.
func rebuilt(t testing.TB, s *repo.Store) string {
	t.Helper()
	return rebuiltOf(t, s, everything(t, s))
}

// rebuiltOf is rebuilt for tapes, which get numbers in the given order.
func rebuiltOf(t testing.TB, s *repo.Store, tapes []*repo.Tape) string {
	t.Helper()
	targets, err := store.WithParents(t.Context(), s, tapes)
	if err != nil {
		t.Fatal(err)
	}
	path := emptyFile(t, "rebuilt.db")
	d, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Fill(t.Context(), targets, func(int64) {})
	if err != nil {
		t.Fatalf("rebuild: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// wantEqual fails unless two index files have the same content.
func wantEqual(t testing.TB, what, path, want string) {
	t.Helper()
	a, b := logical(t, path), logical(t, want)
	for i := range max(len(a), len(b)) {
		left, right := "(nothing)", "(nothing)"
		if i < len(a) {
			left = a[i]
		}
		if i < len(b) {
			right = b[i]
		}
		if left != right {
			t.Errorf("%s: the index differs from a new one:\n index:   %s\n rebuilt: %s", what, left, right)
			return
		}
	}
	if len(b) < 10 {
		t.Errorf("%s: only %d rows were compared, want at least 10", what, len(b))
	}
}

// wantSound fails unless SQLite finds the database intact.
func wantSound(t testing.TB, path string) {
	t.Helper()
	d, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, path, "PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok | " {
		t.Errorf("integrity_check: got %v, want ok", got)
	}
	if err := d.Script("INSERT INTO entries_fts (entries_fts) VALUES ('integrity-check')"); err != nil {
		t.Errorf("FTS5's integrity-check: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// onCopy returns an Index that searches in another index file, as it is.
func onCopy(t testing.TB, s *repo.Store, path string) *Index {
	t.Helper()
	d, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	x := &Index{store: s, progress: func(int64) {}, db: d, memory: true}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// wantSame fails unless two results are the same in every respect a user sees.
func wantSame(t testing.TB, what string, got, want *Result) {
	t.Helper()
	a, b := shown(got), shown(want)
	if a != b {
		t.Errorf("%s:\n--- got\n%s--- want\n%s", what, a, b)
	}
}

func shown(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d matches, exact %v, instead %q\n", r.Matches, r.Exact, r.Instead)
	for _, h := range r.Hits {
		fmt.Fprintf(&b, "%s %v +%d %q %v\n", key(h.Entry), h.Score, h.Similar, h.Snippet, h.Spans)
	}
	return b.String()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
