package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// cursor reads the lines of one class in a phase, in order.
type cursor struct {
	v     *Snapshot
	p     layout.Phase
	rest  []layout.Segment // not yet read
	file  layout.Segment   // the current file
	name  string           // its name
	all   []byte           // its content
	data  []byte           // the part of all that was not read yet
	line  int              // number of the current line, from 1
	at    int              // offset of that line
	entry jsonl.Entry
	done  bool
	// changed says from which line on the current file differs from what was recorded.
	changed *layout.CorruptError
}

// next reads the next line. At the end of a file that is still written to, a line without newline was never
// acknowledged and does not count.
func (c *cursor) next() error {
	for len(c.data) == 0 {
		if len(c.rest) == 0 {
			c.done = true
			return nil
		}
		if err := c.load(); err != nil {
			return err
		}
	}
	c.line++
	end := bytes.IndexByte(c.data, '\n')
	if end < 0 {
		if len(c.rest) == 0 && c.v.open(c.p) {
			c.done = true
			return nil
		}
		return c.corrupt("the line is cut off")
	}
	line := c.data[:end:end]
	c.at = len(c.all) - len(c.data)
	c.data = c.data[end+1:]
	entry, err := jsonl.Parse(line)
	if err != nil {
		return c.corrupt(err.Error())
	}
	if c.changed != nil && c.line >= c.changed.Line {
		return c.changed
	}
	if got := layout.ClassOf(entry.Kind); got != c.file.Class || entry.Kind == layout.KindAnchor {
		return c.corrupt(fmt.Sprintf("an entry of kind %q does not belong in this file", entry.Kind))
	}
	c.entry = entry
	return nil
}

func (c *cursor) load() error {
	c.file, c.rest, c.line = c.rest[0], c.rest[1:], 0
	c.name = c.file.Name()
	data, err := c.v.Content(c.p, c.file)
	if err != nil {
		return err
	}
	c.all, c.data = data, data
	return c.check()
}

// check compares the current file with what was recorded. The lines before a changed one can be read. If a
// changed line is malformed too, next reports that.
func (c *cursor) check() error {
	err := c.v.check(c.p, c.file.Name(), c.data)
	c.changed = nil
	if err == nil {
		return nil
	}
	if !errors.As(err, &c.changed) {
		return err
	}
	n := 0
	for line := range bytes.Lines(c.data) {
		if n++; n < c.changed.Line {
			continue
		}
		if _, err := jsonl.Parse(bytes.TrimSuffix(line, []byte("\n"))); err != nil && bytes.HasSuffix(line, []byte("\n")) {
			c.changed.Line = n // next says what is wrong with it
			break
		}
	}
	return nil
}

func (c *cursor) corrupt(msg string) error {
	return &layout.CorruptError{File: c.v.Where(c.p, c.file.Name()), Line: c.line, Msg: msg}
}

// PhaseReader reads the entries of one phase in the order of their ids, its anchor first. Gaps and repeated ids
// are errors.
type PhaseReader struct {
	phase   layout.Phase
	anchor  layout.Entry
	started bool
	cursors []*cursor
	Last    int64 // id of the last entry so far
	tape    string
}

// Place says where to start in a phase: at an id (an id up to the anchor's means the whole phase), or, if ends
// is set, right after these ends of files.
type Place struct {
	ID   int64
	ends *[layout.ClassCount]End
}

// ReadPhase returns a reader of a phase that starts at a place, and reads only the files that it needs.
func ReadPhase(v *Snapshot, p layout.Phase, tape string, from Place) (*PhaseReader, error) {
	anchor, err := ReadAnchor(v, p, tape)
	if err != nil {
		return nil, err
	}
	if from.ends == nil {
		if err := v.check(p, layout.AnchorFile, append(anchor.Raw, '\n')); err != nil {
			return nil, err
		}
	}
	segments, err := v.Segments(p)
	if err != nil {
		return nil, err
	}
	r := &PhaseReader{phase: p, anchor: anchor, Last: anchor.ID, tape: tape}
	if from.ID > anchor.ID || from.ends != nil {
		r.Last, r.started = from.ID-1, true
	}
	for class, files := range segments {
		c := &cursor{v: v, p: p}
		if from.ends != nil {
			err = c.resume(files, from.ends[class])
		} else {
			err = c.seek(files, from.ID)
		}
		if err != nil {
			return nil, err
		}
		if c.file.N > 0 {
			r.cursors = append(r.cursors, c)
		}
	}
	return r, nil
}

func (c *cursor) seek(files []layout.Segment, id int64) error {
	n, err := FilesUpTo(c.v, c.p, files, id)
	if err != nil {
		return err
	}
	c.rest = files[max(0, n-1):] // the last file that begins at or before the id
	for {
		c.skip(id)
		if err := c.next(); err != nil || c.done || c.entry.ID >= id {
			return err
		}
	}
}

// skip skips the lines of the current file with lower ids, and parses only these ids. It stops at malformed
// lines, which next reports.
func (c *cursor) skip(id int64) {
	for c.changed == nil || c.line+1 < c.changed.Line {
		end := bytes.IndexByte(c.data, '\n')
		if end < 0 {
			return
		}
		if got, err := jsonl.ParseID(c.data[:end]); err != nil || got >= id {
			return
		}
		c.line++
		c.data = c.data[end+1:]
	}
}

// resume moves to the first line after an end up to which the files were read.
func (c *cursor) resume(files []layout.Segment, end End) error {
	c.rest = files[min(len(files), max(0, end.File-1)):]
	if end.File > 0 && len(c.rest) > 0 {
		if err := c.load(); err != nil {
			return err
		}
		if int64(len(c.all)) < end.Size {
			return c.corrupt("the file was cut short while it was read")
		}
		c.data, c.line = c.all[end.Size:], end.Lines
		if c.line == 0 {
			c.line = bytes.Count(c.all[:end.Size], []byte("\n"))
		}
	}
	return c.next()
}

// FilesUpTo returns how many files of a class begin with the given id or a lower one.
func FilesUpTo(v *Snapshot, p layout.Phase, files []layout.Segment, id int64) (int, error) {
	var failed error
	n := sort.Search(len(files), func(i int) bool {
		first, err := firstID(v, p, files[i])
		if err != nil {
			failed = err
		}
		return first > id
	})
	return n, failed
}

// firstID returns the id of a file's first line; math.MaxInt64 if the file has no complete line.
func firstID(v *Snapshot, p layout.Phase, s layout.Segment) (int64, error) {
	const enough = 64 // bytes for {"id":N, which tape writes first
	head, err := v.beginning(p, s, enough)
	if err != nil {
		return 0, err
	}
	if id, err := jsonl.ParseID(head); err == nil {
		return id, nil
	}
	data, err := v.Content(p, s)
	if err != nil {
		return 0, err
	}
	line, _, complete := bytes.Cut(data, []byte("\n"))
	if !complete {
		return math.MaxInt64, nil
	}
	id, err := jsonl.ParseID(line)
	if err != nil {
		return 0, &layout.CorruptError{File: v.Where(p, s.Name()), Line: 1, Msg: err.Error()}
	}
	return id, nil
}

// ReadAnchor returns the anchor of a phase.
func ReadAnchor(v *Snapshot, p layout.Phase, tape string) (layout.Entry, error) {
	raw, err := v.AnchorLine(p)
	if err != nil {
		return layout.Entry{}, err
	}
	e, name, err := DecodeAnchor(raw, v.Where(p, layout.AnchorFile))
	if err != nil {
		return layout.Entry{}, err
	}
	anchor := makeEntry(e, tape, name, p.Seq)
	anchor.At = layout.Position{Folder: p.Folder, File: layout.AnchorFile, Length: len(e.Raw)}
	return anchor, nil
}

// DecodeAnchor parses anchor.json; file is its name in errors.
func DecodeAnchor(raw []byte, file string) (e jsonl.Entry, name string, err error) {
	line, ok := bytes.CutSuffix(raw, []byte("\n"))
	if !ok || bytes.IndexByte(line, '\n') >= 0 {
		return e, "", &layout.CorruptError{File: file, Msg: "not exactly one line"}
	}
	if e, err = jsonl.Parse(line); err != nil {
		return e, "", &layout.CorruptError{File: file, Line: 1, Msg: err.Error()}
	}
	if name = jsonl.GetString(e.Payload, "name"); e.Kind != layout.KindAnchor || name == "" {
		return e, "", &layout.CorruptError{File: file, Line: 1, Msg: "not an anchor with a name"}
	}
	return e, name, nil
}

func makeEntry(e jsonl.Entry, tape, anchor string, seq int) layout.Entry {
	return layout.Entry{ID: e.ID, Kind: e.Kind, Payload: e.Payload, Meta: e.Meta, Date: e.Date, Raw: e.Raw,
		Tape: tape, Anchor: anchor, AnchorSeq: seq}
}

// ParseEntry parses a stored line.
func ParseEntry(line []byte, tape, anchor string, seq int) (layout.Entry, error) {
	e, err := jsonl.Parse(bytes.TrimSuffix(line, []byte("\n")))
	return makeEntry(e, tape, anchor, seq), err
}

// Next returns the next entry; io.EOF after the last. An error in the line after an entry comes together with
// the entry.
func (r *PhaseReader) Next() (layout.Entry, error) {
	if !r.started {
		r.started = true
		return r.anchor, nil
	}
	var first *cursor
	for _, c := range r.cursors {
		if !c.done && (first == nil || c.entry.ID < first.entry.ID) {
			first = c
		}
	}
	if first == nil {
		return layout.Entry{}, io.EOF
	}
	switch id := first.entry.ID; {
	case id <= r.Last:
		return layout.Entry{}, first.corrupt(fmt.Sprintf("id %d comes after id %d", id, r.Last))
	case id > r.Last+1:
		return layout.Entry{}, first.corrupt(fmt.Sprintf("id %d follows id %d: what was between is missing", id, r.Last))
	}
	r.Last = first.entry.ID
	e := makeEntry(first.entry, r.tape, r.anchor.Anchor, r.phase.Seq)
	e.At = layout.Position{Folder: r.phase.Folder, File: first.name, Line: first.line - 1, Offset: int64(first.at), Length: len(e.Raw)}
	return e, first.next()
}

// PhaseOf returns the index of the phase that has the entry with an id, or would have it if it existed.
func PhaseOf(v *Snapshot, id int64) (int, error) {
	var failed error
	i := sort.Search(len(v.List), func(i int) bool {
		anchor, err := ReadAnchor(v, v.List[i], "")
		if err != nil {
			failed = err
		}
		return anchor.ID > id
	})
	return max(0, i-1), failed
}

// LastID returns the id of a phase's last entry. It reads only the last files.
func LastID(v *Snapshot, p layout.Phase) (int64, error) {
	m, _, err := EndOf(v, p)
	return m.LastID, err
}

// EndOf returns a mark of a phase's end, and the last entry's line; nil if the last entry is the anchor.
func EndOf(v *Snapshot, p layout.Phase) (m ReadMark, line []byte, err error) {
	anchor, err := ReadAnchor(v, p, "")
	if err != nil {
		return m, nil, err
	}
	segments, err := v.Segments(p)
	if err != nil {
		return m, nil, err
	}
	m = ReadMark{Head: v.Commit.String(), LastID: anchor.ID, Seq: p.Seq, Folder: p.Folder, Disk: v.Dir != ""}
	for c, files := range segments {
		// The last file may have nothing but an unfinished line.
		for i, file := range slices.Backward(files) {
			data, err := v.Content(p, file)
			if err != nil {
				return m, nil, err
			}
			data = data[:bytes.LastIndexByte(data, '\n')+1]
			lines := bytes.Count(data, []byte("\n"))
			if i == len(files)-1 {
				m.Ends[c] = End{File: file.N, Size: int64(len(data)), Lines: lines, Sum: SumOf(data)}
			}
			last := LastLine(data)
			if last == nil {
				continue
			}
			id, err := jsonl.ParseID(last)
			if err != nil {
				return m, nil, &layout.CorruptError{File: v.Where(p, file.Name()), Line: lines, Msg: err.Error()}
			}
			if id > m.LastID {
				m.LastID, line = id, last
			}
			break
		}
	}
	return m, line, nil
}

// LastLine returns the last complete line, nil if there is none.
func LastLine(data []byte) []byte {
	end := bytes.LastIndexByte(data, '\n')
	if end < 0 {
		return nil
	}
	return data[bytes.LastIndexByte(data[:end], '\n')+1 : end]
}
