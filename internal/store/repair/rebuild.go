package repair

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
)

// The events of a repair.
const (
	EventLost    = "repair.lost"    // replaces a lost entry
	EventChanged = "repair.changed" // says that an earlier line differs from what was recorded
)

// longestRaw limits how much of a damaged line an event repeats. The file set aside has the whole line.
const longestRaw = 64 << 10 // bytes

// rebuild makes the repaired files of the open phase, and compares them with the disk.
func (s *scan) rebuild(all []*classFiles, end int64, damaged [layout.ClassCount]bool) error {
	built := make([]map[int][]byte, len(all))
	for class, c := range all {
		built[class] = c.files(nil)
		file := s.mismatchedFile(c, built[class])
		s.mismatch = s.mismatch || file != ""
		reported := slices.ContainsFunc(c.rows, func(r row) bool { return bytes.Contains(r.raw, []byte(`{"name":"repair.`)) })
		if file != "" && !damaged[class] && !reported && len(s.Lost) == 0 {
			s.Changed = append(s.Changed, file)
		}
	}
	var added []row
	for _, l := range s.Lost {
		what := "the line of this entry was gone"
		if l.Raw != nil {
			what = "the line of this entry was damaged"
		}
		raw := strings.ToValidUTF8(string(l.Raw[:min(len(l.Raw), longestRaw)]), "\uFFFD")
		r, err := s.event(l.ID, EventLost, what, l.File, strings.TrimSuffix(raw, "\n"))
		if err != nil {
			return err
		}
		added = append(added, r)
	}
	for i, file := range s.Changed {
		r, err := s.event(end+1+int64(i), EventChanged, "a line before this entry is not as it was recorded; which one cannot be told", file, "")
		if err != nil {
			return err
		}
		added = append(added, r)
	}
	built[layout.ClassEvents] = all[layout.ClassEvents].files(added)
	for class, c := range all {
		s.compareFiles(c, built[class])
	}
	return nil
}

// event makes the line of an event.
func (s *scan) event(id int64, name, what, file, raw string) (row, error) {
	data := struct {
		Error string `json:"error"`
		File  string `json:"file,omitempty"`
		Raw   string `json:"raw,omitempty"`
	}{what, file, raw}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return row{}, err
	}
	line, err := writer.Encode(s.t, id, layout.Event(name, bytes.TrimSpace(text.Bytes())))
	return row{id: id, raw: line}, err
}

// IsEvent reports whether an entry is an event of a repair.
func IsEvent(kind string, payload []byte) bool {
	if kind != layout.KindEvent {
		return false
	}
	name := jsonl.GetString(payload, "name")
	return name == EventLost || name == EventChanged
}

// files divides the entries of a class into files in the same way as append does.
func (c *classFiles) files(added []row) map[int][]byte {
	rows := slices.DeleteFunc(slices.Concat(c.rows, added), func(r row) bool { return r.id == 0 })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.id, b.id) })
	n, out := max(c.n, 1), map[int][]byte{}
	if c.n > 0 {
		out[n] = slices.Clone(c.base)
	}
	for _, r := range rows {
		if len(out[n]) >= layout.SealSize {
			n++
		}
		out[n] = append(out[n], r.raw...)
	}
	return out
}

// mismatchedFile names a file that differs from the last writer's record, "" if none does.
func (s *scan) mismatchedFile(c *classFiles, built map[int][]byte) string {
	if !s.fits || s.dir == "" {
		return ""
	}
	seals := snapshot.Seals(s.t)
	for n, data := range built {
		name := layout.SegmentName(c.class, n)
		if n < len(built)+max(c.n, 1)-1 && snapshot.CheckSealed(seals, s.path(s.committed.LastPhase(), name), data) != nil {
			return name
		}
	}
	tail := s.rec.Tails[c.class]
	if tail.Seg == 0 || int64(len(built[tail.Seg])) >= tail.Size && snapshot.Checksum(0, built[tail.Seg][:tail.Size]) == tail.Sum {
		return ""
	}
	return layout.SegmentName(c.class, tail.Seg)
}

// compareFiles compares the repaired files of a class with those on disk.
func (s *scan) compareFiles(c *classFiles, built map[int][]byte) {
	p := s.committed.LastPhase()
	last := 0
	for n := range built {
		last = max(last, n)
	}
	for _, n := range slices.Sorted(maps.Keys(built)) {
		name, data := layout.SegmentName(c.class, n), built[n]
		if n < last {
			s.sealed = append(s.sealed, sealedFile{p.Folder, name, data})
		}
		is, ok := c.disk[n]
		// An unfinished last line is not damage: the next writer sets it aside.
		torn, same := bytes.CutPrefix(is, data)
		same = same && (len(torn) == 0 || n == last && !bytes.Contains(torn, []byte("\n")))
		if s.dir != "" && (!ok || !same) {
			s.Files = append(s.Files, File{Path: s.path(p, name), Missing: !ok, data: data})
		}
	}
	for n, is := range c.disk {
		// A new file without a complete line is no damage either.
		begun := n == last+1 && (last == 0 || len(built[last]) >= layout.SealSize) && !bytes.Contains(is, []byte("\n"))
		if built[n] == nil && n >= c.n && !begun {
			s.Files = append(s.Files, File{Path: s.path(p, layout.SegmentName(c.class, n))})
		}
	}
}
