package writer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// checkLine refuses a line that is longer than max_line.
func checkLine(t *workspace.Tape, line []byte) error {
	if limit := t.Store().Config().MaxLine; len(line)-1 > limit {
		return layout.Invalid("", "the entry has %d bytes; max_line allows %d", len(line)-1, limit).Try(layout.RaiseMaxLine)
	}
	return nil
}

// appendOne appends one entry with one write and one sync.
func (w *Writer) appendOne(ctx context.Context, d layout.Draft) (layout.Entry, error) {
	id := w.rec.LastID + 1
	line, err := Encode(w.T, id, d)
	if err != nil {
		return layout.Entry{}, err
	}
	c := layout.ClassOf(d.Kind)
	tail := w.rec.Tails[c]
	tail.Seg = max(tail.Seg, 1)
	sealed := ""
	if tail.Size >= layout.SealSize {
		sealed = w.phasePath(layout.SegmentName(c, tail.Seg))
		snapshot.SealedFile(w.T, w.rec.Folder, layout.SegmentName(c, tail.Seg), tail.Size, tail.Sum)
		tail.Seg, tail.Size, tail.Sum = tail.Seg+1, 0, 0
	}
	path := w.phasePath(layout.SegmentName(c, tail.Seg))
	intact, err := w.writeLine(ctx, path, line, tail.Size)
	if err != nil {
		return layout.Entry{}, err
	}
	if !intact {
		// Git has rewritten the file meanwhile: append again, to the new content.
		if err := w.Begin(ctx); err != nil {
			return layout.Entry{}, err
		}
		return w.appendOne(ctx, d)
	}
	tail.Size += int64(len(line))
	tail.Sum = snapshot.Checksum(tail.Sum, line)
	w.rec.Tails[c], w.rec.LastID = tail, id
	w.updateRecord()
	// If this fails, the entry is still safe: the next writer reads the files instead of the record.
	_ = w.save(false)
	if sealed != "" {
		w.writeAhead(sealed)
	}
	return snapshot.ParseEntry(line, w.T.Name(), w.rec.Anchor, w.rec.Seq)
}

// Encode returns the line of an entry, with its newline. Secrets are masked or marked if the workspace's
// settings say so; otherwise a stored line with the same id stays as it is. Errors: ErrInvalid, also if the
// line is longer than max_line.
func Encode(t *workspace.Tape, id int64, d layout.Draft) ([]byte, error) {
	if d.Line != nil && !t.Store().Redacts(d.Line) {
		if stored, err := jsonl.ParseID(d.Line); err == nil && stored == id {
			line := append(append([]byte(nil), d.Line...), '\n')
			return line, checkLine(t, line)
		}
	}
	prepared, err := d.Prepare(t.Store().Now)
	if err == nil {
		prepared, err = t.Redact(prepared)
	}
	if err != nil {
		return nil, err
	}
	line := jsonl.AppendLine(nil, id, prepared)
	return line, checkLine(t, line)
}

// writeLine writes a line at offset, the end of a file, and syncs the file, and its folder if the file is new.
// It waits for a running git, then reports whether the line is still there. After an error the file is as it
// was before.
func (w *Writer) writeLine(ctx context.Context, path string, line []byte, offset int64) (intact bool, err error) {
	d := w.T.Store().FS()
	flag := os.O_RDWR
	if offset == 0 {
		flag |= os.O_CREATE
	}
	f, err := d.OpenFile(path, flag, disk.FilePerm)
	if err != nil {
		return false, err
	}
	defer func() {
		if err != nil {
			// If this fails, too, the next writer sets the incomplete line aside.
			_ = f.Truncate(offset)
			if own, _ := stillThere(f.File, path, nil, 0); own && offset == 0 { // git may have put another one there
				_ = aside.Of(w.T, w.Wt.Dir).Undo(path, 0)
			}
		}
		err = errors.Join(err, f.Close())
	}()
	if _, err := f.WriteAt(line, offset); err != nil {
		return false, err
	}
	if err := f.Sync(); err != nil {
		return false, err
	}
	if offset == 0 {
		if err := d.SyncDir(filepath.Dir(path)); err != nil {
			return false, err
		}
	}
	if err := w.awaitGit(ctx); err != nil {
		return false, err
	}
	return stillThere(f.File, path, line, offset)
}

// writeAhead stores a sealed file's blob, so that the next commit need not. Errors do not matter, and git may
// prune the blob: the commit checks that it exists.
func (w *Writer) writeAhead(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	batch := w.T.Store().Git().NewBatch()
	batch.Put(gitstore.KindBlob, data)
	_ = batch.Flush(context.Background())
}

// AppendOptions set conditions for an append. Nil sets none.
type AppendOptions struct {
	// Anchor names the phase that must be open: by its name, number or folder, or as Latest. Otherwise
	// the call fails with ErrConflict, and nothing is written.
	Anchor string
	// Author puts the name from git's configuration into meta.author, unless it is the tape's owner.
	// It is for entries that people write by hand.
	Author bool
}

func (w *Writer) assert(o *AppendOptions) error {
	if o == nil || o.Anchor == "" || o.Anchor == w.rec.Anchor || o.Anchor == w.rec.Folder || o.Anchor == snapshot.Latest {
		return nil
	}
	if seq, ok := snapshot.PhaseNumber(o.Anchor); ok && seq == w.rec.Seq {
		return nil
	}
	return layout.Conflict("", "the open phase is %q, not %q", w.rec.Anchor, o.Anchor).Try(layout.ShowOpenPhase)
}

// Append appends entries, all or none, and returns them as stored. When it returns, they survive a power cut.
// Entries of known kinds are checked, see layout.CheckPayload.
func Append(ctx context.Context, t *workspace.Tape, o *AppendOptions, drafts ...layout.Draft) ([]layout.Entry, error) {
	for _, d := range drafts {
		if d.Kind == layout.KindAnchor {
			return nil, layout.ErrAnchor
		}
		if err := d.Check(); err != nil {
			return nil, err
		}
	}
	if len(drafts) != 1 {
		var out []layout.Entry
		_, err := Update(ctx, t, func(tx *Tx) error {
			if err := tx.Assert(o); err != nil {
				return err
			}
			for _, d := range drafts {
				if o != nil && o.Author {
					d = tx.w.withAuthor(d)
				}
				e, err := tx.AppendEntry(ctx, d)
				if err != nil {
					return err
				}
				out = append(out, e)
			}
			return nil
		})
		return out, err
	}
	var out []layout.Entry
	err := Write(ctx, t, func(w *Writer) error {
		if err := w.assert(o); err != nil {
			return err
		}
		policy, d := t.Store().Config().Commit, drafts[0]
		if o != nil && o.Author {
			d = w.withAuthor(d)
		}
		if policy.Turn && IsUserMessage(d) && w.Uncommitted() > 0 {
			if _, err := Encode(t, w.rec.LastID+1, d); err != nil {
				return err // no checkpoint for an entry that cannot be written
			}
			if err := w.Checkpoint(ctx); err != nil {
				return err
			}
		}
		if err := w.checkArtifacts(ctx, d); err != nil {
			return err
		}
		e, err := w.appendOne(ctx, d)
		if err != nil {
			return err
		}
		out = []layout.Entry{e}
		if policy.Every > 0 && w.Uncommitted() >= int64(policy.Every) {
			if err := w.Checkpoint(ctx); err != nil {
				// The entry itself is safe, and the next append tries again.
				t.Store().Warn("the entry is recorded, but the checkpoint failed: " + err.Error())
			}
		}
		return nil
	})
	return out, err
}

// IsUserMessage reports whether an entry starts a turn.
func IsUserMessage(d layout.Draft) bool {
	return d.Kind == layout.KindMessage && jsonl.GetString(d.Payload, "role") == "user"
}
