package query

import (
	"bytes"
	"context"
	"math"
	"slices"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// Range returns the first and last id that a query's anchors select. The last is math.MaxInt64 if
// the selection has no end.
func Range(ctx context.Context, t *workspace.Tape, q snapshot.Query) (first, last int64, err error) {
	if err := q.Check(); err != nil {
		return 0, 0, err
	}
	if q.After == "" && q.From == "" && q.Phase == "" {
		return 1, math.MaxInt64, nil
	}
	defer wrapRead(t, &err)
	v, s, err := snapshot.Select(ctx, t, q)
	if err != nil {
		return 0, 0, err
	}
	list := v.List
	from, err := snapshot.ReadAnchor(v, list[s.First], t.Name())
	if err != nil {
		return 0, 0, err
	}
	first, last = from.ID, math.MaxInt64
	if s.SkipAnchor {
		first++
	}
	if s.Last+1 < len(list) {
		next, err := snapshot.ReadAnchor(v, list[s.Last+1], t.Name())
		if err != nil {
			return 0, 0, err
		}
		last = next.ID - 1
	}
	return first, last, nil
}

// Files are the stored files of a part of a tape, as it was at one moment, for searching them
// without parsing each line. Their contents are not checked. Goroutines may share one.
type Files struct {
	tape *workspace.Tape
	v    *snapshot.Snapshot
	list []fileRef
}

type fileRef struct {
	p       layout.Phase
	segment layout.Segment
	anchor  string
	last    bool // of its class in the phase; an unfinished line may follow its whole ones
}

// File is one of these files, read.
type File struct {
	Data []byte // whole lines

	tape, folder, name, anchor string
	seq                        int
}

// FilesOf returns the files with the entries that a query's anchors and kinds select. The files may
// contain other entries, too.
func FilesOf(ctx context.Context, t *workspace.Tape, q snapshot.Query) (out *Files, err error) {
	defer wrapRead(t, &err)
	v, s, err := snapshot.Select(ctx, t, q)
	if err != nil {
		return nil, err
	}
	var wanted [layout.ClassCount]bool
	for c := range wanted {
		wanted[c] = len(q.Kinds) == 0 || slices.ContainsFunc(q.Kinds, func(kind string) bool { return layout.ClassOf(kind) == layout.Class(c) })
	}
	out = &Files{tape: t, v: v}
	for i := s.First; i <= s.Last; i++ {
		p := v.List[i]
		anchor, err := snapshot.ReadAnchor(v, p, t.Name())
		if err != nil {
			return nil, err
		}
		if !s.SkipAnchor || i > s.First {
			out.list = append(out.list, fileRef{p: p, segment: layout.AnchorSegment, anchor: anchor.Anchor})
		}
		segments, err := v.Segments(p)
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

// Len is the number of files. They are ordered by phase.
func (f *Files) Len() int { return len(f.list) }

// Series returns the phase of the i-th file, and a number for its class in that phase. Within a
// series, ids ascend from file to file.
func (f *Files) Series(i int) (phase, series int) {
	return f.list[i].p.Seq, int(f.list[i].segment.Class)
}

// Read reads the i-th file, into buf if it is large enough.
func (f *Files) Read(i int, buf []byte) (File, error) {
	ref := f.list[i]
	out := File{tape: f.tape.Name(), folder: ref.p.Folder, name: ref.segment.Name(), anchor: ref.anchor, seq: ref.p.Seq}
	var err error
	out.Data, err = f.v.Read(ref.p, ref.segment, buf)
	if err == nil && ref.last {
		out.Data = out.Data[:bytes.LastIndexByte(out.Data, '\n')+1]
	}
	return out, err
}

// Attach reads the text of the artifacts that an entry of the files refers to.
func (f *Files) Attach(e layout.Entry) layout.Entry {
	e.Attached = f.v.AttachedText(e)
	return e
}

// FirstID is the id of the first entry in the file, 0 if it has none.
func (f File) FirstID() int64 {
	line, _, _ := bytes.Cut(f.Data, []byte("\n"))
	id, err := jsonl.ParseID(line)
	if err != nil {
		return 0
	}
	return id
}

// Entry parses the entry whose line begins at an offset of Data. It does not alias Data.
func (f File) Entry(offset int) (layout.Entry, error) {
	line, _, _ := bytes.Cut(f.Data[offset:], []byte("\n"))
	at := layout.Position{Folder: f.folder, File: f.name, Offset: int64(offset), Length: len(line)}
	e, err := snapshot.ParseEntry(bytes.Clone(line), f.tape, f.anchor, f.seq)
	if err != nil {
		at.Line = bytes.Count(f.Data[:offset], []byte("\n"))
		return e, &layout.CorruptError{File: f.folder + "/" + f.name, Line: at.Line + 1, Msg: err.Error()}
	}
	e.At = at
	return e, nil
}
