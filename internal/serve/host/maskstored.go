package host

import (
	"cmp"
	"context"
	"io"

	"tape/internal/serve/host/api"
	"tape/repo"
)

// artifactsOf returns the function that opens the artifacts of a tape.
func artifactsOf(ctx context.Context, t *repo.Tape) openArtifact {
	return func(hash string) (io.ReadCloser, error) { return t.Artifact(ctx, hash) }
}

// Shown returns an artifact as a masked run sees it. run is the run that added it, "" for others.
func (m *Masker) Shown(a repo.Artifact, run string, open openArtifact) repo.Artifact {
	seen, own := m.Artifact(a.SHA256, open), m.By(run)
	a.ID, a.SHA256, a.Size = seen.ID, seen.ID, seen.Size
	a.Name, a.MIMEType = own.Text(a.Name), own.Text(a.MIMEType)
	return a
}

// StoredID returns the hash of the tape's artifact that a masked run sees as id. If the run sees an id other
// than the hash, the hash is not accepted: that would confirm a guess of the content.
func (m *Masker) StoredID(ctx context.Context, t *repo.Tape, id string) (string, error) {
	hash, ok := m.Real(id)
	if ok || m.Artifact(id, artifactsOf(ctx, t)).ID == id {
		return cmp.Or(hash, id), nil
	}
	list, err := t.Artifacts(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range list {
		if m.Artifact(a.SHA256, artifactsOf(ctx, t)).ID == id {
			return a.SHA256, nil
		}
	}
	return "", api.NotFound("artifact")
}
