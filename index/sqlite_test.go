package index

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

// sqlite3 runs a query with the program sqlite3, in place of other people's tools.
func sqlite3(t *testing.T, path, query string) string {
	t.Helper()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("needs the program sqlite3, to read index.db")
	}
	out, err := exec.Command(program, "-batch", path, query).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func result(text string) repo.Draft {
	return repo.Draft{Kind: repo.KindToolResult, Payload: []byte(fmt.Sprintf(`{"results":[%q]}`, text))}
}

// TestPlainSQLite reads the index with the sqlite3 program: the entries between two anchors, the
// columns, the words, and facts about the file.
func TestPlainSQLite(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s := testStore(t)
	tp := openTape(t, s, "")
	d := &drafter{rng: rng, at: testkit.Clock()}
	x := testIndex(t, s)
	for i := range 12 {
		var drafts []repo.Draft
		for range 1 + rng.IntN(20) {
			drafts = append(drafts, d.draft())
		}
		drafts = append(drafts, repo.Message("user", "a needle"))
		mustAppend(t, tp, drafts...)
		mustHandoff(t, tp, string(rune('a'+i)))
		if i%3 == 0 {
			mustSync(t, x)
		}
	}
	mustSync(t, x)
	for range testkit.Size(3, 50) {
		from := rng.IntN(11)
		to := from + 1 + rng.IntN(11-from)
		a, b := string(rune('a'+from)), string(rune('a'+to))
		query := fmt.Sprintf(`SELECT id, kind, anchor_name, anchor_seq, file_path, line_offset, created_at FROM (SELECT * FROM entries WHERE anchor_seq BETWEEN
			(SELECT anchor_seq FROM entries WHERE kind='anchor' AND anchor_name='%s') AND
			(SELECT anchor_seq FROM entries WHERE kind='anchor' AND anchor_name='%s') ORDER BY id)`, a, b)
		want, err := collect(t.Context(), tp, repo.Query{From: a, To: b, Inclusive: true})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, e := range want {
			at, _ := e.Time()
			lines = append(lines, fmt.Sprintf("%d|%s|%s|%d|anchors/%s/%s|%d|%s", e.ID, e.Kind, e.Anchor, e.AnchorSeq, e.At.Folder, e.At.File, e.At.Line, repo.FormatDate(at)))
		}
		if got := sqlite3(t, s.IndexFile(), query); got != strings.Join(lines, "\n") {
			t.Errorf("between %s and %s:\n--- sqlite3\n%s\n--- want\n%s", a, b, got, strings.Join(lines, "\n"))
		}
	}
	// The position of an entry in the index is its position in the files.
	row := strings.Split(sqlite3(t, s.IndexFile(), `SELECT file_path, byte_offset, byte_length FROM entries WHERE kind = 'message' ORDER BY id DESC LIMIT 1`), "|")
	var offset, length int
	if _, err := fmt.Sscan(row[1]+" "+row[2], &offset, &length); err != nil {
		t.Fatal(err)
	}
	if line := readFile(t, filepath.Join(s.Dir(), row[0]))[offset:][:length]; !strings.Contains(string(line), "a needle") || line[0] != '{' || line[len(line)-1] != '}' {
		t.Errorf("at the position of the last message is %q, want its line", line)
	}
	if got := sqlite3(t, s.IndexFile(), `SELECT count(*) FROM entries_fts WHERE entries_fts MATCH 'needle'`); got != "12" {
		t.Errorf("MATCH finds %s entries, want 12", got)
	}
	if got := sqlite3(t, s.IndexFile(), `PRAGMA integrity_check`); got != "ok" {
		t.Errorf("integrity_check: got %s, want ok", got)
	}
	if got := sqlite3(t, s.IndexFile(), `INSERT INTO entries_fts (entries_fts) VALUES ('integrity-check')`); got != "" {
		t.Errorf("integrity-check of the words: got %s, want nothing", got)
	}
	columns := "id,kind,anchor_name,anchor_seq,file_path,line_offset,created_at,summary,tape,byte_offset,byte_length,rowid"
	if got := sqlite3(t, s.IndexFile(), `SELECT group_concat(name) FROM pragma_table_info('entries')`); got != columns {
		t.Errorf("the columns are %s, want %s", got, columns)
	}
}

// TestCreatedAt: the column created_at has dates of all zones and forms in UTC.
func TestCreatedAt(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	dates := []string{"2026-11-20T09:30:00.000001Z", "2026-11-20T09:30:00+05:30", "1969-12-31T23:59:59.999999Z", "1969-07-20T20:17:40.25Z",
		"1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1969-07-20T20:17:40Z"}
	var want []string
	for _, date := range dates {
		d := repo.Message("user", "x")
		d.Date = date
		at, _ := mustAppend(t, tp, d)[0].Time()
		want = append(want, repo.FormatDate(at)+" | ")
	}
	x := testIndex(t, s)
	mustSync(t, x)
	got := rowsOf(t, s.IndexFile(), "SELECT created_at FROM entries WHERE id > 1 ORDER BY id")
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: created_at is %s, want %s", dates[i], got[i], want[i])
		}
	}
}

// TestNoTextInIndex: the index contains titles, one-line summaries and a line of each request, but no other text, such
// as the rest of a long message.
func TestNoTextInIndex(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	mustAppend(t, tp, repo.Message("user", "what is asked first"), repo.Message("user", strings.Repeat("- ", 60)+"one phrase that nobody wrote before"), result("printed words of some tool"))
	mustSync(t, testIndex(t, s))
	raw := string(readFile(t, s.IndexFile()))
	for _, phrase := range []string{"one phrase", "phrase that", "printed words"} {
		if strings.Contains(raw, phrase) {
			t.Errorf("the index contains the text %q, want none of it", phrase)
		}
	}
}

// TestQueriesOfOtherPrograms runs the queries in docs/format.md. Each finds something, and none scans
// a table.
func TestQueriesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	mustHandoff(t, tp, "a")
	mustAppend(t, tp, repo.Message("user", "a timeout, then a retry"), repo.Message("user", "a timeout, again and flaky"),
		repo.Draft{Kind: repo.KindError, Payload: []byte(`{"kind":"io","message":"disk gone"}`)})
	mustHandoff(t, tp, "review")
	mustAppend(t, tp, repo.Message("assistant", "we take\nRedis"))
	mustHandoff(t, tp, "b")
	mustSync(t, testIndex(t, s))
	doc := string(readFile(t, "../docs/format.md"))
	_, doc, _ = strings.Cut(doc, "\n## The index\n")
	_, doc, _ = strings.Cut(doc, "```sql\n")
	doc, _, _ = strings.Cut(doc, "```")
	queries := strings.Split(strings.TrimSpace(doc), ";\n")
	if len(queries) != 5 {
		t.Fatalf("docs/format.md has %d queries, want 5", len(queries))
	}
	// In a workspace with one tape, people leave it out.
	for _, query := range queries {
		if strings.Contains(query, " tape = 'main' AND ") {
			queries = append(queries, strings.ReplaceAll(query, " tape = 'main' AND ", " "))
		}
	}
	found := []int{1, 2, 8, 7, 1, 2, 7}
	for i, query := range queries {
		query = strings.TrimSuffix(query, ";")
		if got := len(rowsOf(t, s.IndexFile(), query)); got != found[i] {
			t.Errorf("%s\nfinds %d entries, want %d", query, got, found[i])
		}
		for _, step := range rowsOf(t, s.IndexFile(), "EXPLAIN QUERY PLAN "+query) {
			if strings.Contains(step, "SCAN ") && !strings.Contains(step, "VIRTUAL TABLE INDEX") || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s\nreads every row of a table: %s", query, step)
			}
		}
	}
	for part, want := range map[string]string{"%then a retry%": "user: a timeout, then a retry", "%disk%": "io: disk gone"} {
		rows := rowsOf(t, s.IndexFile(), "SELECT summary FROM entries WHERE summary LIKE '"+part+"'")
		if len(rows) != 1 || !strings.HasPrefix(rows[0], want) {
			t.Errorf("summary LIKE %s finds %q, want %q", part, rows, want)
		}
	}
}
