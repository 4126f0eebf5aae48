package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/commits"
	"tape/internal/store/join"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Mended is what a repair did to a tape.
type Mended struct {
	*Damage
	Kept string // the folder with the damaged files, "" if there were none
	Err  error  // why the tape could not be repaired
}

// All finds damage in the working trees of all tapes and forks, and changes nothing.
func All(ctx context.Context, s *workspace.Store) (out []*Damage, err error) {
	for _, t := range tapes(s) {
		d, err := Find(ctx, t)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && d != nil { // verify reports damage in git
			out = append(out, d)
		}
	}
	return out, nil
}

// Unconvert puts back line ends that git has changed in the working trees of tapes and forks. Those of a tape that
// cannot be read, or of a workspace that must not be written to, stay.
func Unconvert(ctx context.Context, s *workspace.Store) error {
	for _, t := range tapes(s) {
		err := writer.Unconvert(ctx, t)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, layout.ErrCorrupt) && !errors.Is(err, layout.ErrNotFound) && !errors.Is(err, gitstore.ErrNotFound) && !layout.Unwritable(err) {
			return err
		}
	}
	return nil
}

// Repair repairs the working trees of all tapes and forks, and finishes what interrupted commands left.
// It returns the tapes that were damaged, and those that could not be repaired, with Err set.
func Repair(ctx context.Context, s *workspace.Store) (out []Mended, failed error) {
	for _, t := range tapes(s) {
		d, err := Find(ctx, t)
		if err == nil && d != nil {
			m := Mended{Damage: d}
			m.Err = m.mend(ctx, t)
			out = append(out, m)
			if m.Err != nil && ctx.Err() == nil {
				continue // a damaged tape cannot be completed
			}
		}
		if errors.Is(err, layout.ErrConflict) {
			out = append(out, Mended{Damage: &Damage{Tape: t.Name()}, Err: err})
		}
		if err == nil {
			err = complete(ctx, t)
		}
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil && !errors.Is(err, layout.ErrCorrupt) && !errors.Is(err, layout.ErrConflict) && !errors.Is(err, layout.ErrNotFound) {
			failed = cmp.Or(failed, layout.Wrap(err, "repair tape %q", t.Name())) // it keeps no other from its repair
		}
	}
	return out, failed
}

// tapes lists the tapes and forks that can be opened.
func tapes(s *workspace.Store) (out []*workspace.Tape) {
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix} {
		refs, _ := s.Git().Refs(prefix)
		for _, ref := range refs {
			if t, err := s.TapeOfBranch(ref.Name); err == nil {
				out = append(out, t)
			}
		}
	}
	return out
}

// mend sets the damaged files aside, and writes new ones from git and the complete lines. If it is
// killed, the next repair finds the damage that is left.
func (m *Mended) mend(ctx context.Context, t *workspace.Tape) error {
	return writer.Mend(ctx, t, func(w *writer.Writer, rec journal.Record) error {
		files := aside.Of(t, w.Wt.Dir, w.Head)
		defer func() { m.Kept = files.Kept() }()
		moved := strange(w.Wt.Dir)
		for _, path := range moved {
			if err := files.Keep(path); err != nil {
				return err
			}
		}
		d, err := find(ctx, t, w.Wt.Dir, w.Head, rec)
		if err != nil {
			return err
		}
		m.Damage = d
		return m.write(t, files)
	})
}

// write replaces the files, beginning with those that get events for lost entries, and removes those that do not
// belong to the tape. What git does not have of the former ones is in Kept.
func (m *Mended) write(t *workspace.Tape, files *aside.Tree) error {
	d := t.Store().FS()
	slices.SortStableFunc(m.Files, func(a, b File) int { return rank(a) - rank(b) })
	for _, f := range m.Files {
		var err error
		if f.data == nil {
			err = errors.Join(files.Remove(f.Path), d.SyncDir(filepath.Dir(f.Path)))
		} else {
			err = errors.Join(d.MkdirAll(filepath.Dir(f.Path)), files.Replace(f.Path, f.data))
		}
		if err != nil {
			return err
		}
	}
	for _, f := range m.sealed {
		snapshot.SealedFile(t, f.folder, f.name, int64(len(f.data)), snapshot.Checksum(0, f.data))
	}
	return nil
}

// rank orders files for write: events first, files to remove last.
func rank(f File) int {
	switch {
	case f.data == nil:
		return 2
	case strings.HasPrefix(filepath.Base(f.Path), "events."):
		return 0
	}
	return 1
}

// complete lets a writer finish what was interrupted, and makes missing tags.
func complete(ctx context.Context, t *workspace.Tape) error {
	st, err := journal.PeekOf(t)
	if err == nil {
		err = join.Complete(ctx, t)
	}
	if err != nil {
		return err
	}
	made := false
	if _, _, treeErr := t.Worktree(); errors.Is(treeErr, gitstore.ErrNotFound) && st.Undo == nil { // only commits, and no change under way
		made, err = writer.Finish(ctx, t, true)
	} else {
		err = writer.Write(ctx, t, func(w *writer.Writer) (err error) {
			made, err = commits.EnsureTags(ctx, t, w.Head, true)
			return err
		})
	}
	if made {
		t.Store().Warn("a handoff of tape " + strconv.Quote(t.Name()) + " had lost its tag, which was restored")
	}
	return err
}

// LostTexts describes the lost entries, one text for each range of ids.
func (d *Damage) LostTexts() (out []string) {
	for i, first := 0, 0; i < len(d.Lost); i++ {
		if i+1 < len(d.Lost) && d.Lost[i+1].ID == d.Lost[i].ID+1 {
			continue // the range goes on
		}
		out = append(out, layout.Entries(d.Lost[first].ID, d.Lost[i].ID))
		first = i + 1
	}
	return out
}

// Texts describes the damage, a line each.
func (d *Damage) Texts() (out []string) {
	for _, f := range d.Files {
		switch {
		case f.Missing:
			out = append(out, f.Path+" is missing")
		case f.data == nil:
			out = append(out, f.Path+" does not belong there")
		default:
			out = append(out, f.Path+" is damaged")
		}
	}
	for _, lost := range d.LostTexts() {
		out = append(out, "lost: "+lost)
	}
	for _, file := range d.Changed {
		out = append(out, fmt.Sprintf("a line of %s that is not committed was changed; which one cannot be told", file))
	}
	if len(out) == 0 && d.mismatch {
		out = append(out, "the files differ from the last writer's record")
	}
	return out
}
