package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/repo"
)

// plainTextType is the MIME type of texts.
const plainTextType = "text/plain; charset=utf-8"

// mediaTypeOf guesses the MIME type of a content. It returns layout.AnyType if it recognizes none.
func mediaTypeOf(data []byte) string {
	has := func(prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }
	switch {
	case has("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case has("\xff\xd8\xff"):
		return "image/jpeg"
	case has("GIF87a"), has("GIF89a"):
		return "image/gif"
	case has("%PDF-"):
		return "application/pdf"
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return plainTextType
	}
	return layout.AnyType
}

// storeArtifact adds the content of a file to the tape. If mimeType is "", the type is guessed. The error is ErrInvalid if
// the file cannot be opened or is a folder.
func storeArtifact(ctx context.Context, t *repo.Tape, file, mimeType string) (repo.Artifact, error) {
	f, err := os.Open(file)
	if err != nil {
		return repo.Artifact{}, layout.Invalid("", "--artifact: %v", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return repo.Artifact{}, layout.Invalid("", "--artifact: %s is a folder", file)
	}
	// All of it is read to guess the type: a text may have its first invalid byte at its end.
	data, err := io.ReadAll(io.LimitReader(f, repo.ArtifactLimit+1))
	if err != nil {
		return repo.Artifact{}, err
	}
	a := repo.Artifact{MIMEType: mimeType, Name: filepath.Base(file)}
	if a.MIMEType == "" {
		a.MIMEType = mediaTypeOf(data)
	}
	if !utf8.ValidString(a.Name) {
		a.Name = ""
	}
	return t.AddArtifact(ctx, a, bytes.NewReader(data))
}

// referTo adds the reference to a draft's payload. Append refuses a payload that is not an object.
func referTo(d repo.Draft, a repo.Artifact) repo.Draft {
	if body, ok := bytes.CutSuffix(bytes.TrimSpace(d.Payload), []byte("}")); ok {
		if body = bytes.TrimSpace(body); !bytes.HasSuffix(body, []byte("{")) {
			body = append(body, ',')
		}
		d.Payload = slices.Concat(body, []byte(`"artifact":`), a.Reference(), []byte("}"))
	}
	return d
}
