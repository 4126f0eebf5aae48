package repo

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"tape/internal/jsonl"
)

// Keeps reports whether an entry passes the steps behind the slice by anchors: dates
// and kinds. Limits are not looked at.
func (q Query) Keeps(e Entry) bool { return q.keep(e) }

// Range returns the ids, first and last, that a query's anchors select. The last is
// math.MaxInt64 where that goes on to the end of the tape, wherever it is by then.
func (t *Tape) Range(ctx context.Context, q Query) (first, last int64, err error) {
	if err := q.check(); err != nil {
		return 0, 0, err
	}
	if q.After == "" && q.From == "" && q.Phase == "" {
		return 1, math.MaxInt64, nil
	}
	v, err := t.snapshot(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	s, err := t.resolveSpan(v, q)
	if err != nil {
		return 0, 0, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	list := v.list
	from, err := readAnchor(v, list[s.first], t.name)
	if err != nil {
		return 0, 0, err
	}
	first, last = from.ID, math.MaxInt64
	if s.skipAnchor {
		first++
	}
	if s.last+1 < len(list) {
		next, err := readAnchor(v, list[s.last+1], t.name)
		if err != nil {
			return 0, 0, err
		}
		last = next.ID - 1
	}
	return first, last, nil
}

// Files are the stored files of a part of a tape, as it was at one moment: for looking
// through them without making an Entry of every line. What they hold is not checked.
// They may be read by several goroutines.
type Files struct {
	tape *Tape
	v    *snapshot
	list []fileRef
}

type fileRef struct {
	p       phase
	segment segment
	anchor  string
	alone   bool // the phase's anchor.json
	last    bool // of its class, in the open phase
}

// File is one of them.
type File struct {
	Data []byte // whole lines

	tape, folder, name, anchor string
	seq                        int
}

// Files returns the files that hold the entries which a query's anchors and kinds
// select, and maybe others.
func (t *Tape) Files(ctx context.Context, q Query) (*Files, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	v, err := t.snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	s, err := t.resolveSpan(v, q)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	var wanted [classCount]bool
	for c := range wanted {
		wanted[c] = len(q.Kinds) == 0 || slices.ContainsFunc(q.Kinds, func(kind string) bool { return classOf(kind) == class(c) })
	}
	out := &Files{tape: t, v: v}
	for i := s.first; i <= s.last; i++ {
		p := v.list[i]
		anchor, err := readAnchor(v, p, t.name)
		if err != nil {
			return nil, err
		}
		if !s.skipAnchor || i > s.first {
			out.list = append(out.list, fileRef{p: p, anchor: anchor.Anchor, alone: true})
		}
		segments, err := v.segments(p)
		if err != nil {
			return nil, err
		}
		for c, files := range segments {
			for n, file := range files {
				if wanted[c] {
					out.list = append(out.list, fileRef{p: p, segment: file, anchor: anchor.Anchor, last: n == len(files)-1})
				}
			}
		}
	}
	return out, nil
}

// Len is how many there are, phase by phase.
func (f *Files) Len() int { return len(f.list) }

// Lane tells to which phase the i-th file belongs, and to which sequence of files in it:
// from one file of a lane to the next, ids grow.
func (f *Files) Lane(i int) (phase, lane int) {
	ref := f.list[i]
	if ref.alone {
		return ref.p.seq, -1
	}
	return ref.p.seq, int(ref.segment.class)
}

// Read reads the i-th, into buf if that is large enough.
func (f *Files) Read(i int, buf []byte) (File, error) {
	ref := f.list[i]
	out := File{tape: f.tape.name, folder: ref.p.folder, anchor: ref.anchor, seq: ref.p.seq}
	file := ref.segment
	if ref.alone {
		file = anchorSegment
	}
	out.name = file.name()
	var err error
	out.Data, err = f.v.read(ref.p, file, buf)
	if err == nil && ref.last {
		out.Data = out.Data[:bytes.LastIndexByte(out.Data, '\n')+1]
	}
	return out, err
}

// FirstID is the id of the first entry in the file, 0 if there is none.
func (f File) FirstID() int64 {
	line, _, _ := bytes.Cut(f.Data, []byte("\n"))
	id, err := jsonl.ParseID(line)
	if err != nil {
		return 0
	}
	return id
}

// Entry returns the entry whose line begins at an offset of Data. It does not alias
// Data.
func (f File) Entry(offset int) (Entry, error) {
	line, _, _ := bytes.Cut(f.Data[offset:], []byte("\n"))
	at := Position{Folder: f.folder, File: f.name, Offset: int64(offset), Length: len(line)}
	e, err := parseEntry(bytes.Clone(line), f.tape, f.anchor, f.seq)
	if err != nil {
		at.Line = bytes.Count(f.Data[:offset], []byte("\n"))
		return e, &CorruptError{File: f.folder + "/" + f.name, Line: at.Line + 1, Msg: err.Error()}
	}
	e.At = at
	return e, nil
}
