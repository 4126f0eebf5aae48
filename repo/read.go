package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"tape/internal/jsonl"
)

// cursor walks through the lines of one class of a phase, in order.
type cursor struct {
	v     *snapshot
	p     phase
	rest  []segment // not yet read
	file  segment   // the one in hand
	name  string    // its name
	all   []byte    // its content
	data  []byte    // what is left of it
	line  int       // number of the line last taken
	at    int       // where that line begins
	entry jsonl.Entry
	done  bool
	// changed is what is wrong with the file in hand from some line on.
	changed *CorruptError
	// loaded, if set, is shown each file when it is read.
	loaded func(s segment, data []byte)
}

// next takes the next line. A last line without its newline, at the very end of what
// may still be written, was never acknowledged and is not there.
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
	if got := classOf(entry.Kind); got != c.file.class || entry.Kind == KindAnchor {
		return c.corrupt(fmt.Sprintf("an entry of kind %q does not belong in this file", entry.Kind))
	}
	c.entry = entry
	return nil
}

// load takes the next file in hand.
func (c *cursor) load() error {
	c.file, c.rest, c.line = c.rest[0], c.rest[1:], 0
	c.name = c.file.name()
	data, err := c.v.content(c.p, c.file)
	if err != nil {
		return err
	}
	c.all, c.data = data, data
	if c.loaded != nil {
		c.loaded(c.file, data)
	}
	return c.check()
}

// check compares the file in hand with what was recorded. What comes before a changed
// line can be read; a line that is not even well formed is the better witness.
func (c *cursor) check() error {
	err := c.v.check(c.p, c.file.name(), c.data)
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
			c.changed.Line = n // next fails there with what is wrong
			break
		}
	}
	return nil
}

func (c *cursor) corrupt(msg string) error {
	return &CorruptError{File: c.v.where(c.p, c.file.name()), Line: c.line, Msg: msg, Fix: c.v.restoreHint(c.p)}
}

// phaseReader yields the entries of one phase in the order of their ids, its anchor
// first, and refuses gaps and repeats.
type phaseReader struct {
	p       phase
	anchor  Entry
	started bool
	cursors []*cursor
	last    int64
	tape    string
}

// place is where reading begins in a phase: with an id (one up to the anchor's means the
// whole phase), or, where the ends of the files before it are known, right behind these.
type place struct {
	id   int64
	ends *[classCount]End
}

// readPhase reads a phase from a place on, and of its files only what it needs for that.
func readPhase(v *snapshot, p phase, tape string, from place, loaded func(segment, []byte)) (*phaseReader, error) {
	anchor, err := readAnchor(v, p, tape)
	if err != nil {
		return nil, err
	}
	if from.ends == nil {
		if err := v.check(p, anchorFile, append(anchor.Raw, '\n')); err != nil {
			return nil, err
		}
	}
	segments, err := v.segments(p)
	if err != nil {
		return nil, err
	}
	r := &phaseReader{p: p, anchor: anchor, last: anchor.ID, tape: tape}
	if from.id > anchor.ID || from.ends != nil {
		r.last, r.started = from.id-1, true
	}
	for class, files := range segments {
		c := &cursor{v: v, p: p, loaded: loaded}
		if from.ends != nil {
			err = c.behind(files, from.ends[class])
		} else {
			err = c.seek(files, from.id)
		}
		if err != nil {
			return nil, err
		}
		if c.file.n > 0 {
			r.cursors = append(r.cursors, c)
		}
	}
	return r, nil
}

// seek takes the first line with an id, or behind it.
func (c *cursor) seek(files []segment, id int64) error {
	var err error
	if c.rest, err = skipFiles(c.v, c.p, files, id); err != nil {
		return err
	}
	for {
		if err := c.next(); err != nil || c.done || c.entry.ID >= id {
			return err
		}
	}
}

// behind takes the first line behind what was read.
func (c *cursor) behind(files []segment, end End) error {
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

// skipFiles leaves out the files of a class that end before an id.
func skipFiles(v *snapshot, p phase, files []segment, from int64) ([]segment, error) {
	var failed error
	// The first file that begins behind the id: the one before it may hold the id.
	i := sort.Search(len(files), func(i int) bool {
		id, err := firstID(v, p, files[i])
		if err != nil {
			failed = err
		}
		return id > from
	})
	return files[max(0, i-1):], failed
}

// firstID returns the id of a file's first line; of an empty one, a very high id.
func firstID(v *snapshot, p phase, s segment) (int64, error) {
	const enough = 64 // bytes, for {"id":N, as this program writes it
	head, err := v.beginning(p, s, enough)
	if err != nil {
		return 0, err
	}
	if id, err := jsonl.ParseID(head); err == nil {
		return id, nil
	}
	data, err := v.content(p, s)
	if err != nil {
		return 0, err
	}
	line, _, whole := bytes.Cut(data, []byte("\n"))
	if !whole {
		return math.MaxInt64, nil
	}
	id, err := jsonl.ParseID(line)
	if err != nil {
		return 0, &CorruptError{File: v.where(p, s.name()), Line: 1, Msg: err.Error()}
	}
	return id, nil
}

// readAnchor reads the entry that opens a phase.
func readAnchor(v *snapshot, p phase, tape string) (Entry, error) {
	raw, err := v.anchorLine(p)
	if err != nil {
		return Entry{}, err
	}
	e, name, err := decodeAnchor(raw, v.where(p, anchorFile))
	if err != nil {
		return Entry{}, err
	}
	anchor := makeEntry(e, tape, name, p.seq)
	anchor.At = Position{Folder: p.folder, File: anchorFile, Length: len(e.Raw)}
	return anchor, nil
}

// decodeAnchor reads the content of an anchor's file, and the anchor's name.
func decodeAnchor(raw []byte, file string) (e jsonl.Entry, name string, err error) {
	line, ok := bytes.CutSuffix(raw, []byte("\n"))
	if !ok || bytes.IndexByte(line, '\n') >= 0 {
		return e, "", &CorruptError{File: file, Msg: "not exactly one line"}
	}
	if e, err = jsonl.Parse(line); err != nil {
		return e, "", &CorruptError{File: file, Line: 1, Msg: err.Error()}
	}
	if name = jsonl.GetString(e.Payload, "name"); e.Kind != KindAnchor || name == "" {
		return e, "", &CorruptError{File: file, Line: 1, Msg: "not an anchor with a name"}
	}
	return e, name, nil
}

func makeEntry(e jsonl.Entry, tape, anchor string, seq int) Entry {
	return Entry{ID: e.ID, Kind: e.Kind, Payload: e.Payload, Meta: e.Meta, Date: e.Date, Raw: e.Raw,
		Tape: tape, Anchor: anchor, AnchorSeq: seq}
}

// next returns the next entry, and io.EOF behind the last.
func (r *phaseReader) next() (Entry, error) {
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
		return Entry{}, io.EOF
	}
	switch id := first.entry.ID; {
	case id <= r.last:
		return Entry{}, first.corrupt(fmt.Sprintf("id %d comes after id %d", id, r.last))
	case id > r.last+1:
		return Entry{}, first.corrupt(fmt.Sprintf("id %d follows id %d: what was between is missing", id, r.last))
	}
	r.last = first.entry.ID
	e := makeEntry(first.entry, r.tape, r.anchor.Anchor, r.p.seq)
	e.At = Position{Folder: r.p.folder, File: first.name, Line: first.line - 1, Offset: int64(first.at), Length: len(e.Raw)}
	return e, first.next()
}

// phaseOf is the index of the phase that an entry is in, or would be.
func phaseOf(v *snapshot, id int64) (int, error) {
	var failed error
	i := sort.Search(len(v.list), func(i int) bool {
		anchor, err := readAnchor(v, v.list[i], "")
		if err != nil {
			failed = err
		}
		return anchor.ID > id
	})
	return max(0, i-1), failed
}

// lastID returns the id of the last entry of a phase by looking at the ends of its
// files only.
func lastID(v *snapshot, p phase) (int64, error) {
	m, _, err := endOf(v, p)
	return m.LastID, err
}

// endOf makes a mark of a phase's end, and returns the last entry's line, nil if that is the
// anchor.
func endOf(v *snapshot, p phase) (m Mark, line []byte, err error) {
	anchor, err := readAnchor(v, p, "")
	if err != nil {
		return m, nil, err
	}
	segments, err := v.segments(p)
	if err != nil {
		return m, nil, err
	}
	m = Mark{Head: v.commit.String(), LastID: anchor.ID, Seq: p.seq, Folder: p.folder, Disk: v.dir != ""}
	for c, files := range segments {
		// The last file may hold nothing but an unfinished line.
		for i := len(files) - 1; i >= 0; i-- {
			data, err := v.content(p, files[i])
			if err != nil {
				return m, nil, err
			}
			lines := bytes.Count(data, []byte("\n"))
			if i == len(files)-1 {
				m.Ends[c] = End{File: files[i].n, Size: int64(len(data)), Lines: lines, Sum: sumOf(data)}
			}
			last := lastLine(data)
			if last == nil {
				continue
			}
			id, err := jsonl.ParseID(last)
			if err != nil {
				return m, nil, &CorruptError{File: v.where(p, files[i].name()), Line: lines, Msg: err.Error()}
			}
			if id > m.LastID {
				m.LastID, line = id, last
			}
			break
		}
	}
	return m, line, nil
}

// lastLine returns the last complete line, nil if there is none.
func lastLine(data []byte) []byte {
	end := bytes.LastIndexByte(data, '\n')
	if end < 0 {
		return nil
	}
	return data[bytes.LastIndexByte(data[:end], '\n')+1 : end]
}
