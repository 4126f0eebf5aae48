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
	origin        // of a fork
	entries int64 // the last id
	bytes   int64 // of all lines
	newest  sql.NullInt64
	mark    repo.Mark
}

// own is how many entries the index has as the tape's own.
func (k known) own() int64 { return k.entries - k.base }

// known looks a tape up. No number, no error: the index does not have it.
func (d *db) known(t *repo.Tape) (known, error) {
	var k known
	var mark string
	ok, err := d.row("SELECT no, parent, base, base_bytes, entries, bytes, newest, mark FROM tapes WHERE branch = ?", []any{t.Branch()},
		&k.no, &k.parent, &k.base, &k.baseBytes, &k.entries, &k.bytes, &k.newest, &mark)
	if err != nil || !ok {
		return k, err
	}
	if k.mark, err = decodeMark(mark); err != nil {
		return k, fmt.Errorf("%w: mark of %s: %w", errStrange, t.Branch(), err)
	}
	if k.entries != k.mark.LastID || k.entries < 0 || k.entries >= 1<<tapeShift {
		return k, fmt.Errorf("%w: %s has %d entries, and ends with entry %d", errStrange, t.Branch(), k.entries, k.mark.LastID)
	}
	if k.base < 0 || k.base > k.entries || k.parent < 0 || k.parent >= k.no || (k.base == 0) != (k.parent == 0) {
		return k, fmt.Errorf("%w: %s begins behind entry %d of tape %d", errStrange, t.Branch(), k.base, k.parent)
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
func (d *db) stale(ctx context.Context, tapes []*target) ([]*target, error) {
	var out []*target
	for _, t := range tapes {
		stale, err := d.isStale(ctx, t)
		if err != nil {
			return nil, err
		}
		if stale {
			out = append(out, t)
		}
	}
	return out, nil
}

func (d *db) isStale(ctx context.Context, t *target) (bool, error) {
	k, err := d.known(t.tape)
	if err != nil {
		return false, err
	}
	if k.no == 0 || !t.tape.Unchanged(k.mark) {
		return true, nil
	}
	fits, err := d.fits(ctx, t, k)
	return !fits, err
}

// catchUp brings what the index has of the tapes up to date, each in one transaction. A
// fork may be stale because its parent was.
func (d *db) catchUp(ctx context.Context, tapes []*target, progress func(entries int64)) (added int64, err error) {
	for _, t := range tapes {
		stale, err := d.isStale(ctx, t)
		if err != nil {
			return added, err
		}
		if !stale {
			continue
		}
		var n int64
		err = d.within("BEGIN IMMEDIATE", func() error {
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

func (d *db) addTape(ctx context.Context, t *target, progress func(int64)) (int64, error) {
	k, err := d.known(t.tape)
	if err != nil {
		return 0, err
	}
	s, anew, err := d.lacking(ctx, t, k)
	if err != nil {
		return 0, err
	}
	return d.take(ctx, t.tape, k, s, anew, progress)
}

// take takes up what a suffix of a tape has. With anew, what the index has goes first.
func (d *db) take(ctx context.Context, t *repo.Tape, k known, s *repo.Suffix, anew *origin, progress func(int64)) (int64, error) {
	x, err := fts5.Open(pages{d})
	if err != nil {
		return 0, err
	}
	if anew != nil {
		dropped, had := k.no, k.own()
		if d.most > 0 && had > d.most {
			return 0, errMany
		}
		if k, err = d.replaceTape(t, k.no, *anew); err != nil {
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
	return w.added, d.exec("UPDATE tapes SET name = ?, entries = ?, bytes = ?, newest = ?, mark = ? WHERE no = ?",
		t.Name(), mark.LastID, k.bytes+w.bytes, later(k.newest, w.newest), raw, k.no)
}

// lacking returns what the index does not have of a tape; anew, if not nil, tells that
// what it has has to go, and where the tape begins.
func (d *db) lacking(ctx context.Context, t *target, k known) (s *repo.Suffix, anew *origin, err error) {
	fits := !t.tape.IsFork()
	if !fits && k.no != 0 {
		if fits, err = d.fits(ctx, t, k); err != nil {
			return nil, nil, err
		}
	}
	if fits {
		if s, err = t.tape.Since(ctx, k.mark); err != nil || !s.Whole() {
			return s, nil, err
		}
	}
	o := origin{}
	if t.tape.IsFork() {
		if o, err = d.originOf(ctx, t); err != nil {
			return nil, nil, err
		}
		s = nil
	}
	if s == nil {
		if s, err = t.tape.Since(ctx, o.mark); err != nil {
			return nil, nil, err
		}
	}
	if s.Whole() {
		o = origin{}
	}
	return s, &o, nil
}

// replaceTape makes a new tape of a branch, and drops the old one's rows. Its number is
// never used again: words that are left of it belong to nobody.
func (d *db) replaceTape(t *repo.Tape, old int64, o origin) (known, error) {
	if old != 0 {
		if err := d.dropTape(old); err != nil {
			return known{}, err
		}
	}
	mark, err := encodeMark(o.mark)
	if err != nil {
		return known{}, err
	}
	if err := d.exec(`INSERT INTO tapes (branch, name, parent, base, base_bytes, entries, bytes, newest, mark)
		VALUES (?1, ?2, ?3, ?4, ?5, ?4, ?5, ?6, ?7)`, t.Branch(), t.Name(), o.parent, o.base, o.baseBytes, o.newest, mark); err != nil {
		return known{}, err
	}
	k, err := d.known(t)
	if err == nil && o.parent != 0 {
		err = d.exec("INSERT INTO phases (tape, seq, name, folder, first_id) VALUES (?, ?, ?, ?, ?)",
			k.no, o.mark.Seq, o.open.name, o.open.folder, o.open.first)
	}
	return k, err
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
func (d *db) gone(tapes []*target) ([]goneTape, error) {
	there := map[string]bool{}
	for _, t := range tapes {
		there[t.tape.Branch()] = true
	}
	var out []goneTape
	err := d.rows("SELECT no, entries - base, branch FROM tapes", nil, func(scan func(...any) error) error {
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
func (d *db) dropGone(tapes []*target) error {
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
