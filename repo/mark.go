package repo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"tape/internal/gitstore"
)

// Mark says how far somebody has read a tape, so that he can go on there: the branch's
// commit, and the ends of the files behind it. Whether a tape still begins with what was
// read is decided by these, never by times or counts. The zero Mark is the beginning.
type Mark struct {
	Head   string          `json:"head"`    // the branch's commit
	LastID int64           `json:"last_id"` // the last entry that was read
	Seq    int             `json:"seq"`     // the phase that it is in
	Folder string          `json:"folder"`
	Ends   [classCount]End `json:"ends"` // that phase's files
	Disk   bool            `json:"disk"` // read from a working tree
}

// End is how far the files of one class were read.
type End struct {
	File  int    `json:"file"`  // 0: there was none
	Size  int64  `json:"size"`  // bytes
	Lines int    `json:"lines"` // as many
	Sum   uint32 `json:"sum"`   // CRC-32 of the last bytes of these, endSample at most
}

// endSample is how many bytes before an end vouch for what is before it. Any line
// holds a date, so what was written anew does not end alike.
const endSample = 1 << 10

func sumOf(read []byte) uint32 { return checksum(0, read[max(0, len(read)-endSample):]) }

// Unchanged reports, for the price of a few looks at the disk, that the tape ends where
// the mark does. False may also mean that this takes a closer look.
func (t *Tape) Unchanged(m Mark) bool {
	before, _ := t.peekState()
	head, err := t.head()
	if err != nil || before.Undo != nil || head.String() != m.Head {
		return false
	}
	if before.Head == m.Head && before.LastID > m.LastID {
		return false // maybe files were cut back to where the mark is: then reading says so
	}
	wt, _, err := t.worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		return !m.Disk && t.checkHome(before, head, "") == nil
	}
	if err != nil || !m.Disk || t.checkHome(before, head, wt.Dir) != nil {
		return false
	}
	list, err := listPhases(wt.Dir)
	if err != nil || len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	if last.seq != m.Seq || last.folder != m.Folder || len(list) != m.Seq && !t.IsFork() {
		return false
	}
	v := &snapshot{dir: wt.Dir, list: list}
	for c, end := range m.Ends {
		if !v.endsAt(last, class(c), end) {
			return false
		}
	}
	after, _ := t.peekState()
	return after.Gen == before.Gen && after.Undo == nil
}

// endsAt reports whether the files of a class end where a mark says.
func (v *snapshot) endsAt(p phase, c class, end End) bool {
	if _, err := os.Lstat(v.path(p, segmentName(c, end.File+1))); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	if end.File == 0 {
		return true
	}
	f, err := os.Open(v.path(p, segmentName(c, end.File)))
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() != end.Size {
		return false
	}
	sample := make([]byte, min(end.Size, endSample))
	_, err = f.ReadAt(sample, end.Size-int64(len(sample)))
	return err == nil && sumOf(sample) == end.Sum
}

// Suffix is what a tape has beyond a mark, as it was at one moment.
type Suffix struct {
	tape  *Tape
	v     *snapshot
	from  Mark
	end   Mark
	ended bool
}

// Since returns what the tape has beyond a mark. Of a tape whose history does not begin
// with what the mark stands for (it was reset, restored, or rewound with git) that is
// all of it, see Suffix.Whole.
func (t *Tape) Since(ctx context.Context, m Mark) (*Suffix, error) {
	v, err := t.snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	s := &Suffix{tape: t, v: v, from: m}
	head, err := t.head()
	if err != nil {
		return nil, err
	}
	s.end = Mark{Head: head.String(), Disk: v.dir != ""}
	begins, err := s.beginsWith(m, head)
	if err != nil {
		return nil, fmt.Errorf("read tape %q: %w", t.name, err)
	}
	if !begins {
		s.from = Mark{}
	}
	return s, nil
}

// Whole reports that the suffix is the tape from its beginning.
func (s *Suffix) Whole() bool { return s.from.Seq == 0 }

// beginsWith reports whether a mark stands for a beginning of what the suffix sees.
func (s *Suffix) beginsWith(m Mark, head gitstore.Hash) (bool, error) {
	p, ok := s.v.phase(m.Seq, m.Folder)
	if !ok {
		return false, nil
	}
	if ok, err := s.tape.store.descends(head, m.Head); err != nil || !ok {
		return false, err
	}
	files, err := s.v.segments(p)
	if err != nil {
		return false, err
	}
	for c, end := range m.Ends {
		if end.File > len(files[c]) {
			return false, nil
		}
		if end.File == 0 {
			continue
		}
		data, err := s.v.content(p, files[c][end.File-1])
		if err != nil {
			return false, err
		}
		if int64(len(data)) < end.Size || sumOf(data[:end.Size]) != end.Sum {
			return false, nil
		}
	}
	return true, nil
}

// Entries yields the entries beyond the mark. After an error it ends.
func (s *Suffix) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := s.read(ctx, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, fmt.Errorf("read tape %q: %w", s.tape.name, err))
		}
	}
}

func (s *Suffix) read(ctx context.Context, yield func(Entry) bool) error {
	w := &walk{v: s.v, tape: s.tape.name, last: len(s.v.list) - 1}
	if !s.Whole() {
		w.first, w.from = s.from.Seq-1, s.from.place()
	}
	err := w.read(ctx, yield)
	if w.done {
		s.finish(w.r)
	}
	return err
}

// place is right behind the mark.
func (m Mark) place() place { return place{id: m.LastID + 1, ends: &m.Ends} }

// finish makes the mark of a suffix that was read to its end.
func (s *Suffix) finish(r *phaseReader) {
	s.end.LastID, s.end.Seq, s.end.Folder = r.last, r.p.seq, r.p.folder
	for _, c := range r.cursors {
		read := c.all[:len(c.all)-len(c.data)]
		if len(c.data) > 0 { // a line without its end was counted
			c.line--
		}
		s.end.Ends[c.file.class] = End{File: c.file.n, Size: int64(len(read)), Lines: c.line, Sum: sumOf(read)}
	}
	s.ended = true
}

// Mark is how far the tape was read, once Entries came to its end; else false.
func (s *Suffix) Mark() (Mark, bool) { return s.end, s.ended }
