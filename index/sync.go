package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"tape/index/internal/fts5"
	"tape/repo"
)

// known is what the index has of a tape.
type known struct {
	no      int64
	entries int64 // the last id
	bytes   int64
	newest  sql.NullInt64
	mark    repo.Mark
}

// known looks a tape up. No number, no error: the index does not have it.
func (d *db) known(t *repo.Tape) (known, error) {
	var k known
	var mark string
	ok, err := d.row("SELECT no, entries, bytes, newest, mark FROM tapes WHERE branch = ?", []any{t.Branch()},
		&k.no, &k.entries, &k.bytes, &k.newest, &mark)
	if err != nil || !ok {
		return k, err
	}
	if k.mark, err = decodeMark(mark); err != nil {
		return k, fmt.Errorf("%w: mark of %s: %w", errStrange, t.Branch(), err)
	}
	if k.entries != k.mark.LastID || k.entries < 0 || k.entries >= 1<<tapeShift {
		return k, fmt.Errorf("%w: %s has %d entries, and ends with entry %d", errStrange, t.Branch(), k.entries, k.mark.LastID)
	}
	return k, nil
}

// encodeMark gives the text of a mark, with a checksum in front: reading on from a place
// that damage made would look as if the tape were damaged.
func encodeMark(m repo.Mark) (string, error) {
	raw, err := json.Marshal(m)
	return fmt.Sprintf("%08x %s", crc32.ChecksumIEEE(raw), raw), err
}

func decodeMark(text string) (m repo.Mark, err error) {
	sum, raw, _ := strings.Cut(text, " ")
	if sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(raw))) {
		return m, errors.New("the checksum is wrong")
	}
	return m, json.Unmarshal([]byte(raw), &m)
}

// stale returns the tapes of which the index does not have everything.
func (d *db) stale(tapes []*repo.Tape) ([]*repo.Tape, error) {
	var out []*repo.Tape
	for _, t := range tapes {
		k, err := d.known(t)
		if err != nil {
			return nil, err
		}
		if k.no == 0 || !t.Unchanged(k.mark) {
			out = append(out, t)
		}
	}
	return out, nil
}

// catchUp brings what the index has of the tapes up to date, each in one transaction.
func (d *db) catchUp(ctx context.Context, tapes []*repo.Tape, progress func(entries int64)) (added int64, err error) {
	for _, t := range tapes {
		var n int64
		err := d.within("BEGIN IMMEDIATE", func() error {
			n, err = d.addTape(ctx, t, func(n int64) { progress(added + n) })
			return err
		})
		if err != nil {
			return added, err
		}
		added += n
	}
	return added, nil
}

func (d *db) addTape(ctx context.Context, t *repo.Tape, progress func(int64)) (int64, error) {
	k, err := d.known(t)
	if err != nil {
		return 0, err
	}
	s, err := t.Since(ctx, k.mark)
	if err != nil {
		return 0, err
	}
	x, err := fts5.Open(pages{d})
	if err != nil {
		return 0, err
	}
	if s.Whole() {
		dropped, had := k.no, k.entries
		if d.most > 0 && had > d.most {
			return 0, errMany
		}
		if k, err = d.replaceTape(t, k.no); err != nil {
			return 0, err
		}
		if err := d.purge(x, dropped, had); err != nil {
			return 0, err
		}
	}
	words := &wordWriter{x: x, dir: d.scratch}
	w := &rowWriter{db: d, tape: k.no, files: map[fileKey]int64{}, insert: insertLines(rowsAtOnce), progress: progress}
	err = fill(ctx, s, k.no, w.add, words.add)
	if err == nil {
		err = w.flush()
	}
	if err = errors.Join(err, words.close(err == nil)); err != nil {
		return 0, err
	}
	if w.added > 0 {
		if err := d.merge(x, false); err != nil {
			return 0, err
		}
	}
	mark, ok := s.Mark()
	if !ok {
		return 0, fmt.Errorf("%w: tape %q was not read to its end", errStrange, t.Name())
	}
	raw, err := encodeMark(mark)
	if err != nil {
		return 0, err
	}
	if w.newest.Valid && (!k.newest.Valid || w.newest.Int64 > k.newest.Int64) {
		k.newest = w.newest
	}
	return w.added, d.exec("UPDATE tapes SET name = ?, entries = ?, bytes = ?, newest = ?, mark = ? WHERE no = ?",
		t.Name(), mark.LastID, k.bytes+w.bytes, k.newest, raw, k.no)
}

// replaceTape makes a new tape of a branch, and drops the old one's rows. Its number is
// never used again: words that are left of it belong to nobody.
func (d *db) replaceTape(t *repo.Tape, old int64) (known, error) {
	if old != 0 {
		if err := d.dropTape(old); err != nil {
			return known{}, err
		}
	}
	none, err := encodeMark(repo.Mark{})
	if err != nil {
		return known{}, err
	}
	if err := d.exec("INSERT INTO tapes (branch, name, entries, bytes, mark) VALUES (?, ?, 0, 0, ?)", t.Branch(), t.Name(), none); err != nil {
		return known{}, err
	}
	return d.known(t)
}

func (d *db) dropTape(no int64) error {
	first, last := docOf(no, 0), docOf(no+1, 0)-1
	return errors.Join(
		d.exec("DELETE FROM lines WHERE doc BETWEEN ? AND ?", first, last),
		d.exec("DELETE FROM dates WHERE block BETWEEN ? AND ?", first>>blockShift, last>>blockShift),
		d.exec("DELETE FROM files WHERE tape = ?", no),
		d.exec("DELETE FROM phases WHERE tape = ?", no),
		d.exec("DELETE FROM tapes WHERE no = ?", no),
	)
}

// purge drops the words of a tape that is gone, if they are many. A few wait for the
// next merge.
func (d *db) purge(x *fts5.Index, tape, entries int64) error {
	const many = 10_000
	if tape == 0 || entries < many {
		return nil
	}
	return d.merge(x, true)
}

// merge joins parts of the words, and drops those of tapes that are gone.
func (d *db) merge(x *fts5.Index, all bool) error {
	live := map[int64]bool{}
	err := d.rows("SELECT no FROM tapes", nil, func(scan func(...any) error) error {
		var no int64
		err := scan(&no)
		live[no] = true
		return err
	})
	if err != nil {
		return err
	}
	return x.Merge(func(doc int64) bool { return live[tapeOf(doc)] }, all)
}

// goneTape is one that the index has, and the workspace has no more.
type goneTape struct{ no, entries int64 }

// gone returns those that are not among the tapes of the workspace.
func (d *db) gone(tapes []*repo.Tape) ([]goneTape, error) {
	there := map[string]bool{}
	for _, t := range tapes {
		there[t.Branch()] = true
	}
	var out []goneTape
	err := d.rows("SELECT no, entries, branch FROM tapes", nil, func(scan func(...any) error) error {
		var g goneTape
		var branch string
		err := scan(&g.no, &g.entries, &branch)
		if !there[branch] {
			out = append(out, g)
		}
		return err
	})
	return out, err
}

// dropGone removes them.
func (d *db) dropGone(tapes []*repo.Tape) error {
	drop, err := d.gone(tapes)
	if err != nil || len(drop) == 0 {
		return err
	}
	return d.within("BEGIN IMMEDIATE", func() error {
		var entries int64
		for _, g := range drop {
			entries += g.entries
			if err := d.dropTape(g.no); err != nil {
				return err
			}
		}
		x, err := fts5.Open(pages{d})
		if err != nil {
			return err
		}
		return d.purge(x, drop[0].no, entries)
	})
}

// rowWriter writes the rows of one tape.
type rowWriter struct {
	db       *db
	tape     int64
	files    map[fileKey]int64
	insert   string // of several rows
	args     []any  // of rows that wait to be written together
	added    int64
	bytes    int64
	newest   sql.NullInt64
	dates    dateRange
	progress func(int64)
}

// dateRange is what is known of the dates of one block of documents.
type dateRange struct {
	block     int64
	low, high sql.NullInt64
	undated   int
}

type fileKey struct {
	seq  int
	name string
}

const (
	lineColumns = 10
	rowsAtOnce  = 50
)

// insertLines is the statement for so many rows.
func insertLines(n int) string {
	query := []byte("INSERT INTO lines (doc, kind, summary, created, seq, file, line, offset, length, sign) VALUES ")
	for i := range n {
		if i > 0 {
			query = append(query, ',')
		}
		query = append(query, "(?,?,?,?,?,?,?,?,?,?)"...)
	}
	return string(query)
}

func (w *rowWriter) add(l line) error {
	if l.anchor != "" {
		if err := w.db.exec("INSERT INTO phases (tape, seq, name, folder, first_id) VALUES (?, ?, ?, ?, ?)",
			w.tape, l.seq, l.anchor, l.at.Folder, l.id); err != nil {
			return err
		}
	}
	file, err := w.file(l)
	if err != nil {
		return err
	}
	doc := docOf(w.tape, l.id)
	if err := w.date(doc, l); err != nil {
		return err
	}
	var summary, created any
	if l.summary != "" {
		summary = l.summary
	}
	if l.dated {
		created = l.created
	}
	w.args = append(w.args, doc, l.kind, summary, created, l.seq, file, l.at.Line, l.at.Offset, l.at.Length, l.sign)
	if w.added++; w.db.most > 0 && w.added > w.db.most {
		return errMany
	}
	w.bytes += int64(l.at.Length)
	if len(w.args) < rowsAtOnce*lineColumns {
		return nil
	}
	w.progress(w.added)
	err = w.db.exec(w.insert, w.args...)
	w.args = w.args[:0]
	return err
}

// flush writes what waits.
func (w *rowWriter) flush() error {
	one := insertLines(1)
	for ; len(w.args) > 0; w.args = w.args[lineColumns:] {
		if err := w.db.exec(one, w.args[:lineColumns]...); err != nil {
			return err
		}
	}
	return w.flushDates()
}

// file returns the number of an entry's file.
func (w *rowWriter) file(l line) (int64, error) {
	key := fileKey{l.seq, l.at.File}
	if no, ok := w.files[key]; ok {
		return no, nil
	}
	args := []any{w.tape, l.seq, l.at.File}
	var no int64
	ok, err := w.db.row("SELECT no FROM files WHERE tape = ? AND seq = ? AND name = ?", args, &no)
	if err == nil && !ok {
		_, err = w.db.row("INSERT INTO files (tape, seq, name) VALUES (?, ?, ?) RETURNING no", args, &no)
	}
	w.files[key] = no
	return no, err
}

// date keeps the range of dates of each block of documents.
func (w *rowWriter) date(doc int64, l line) error {
	if block := doc >> blockShift; block != w.dates.block {
		if err := w.flushDates(); err != nil {
			return err
		}
		w.dates.block = block
	}
	if !l.dated {
		w.dates.undated++
		return nil
	}
	at := sql.NullInt64{Int64: l.created, Valid: true}
	if !w.dates.low.Valid || l.created < w.dates.low.Int64 {
		w.dates.low = at
	}
	if !w.dates.high.Valid || l.created > w.dates.high.Int64 {
		w.dates.high = at
	}
	if !w.newest.Valid || l.created > w.newest.Int64 {
		w.newest = at
	}
	return nil
}

func (w *rowWriter) flushDates() error {
	r := w.dates
	w.dates = dateRange{}
	if !r.low.Valid && r.undated == 0 {
		return nil
	}
	return w.db.exec(`INSERT INTO dates (block, low, high, undated) VALUES (?, ?, ?, ?)
		ON CONFLICT (block) DO UPDATE SET undated = undated + excluded.undated,
			low = coalesce(min(low, excluded.low), low, excluded.low),
			high = coalesce(max(high, excluded.high), high, excluded.high)`, r.block, r.low, r.high, r.undated)
}
