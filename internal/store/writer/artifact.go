package writer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// AddArtifact adds a staged artifact to the open phase, durably. It is committed with the phase, whether an
// entry refers to it or not.
func AddArtifact(ctx context.Context, t *workspace.Tape, a layout.Artifact, staged *Staged) (layout.Artifact, error) {
	a.MIMEType, a.ID, a.SHA256, a.Size = cmp.Or(a.MIMEType, layout.AnyType), staged.SHA256, staged.SHA256, staged.Size
	err := Write(ctx, t, func(w *Writer) error {
		if err := staged.Place(w.T, w.phasePath()); err != nil {
			return err
		}
		// The folder may be new. If saving fails, the next writer reads the files instead of the record.
		w.updateRecord()
		_ = w.save(false)
		return nil
	})
	return a, err
}

// Attach adds an artifact for later entries of the Tx, and of its forks. If there is a working tree, it becomes
// a file of the open phase, and a rollback does not remove it.
func (tx *Tx) Attach(ctx context.Context, a layout.Artifact, data []byte) (layout.Artifact, error) {
	a.SHA256, a.Size = NameOf(data), int64(len(data))
	a.ID = a.SHA256
	if _, ok := layout.FindEntry(tx.b.Loose, a.SHA256); !ok {
		tx.b.Loose = append(tx.b.Loose, gitstore.TreeEntry{Name: a.SHA256, Mode: gitstore.ModeFile, Hash: tx.batch.Put(gitstore.KindBlob, data)})
	}
	return a, tx.kind.attach(ctx, data)
}

func (tx *treeTx) attach(ctx context.Context, data []byte) error {
	staged, err := Stage(ctx, tx.w.T.Store(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	defer staged.Discard()
	return staged.Place(tx.w.T, tx.w.phasePath())
}

// Attached returns the artifacts that Attach has added.
func (tx *Tx) Attached() []gitstore.TreeEntry { return tx.b.Loose }

// bringArtifacts makes sure that the open phase has the artifacts that an entry refers to. It looks for them in
// the tape, then in others. Errors: ErrInvalid if one is missing.
func (w *Writer) bringArtifacts(ctx context.Context, refs []layout.Artifact, others ...*snapshot.Snapshot) error {
	var sources []*snapshot.Snapshot
	for _, ref := range refs {
		if size, err := snapshot.SizeOf(w.phasePath(layout.ArtifactsDir, ref.SHA256)); err == nil && size == ref.Size {
			if err := Sync(w.T.Store().FS(), w.phasePath()); err != nil {
				return err
			}
			continue
		}
		if sources == nil {
			v, err := snapshot.ReadTree(w.T, w.Wt.Dir, w.Head, w.rec)
			if err != nil {
				return err
			}
			sources = append([]*snapshot.Snapshot{v}, others...)
		}
		if err := Ensure(ctx, w.T, ref, layout.Phase{Seq: w.rec.Seq, Folder: w.rec.Folder}, sources...); err != nil {
			return err
		}
	}
	return nil
}

// checkArtifacts refuses an entry whose artifacts are missing, and brings the others to the open phase.
func (w *Writer) checkArtifacts(ctx context.Context, d layout.Draft) error {
	refs, err := layout.CheckArtifacts(d.Payload)
	if err != nil || len(refs) == 0 {
		return err
	}
	return w.bringArtifacts(ctx, refs)
}

// checkArtifacts does the same for a Tx.
func (tx *Tx) checkArtifacts(ctx context.Context, payload []byte) error {
	refs, err := layout.CheckArtifacts(payload)
	if err != nil || len(refs) == 0 {
		return err
	}
	return tx.kind.needArtifacts(ctx, refs)
}

func (tx *treeTx) needArtifacts(ctx context.Context, refs []layout.Artifact) error {
	return tx.w.bringArtifacts(ctx, refs)
}

func (tx *treeTx) bringArtifact(ctx context.Context, ref layout.Artifact, others []*snapshot.Snapshot) error {
	err := tx.w.bringArtifacts(ctx, []layout.Artifact{ref}, others...)
	if errors.Is(err, layout.ErrInvalid) {
		return nil // the artifact is missing in the other commit, too
	}
	return err
}

// hasUncommittedArtifacts reports whether the open phase has uncommitted artifacts.
func (w *Writer) hasUncommittedArtifacts() (bool, error) {
	if w.Wt.Dir == "" {
		return false, nil
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return false, err
	}
	return HasUncommitted(v, layout.Phase{Seq: w.rec.Seq, Folder: w.rec.Folder}, w.phasePath())
}

// CheckpointAll is like Checkpoint, but also commits artifacts to which no entry refers. Call it before the
// working tree is rewritten.
func (w *Writer) CheckpointAll(ctx context.Context) error {
	uncommitted, err := w.hasUncommittedArtifacts()
	if err != nil || !uncommitted || w.Uncommitted() > 0 {
		return errors.Join(err, w.Checkpoint(ctx))
	}
	_, err = w.Update(ctx, func(tx *Tx) error {
		if err := tx.kind.loadBase(); err != nil {
			return err
		}
		tx.b.RootTree = gitstore.ZeroHash
		_, err := tx.commit(ctx, commits.CheckpointSubject(0), nil)
		return err
	})
	return err
}

// addStoredArtifacts adds to the open phase the artifacts of a line from the commit theirs. If git does not have
// that commit yet, because it is part of the Tx, the tape's own files have the artifacts.
func (tx *Tx) addStoredArtifacts(ctx context.Context, e jsonl.Entry, theirs gitstore.Hash) error {
	refs := layout.Artifacts(e.Payload)
	if len(refs) == 0 || e.Kind == layout.KindAnchor {
		return nil
	}
	var others []*snapshot.Snapshot
	if v, err := snapshot.AtCommit(tx.w.T.Store(), theirs); err == nil {
		others = append(others, v)
	}
	for _, ref := range refs {
		tx.wanted[ref.SHA256] = true
		if err := tx.kind.bringArtifact(ctx, ref, others); err != nil {
			return err
		}
	}
	return nil
}

// MarkAbsent lists the missing artifacts of an entry in its meta. It is for entries that are stored although
// artifacts are missing, for example by an import. It takes for granted that the artifacts in known exist.
func (tx *Tx) MarkAbsent(ctx context.Context, d layout.Draft, known ...gitstore.TreeEntry) (layout.Draft, error) {
	var absent []byte
	for _, ref := range layout.Artifacts(d.Payload) {
		if _, ok := layout.FindEntry(known, ref.SHA256); ok {
			continue
		}
		err := tx.checkArtifacts(ctx, []byte(`{"artifact":`+string(ref.Reference())+`}`))
		if errors.Is(err, layout.ErrInvalid) {
			absent = append(jsonl.AppendString(absent, ref.SHA256), ',')
			err = nil
		}
		if err != nil {
			return d, err
		}
	}
	if len(absent) > 0 && jsonl.Get(d.Meta, layout.MetaAbsent) == nil {
		d.Line = nil
		d.Meta = jsonl.WithMember(d.Meta, fmt.Appendf(nil, `"%s":[%s]`, layout.MetaAbsent, absent[:len(absent)-1]))
	}
	return d, nil
}
