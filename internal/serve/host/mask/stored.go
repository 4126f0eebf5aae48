package mask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/store/layout"
	"tape/repo"
)

// Of opens the artifacts of a tape.
func Of(ctx context.Context, t *repo.Tape) Open {
	return func(hash string) (io.ReadCloser, error) { return t.Artifact(ctx, hash) }
}

// Shown is what is told of an artifact, which a run named so, or "" somebody else.
func (m *Masker) Shown(a repo.Artifact, run string, open Open) repo.Artifact {
	seen, own := m.Artifact(a.SHA256, open), m.By(run)
	a.ID, a.SHA256, a.Size = seen.ID, seen.ID, seen.Size
	a.Name, a.MIMEType = own.Text(a.Name), own.Text(a.MIMEType)
	return a
}

const minID = 4 // characters of an id that stand for it

// StoredID is the hash of an artifact of a tape, by the id under which it is seen or its beginning. The
// hash itself is none where it is not seen: it would confirm a guess.
func (m *Masker) StoredID(ctx context.Context, t *repo.Tape, id string) (string, error) {
	hash, ok := m.Real(id)
	if ok || layout.IsArtifactName(id) && m.Artifact(id, Of(ctx, t)).ID == id {
		return cmp.Or(hash, id), nil
	}
	list, err := t.Artifacts(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range list {
		if len(id) < minID || !strings.HasPrefix(m.Artifact(a.SHA256, Of(ctx, t)).ID, id) {
			continue
		}
		if hash != "" && hash != a.SHA256 {
			return "", api.Invalid("several artifacts begin with %q: give more of the id", id)
		}
		hash = a.SHA256
	}
	if hash == "" {
		return "", api.NotFound("artifact")
	}
	return hash, nil
}

// Stored is a payload with the references to artifacts of a tape as they are, of who sees them otherwise.
func (m *Masker) Stored(ctx context.Context, t *repo.Tape, payload json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(payload, []byte(layout.ArtifactKey)) {
		return payload, nil
	}
	for _, a := range layout.Artifacts(payload) {
		hash, ok := m.Real(a.SHA256)
		if !ok {
			continue
		}
		is, r, err := t.OpenArtifact(ctx, hash)
		if errors.Is(err, repo.ErrNotFound) {
			continue
		}
		if err == nil {
			err = r.Close()
		}
		if err != nil {
			return nil, err
		}
		payload = layout.RenameArtifact(payload, a, is.Artifact)
	}
	return payload, nil
}
