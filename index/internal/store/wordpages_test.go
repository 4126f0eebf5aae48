package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"tape/index/internal/fts5"
	"tape/index/internal/store"
)

// SQLite judges here what package fts5 writes: the fuzz tests of fts5 do not link SQLite.

const create = `CREATE VIRTUAL TABLE entries_fts USING fts5(text, content='', detail=none, columnsize=0, tokenize='ascii')`

// table is a table in a file, with connections that are opened for each use:
// FTS5 does not notice what its own connection writes to the pages.
type table struct {
	*testing.T
	file string
	m    map[string][]int64 // the documents of each word, ascending
}

func newTable(t *testing.T) *table {
	tab := &table{T: t, file: filepath.Join(t.TempDir(), "words.db"), m: make(map[string][]int64)}
	tab.exec(create)
	return tab
}

func (t *table) open() *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", t.file+"?_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// exec runs statements of SQL on a connection of its own.
func (t *table) exec(statements ...string) {
	t.Helper()
	db := t.open()
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

// docsOf are the documents of a term, ascending.
func docsOf(x *fts5.Index, term string, lo, hi int64) ([]int64, error) {
	var out []int64
	err := x.Each([]byte(term), lo, hi, func(docs []int64) { out = append(out, docs...) })
	slices.Sort(out)
	return slices.Compact(out), err
}

// update runs f on the index in a transaction.
func (t *table) update(f func(x *fts5.Index) error) {
	t.Helper()
	d, err := store.Open(t.file, "synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Script("BEGIN"); err != nil {
		t.Fatal(err)
	}
	x, err := d.Words()
	if err != nil {
		t.Fatal(err)
	}
	if err := f(x); err != nil {
		t.Fatal(err)
	}
	if err := d.Script("COMMIT"); err != nil {
		t.Fatal(err)
	}
}

// note adds a document to the model.
func (t *table) note(id int64, words []string) {
	for _, w := range words {
		if l := t.m[w]; len(l) == 0 || l[len(l)-1] != id {
			t.m[w] = append(l, id)
		}
	}
}

// write adds documents as one segment.
func (t *table) write(ids []int64, text func(id int64) []string) {
	t.Helper()
	b := fts5.NewBuilder()
	for _, id := range ids {
		b.Begin(id)
		words := text(id)
		for _, w := range words {
			b.Add([]byte(w))
		}
		t.note(id, words)
	}
	t.update(func(x *fts5.Index) error { return x.Write(b) })
}

// insert adds documents by SQL.
func (t *table) insert(ids []int64, text func(id int64) []string) {
	t.Helper()
	db := t.open()
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		words := text(id)
		if _, err := tx.Exec(`INSERT INTO entries_fts(rowid, text) VALUES (?, ?)`, id, strings.Join(words, " ")); err != nil {
			t.Fatal(err)
		}
		t.note(id, words)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// judge has SQLite check the table: the Go package, and the program sqlite3 if it is
// installed. It compares what these and package fts5 find with the model.
func (t *table) judge(words ...string) {
	t.Helper()
	const check = `INSERT INTO entries_fts(entries_fts) VALUES ('integrity-check')`
	t.exec(check)
	db := t.open()
	defer db.Close()
	match := func(order, query string, want []int64) {
		t.Helper()
		skip := max(0, len(want)/2-1000) // of a long list, only a part in the middle
		rows, err := db.Query(`SELECT rowid FROM entries_fts WHERE entries_fts MATCH ? ORDER BY rowid `+order+` LIMIT 2000 OFFSET ?`,
			query, skip)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var ids []int64
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if want = want[skip:min(len(want), skip+2000)]; rows.Err() != nil || !slices.Equal(ids, want) {
			t.Errorf("MATCH %s %s gives %d documents, want %d, %v", query, order, len(ids), len(want), rows.Err())
		}
	}
	script := []string{".bail on", check + ";"}
	var want []byte
	for _, w := range words {
		docs := t.m[w]
		down := slices.Clone(docs)
		slices.Reverse(down)
		match("ASC", w, docs)
		match("DESC", w, down)
		other := words[len(words)-1]
		match("ASC", w+" AND "+other, slices.DeleteFunc(slices.Clone(docs), func(id int64) bool {
			_, ok := slices.BinarySearch(t.m[other], id)
			return !ok
		}))
		script = append(script, fmt.Sprintf(`SELECT rowid FROM entries_fts WHERE entries_fts MATCH '%s' ORDER BY rowid DESC;`, w))
		for _, id := range down {
			want = append(strconv.AppendInt(want, id, 10), '\n')
		}
	}
	t.update(func(x *fts5.Index) error {
		for _, w := range words {
			got, err := docsOf(x, w, 0, math.MaxInt64)
			if err != nil || !slices.Equal(got, t.m[w]) {
				t.Errorf("Each(%s) gives %d documents, want %d, %v", w, len(got), len(t.m[w]), err)
			}
		}
		return nil
	})
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Log("not judged by the sqlite3 program, which is not installed")
		return
	}
	cmd := exec.Command(program, t.file)
	cmd.Stdin = strings.NewReader(strings.Join(script, "\n"))
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Equal(out, want) {
		t.Errorf("sqlite3 does not print the expected documents: %v, %.200s", err, out)
	}
}

// ids returns n numbers of a tape with gaps of up to gap.
func ids(rng *rand.Rand, tape, from int64, n, gap int) []int64 {
	out := make([]int64, n)
	for i := range out {
		from += 1 + rng.Int64N(int64(gap))
		out[i] = tape<<32 | from
	}
	return out
}

// text gives every document the word all, and some words of a vocabulary.
func text(rng *rand.Rand, vocabulary, n int) func(int64) []string {
	return func(id int64) []string {
		words := []string{"all", fmt.Sprintf("mod%d", id%7)}
		for range rng.IntN(n + 1) {
			words = append(words, fmt.Sprintf("w%d", int(math.Exp(rng.Float64()*math.Log(float64(vocabulary))))))
		}
		return words
	}
}

var asked = []string{"w1", "w2", "w3", "w10", "w99", "w1234", "none", "mod0", "all"}

func TestWriteIsReadBySQLite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tab := newTable(t)
	tab.judge(asked...)
	tab.write(ids(rng, 1, 0, 1, 1), text(rng, 50, 60))
	tab.judge(asked...)
	tab.write(ids(rng, 1, 10, 5000, 3), text(rng, 5000, 30))
	tab.write(ids(rng, 3, 10, 5000, 3), text(rng, 20000, 30))
	tab.judge(asked...)
	tab.update(func(x *fts5.Index) error { return x.Merge(nil, true) })
	tab.judge(asked...)
}

// Lists of documents take up hundreds of pages.
func TestLongLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tab := newTable(t)
	few := func(id int64) []string {
		if id%100 == 0 {
			return []string{"aaa", "all", "mod0", "zzz"}
		}
		return []string{"all"}
	}
	tab.write(ids(rng, 1<<20, 0, 200_000, 2), few)
	// Differences of seven bytes, so that the list takes more pages.
	var wide []int64
	for i := range int64(300_000) {
		wide = append(wide, 1<<60+i<<43)
	}
	tab.write(wide, func(int64) []string { return []string{"all"} })
	tab.update(func(x *fts5.Index) error { // from the middle of such a list
		part := wide[len(wide)*5/6:][:100]
		got, err := docsOf(x, "all", part[0], part[99])
		if err != nil || !slices.Equal(got, part) {
			t.Errorf("Each from the middle of a list gives %d documents, want 100, %v", len(got), err)
		}
		return nil
	})
	tab.judge("aaa", "mod0", "zzz", "all")
	tab.update(func(x *fts5.Index) error { return x.Merge(nil, true) })
	tab.judge("aaa", "all")
}

// SQLite and the package write and merge the same table in turns.
func TestSQLiteGoesOn(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	tab := newTable(t)
	at := int64(0)
	next := func(n int) []int64 {
		l := ids(rng, 2, at, n, 3)
		at = l[n-1] & math.MaxUint32
		return l
	}
	text := text(rng, 3000, 40)
	for i := range 8 {
		tab.write(next(501), text)
		tab.insert(next(1+rng.IntN(400)), text)
		switch i % 4 {
		case 0:
			tab.exec(`INSERT INTO entries_fts(entries_fts, rank) VALUES ('merge', 40)`)
		case 1:
			tab.update(func(x *fts5.Index) error { return x.Merge(nil, false) })
		case 2:
			tab.exec(`INSERT INTO entries_fts(entries_fts, rank) VALUES ('merge', -20)`)
		}
		tab.judge(asked...)
	}
	tab.exec(`INSERT INTO entries_fts(entries_fts) VALUES ('optimize')`)
	tab.judge(asked...)
	tab.write(next(100), text)
	tab.insert(next(1), text)
	tab.judge(asked...)
	tab.update(func(x *fts5.Index) error { return x.Merge(nil, true) })
	tab.judge(asked...)
}
