package rewrite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// maskedArtifact is an artifact after masking, with the new name that follows from its content.
type maskedArtifact struct {
	layout.Artifact
	hash gitstore.Hash
}

// RedactWhole makes the Masker take out all texts of an entry, and the content of the artifacts that the entry
// refers to.
func (m *Masker) RedactWhole(e layout.Entry) {
	m.Whole[DigestOf(e)] = true
	m.requests = append(m.requests, e)
	for _, ref := range layout.Artifacts(e.Payload) {
		m.files[ref.SHA256] = true
	}
}

// WholeTexts returns the digests of the entries that are taken out whole, in hex, sorted.
func (m *Masker) WholeTexts() (out []string) {
	for digest := range m.Whole {
		out = append(out, hex.EncodeToString(digest[:]))
	}
	slices.Sort(out)
	return out
}

// RedactWholeIn is RedactWhole if the entry's digest is in a list that WholeTexts returned.
func (m *Masker) RedactWholeIn(list []string, e layout.Entry) {
	if digest := DigestOf(e); slices.Contains(list, hex.EncodeToString(digest[:])) {
		m.RedactWhole(e)
	}
}

// file masks the content of an artifact.
func (m *Masker) file(name string, data []byte) []byte {
	if m.files[name] && !m.Learning {
		return []byte(redacted)
	}
	return []byte(m.Text(string(data)))
}

// artifacts rewrites the folder of a phase's artifacts. Artifacts with the same new content become one.
func (r *Rewriter) artifacts(ctx context.Context, e *gitstore.TreeEntry) error {
	list, err := r.s.Git().Tree(e.Hash)
	if err != nil {
		return layout.CorruptObject(e.Hash, err)
	}
	var out []gitstore.TreeEntry
	for _, f := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !layout.IsArtifactName(f.Name) || f.Mode != gitstore.ModeFile {
			if err := r.foreign(ctx, &f); err != nil {
				return err
			}
			layout.SetEntry(&out, f)
			continue
		}
		now, ok := r.files[f.Name]
		if !ok {
			if now, err = r.artifact(f); err != nil {
				return err
			}
			r.files[f.Name] = now
		}
		f.Name, f.Hash = now.SHA256, now.hash
		layout.SetEntry(&out, f)
	}
	if raw := gitstore.EncodeTree(out); gitstore.HashObject(gitstore.KindTree, raw) != e.Hash {
		e.Hash = r.put(gitstore.KindTree, raw)
	}
	return nil
}

func (r *Rewriter) artifact(f gitstore.TreeEntry) (maskedArtifact, error) {
	out := maskedArtifact{layout.Artifact{SHA256: f.Name}, f.Hash}
	data, err := r.s.Git().Blob(f.Hash)
	if err != nil {
		return out, layout.CorruptObject(f.Hash, err)
	}
	masked := r.mask.file(f.Name, data)
	out.Size = int64(len(masked))
	if !bytes.Equal(masked, data) {
		sum := sha256.Sum256(masked)
		out.SHA256, out.hash = hex.EncodeToString(sum[:]), r.put(gitstore.KindBlob, bytes.Clone(masked))
	}
	return out, nil
}

// references updates a line's references to artifacts that have changed.
func (r *Rewriter) references(line []byte) []byte {
	if !bytes.Contains(line, []byte(layout.ArtifactKey)) {
		return line
	}
	e, err := jsonl.Parse(line)
	if err != nil {
		return line
	}
	payload := e.Payload
	for _, ref := range layout.Artifacts(e.Payload) {
		now, ok := r.files[ref.SHA256]
		if !ok || now.SHA256 == ref.SHA256 {
			continue
		}
		payload = layout.RenameArtifact(payload, ref, now.Artifact)
	}
	if bytes.Equal(payload, e.Payload) {
		return line
	}
	at := bytes.Index(line, e.Payload)
	return slices.Concat(line[:at], payload, line[at+len(e.Payload):])
}
