package repair

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
)

// widestGap limits how many entries before a line may be missing if there is no journal record. A line with
// an id further away is damaged.
const widestGap = 10_000

// row is an uncommitted line of the open phase.
type row struct {
	file  string
	line  int
	n     int    // number of the file in its class
	at    int    // offset of the line in the file
	raw   []byte // with its newline, if it has one
	class layout.Class
	id    int64 // 0 if the line is damaged: not an entry, or not one that belongs there
}

// classFiles are the files of one class in the open phase.
type classFiles struct {
	class   layout.Class
	base    []byte         // the last committed file
	n       int            // its number, 0 if none is committed
	disk    map[int][]byte // the files on disk, by number
	text    map[int][]byte // their contents, without what an editor has changed
	rows    []row          // the uncommitted lines
	trusted bool           // the checksum in the last writer's record matches
}

// readClass reads the files of a class. Committed full files are compared with git.
func (s *scan) readClass(class layout.Class, entries []gitstore.TreeEntry, last int64) (*classFiles, error) {
	p := s.committed.LastPhase()
	c := &classFiles{class: class, disk: map[int][]byte{}, text: map[int][]byte{}, n: layout.LastSegments(entries)[class]}
	var found []layout.Segment
	if s.dir != "" {
		var err error
		if found, err = snapshot.FilesIn(s.path(p, "")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	seals := snapshot.Seals(s.t)
	for _, f := range found {
		if f.Class != class {
			continue
		}
		data, err := os.ReadFile(s.path(p, f.Name()))
		if err != nil {
			return nil, err
		}
		c.disk[f.N], c.text[f.N] = data, s.asRecorded(f, data, seals)
	}
	for n := 1; n <= c.n; n++ {
		e, _ := layout.FindEntry(entries, layout.SegmentName(class, n))
		if n < c.n && s.dir == "" {
			continue
		}
		if n < c.n {
			if err := s.compare(s.path(p, e.Name), e.Hash, true); err != nil {
				return nil, err
			}
			continue
		}
		blob, err := s.committed.Git.Blob(e.Hash)
		if err != nil {
			return nil, layout.CorruptObject(s.committed.Commit, err)
		}
		c.base = blob
	}
	for _, n := range slices.Sorted(maps.Keys(c.disk)) {
		if n >= c.n {
			c.read(n, last)
		}
	}
	c.keepAscending()
	c.trusted = s.matchesRecord(c)
	return c, nil
}

// read collects the uncommitted lines of a file. If the committed part is damaged, it skips as many
// lines as were committed, and lines with ids of committed entries.
func (c *classFiles) read(n int, last int64) {
	data, line, committed, at := c.text[n], 0, 0, 0
	if n == c.n {
		if rest, ok := bytes.CutPrefix(data, c.base); ok {
			data, line, at = rest, bytes.Count(c.base, []byte("\n")), len(c.base)
		} else {
			committed = bytes.Count(c.base, []byte("\n"))
		}
	}
	for raw := range bytes.Lines(data) {
		line++
		r := row{file: layout.SegmentName(c.class, n), line: line, class: c.class, n: n, at: at, raw: raw}
		at += len(raw)
		text, whole := bytes.CutSuffix(raw, []byte("\n"))
		if e, err := jsonl.Parse(text); err == nil && whole && e.Kind != layout.KindAnchor && layout.ClassOf(e.Kind) == c.class {
			r.id = e.ID
		}
		if r.id <= last {
			if line <= committed || r.id > 0 && committed > 0 {
				continue // committed
			}
			r.id = 0
		}
		c.rows = append(c.rows, r)
	}
}

// keepAscending keeps the ids of the longest ascending sequence of entries, and treats all other lines as
// damaged.
func (c *classFiles) keepAscending() {
	var ends []int // for each length, minus 1: the last row of the sequence with the lowest last id
	before := make([]int, len(c.rows))
	for i, r := range c.rows {
		if r.id == 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(ends, r.id, func(at int, id int64) int { return cmp.Compare(c.rows[at].id, id) })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		ends = append(ends[:n], append([]int{i}, ends[min(n+1, len(ends)):]...)...)
	}
	keep := map[int]bool{}
	if len(ends) > 0 {
		for at := ends[len(ends)-1]; at >= 0; at = before[at] {
			keep[at] = true
		}
	}
	for i := range c.rows {
		if !keep[i] {
			c.rows[i].id = 0
		}
	}
}

// asRecorded takes back what editors do to a whole file, if the last writer's record, or that of a sealed file, says that this
// is all that has changed: a mark of the byte order at the beginning, the line ends of Windows, a last line without its end.
func (s *scan) asRecorded(f layout.Segment, data []byte, seals map[string]string) []byte {
	tail := s.rec.Tails[f.Class]
	if !s.fits || tail.Seg < f.N {
		return data
	}
	is := func(data []byte) bool {
		if f.N < tail.Seg {
			return snapshot.CheckSealed(seals, s.path(s.committed.LastPhase(), f.Name()), data) == nil
		}
		return int64(len(data)) >= tail.Size && snapshot.Checksum(0, data[:tail.Size]) == tail.Sum
	}
	text := data
	for _, undo := range []func(){
		func() {},
		func() { text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) },
		func() { text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) },
		func() { text = append(bytes.Clone(text), '\n') },
	} {
		if undo(); is(text) {
			return text
		}
	}
	return data
}

// matchesRecord reports whether the record's checksum matches the file.
func (s *scan) matchesRecord(c *classFiles) bool {
	tail := s.rec.Tails[c.class]
	if !s.fits || tail.Seg == 0 {
		return false
	}
	data := c.text[tail.Seg]
	return int64(len(data)) >= tail.Size && snapshot.Checksum(0, data[:tail.Size]) == tail.Sum
}

// openPhase finds out which entries of the open phase exist, and which are lost.
func (s *scan) openPhase() error {
	p := s.committed.LastPhase()
	entries, err := s.committed.Tree(p)
	if err != nil {
		return err
	}
	last, err := s.committed.LastID()
	if err != nil {
		return err
	}
	all := make([]*classFiles, layout.ClassCount)
	for class := range layout.ClassCount {
		if all[class], err = s.readClass(class, entries, last); err != nil {
			return err
		}
	}
	end, has := s.accept(all, last)
	damagedRows := s.findLost(all, last, end, has)
	return s.rebuild(all, end, damagedRows)
}

// accept decides which ids count; if an id occurs twice, the line in a trusted file wins. It returns the last
// id that was assigned, and the set of accepted ids.
func (s *scan) accept(all []*classFiles, last int64) (end int64, has map[int64]bool) {
	has = map[int64]bool{}
	var rows []*row
	for _, trusted := range []bool{true, false} {
		for _, c := range all {
			for i := range c.rows {
				r := &c.rows[i]
				if c.trusted != trusted || r.id == 0 {
					continue
				}
				if has[r.id] {
					r.id = 0
					continue
				}
				has[r.id] = true
				rows = append(rows, r)
			}
		}
	}
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.id, b.id) })
	gap := int64(1)
	if s.rec.LastID == 0 {
		gap = widestGap
	}
	end = max(last, s.rec.LastID)
	for _, r := range rows {
		if r.id > end+gap || r.id > s.rec.LastID && s.predatesRecord(r) {
			delete(has, r.id)
			r.id = 0
			continue
		}
		end = max(end, r.id)
	}
	// A complete line after the last entry of a file may be an entry that was acknowledged after the
	// record was written, if it begins like one or if there is no record.
	for _, c := range all {
		for _, r := range slices.Backward(c.rows) {
			if r.id > 0 {
				break
			}
			if id, err := jsonl.ParseID(r.raw); !s.predatesRecord(&r) && bytes.HasSuffix(r.raw, []byte("\n")) && (err == nil && id == end+1 || s.rec.LastID == 0) {
				end++
			}
		}
	}
	return end, has
}

// predatesRecord reports whether a line was already there when the record was written. Then its id cannot be
// higher than the record's last id.
func (s *scan) predatesRecord(r *row) bool {
	tail := s.rec.Tails[r.class]
	return s.fits && (r.n < tail.Seg || r.n == tail.Seg && int64(r.at) < tail.Size)
}

// findLost adds the missing entries to Lost, each with a damaged line that may have been its own. It returns
// which classes have damaged lines.
func (s *scan) findLost(all []*classFiles, last, end int64, has map[int64]bool) (damaged [layout.ClassCount]bool) {
	for id := last + 1; id <= end; id++ {
		if !has[id] {
			s.Lost = append(s.Lost, Lost{ID: id})
		}
	}
	for _, c := range all {
		for i, r := range c.rows {
			if r.id > 0 {
				continue
			}
			damaged[c.class] = true
			low, high := last, end+1
			for _, before := range c.rows[:i] {
				low = max(low, before.id)
			}
			for _, after := range slices.Backward(c.rows[i+1:]) {
				if after.id > 0 {
					high = after.id
				}
			}
			for n := range s.Lost {
				if l := &s.Lost[n]; l.Raw == nil && l.ID > low && l.ID < high {
					l.File, l.Line, l.Raw = r.file, r.line, r.raw
					break
				}
			}
		}
	}
	return damaged
}
