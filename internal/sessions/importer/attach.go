package importer

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"tape/internal/sessions/importer/record"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	maxInline       = 16 << 10 // bytes; a longer text becomes an artifact
	previewEach     = 1000     // the entry keeps this many characters of the text's beginning, and of its end
	maxPictureDepth = 8        // pictures nested deeper in a payload are not found
)

// attachments makes artifacts of an entry's large results and pictures. The outcome depends on the entry
// alone, so it is the same whether a session is recorded live or imported later.
type attachments struct {
	tx  *writer.Tx
	err error
}

// attach moves the large results and pictures of an entry to artifacts, after redacting its secrets.
func (in *intake) attach(ctx context.Context, d repo.Draft) (repo.Draft, error) {
	large := d.Kind == repo.KindToolResult && len(d.Payload) > maxInline
	if in.inline || !large && !bytes.Contains(d.Payload, []byte("image/")) {
		return d, nil
	}
	safe, err := in.tx.Tape().Redact(jsonl.Draft{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta})
	if err != nil {
		return d, err
	}
	a := &attachments{tx: in.tx}
	d.Payload, d.Meta = a.pictures(ctx, safe.Payload, maxPictureDepth), safe.Meta
	if large {
		d.Payload = a.results(ctx, d.Payload)
	}
	return d, a.err
}

// store stores data as an artifact, and returns a reference to it. It returns nil if the data is too large, and after
// an error, which is kept in a.err.
func (a *attachments) store(ctx context.Context, media string, data []byte) []byte {
	if a.err != nil || len(data) > layout.ArtifactLimit {
		return nil
	}
	ref, err := a.tx.Attach(ctx, layout.Artifact{MIMEType: media}, data)
	if a.err = err; err != nil {
		return nil
	}
	return ref.Reference()
}

// pictures replaces the pictures in a value with references to artifacts.
func (a *attachments) pictures(ctx context.Context, v []byte, depth int) []byte {
	if depth == 0 || !bytes.Contains(v, []byte("image/")) {
		return v
	}
	if media, data := picture(v); data != nil {
		if ref := a.store(ctx, media, data); ref != nil {
			return record.NewObject(len(ref)).Str("type", "image").All(v, pictureKeys...).Raw("artifact", ref).Done()
		}
		return v
	}
	return eachValue(v, func(v []byte) []byte { return a.pictures(ctx, v, depth-1) })
}

// pictureKeys are the members of a part that the reference replaces; the others are kept.
var pictureKeys = []string{"type", "source", "data", "mimeType", "mime_type", "media_type", "inlineData", "inline_data", "image_url", "artifact"}

// picture returns the picture in a part of a message. data is nil if there is none, or if encoding it again would give
// different base64.
func picture(part []byte) (media string, data []byte) {
	media, text := display.Picture(part)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 || base64.StdEncoding.EncodeToString(data) != text {
		return "", nil
	}
	return media, data
}

// results applies result to each of an entry's results.
func (a *attachments) results(ctx context.Context, payload []byte) []byte {
	before := jsonl.Get(payload, "results")
	results := eachValue(before, func(v []byte) []byte {
		if len(v) > 0 && v[0] == '[' {
			return eachValue(v, func(part []byte) []byte { return a.result(ctx, part) })
		}
		return a.result(ctx, v)
	})
	if bytes.Equal(results, before) {
		return payload
	}
	return record.NewObject(len(payload)).Raw("results", results).All(payload, "results").Done()
}

// result replaces a text that is too long, or a part with such a text, with a preview and an artifact.
func (a *attachments) result(ctx context.Context, v []byte) []byte {
	raw := v
	if jsonl.IsObject(v) {
		raw = jsonl.Get(v, "text")
	}
	text, ok := jsonl.String(raw)
	// An artifact in UTF-8 cannot keep half a surrogate pair, so such a text stays in the entry.
	if !ok || len(text) <= maxInline || strings.ContainsRune(text, utf8.RuneError) || jsonl.Get(v, "artifact") != nil {
		return v
	}
	ref := a.store(ctx, "text/plain; charset=utf-8", []byte(text))
	if ref == nil {
		return v
	}
	o := record.NewObject(len(ref)+3*previewEach).Str("text", display.KeepEnds(text, previewEach))
	if jsonl.IsObject(v) {
		o.All(v, "text")
	}
	return o.Raw("artifact", ref).Done()
}

// eachValue returns an object or array with f applied to each of its values. If that changes nothing, or v is
// neither, it returns v itself.
func eachValue(v []byte, f func([]byte) []byte) []byte {
	o, list, changed := record.NewObject(0), [][]byte(nil), false
	apply := func(val []byte) []byte {
		out := f(val)
		changed = changed || !bytes.Equal(out, val)
		return out
	}
	for key, val := range jsonl.Fields(v) {
		o.Raw(key, apply(val))
	}
	for el := range jsonl.Elements(v) {
		list = append(list, apply(el))
	}
	switch {
	case !changed:
		return v
	case list != nil:
		return record.Array(list)
	}
	return o.Done()
}
