package repo

import (
	"context"
	"io"

	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/writer"
)

// ArtifactLimit is the size limit of an artifact, in bytes.
const ArtifactLimit = layout.ArtifactLimit

type (
	// Artifact is a file of a phase, which entries refer to by the SHA-256 of its content. Its
	// Reference is what an entry's payload has under the key "artifact".
	Artifact = layout.Artifact
	// ArtifactInfo is an artifact of a tape, with the entries that refer to it.
	ArtifactInfo = query.ArtifactInfo
)

// References returns the artifacts that an entry refers to. The tape may lack those of imported entries.
func References(e Entry) []Artifact {
	if e.Kind == KindAnchor {
		return nil
	}
	return layout.Artifacts(e.Payload)
}

// AddArtifact adds an artifact to the open phase. When it returns, the artifact survives a power cut, and
// entries appended from then on may refer to it. Only type and name of the given Artifact are used.
// Adding the same content again gives the same file. ErrInvalid if it is longer than ArtifactLimit.
func (t *Tape) AddArtifact(ctx context.Context, a Artifact, r io.Reader) (Artifact, error) {
	staged, err := writer.Receive(ctx, t.in(), a, r)
	if err != nil {
		return Artifact{}, err
	}
	defer staged.Discard()
	return withMergesCompleted(ctx, func() (Artifact, error) { return writer.AddArtifact(ctx, t.in(), a, staged) })
}

// Artifact opens an artifact by its id or the beginning of it. ErrNotFound if the tape does not have it.
func (t *Tape) Artifact(ctx context.Context, id string) (io.ReadSeekCloser, error) {
	return withMergesCompleted(ctx, func() (io.ReadSeekCloser, error) { return query.Artifact(ctx, t.in(), id) })
}

// OpenArtifact is like Artifact, and also reads the phase for what its entries say about the artifact.
// Type and name are those of the last entry that refers to it, "" if none does.
func (t *Tape) OpenArtifact(ctx context.Context, id string) (a ArtifactInfo, r io.ReadSeekCloser, err error) {
	r, err = withMergesCompleted(ctx, func() (io.ReadSeekCloser, error) {
		a, r, err = query.OpenArtifact(ctx, t.in(), id)
		return r, err
	})
	return a, r, err
}

// Artifacts lists the artifacts of the tape, ordered by the first phase that contains them.
func (t *Tape) Artifacts(ctx context.Context) ([]ArtifactInfo, error) {
	return withMergesCompleted(ctx, func() ([]ArtifactInfo, error) { return query.Artifacts(ctx, t.in()) })
}
