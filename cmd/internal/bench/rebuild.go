package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// rebuilds pairs a rebuild of the index with the program sqlite3 filling the same tables
// with the same rows, and tells the size of the index.
func (s *setup) rebuilds() error {
	ws, _, err := s.searched()
	if err != nil {
		return err
	}
	rebuild := always(s.cmd(ws, "index", "rebuild"))
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil {
		fmt.Fprintln(s.out, "sqlite3 is not installed: its column is left out")
		if err := paired(s.out, "index rebuild", s.rounds(), rebuild, nil, ""); err != nil {
			return err
		}
		return s.printSize(ws)
	}
	source, err := s.rowsOf(sqlite, ws)
	if err != nil {
		return err
	}
	defer os.Remove(source) //nolint:errcheck // made anew by the next run
	for _, side := range []struct{ name, tuning string }{
		{"sqlite3", ""},
		// As much memory for words, and no joining of their parts on the way.
		{"sqlite3, tuned", "INSERT INTO entries_fts (entries_fts, rank) VALUES ('automerge', 0);\nINSERT INTO entries_fts (entries_fts, rank) VALUES ('crisismerge', 1000);\n" +
			"INSERT INTO entries_fts (entries_fts, rank) VALUES ('hashsize', " + strconv.Itoa(96<<20) + ");\n"},
	} {
		insert, err := s.inserting(sqlite, ws, source, side.tuning)
		if err != nil {
			return err
		}
		pairs, err := alternate(0, s.rounds(), rebuild, insert)
		if err != nil {
			return err
		}
		printPair(s.out, "index rebuild", pairs, side.name)
		rss := func(f func(pair) int64) int64 { return medianOf(pairs, f) >> 20 }
		fmt.Fprintf(s.out, "%-38s %7d MB   %s %d MB\n", "  memory", rss(func(p pair) int64 { return p.a.rss }), side.name, rss(func(p pair) int64 { return p.b.rss }))
	}
	return s.printSize(ws)
}

// rounds is the number of pairs of what takes seconds.
func (s *setup) rounds() int { return max(s.runs/8, 1) | 1 }

// inserting is the step in which sqlite3 makes a database of the same schema and copies
// all rows into it, in one transaction and without care for power cuts. The rows come
// from databases that are in the page cache: that is quicker than to read CSV, or SQL.
func (s *setup) inserting(sqlite, ws, source, tuning string) (step, error) {
	index := filepath.Join(ws, "index.db")
	const objects = "SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'entries\\_fts\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid"
	schema, err := exec.Command(sqlite, "-batch", "-init", os.DevNull, "-readonly", index, objects).Output()
	if err != nil {
		return nil, fmt.Errorf("read the schema of %s: %w", index, err)
	}
	var script strings.Builder
	script.WriteString("PRAGMA page_size = 4096;\nPRAGMA journal_mode = OFF;\nPRAGMA synchronous = OFF;\nPRAGMA locking_mode = EXCLUSIVE;\n")
	fmt.Fprintf(&script, "ATTACH %s AS idx;\nATTACH %s AS src;\nBEGIN;\n%s%s", quoted(index), quoted(source), schema, tuning)
	for _, table := range []string{"tapes", "phases", "files", "lines", "dates"} {
		fmt.Fprintf(&script, "INSERT INTO main.%s SELECT * FROM idx.%s;\n", table, table)
	}
	script.WriteString("INSERT INTO entries_fts (rowid, text) SELECT doc, terms FROM src.entries ORDER BY doc;\nCOMMIT;\n")
	target := filepath.Join(s.dir, "sqlite3.db")
	return func(int) []command {
		_ = os.Remove(target)
		return []command{{argv: []string{sqlite, "-batch", "-bail", "-init", os.DevNull, target}, stdin: func() io.Reader { return strings.NewReader(script.String()) }}}
	}, nil
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// rowsOf writes a database with the terms of every entry, each term once, and returns
// its name.
func (s *setup) rowsOf(sqlite, ws string) (string, error) {
	table, db := filepath.Join(s.dir, "terms.csv"), filepath.Join(s.dir, "terms.db")
	if err := os.RemoveAll(db); err != nil {
		return "", err
	}
	if _, err := writeFile(table, func(w io.Writer) error { return writeTerms(w, ws) }); err != nil {
		return "", err
	}
	load := command{argv: []string{sqlite, "-batch", "-bail", "-init", os.DevNull, db,
		"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF",
		"CREATE TABLE entries (doc INTEGER PRIMARY KEY, terms TEXT NOT NULL)", ".mode csv", ".import " + table + " entries"}}
	if _, err := load.run(); err != nil {
		return "", err
	}
	return db, os.Remove(table)
}

// writeTerms writes a line for each entry of a workspace with one tape: its number in
// the index, and its terms, as package index makes them.
func writeTerms(w io.Writer, ws string) error {
	ctx := context.Background()
	store, err := repo.Open(ctx, ws, nil)
	if err != nil {
		return err
	}
	t, err := store.Tape(ctx, repo.DefaultTape)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<20)
	m := &termMaker{times: map[string]int{}}
	for e, err := range t.Entries(ctx, repo.Query{}) {
		if err != nil {
			return err
		}
		m.take(e)
		if _, err := fmt.Fprintf(b, "%d,\"%s\"\n", 1<<32|e.ID, m.line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// termMaker makes the terms of one entry after another.
type termMaker struct {
	words text.Tokenizer
	text  []byte
	times map[string]int
	line  []byte // separated by spaces
}

func (m *termMaker) take(e repo.Entry) {
	m.text = text.AppendEntry(m.text[:0], e.Kind, e.Payload)
	m.line = m.line[:0]
	clear(m.times)
	talk := slices.Contains([]string{repo.KindMessage, repo.KindAnchor, repo.KindError}, e.Kind)
	m.words.Reset(m.text)
	for m.words.Next() {
		term := m.words.Term
		n := m.times[string(term)] + 1
		m.times[string(term)] = n
		if n == 1 {
			m.add("", string(term))
		}
		if n == 3 && talk {
			m.add("\ue000o", string(term))
		}
	}
	// FTS5 would cut the kind at the underline, and count two words.
	m.add("\ue000k", strings.ReplaceAll(e.Kind, "_", ""))
	if e.Kind == repo.KindMessage {
		m.add("\ue000r", jsonl.GetString(e.Payload, "role"))
	}
}

func (m *termMaker) add(mark, term string) {
	if len(m.line) > 0 {
		m.line = append(m.line, ' ')
	}
	m.line = append(append(m.line, mark...), term...)
}

// sizes tells the size of the index of real transcripts.
func (s *setup) sizes() error {
	files, err := filepath.Glob(filepath.Join(s.transcripts, "*", "*.json*"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintf(s.out, "%s has no transcripts: this row is left out\n", s.transcripts)
		return nil
	}
	ws := filepath.Join(s.dir, "transcripts")
	if err := os.RemoveAll(ws); err != nil {
		return err
	}
	if _, err := s.cmd(ws, "init", ws).run(); err != nil {
		return err
	}
	if _, err := s.cmd(ws, append([]string{"import", "auto"}, files...)...).run(); err != nil {
		return err
	}
	if _, err := s.cmd(ws, "index", "rebuild").run(); err != nil {
		return err
	}
	return s.printSize(ws)
}

// printSize compares the index with the lines of all tapes.
func (s *setup) printSize(ws string) error {
	ctx := context.Background()
	store, err := repo.Open(ctx, ws, nil)
	if err != nil {
		return err
	}
	tapes, err := store.Tapes(ctx)
	if err != nil {
		return err
	}
	var entries, size int64
	for _, t := range tapes {
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err != nil {
				return err
			}
			entries++
			size += int64(len(e.Raw)) + 1
		}
	}
	var index fs.FileInfo
	if index, err = os.Stat(filepath.Join(ws, "index.db")); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%-38s %7.1f MB   %d entries %.1f MB   ratio %.2f\n", "size of the index", float64(index.Size())/1e6,
		entries, float64(size)/1e6, float64(index.Size())/float64(size))
	return nil
}
