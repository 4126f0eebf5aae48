package mask

import (
	"cmp"
	"context"
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

// StoredRef is the hash of an artifact that a payload refers to by the id under which it is seen, or "".
func (m *Masker) StoredRef(ctx context.Context, t *repo.Tape, id string) string {
	if hash, ok := m.Real(id); ok {
		return hash
	}
	if m.Artifact(id, Of(ctx, t)).ID != id { // the hash of a content with secrets would confirm a guess
		return ""
	}
	return id
}
