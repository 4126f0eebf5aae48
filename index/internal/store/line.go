package store

import (
	"database/sql"
	"fmt"
	"strconv"

	"tape/internal/store/activity"
	"tape/internal/store/layout"
)

// Line is what the index has of an entry.
type Line struct {
	Kind    string
	Created int64           // microseconds since 1970; 0 if not dated
	File    int64           // its number; 0 before the entry is stored
	At      layout.Position // without folder and file if read from the index
	Sign    int64

	id      int64
	seq     int
	label   string // what its summary has in common with others
	summary string // of its own
	dated   bool
	anchor  string // the name of an anchor
	note    *activity.Note
}

// Line reads the row of a document; ErrInconsistent if there is none.
func (d *DB) Line(doc int64) (Line, error) {
	var l Line
	var created sql.NullInt64
	var label int64
	ok, err := d.row("SELECT label, created, file, line, offset, length, sign FROM lines WHERE doc = ?", []any{doc},
		&label, &created, &l.File, &l.At.Line, &l.At.Offset, &l.At.Length, &l.Sign)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there is no line %d", ErrInconsistent, IDOf(doc))
	}
	if err == nil {
		l.Kind, err = d.kindOf(label)
	}
	l.Created = created.Int64
	return l, err
}

// Lines calls f with the row of each document that there is. One statement reads them all, because preparing one for
// each takes longer.
func (d *DB) Lines(docs []int64, f func(doc int64, l Line)) error {
	list := make([]byte, 0, 12*len(docs)+2)
	for _, doc := range docs {
		list = strconv.AppendInt(append(list, ','), doc, 10)
	}
	list = append(list, ']')
	list[0] = '['
	var l Line
	var created sql.NullInt64
	var doc, label int64
	return d.rows("SELECT doc, label, created, file, line, offset, length, sign FROM json_each(?) CROSS JOIN lines ON doc = value", []any{string(list)},
		[]any{&doc, &label, &created, &l.File, &l.At.Line, &l.At.Offset, &l.At.Length, &l.Sign}, func() (err error) {
			l.Created = created.Int64
			if l.Kind, err = d.kindOf(label); err == nil {
				f(doc, l)
			}
			return err
		})
}

// kindOf is the kind of entries with a label.
func (d *DB) kindOf(label int64) (kind string, err error) {
	if kind, ok := d.kinds[label]; ok {
		return kind, nil
	}
	ok, err := d.row("SELECT kind FROM labels WHERE no = ?", []any{label}, &kind)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there is no label %d", ErrInconsistent, label)
	}
	if err == nil {
		d.kinds[label] = kind
	}
	return kind, err
}

type labelKey struct{ kind, summary string }

// labelOf is the number of a label. The first entry that has it makes it.
func (d *DB) labelOf(kind, summary string) (no int64, err error) {
	key := labelKey{kind, summary}
	if no, ok := d.labels[key]; ok {
		return no, nil
	}
	ok, err := d.row("SELECT no FROM labels WHERE kind = ? AND summary = ?", []any{kind, summary}, &no)
	if err == nil && !ok {
		_, err = d.row("INSERT INTO labels (kind, summary) VALUES (?, ?) RETURNING no", []any{kind, summary}, &no)
	}
	if err == nil {
		d.labels[key] = no
	}
	return no, err
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

// putPhase adds a phase of a tape, and ends the one before.
func (d *DB) putPhase(tape int64, seq int, p Phase) error {
	const open = 1<<tapeShift - 1
	if err := d.exec("UPDATE phases SET last_id = ? WHERE tape = ? AND last_id = ?", p.first-1, tape, open); err != nil {
		return err
	}
	return d.exec("INSERT INTO phases (tape, seq, name, folder, first_id, last_id) VALUES (?, ?, ?, ?, ?, ?)", tape, seq, p.Name, p.Folder, p.first, open)
}

// File is a file of a tape.
type File struct {
	Seq  int    // of its phase
	Name string // in the folder of the phase
}

// File reads a file; the zero value if there is none with this number.
func (d *DB) File(no int64) (f File, err error) {
	_, err = d.row("SELECT seq, name FROM files WHERE no = ?", []any{no}, &f.Seq, &f.Name)
	return f, err
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
