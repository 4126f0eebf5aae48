package store

import (
	"database/sql"
	"fmt"
	"time"
)

// FileFilter chooses files that sessions read and wrote.
type FileFilter struct {
	Tapes []string               // names; nil: all
	Bases []string               // last parts of paths; nil: any
	Match func(path string) bool // nil: all
	Since time.Time              // the zero value is no bound
	Until time.Time
	// Edits, if more than 0, limits FileUses to that many edits: the uses that wrote, the latest first, without reads.
	Edits int
}

// FileUse says how a tape used a file; in a Digest, how a session did.
type FileUse struct {
	Tape, Path     string
	Reads, Writes  int64
	Added, Removed int64     // lines
	First, Last    time.Time // zero if the entries have no dates
}

// Touch is an entry that read or wrote a file.
type Touch struct {
	Tape, Path     string
	Entry          int64
	At             time.Time // zero if the entry has no date
	Reads, Writes  int64
	Added, Removed int64 // lines
}

// FileUses sums how each tape used each file, in the order of the tapes' numbers and of the paths, or, with f.Edits, the
// latest first.
func (d *DB) FileUses(f FileFilter) (out []FileUse, err error) {
	var u FileUse
	var first, last sql.NullInt64
	order := "t.no, p.path"
	if f.Edits > 0 {
		order = fmt.Sprintf("max(o.at) DESC, t.no, p.path LIMIT %d", f.Edits)
	}
	err = d.files(f, `t.name, p.path, sum(o.reads), sum(o.writes), sum(o.added), sum(o.removed), min(o.at), max(o.at)`, "t.no, p.no", order,
		[]any{&u.Tape, &u.Path, &u.Reads, &u.Writes, &u.Added, &u.Removed, &first, &last}, &u.Path, func() {
			u.First, u.Last = dateOf(first), dateOf(last)
			out = append(out, u)
		})
	return out, err
}

// Touches returns the entries that used files, in the order of the tapes' numbers and of their ids.
func (d *DB) Touches(f FileFilter) (out []Touch, err error) {
	var u Touch
	var doc int64
	var at sql.NullInt64
	err = d.files(f, `t.name, p.path, o.doc, o.reads, o.writes, o.added, o.removed, o.at`, "", "o.doc, p.path",
		[]any{&u.Tape, &u.Path, &doc, &u.Reads, &u.Writes, &u.Added, &u.Removed, &at}, &u.Path, func() {
			u.Entry, u.At = IDOf(doc), dateOf(at)
			out = append(out, u)
		})
	return out, err
}

func dateOf(micro sql.NullInt64) time.Time {
	if !micro.Valid {
		return time.Time{}
	}
	return time.UnixMicro(micro.Int64).UTC()
}

func (d *DB) files(f FileFilter, columns, group, order string, dest []any, path *string, use func()) error {
	c := &condition{}
	if f.Bases != nil {
		c.in("p.base", f.Bases)
	}
	if f.Tapes != nil {
		c.in("t.name", f.Tapes)
	}
	if f.Edits > 0 {
		c.add("o.writes > ?", 0)
	}
	if !f.Since.IsZero() {
		c.add("o.at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		c.add("o.at <= ?", f.Until.UnixMicro())
	}
	// If only tapes are given, a range of documents instead of the shift lets SQLite use touches_doc.
	from := `touches o JOIN tapes t ON t.no = o.doc >> 26 JOIN paths p ON p.no = o.path`
	if f.Bases == nil && f.Tapes != nil {
		from = `tapes t JOIN touches o ON o.doc BETWEEN t.no << 26 AND (t.no << 26) + 0x3ffffff JOIN paths p ON p.no = o.path`
	}
	query := "SELECT " + columns + " FROM " + from + c.String()
	if group != "" {
		query += " GROUP BY " + group
	}
	return d.rows(query+" ORDER BY "+order, c.args, dest, func() error {
		if f.Match == nil || f.Match(*path) {
			use()
		}
		return nil
	})
}
