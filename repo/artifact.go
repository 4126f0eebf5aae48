package repo

import (
	"context"
	"io"

	"tape/internal/store/artifacts"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/writer"
)

// ArtifactLimit is how many bytes an artifact may have.
const ArtifactLimit = layout.ArtifactLimit

type (
	// Artifact is a file of a phase, which entries refer to by the SHA-256 of its content. Its
	// Reference is what an entry's payload has under the key "artifact".
	Artifact = layout.Artifact
	// ArtifactInfo is an artifact of a tape, with the entries that refer to it.
	ArtifactInfo = query.ArtifactInfo
)

// References are the artifacts that an entry refers to. Those of an entry that was imported need not
// be in the tape.
func References(e Entry) []Artifact {
	if e.Kind == KindAnchor {
		return nil
	}
	return layout.Artifacts(e.Payload)
}

// AddArtifact adds a content to the open phase: when it returns, that survives a power cut. An
// entry that is appended then may refer to it. Only type and name of the given Artifact count. The
// same content again is the same file. ErrInvalid if it is longer than ArtifactLimit.
func (t *Tape) AddArtifact(ctx context.Context, a Artifact, r io.Reader) (Artifact, error) {
	staged, err := artifacts.Receive(ctx, t.in(), a, r)
	if err != nil {
		return Artifact{}, err
	}
	defer staged.Discard()
	return settled(ctx, func() (Artifact, error) { return writer.AddArtifact(ctx, t.in(), a, staged) })
}

// Artifact opens an artifact by its id, of which the beginning is enough. ErrNotFound if the tape
// has none.
func (t *Tape) Artifact(ctx context.Context, id string) (io.ReadSeekCloser, error) {
	return settled(ctx, func() (io.ReadSeekCloser, error) { return query.Artifact(ctx, t.in(), id) })
}

// OpenArtifact is Artifact with what the entries say of it, for which it reads the phase. Type and
// name are those of the last entry that refers to it; both are "" if none does.
func (t *Tape) OpenArtifact(ctx context.Context, id string) (a ArtifactInfo, r io.ReadSeekCloser, err error) {
	r, err = settled(ctx, func() (io.ReadSeekCloser, error) {
		a, r, err = query.OpenArtifact(ctx, t.in(), id)
		return r, err
	})
	return a, r, err
}

// Artifacts lists the artifacts of the tape in the order of the phases that had them first.
func (t *Tape) Artifacts(ctx context.Context) ([]ArtifactInfo, error) {
	return settled(ctx, func() ([]ArtifactInfo, error) { return query.Artifacts(ctx, t.in()) })
}
