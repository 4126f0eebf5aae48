package query

import (
	"context"
	"errors"
	"iter"
	"os"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Unchanged reports whether the tape still ends where the mark does. It makes a few file system calls,
// and reads only the ends of the files. If these do not tell, it returns false.
func Unchanged(t *workspace.Tape, m snapshot.ReadMark) bool {
	before, recErr := journal.PeekOf(t)
	head, err := t.Head()
	if recErr != nil || err != nil || before.Undo != nil || head.String() != m.Head {
		return false
	}
	if before.Head == m.Head && before.LastID > m.LastID {
		return false // files may have been cut back to the mark; only reading them tells
	}
	wt, _, err := t.Worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		return !m.Disk && journal.CheckHome(t, before, head, "") == nil
	}
	if err != nil || !m.Disk || journal.CheckHome(t, before, head, wt.Dir) != nil {
		return false
	}
	list, err := snapshot.ListPhases(wt.Dir)
	if err != nil || len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	if last.Seq != m.Seq || last.Folder != m.Folder || len(list) != m.Seq && !t.IsFork() {
		return false
	}
	v := &snapshot.Snapshot{Dir: wt.Dir, List: list}
	for c, end := range m.Ends {
		if !endsAt(v, last, layout.Class(c), end) {
			return false
		}
	}
	after, err := journal.PeekOf(t)
	return err == nil && !journal.Changed(before, after)
}

// endsAt reports whether the files of a class end where a mark says.
func endsAt(v *snapshot.Snapshot, p layout.Phase, c layout.Class, end snapshot.End) bool {
	if _, err := os.Lstat(v.Path(p, layout.SegmentName(c, end.File+1))); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	if end.File == 0 {
		return true
	}
	f, err := os.Open(v.Path(p, layout.SegmentName(c, end.File)))
	if err != nil {
		return false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() != end.Size {
		return false
	}
	sample := make([]byte, min(end.Size, snapshot.EndSample))
	_, err = f.ReadAt(sample, end.Size-int64(len(sample)))
	return err == nil && snapshot.SumOf(sample) == end.Sum
}

// Suffix is what follows a mark on a tape, as it was at one moment.
type Suffix struct {
	tape  *workspace.Tape
	v     *snapshot.Snapshot
	from  snapshot.ReadMark
	end   snapshot.ReadMark
	ended bool
}

// Since returns what follows a mark on the tape. If the tape no longer begins with what the mark
// stands for, after a reset, restore or rewind, that is the whole tape, see Suffix.Whole.
func Since(ctx context.Context, t *workspace.Tape, m snapshot.ReadMark) (s *Suffix, err error) {
	defer wrapRead(t, &err)
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return nil, err
	}
	s = &Suffix{tape: t, v: v, from: m}
	if begins, err := s.beginsWith(m); err != nil || !begins {
		s.from = snapshot.ReadMark{}
		return s, err
	}
	return s, nil
}

// Whole reports whether the suffix is the whole tape.
func (s *Suffix) Whole() bool { return s.from.Seq == 0 }

// beginsWith reports whether the tape still begins with what a mark stands for.
func (s *Suffix) beginsWith(m snapshot.ReadMark) (bool, error) {
	p, ok := s.v.Phase(m.Seq, m.Folder)
	if !ok {
		return false, nil
	}
	if ok, err := lineage.Descends(s.tape.Store(), s.v.Commit, m.Head); err != nil || !ok {
		return false, err
	}
	files, err := s.v.Segments(p)
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
		data, err := s.v.Content(p, files[c][end.File-1])
		if err != nil {
			return false, err
		}
		if int64(len(data)) < end.Size || snapshot.SumOf(data[:end.Size]) != end.Sum {
			return false, nil
		}
	}
	return true, nil
}

// Entries yields the entries after the mark. It ends after an error.
func (s *Suffix) Entries(ctx context.Context) iter.Seq2[layout.Entry, error] {
	return layout.Seq(func(yield func(layout.Entry) bool) error {
		w := &snapshot.Walk{V: s.v, Tape: s.tape.Name(), Last: len(s.v.List) - 1}
		if !s.Whole() {
			w.First, w.From = s.from.Seq-1, s.from.Place()
		}
		more := true
		err := w.Read(ctx, func(e layout.Entry) bool {
			e.Attached = s.v.AttachedText(e)
			more = yield(e)
			return more
		})
		if err == nil && more {
			s.end, err = s.v.Mark()
			s.ended = err == nil
		}
		wrapRead(s.tape, &err)
		return err
	})
}

// Mark returns the mark at the end of the tape; false until Entries has yielded all entries.
func (s *Suffix) Mark() (snapshot.ReadMark, bool) { return s.end, s.ended }

// wrapRead adds to an error that a tape was being read.
func wrapRead(t *workspace.Tape, err *error) {
	*err = layout.Wrap(*err, "read tape %q", t.Name())
}
