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

	"tape/internal/serve/host/admission"
	"tape/internal/serve/host/api"
	"tape/internal/serve/host/lanes"
	"tape/internal/serve/host/mask"
	"tape/internal/store/layout"
	"tape/repo"
)

const maxRead = 1 << 20 // of an artifact at a time

// addArtifact keeps the body, and an event that refers to it.
func addArtifact(c *call) (any, error) {
	t, err := c.tape(c.query("conversation_id"))
	if err != nil {
		return nil, err
	}
	if !c.mayChange(t) {
		return nil, api.NotFound("conversation")
	}
	kind := c.r.Header.Get("Content-Type")
	if kind != "" {
		if _, _, err := mime.ParseMediaType(kind); err != nil {
			return nil, api.Invalid("the Content-Type is none")
		}
	}
	expires := c.query("expires_at")
	if expires != "" {
		if _, err := time.Parse(time.RFC3339, expires); err != nil {
			return nil, api.Invalid("expires_at is no date such as 2026-11-20T09:30:00Z")
		}
	}
	a, err := t.AddArtifact(c.ctx(), repo.Artifact{MIMEType: kind, Name: c.query("name")}, c.r.Body)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(map[string]json.RawMessage{"artifact": a.Reference()})
	if err != nil {
		return nil, err
	}
	more := map[string]any{}
	if expires != "" {
		more[lanes.MetaExpires] = expires
	}
	d := repo.Event(lanes.EventArtifact, data)
	if d.Meta, err = lanes.Stamp(nil, c.runID(), t.thread, "", "", more); err != nil {
		return nil, err
	}
	if err := c.s.lanes.Append(c.ctx(), t.Tape, &lanes.Job{Drafts: []repo.Draft{d}}); err != nil {
		return nil, err
	}
	return artifactAnswer(t, c.shown(t, a, c.runID()), expires), nil
}

// shown is an artifact as the caller sees it.
func (c *call) shown(t sees, a repo.Artifact, run string) repo.Artifact {
	if t.full {
		return a
	}
	return c.s.mask.Shown(a, run, mask.Of(c.ctx(), t.Tape))
}

// storedID is the id of an artifact that the caller may see under another one.
func (c *call) storedID(t sees, id string) (string, error) {
	if t.full {
		return id, nil
	}
	return c.s.mask.StoredID(c.ctx(), t.Tape, id)
}

// stored is what a caller writes, with the ids of artifacts as the tape has them. A run that refers to an
// artifact that it cannot see gets the answer of one that does not exist: it may have guessed the content.
func (c *call) stored(t sees, payload json.RawMessage) (json.RawMessage, error) {
	if c.run == nil || !bytes.Contains(payload, []byte(layout.ArtifactKey)) {
		return payload, nil
	}
	for _, ref := range layout.Artifacts(payload) {
		hash := ref.SHA256
		if !t.full {
			hash = c.s.mask.StoredRef(c.ctx(), t.Tape, hash)
		}
		if _, err := c.keptFor(t, hash); errors.As(err, new(*api.Problem)) {
			return nil, api.Invalid("the conversation does not have the artifact %s that is referred to: upload it first, with POST /v1/artifacts", ref.SHA256)
		} else if err != nil {
			return nil, err
		}
		if hash != ref.SHA256 {
			is, r, err := t.OpenArtifact(c.ctx(), hash)
			if err == nil {
				err = r.Close()
			}
			if err != nil {
				return nil, err
			}
			payload = layout.RenameArtifact(payload, ref, is.Artifact)
		}
	}
	return payload, nil
}

func artifactAnswer(t sees, a repo.Artifact, expires string) api.ArtifactAnswer {
	return api.ArtifactAnswer{ID: a.ID, MIMEType: a.MIMEType, Name: a.Name, Size: a.Size, SHA256: a.SHA256, ConversationID: t.Name(), ExpiresAt: expires}
}

// artifact opens one that the caller may see.
func (c *call) artifact() (t sees, a repo.ArtifactInfo, content io.ReadSeekCloser, kept lanes.ArtifactFact, err error) {
	if t, err = c.tape(c.query("conversation_id")); err != nil {
		return
	}
	c.resource = t.Name() + "/" + c.r.PathValue("artifact_id")
	id, err := c.storedID(t, c.r.PathValue("artifact_id"))
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
	kept, err = c.keptFor(t, a.SHA256)
	if c.run != nil {
		a.Name, a.MIMEType = kept.Name, cmp.Or(kept.MIMEType, "application/octet-stream")
	}
	if err != nil {
		err = errors.Join(err, content.Close())
	}
	return
}

func getArtifact(c *call) (any, error) {
	t, a, content, kept, err := c.artifact()
	if err != nil {
		return nil, err
	}
	expires := ""
	if !kept.Expires.IsZero() {
		expires = kept.Expires.Format(time.RFC3339)
	}
	return artifactAnswer(t, c.shown(t, a.Artifact, kept.Run), expires), content.Close()
}

// artifactContent gives all of it, a Range, or with offset or length a part as JSON.
func artifactContent(c *call) (any, error) {
	t, a, file, kept, err := c.artifact()
	if err != nil {
		return nil, err
	}
	content, err := c.maskedContent(t, &a, kept.Run, file)
	if err != nil || c.query("offset") != "" || c.query("length") != "" {
		defer file.Close()
		if err != nil {
			return nil, err
		}
		return c.part(a, content)
	}
	waits, err := admission.Spool(c.s.private("waiting"), content, file)
	if err != nil {
		return nil, err
	}
	defer waits.Close()
	c.worked()
	h := c.w.Header()
	h.Set("Content-Type", a.MIMEType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
	h.Set("Content-Security-Policy", "sandbox")
	h.Set("ETag", `"`+a.SHA256+`"`)
	http.ServeContent(&problems{Writer: c.w, c: c}, c.r, "", time.Time{}, waits)
	c.bytes = a.Size
	return nil, nil
}

// maskedContent is a content as the caller may see it: without its secrets. The numbers of bytes are
// those of what is seen.
func (c *call) maskedContent(t sees, a *repo.ArtifactInfo, run string, content io.ReadSeeker) (io.ReadSeeker, error) {
	if t.full {
		return content, nil
	}
	stored := a.SHA256
	seen := c.s.mask.Artifact(stored, mask.Of(c.ctx(), t.Tape))
	a.Artifact = c.shown(t, a.Artifact, run)
	switch {
	case seen.ID == stored:
		return content, nil
	case seen.Withheld:
		return nil, api.TooLarge("the artifact, for a run whose policy is not unmasked,", mask.MaxContent)
	}
	if err := c.alone(); err != nil { // to mask a file with a secret in each line takes many times its size
		return nil, err
	}
	data, err := io.ReadAll(content)
	return bytes.NewReader(c.s.mask.File(stored, data)), err
}

func (c *call) part(a repo.ArtifactInfo, content io.ReadSeeker) (any, error) {
	offset, err := c.number("offset", 0, a.Size)
	if err != nil {
		return nil, err
	}
	length, err := c.number("length", maxRead, maxRead)
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

// problems makes an answer of ours of a range that a content does not have.
type problems struct {
	*admission.Writer
	c      *call
	failed bool
}

func (w *problems) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.Writer.WriteHeader(status)
		return
	}
	w.failed = true
	w.c.s.fail(w.c, api.NewProblem(status, "range_not_satisfiable", "the content has no such range: Content-Range says how long it is"))
}

func (w *problems) Write(data []byte) (int, error) {
	if w.failed {
		return len(data), nil
	}
	return w.Writer.Write(data)
}
