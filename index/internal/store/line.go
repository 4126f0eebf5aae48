package store

import (
	"database/sql"
	"fmt"

	"tape/internal/store/activity"
	"tape/internal/store/layout"
)

// Line is what the index has of an entry.
type Line struct {
	Kind    string
	Created int64 // microseconds since 1970; 0 if not dated
	Seq     int
	File    int64           // its number; 0 before the entry is stored
	At      layout.Position // without folder and file if read from the index
	Sign    int64

	id      int64
	summary string
	dated   bool
	anchor  string // the name of an anchor
	note    *activity.Note
}

// Line reads the row of a document; ErrInconsistent if there is none.
func (d *DB) Line(doc int64) (Line, error) {
	var l Line
	var created sql.NullInt64
	ok, err := d.row("SELECT kind, created, seq, file, line, offset, length, sign FROM lines WHERE doc = ?", []any{doc},
		&l.Kind, &created, &l.Seq, &l.File, &l.At.Line, &l.At.Offset, &l.At.Length, &l.Sign)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there is no line %d", ErrInconsistent, IDOf(doc))
	}
	l.Created = created.Int64
	return l, err
}

// Phase is a phase of a tape.
type Phase struct {
	Name, Folder string
	first        int64 // the anchor's id
}

// Phase reads a phase of a tape; the zero value if there is none.
func (d *DB) Phase(tape int64, seq int) (p Phase, err error) {
	_, err = d.row("SELECT name, folder, first_id FROM phases WHERE tape = ? AND seq = ?", []any{tape, seq}, &p.Name, &p.Folder, &p.first)
	return p, err
}

func (d *DB) putPhase(tape int64, seq int, p Phase) error {
	return d.exec("INSERT INTO phases (tape, seq, name, folder, first_id) VALUES (?, ?, ?, ?, ?)", tape, seq, p.Name, p.Folder, p.first)
}

// FileName is the name of a file in the folder of its phase; "" if there is none with this number.
func (d *DB) FileName(no int64) (name string, err error) {
	_, err = d.row("SELECT name FROM files WHERE no = ?", []any{no}, &name)
	return name, err
}

// Dated calls f with each block, from that of the first document to that of the last, in which a document has
// a date from since to until, or may have one. The dates are in microseconds since 1970. whole says that all
// documents of the block have such a date.
func (d *DB) Dated(first, last, since, until int64, f func(block int64, whole bool)) error {
	var block int64
	var whole bool
	return d.rows(`SELECT block, low >= ?1 AND high <= ?2 AND undated = 0 FROM dates
		WHERE block BETWEEN ?3 AND ?4 AND high >= ?1 AND low <= ?2 ORDER BY block`,
		[]any{since, until, first >> BlockShift, last >> BlockShift}, []any{&block, &whole}, func() error {
			f(block, whole)
			return nil
		})
}

// IsDated reports whether a document has a date from since to until, which are in microseconds since 1970.
func (d *DB) IsDated(doc, since, until int64) (bool, error) {
	var created sql.NullInt64
	_, err := d.row("SELECT created FROM lines WHERE doc = ?", []any{doc}, &created)
	return created.Valid && created.Int64 >= since && created.Int64 <= until, err
}
