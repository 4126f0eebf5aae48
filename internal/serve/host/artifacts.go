package host

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"tape/internal/serve/front"
	"tape/internal/serve/host/api"

	"tape/internal/store/layout"
	"tape/repo"
)

const (
	maxRead = 1 << 20 // bytes of an artifact in one part
	maxName = 1_000   // bytes of an artifact's name, and of its type

	// maxGuesses is how many files with secrets a masked run may upload. Equal files have the same id, so
	// with each upload a run can test one guess at a file that it sees masked.
	maxGuesses = 100
)

// addArtifact stores the body as an artifact, with an event that refers to it.
func addArtifact(c *request) (any, error) {
	t, err := c.tape(c.param("conversation_id"))
	if err != nil {
		return nil, err
	}
	if !c.mayChange(t) {
		return nil, api.NotFound("conversation")
	}
	kind := c.r.Header.Get("Content-Type")
	if kind != "" {
		if _, _, err := mime.ParseMediaType(kind); err != nil {
			return nil, api.Invalid("the Content-Type is not a media type")
		}
	}
	if len(kind) > maxName || len(c.param("name")) > maxName {
		return nil, api.Invalid("the name or the Content-Type has more than %d bytes", maxName)
	}
	expires := c.param("expires_at")
	if expires != "" {
		if _, err := time.Parse(time.RFC3339, expires); err != nil {
			return nil, api.Invalid("expires_at is not a date such as 2026-11-20T09:30:00Z")
		}
	}
	content, err := c.uploaded(t)
	if err != nil {
		return nil, err
	}
	a, err := t.AddArtifact(c.ctx(), repo.Artifact{MIMEType: kind, Name: c.param("name")}, content)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]json.RawMessage{"artifact": a.Reference()})
	if err != nil {
		return nil, err
	}
	more := map[string]any{}
	if expires != "" {
		more[metaExpires] = expires
	}
	d := repo.Event(eventArtifact, data)
	if d.Meta, err = stampMeta(nil, c.runID(), t.thread, "", "", more); err != nil {
		return nil, err
	}
	if err := c.s.queues.Append(c.ctx(), t.Tape, &writeJob{Drafts: []repo.Draft{d}}); err != nil {
		return nil, err
	}
	seen := c.artifactView(t, a, c.runID())
	if seen.ID != a.ID {
		err = c.s.runs.CountUpload(c.run)
	}
	return artifactAnswer(t, seen, expires), err
}

// uploaded returns the body of an upload. A run that has used up its uploads gets an error instead, unless its
// content has nothing to mask.
func (c *request) uploaded(t access) (io.Reader, error) {
	if c.run == nil {
		return c.r.Body, nil
	}
	err := c.checkFacts(t, "")
	if err != nil || t.unmasked || c.run.UploadsNow() < maxGuesses {
		return c.r.Body, err
	}
	data, err := c.read(c.r.Body)
	if err == nil {
		err = c.readAlone() // masking takes many times the size
		defer func() { c.release() }()
	}
	if err == nil && !bytes.Equal(c.s.mask.Content(data), data) {
		err = api.NewProblem(http.StatusForbidden, "forbidden", "the run has uploaded %d files with something that looks like a secret: for more, its policy has to be unmasked", maxGuesses)
	}
	return bytes.NewReader(data), err
}

// artifactView returns an artifact as the caller sees it.
func (c *request) artifactView(t access, a repo.Artifact, run string) repo.Artifact {
	if t.unmasked {
		return a
	}
	return c.s.mask.Shown(a, run, artifactsOf(c.ctx(), t.Tape))
}

// artifactHash returns the hash of an artifact by the id that the caller sees. The admin may give a prefix of
// the hash, which stays one.
func (c *request) artifactHash(t access, id string) (string, error) {
	if c.run != nil && !layout.IsArtifactName(id) { // whether a prefix is unambiguous depends on artifacts that the run must not see
		return "", api.NotFound("artifact")
	}
	if t.unmasked {
		return id, nil
	}
	return c.s.mask.StoredID(c.ctx(), t.Tape, id)
}

// resolveArtifacts replaces the ids that a caller sees with those on the tape. If a run refers to an artifact
// that it must not see, the answer is the same as if the artifact did not exist: the run may have guessed the
// content.
func (c *request) resolveArtifacts(t access, payload json.RawMessage) (json.RawMessage, error) {
	if c.run == nil || !bytes.Contains(payload, []byte(layout.ArtifactKey)) {
		return payload, nil
	}
	for _, ref := range layout.Artifacts(payload) {
		hash, err := ref.SHA256, error(nil)
		if !t.unmasked {
			hash, err = c.s.mask.StoredID(c.ctx(), t.Tape, hash)
		}
		if err == nil {
			_, err = c.artifactFact(t, hash)
		}
		if errors.As(err, new(*api.Problem)) {
			return nil, api.Invalid("the conversation does not have the artifact %s that is referred to: upload it first, with POST /v1/artifacts", ref.SHA256)
		} else if err != nil {
			return nil, err
		}
		if hash != ref.SHA256 {
			info, r, err := t.OpenArtifact(c.ctx(), hash)
			if err == nil {
				err = r.Close()
			}
			if err != nil {
				return nil, err
			}
			payload = layout.RenameArtifact(payload, ref, info.Artifact)
		}
	}
	return payload, nil
}

func artifactAnswer(t access, a repo.Artifact, expires string) api.ArtifactAnswer {
	return api.ArtifactAnswer{ID: a.ID, MIMEType: a.MIMEType, Name: a.Name, Size: a.Size, SHA256: a.SHA256, ConversationID: t.Name(), ExpiresAt: expires}
}

// artifact opens the artifact that the path names, if the caller may see it.
func (c *request) artifact() (t access, a repo.ArtifactInfo, content io.ReadSeekCloser, fact artifactFact, err error) {
	if t, err = c.tape(c.param("conversation_id")); err != nil {
		return
	}
	c.resource = t.Name() + "/" + c.r.PathValue("artifact_id")
	id, err := c.artifactHash(t, c.r.PathValue("artifact_id"))
	if err != nil {
		return
	}
	a, content, err = t.OpenArtifact(c.ctx(), id)
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrInvalid) {
		err = api.NotFound("artifact")
	}
	if err != nil {
		return
	}
	fact, err = c.artifactFact(t, a.SHA256)
	if c.run != nil {
		a.Name, a.MIMEType = fact.Name, cmp.Or(fact.MIMEType, "application/octet-stream")
	}
	if err != nil {
		err = errors.Join(err, content.Close())
	}
	return
}

func getArtifact(c *request) (any, error) {
	t, a, content, fact, err := c.artifact()
	if err != nil {
		return nil, err
	}
	expires := ""
	if !fact.Expires.IsZero() {
		expires = fact.Expires.Format(time.RFC3339)
	}
	return artifactAnswer(t, c.artifactView(t, a.Artifact, fact.Run), expires), content.Close()
}

// artifactContent sends the content, or the Range of it that is asked for. With offset or length, it sends a
// part as JSON.
func artifactContent(c *request) (any, error) {
	t, a, file, fact, err := c.artifact()
	if err != nil {
		return nil, err
	}
	content, err := c.maskedContent(t, &a, fact.Run, file)
	if err != nil || c.param("offset") != "" || c.param("length") != "" {
		defer file.Close()
		if err != nil {
			return nil, err
		}
		return c.contentPart(a, content)
	}
	spooled, err := front.Spool(c.s.private("waiting"), content, file)
	if err != nil {
		return nil, err
	}
	defer spooled.Close()
	c.release()
	h := c.w.Header()
	h.Set("Content-Type", a.MIMEType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("ETag", `"`+a.SHA256+`"`)
	front.ServeContent(c.w, c.r, spooled, func(status int) {
		c.s.fail(c, api.NewProblem(status, "range_not_satisfiable", "the content has no such range: Content-Range has its length"))
	})
	c.bytes = a.Size
	return nil, nil
}

// maskedContent returns the content of an artifact as the caller may see it, and changes a to match it. Offsets
// and sizes are those of the masked content.
func (c *request) maskedContent(t access, a *repo.ArtifactInfo, run string, content io.ReadSeeker) (io.ReadSeeker, error) {
	if t.unmasked {
		return content, nil
	}
	stored := a.SHA256
	seen := c.s.mask.Artifact(stored, artifactsOf(c.ctx(), t.Tape))
	a.Artifact = c.artifactView(t, a.Artifact, run)
	switch {
	case seen.ID == stored:
		return content, nil
	case seen.Withheld:
		return nil, api.TooLarge("the artifact, for a run whose policy is not unmasked,", maxMasked)
	}
	if err := c.readAlone(); err != nil { // masking a file with many secrets takes many times its size
		return nil, err
	}
	data, err := io.ReadAll(content)
	return bytes.NewReader(c.s.mask.File(stored, data)), err
}

func (c *request) contentPart(a repo.ArtifactInfo, content io.ReadSeeker) (any, error) {
	offset, err := numberOf(c.param, "offset", 0, a.Size)
	if err != nil {
		return nil, err
	}
	length, err := numberOf(c.param, "length", maxRead, maxRead)
	if err != nil {
		return nil, err
	}
	if _, err := content.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(content, length))
	return api.ArtifactPart{Offset: offset, Length: len(data), Size: a.Size, Base64: base64.StdEncoding.EncodeToString(data),
		HasMore: offset+int64(len(data)) < a.Size}, err
}
