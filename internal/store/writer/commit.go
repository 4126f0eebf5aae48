package writer

import (
	"context"
	"maps"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Handoff is the result of a handoff.
type Handoff struct {
	Anchor string // the new anchor's name
	Seq    int    // the number of the phase that it opens
	Entry  int64  // the anchor's id
	Commit string // the commit that adds the anchor
	Tag    string // the tag of that commit, without refs/tags/
}

// HandOff closes the open phase: it writes an anchor, commits everything up to it, and tags the commit.
func HandOff(ctx context.Context, t *workspace.Tape, a layout.Anchor) (Handoff, error) {
	var h Handoff
	_, err := Update(ctx, t, func(tx *Tx) (err error) {
		h, err = tx.Handoff(ctx, a)
		return err
	})
	return h, err
}

// Checkpoint commits what was appended since the last commit, without an anchor. It returns the commit and the
// number of its new entries; if there are none, the present commit and 0.
func Checkpoint(ctx context.Context, t *workspace.Tape) (commit string, entries int64, err error) {
	err = Write(ctx, t, func(w *Writer) error {
		entries = w.Uncommitted()
		err := w.Checkpoint(ctx)
		commit = w.Head.String()
		return err
	})
	return commit, entries, err
}

// Checkpoint commits everything up to here, including entries from before the Tx. If no entry is uncommitted,
// it does nothing.
func (tx *Tx) Checkpoint(ctx context.Context) error {
	n := tx.w.Uncommitted()
	if n == 0 {
		return nil
	}
	if err := tx.kind.loadBase(); err != nil {
		return err
	}
	message := commits.CheckpointSubject(int(n))
	if tx.describe != nil {
		message = tx.describe(int(n))
	}
	_, err := tx.commit(ctx, message, nil)
	return err
}

// Handoff closes the open phase and opens the next one.
func (tx *Tx) Handoff(ctx context.Context, a layout.Anchor) (Handoff, error) {
	w := tx.w
	d, err := layout.AnchorDraft(a)
	if err != nil {
		return Handoff{}, err
	}
	line, err := Encode(w.T, w.rec.LastID+1, d)
	if err != nil {
		return Handoff{}, err
	}
	if err := tx.kind.loadBase(); err != nil {
		return Handoff{}, err
	}
	if err := tx.openPhase(a.Name, line); err != nil {
		return Handoff{}, err
	}
	message := "handoff: " + layout.OneLine(a.Name)
	if text := commits.CommitText(line); text != "" {
		message += "\n\n" + text
	}
	c, err := tx.commit(ctx, message, nil)
	if err != nil {
		return Handoff{}, err
	}
	return tx.tagLast(ctx, c, openedPhase{w.rec.Seq, a.Name, w.rec.Folder, w.rec.LastID, line})
}

// openedPhase is a phase that a commit opens.
type openedPhase struct {
	seq          int
	name, folder string
	entry        int64
	line         []byte // the anchor's line
}

// tagLast plans the tag of the phase p, which the last commit c opens.
func (tx *Tx) tagLast(ctx context.Context, c gitstore.Commit, p openedPhase) (Handoff, error) {
	last, ref := tx.commits, tx.w.T.TagRef(p.folder)
	hash, err := commits.PutWithTag(ctx, tx.w.T, tx.batch, ref, last.Hash, c, p.line)
	if err != nil {
		return Handoff{}, err
	}
	last.Tags = append(last.Tags, gitstore.Ref{Name: ref, Hash: hash})
	h := Handoff{Anchor: p.name, Seq: p.seq, Entry: p.entry, Commit: last.Hash.String(), Tag: layout.ShortTag(ref)}
	tx.result.Handoffs = append(tx.result.Handoffs, h)
	return h, nil
}

// openPhase opens the next phase with its anchor.
func (tx *Tx) openPhase(name string, line []byte) error {
	if err := tx.kind.closeFolder(); err != nil {
		return err
	}
	w := tx.w
	tx.b.OpenPhase(name, line)
	tx.newest = line
	w.rec.Seq, w.rec.Folder, w.rec.Anchor = tx.b.Seq, tx.b.Folder, name
	w.rec.Tails = [layout.ClassCount]journal.Tail{}
	tx.count()
	return tx.kind.openFolder(line)
}

// commit plans a commit of the present tree. merged are its parents other than the tape's own.
func (tx *Tx) commit(ctx context.Context, message string, merged []gitstore.Hash, more ...layout.Trailer) (gitstore.Commit, error) {
	w := tx.w
	if err := tx.kind.keepArtifacts(); err != nil {
		return gitstore.Commit{}, err
	}
	tx.dates.Add(tx.newest)
	c, err := tx.commits.Commit(ctx, message, w.rec.LastID, merged, more...)
	w.rec.Committed, tx.result.Commit = w.rec.LastID, tx.commits.Hash.String()
	return c, err
}

// moveBranch puts the planned commits into effect: it moves the branch, sets the tags, and updates git's index.
// A failure after the branch has moved is no error: the next writer repairs tags and index from the commits.
func (tx *treeTx) moveBranch(ctx context.Context) error {
	w, last := tx.w, tx.commits
	w.rec.Undo.Next = last.Hash.String()
	if err := w.save(true); err != nil {
		return err
	}
	who, err := w.moveRef(ctx, last.Plan, w.Head)
	if err != nil {
		return err
	}
	cancellable := ctx
	ctx = context.WithoutCancel(ctx)
	defer func() { tx.incomplete = !w.finishObjects(cancellable, tx.batch) || tx.incomplete }()
	if !w.setTags(ctx, last.Tags, who) {
		tx.incomplete = true
		return nil
	}
	if err := updateIndex(ctx, w.T.Store(), w.Wt, slices.Collect(maps.Values(tx.changes))); err != nil {
		w.T.Store().Warn("git status will be out of date until the next command: " + err.Error())
		tx.incomplete = true
	}
	return nil
}

// setTags sets planned tags, and reports whether it could. If not, the next command creates the rest.
func (w *Writer) setTags(ctx context.Context, planned []gitstore.Ref, who gitstore.Signature) bool {
	for _, tag := range planned {
		if err := commits.SetTag(ctx, w.T, tag.Name, tag.Hash, who); err != nil {
			w.T.Store().Warn("the tag " + layout.ShortTag(tag.Name) + " will be created by the next command: " + err.Error())
			return false
		}
	}
	return true
}
