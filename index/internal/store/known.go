package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"tape/internal/store/snapshot"
	"tape/repo"
)

// TapeRow is what the index has of a tape.
type TapeRow struct {
	Branch    string
	Name      string
	No        int64
	Parent    int64 // the number of a fork's parent; 0 if it is stored in full
	Base      int64 // the last entry that is not the fork's own
	BaseBytes int64 // length of the lines up to Base
	Entries   int64 // the last id
	Bytes     int64 // length of all lines
	Newest    sql.NullInt64

	head   string // the branch's commit
	inTree int64  // 1 if read from a working tree
}

// Own is how many entries are stored for the tape itself.
func (k TapeRow) Own() int64 { return k.Entries - k.Base }

// rowColumns are the columns of the SQL index known, which has all tapes on few pages.
const rowColumns = "branch, name, no, parent, base, base_bytes, entries, bytes, newest, head, in_tree"

func (k *TapeRow) columns() []any {
	return []any{&k.Branch, &k.Name, &k.No, &k.Parent, &k.Base, &k.BaseBytes, &k.Entries, &k.Bytes, &k.Newest, &k.head, &k.inTree}
}

// TapeRow reads the row of a tape. Its No is 0 if the index does not have the tape.
func (d *DB) TapeRow(t *repo.Tape) (TapeRow, error) {
	var k TapeRow
	ok, err := d.row("SELECT "+rowColumns+" FROM tapes WHERE branch = ?", []any{t.Branch()}, k.columns()...)
	if err == nil && ok {
		err = k.check()
	}
	return k, err
}

// Has is what the index has of tapes, by branch.
type Has map[string]TapeRow

// Has reads the rows of tapes. For more than a few it reads all rows.
func (d *DB) Has(tapes []*Target) (Has, error) {
	const few = 8
	if len(tapes) > few {
		return d.HasAll()
	}
	out := make(Has, len(tapes))
	for _, t := range tapes {
		k, err := d.TapeRow(t.Tape)
		if err != nil {
			return nil, err
		}
		if k.No != 0 {
			out[k.Branch] = k
		}
	}
	return out, nil
}

// allRows selects the rows of all tapes as one text: scanning thousands of values one by one takes more than
// twice as long.
const allRows = "SELECT ifnull(group_concat(concat_ws(char(31), branch, name, no, parent, base, base_bytes, entries, bytes, ifnull(newest, ''), head, in_tree), char(30)), '') FROM tapes INDEXED BY known"

// HasAll reads the rows of all tapes.
func (d *DB) HasAll() (Has, error) {
	var text string
	if _, err := d.row(allRows, nil, &text); err != nil {
		return nil, err
	}
	out := make(Has, strings.Count(text, "\x1e")+1)
	for row := range strings.SplitSeq(text, "\x1e") {
		if row == "" {
			continue // there are no tapes
		}
		k, err := parseRow(row)
		if err == nil {
			err = k.check()
		}
		if err != nil {
			return nil, err
		}
		out[k.Branch] = k
	}
	return out, nil
}

func parseRow(row string) (k TapeRow, err error) {
	for i, to := range k.columns() {
		var text string
		text, row, _ = strings.Cut(row, "\x1f")
		switch to := to.(type) {
		case *string:
			*to = text
		case *int64:
			*to, err = strconv.ParseInt(text, 10, 64)
		case *sql.NullInt64:
			if to.Valid = text != ""; to.Valid {
				to.Int64, err = strconv.ParseInt(text, 10, 64)
			}
		}
		if err != nil {
			return k, fmt.Errorf("%w: column %d of %s: %w", ErrInconsistent, i, k.Branch, err)
		}
	}
	return k, nil
}

func (k *TapeRow) check() error {
	switch {
	case k.Entries < 0 || k.Entries >= 1<<tapeShift:
		return fmt.Errorf("%w: %s has %d entries", ErrInconsistent, k.Branch, k.Entries)
	case k.Base < 0 || k.Base > k.Entries || k.Parent < 0 || k.Parent >= k.No || (k.Base == 0) != (k.Parent == 0):
		return fmt.Errorf("%w: %s begins after entry %d of tape %d", ErrInconsistent, k.Branch, k.Base, k.Parent)
	}
	return nil
}

// errReplaced means that the tape of a branch was replaced in the index.
var errReplaced = fmt.Errorf("%w: a tape has been replaced", ErrInconsistent)

// markOf returns the read mark of a tape: how much of it the index has.
func (d *DB) markOf(k TapeRow) (m snapshot.ReadMark, err error) {
	if k.No == 0 {
		return m, nil
	}
	var mark string
	found, err := d.row("SELECT mark FROM tapes WHERE no = ?", []any{k.No}, &mark)
	if err != nil {
		return m, err
	}
	if !found {
		return m, fmt.Errorf("%w: %s", errReplaced, k.Branch)
	}
	if m, err = decodeMark(mark); err != nil {
		return m, fmt.Errorf("%w: mark of %s: %w", ErrInconsistent, k.Branch, err)
	}
	if k.Entries != m.LastID || k.head != m.Head || (k.inTree != 0) != m.Disk {
		return m, fmt.Errorf("%w: %s has %d entries at %s, and ends with entry %d at %s", ErrInconsistent, k.Branch, k.Entries, k.head, m.LastID, m.Head)
	}
	return m, nil
}

// encodeMark encodes a read mark, with a checksum before it. Reading on from a damaged mark would make
// the tape look damaged.
func encodeMark(m snapshot.ReadMark) (string, error) {
	raw, err := json.Marshal(m)
	return fmt.Sprintf("%08x %s", crc32.ChecksumIEEE(raw), raw), err
}

func decodeMark(text string) (m snapshot.ReadMark, err error) {
	sum, raw, _ := strings.Cut(text, " ")
	if sum != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(raw))) {
		return m, errors.New("the checksum is wrong")
	}
	return m, json.Unmarshal([]byte(raw), &m)
}
