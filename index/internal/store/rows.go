package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tape/internal/store/activity"
)

// rowWriter writes the lines of one tape, and sums them up.
type rowWriter struct {
	db       *DB
	tape     int64
	files    map[fileKey]int64
	insert   string // of several rows
	args     []any  // of rows waiting to be written together
	before   int64  // lines that were added before, for other tapes
	added    int64
	bytes    int64
	newest   sql.NullInt64
	dates    dateRange
	labelled int64   // the last block of 64 documents that was added to
	labels   []int64 // that are in this block
	session  activity.Session
	facts    []fact
	progress func(int64)
}

// dateRange is the range of dates and the bytes of one block of documents.
type dateRange struct {
	block     int64
	low, high sql.NullInt64
	undated   int
	bytes     int64
}

type fileKey struct {
	seq  int
	name string
}

const (
	lineColumns = 9
	rowsAtOnce  = 50
)

func insertLines(n int) string {
	const row = "(?,?,?,?,?,?,?,?,?)"
	return "INSERT INTO lines (doc, label, file, line, offset, length, created, sign, summary) VALUES " + row + strings.Repeat(","+row, n-1)
}

func (w *rowWriter) add(l Line) error {
	if l.anchor != "" {
		if err := w.db.putPhase(w.tape, l.seq, Phase{l.anchor, l.At.Folder, l.id}); err != nil {
			return err
		}
	}
	if l.id >= 1<<tapeShift {
		return fmt.Errorf("a tape has more than %d entries, which the index cannot hold; the search for a substring needs no index", 1<<tapeShift-1)
	}
	file, err := w.file(l)
	if err != nil {
		return err
	}
	w.session.Add(l.id, l.Created, l.note, false)
	if f := l.note.Fact(); f != 0 {
		w.facts = append(w.facts, fact{l.id, f})
	}
	doc := DocOf(w.tape, l.id)
	if err := w.date(doc, l); err != nil {
		return err
	}
	label, err := w.label(doc, l)
	if err != nil {
		return err
	}
	var summary, created any
	if l.summary != "" {
		summary = l.summary
	}
	if l.dated {
		created = l.Created
	}
	w.args = append(w.args, doc, label, file, l.At.Line, l.At.Offset, l.At.Length, created, l.Sign, summary)
	if w.added++; w.db.Most > 0 && w.before+w.added > w.db.Most {
		return ErrTooMany
	}
	w.bytes += int64(l.At.Length)
	if len(w.args) < rowsAtOnce*lineColumns {
		return nil
	}
	w.progress(w.before + w.added)
	err = w.db.exec(w.insert, w.args...)
	w.args = w.args[:0]
	return err
}

func (w *rowWriter) flush() error {
	one := insertLines(1)
	for ; len(w.args) > 0; w.args = w.args[lineColumns:] {
		if err := w.db.exec(one, w.args[:lineColumns]...); err != nil {
			return err
		}
	}
	return w.flushDates()
}

func (w *rowWriter) file(l Line) (int64, error) {
	key := fileKey{l.seq, l.At.File}
	if no, ok := w.files[key]; ok {
		return no, nil
	}
	args := []any{w.tape, l.seq, l.At.File}
	var no int64
	ok, err := w.db.row("SELECT no FROM files WHERE tape = ? AND seq = ? AND name = ?", args, &no)
	if err == nil && !ok {
		_, err = w.db.row("INSERT INTO files (tape, seq, name) VALUES (?, ?, ?) RETURNING no", args, &no)
	}
	w.files[key] = no
	return no, err
}

// label returns the number of a line's label, and adds the document's block to those that have the label.
func (w *rowWriter) label(doc int64, l Line) (int64, error) {
	no, err := w.db.labelOf(l.Kind, l.label)
	block := doc >> labelShift
	if block != w.labelled {
		w.labels, w.labelled = w.labels[:0], block
	}
	if err != nil || slices.Contains(w.labels, no) {
		return no, err
	}
	w.labels = append(w.labels, no)
	return no, w.db.exec("INSERT OR IGNORE INTO label_blocks (label, block) VALUES (?, ?)", no, block)
}

// date updates the range of dates and the bytes of a block of documents.
func (w *rowWriter) date(doc int64, l Line) error {
	if block := doc >> BlockShift; block != w.dates.block {
		if err := w.flushDates(); err != nil {
			return err
		}
		w.dates.block = block
	}
	w.dates.bytes += int64(l.At.Length)
	if !l.dated {
		w.dates.undated++
		return nil
	}
	at := sql.NullInt64{Int64: l.Created, Valid: true}
	if !w.dates.low.Valid || at.Int64 < w.dates.low.Int64 {
		w.dates.low = at
	}
	w.dates.high = later(w.dates.high, at)
	w.newest = later(w.newest, at)
	return nil
}

func (w *rowWriter) flushDates() error {
	r := w.dates
	w.dates = dateRange{}
	if !r.low.Valid && r.undated == 0 {
		return nil
	}
	return w.db.exec(`INSERT INTO dates (block, low, high, undated, bytes) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (block) DO UPDATE SET undated = undated + excluded.undated, bytes = bytes + excluded.bytes,
			low = coalesce(min(low, excluded.low), low, excluded.low),
			high = coalesce(max(high, excluded.high), high, excluded.high)`, r.block, r.low, r.high, r.undated, r.bytes)
}

// later is the later of two dates, either of which may be missing.
func later(a, b sql.NullInt64) sql.NullInt64 {
	if !a.Valid || b.Valid && b.Int64 > a.Int64 {
		return b
	}
	return a
}
