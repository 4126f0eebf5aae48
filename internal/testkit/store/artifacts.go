package storetest

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"tape/repo"
	"testing"
)

// AddArtifact adds an artifact with a content, and returns it for ReferTo.
func AddArtifact(t testing.TB, tp *repo.Tape, name, content string) repo.Artifact {
	t.Helper()
	a, err := tp.AddArtifact(t.Context(), repo.Artifact{MIMEType: "text/plain", Name: name}, strings.NewReader(content))
	Must(t, err)
	return a
}

// ReferTo returns a message that refers to artifacts.
func ReferTo(text string, refs ...repo.Artifact) repo.Draft {
	parts := fmt.Appendf(nil, `{"role":"user","content":[{"type":"text","text":%q}`, text)
	for _, a := range refs {
		parts = append(append(append(parts, `,{"type":"file","artifact":`...), a.Reference()...), '}')
	}
	return repo.Draft{Kind: repo.KindMessage, Payload: append(parts, "]}"...)}
}

// WantArtifact fails the test unless a tape has the artifact, with this content.
func WantArtifact(t testing.TB, tp *repo.Tape, a repo.Artifact, content string) {
	t.Helper()
	got, r, err := tp.OpenArtifact(t.Context(), a.ID)
	if err != nil {
		t.Errorf("%s: %v", tp.Name(), err)
		return
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil || string(data) != content {
		t.Errorf("%s: artifact %.12s has %.40q, want %.40q (%v)", tp.Name(), a.ID, data, content, err)
	}
	if got.Artifact != a {
		t.Errorf("%s: the artifact is %+v, want %+v", tp.Name(), got, a)
	}
}

// ArtifactNamed returns the artifact that AddArtifact returns for a content.
func ArtifactNamed(name, content string) repo.Artifact {
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	return repo.Artifact{ID: id, MIMEType: "text/plain", Name: name, Size: int64(len(content)), SHA256: id}
}

// LateContent is the content of the artifact that WithArtifact adds.
const LateContent = "what is in the file"

// WithArtifact makes a tape with an artifact that is not committed.
func WithArtifact(t *testing.T, s *repo.Store) {
	SomeEntries(t, s)
	AppendArtifact(t, Tape(t, s, "main"), LateContent)
}

// AppendArtifact adds an artifact and an entry that refers to it.
func AppendArtifact(t *testing.T, tp *repo.Tape, content string) {
	Append(t, tp, ReferTo("see", AddArtifact(t, tp, "late", content)))
}
