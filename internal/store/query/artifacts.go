package query

import (
	"bytes"
	"context"
	"io"

	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// ArtifactInfo is an artifact of a tape, with the entries that refer to it.
type ArtifactInfo struct {
	layout.Artifact // the type and name are those of the newest reference; "" if there is none

	Anchor    string // the newest phase that contains it
	AnchorSeq int
	Entries   []int64 // ids of the entries that refer to it, ascending
}

// Artifacts lists the artifacts of a tape, ordered by the first phase that contains them.
func Artifacts(ctx context.Context, t *workspace.Tape) (out []ArtifactInfo, err error) {
	defer wrapRead(t, &err)
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for i, p := range v.List {
		names, err := v.Artifacts(p)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if _, ok := at[name]; !ok {
				at[name] = len(out)
				out = append(out, ArtifactInfo{})
			}
			if err := out[at[name]].setPhase(v, i, name); err != nil {
				return nil, err
			}
		}
		if len(names) == 0 {
			continue
		}
		err = eachReference(ctx, v, t, i, func(e layout.Entry, ref layout.Artifact) {
			if j, ok := at[ref.SHA256]; ok {
				out[j].addReference(e, ref)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Artifact opens an artifact by its id or the beginning of its id. ErrNotFound if the tape does not
// have it.
func Artifact(ctx context.Context, t *workspace.Tape, id string) (io.ReadSeekCloser, error) {
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return nil, err
	}
	p, name, err := v.FindArtifact(id)
	if err != nil {
		return nil, err
	}
	r, _, err := v.OpenArtifact(p, name)
	return r, err
}

// OpenArtifact is like Artifact, and also returns what the entries of the phase say about it.
func OpenArtifact(ctx context.Context, t *workspace.Tape, id string) (ArtifactInfo, io.ReadSeekCloser, error) {
	var out ArtifactInfo
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return out, nil, err
	}
	p, name, err := v.FindArtifact(id)
	if err == nil {
		err = out.setPhase(v, p.Seq-1, name)
	}
	if err == nil {
		err = eachReference(ctx, v, t, p.Seq-1, func(e layout.Entry, ref layout.Artifact) {
			if ref.SHA256 == name {
				out.addReference(e, ref)
			}
		})
	}
	if err != nil {
		return out, nil, err
	}
	r, size, err := v.OpenArtifact(p, name)
	out.Size = size
	return out, r, err
}

// setPhase fills in what a phase says about an artifact: its size, and the anchor. phase is an index.
func (a *ArtifactInfo) setPhase(v *snapshot.Snapshot, phase int, name string) error {
	p := v.List[phase]
	anchor, err := snapshot.ReadAnchor(v, p, "")
	if err != nil {
		return err
	}
	r, size, err := v.OpenArtifact(p, name)
	if err != nil {
		return err
	}
	a.ID, a.SHA256, a.Size, a.Anchor, a.AnchorSeq = name, name, size, anchor.Anchor, p.Seq
	return r.Close()
}

func (a *ArtifactInfo) addReference(e layout.Entry, ref layout.Artifact) {
	a.MIMEType, a.Name = ref.MIMEType, ref.Name
	if n := len(a.Entries); n == 0 || a.Entries[n-1] != e.ID {
		a.Entries = append(a.Entries, e.ID)
	}
}

// eachReference calls f for each reference to an artifact in the entries of a phase.
func eachReference(ctx context.Context, v *snapshot.Snapshot, t *workspace.Tape, phase int, f func(layout.Entry, layout.Artifact)) error {
	walk := &snapshot.Walk{V: v, Tape: t.Name(), First: phase, Last: phase}
	return walk.Read(ctx, func(e layout.Entry) bool {
		if bytes.Contains(e.Payload, []byte(layout.ArtifactKey)) {
			for _, ref := range layout.Artifacts(e.Payload) {
				f(e, ref)
			}
		}
		return true
	})
}
