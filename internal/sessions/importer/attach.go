package importer

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
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
	maxInline   = 16 << 10 // bytes: a result with more text is an artifact
	previewEach = 1000     // characters of its beginning, and of its end, that the entry keeps
	pictureDeep = 8        // how deep in a payload pictures are looked for
)

// attaching makes artifacts of an entry's large results and of its pictures. What becomes of an
// entry depends on that alone: recorded live and imported later, it is the same.
type attaching struct {
	tx  *writer.Tx
	err error
}

// attach is an entry without what became artifacts. Its secrets are dealt with before.
func (in *intake) attach(ctx context.Context, d repo.Draft) (repo.Draft, error) {
	large := d.Kind == repo.KindToolResult && len(d.Payload) > maxInline
	if in.inline || !large && !bytes.Contains(d.Payload, []byte("image/")) {
		return d, nil
	}
	safe, err := in.tx.Tape().Redact(jsonl.Draft{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta})
	if err != nil {
		return d, err
	}
	a := &attaching{tx: in.tx}
	d.Payload, d.Meta = a.pictures(ctx, safe.Payload, pictureDeep), safe.Meta
	if large {
		d.Payload = a.results(ctx, d.Payload)
	}
	return d, a.err
}

// store makes a content an artifact, and returns the member that refers to it; nil if it is none.
func (a *attaching) store(ctx context.Context, media string, data []byte) []byte {
	if a.err != nil || len(data) > layout.ArtifactLimit {
		return nil
	}
	ref, err := a.tx.Attach(ctx, layout.Artifact{MIMEType: media}, data)
	if a.err = err; err != nil {
		return nil
	}
	return ref.Reference()
}

// pictures puts an artifact in the place of each part that is a picture.
func (a *attaching) pictures(ctx context.Context, v []byte, depth int) []byte {
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

// pictureKeys are the members of a part that say the picture itself.
var pictureKeys = []string{"type", "source", "data", "mimeType", "mime_type", "media_type", "inlineData", "inline_data", "image_url", "artifact"}

// picture is the picture of a part; nil if it has none, or its base64 is not the one that the
// picture would have again.
func picture(part []byte) (media string, data []byte) {
	media, text := display.Picture(part)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 || base64.StdEncoding.EncodeToString(data) != text {
		return "", nil
	}
	return media, data
}

// results puts an artifact in the place of each text among results that is too long.
func (a *attaching) results(ctx context.Context, payload []byte) []byte {
	was := jsonl.Get(payload, "results")
	results := eachValue(was, func(v []byte) []byte {
		if len(v) > 0 && v[0] == '[' {
			return eachValue(v, func(part []byte) []byte { return a.result(ctx, part) })
		}
		return a.result(ctx, v)
	})
	if bytes.Equal(results, was) {
		return payload
	}
	return record.NewObject(len(payload)).Raw("results", results).All(payload, "results").Done()
}

// result is a text that is too long, or a part with one, with the beginning and the end of it.
func (a *attaching) result(ctx context.Context, v []byte) []byte {
	raw := v
	if jsonl.IsObject(v) {
		raw = jsonl.Get(v, "text")
	}
	text, ok := jsonl.String(raw)
	// Half a surrogate pair is no character: only the entry can keep it.
	if !ok || len(text) <= maxInline || strings.ContainsRune(text, utf8.RuneError) || jsonl.Get(v, "artifact") != nil {
		return v
	}
	ref := a.store(ctx, "text/plain; charset=utf-8", []byte(text))
	if ref == nil {
		return v
	}
	o := record.NewObject(len(ref)+3*previewEach).Str("text", preview(text))
	if jsonl.IsObject(v) {
		o.All(v, "text")
	}
	return o.Raw("artifact", ref).Done()
}

// preview is the beginning and the end of a long text.
func preview(text string) string {
	runes := []rune(text)
	left := len(runes) - 2*previewEach
	if left <= 0 {
		return text
	}
	return fmt.Sprintf("%s\n[… %d characters …]\n%s", string(runes[:previewEach]), left, string(runes[len(runes)-previewEach:]))
}

// eachValue is an object or array with f of each value. Without a change, and of anything else,
// it is the same bytes.
func eachValue(v []byte, f func([]byte) []byte) []byte {
	o, list, changed := record.NewObject(0), [][]byte(nil), false
	with := func(val []byte) []byte {
		out := f(val)
		changed = changed || !bytes.Equal(out, val)
		return out
	}
	for key, val := range jsonl.Fields(v) {
		o.Raw(key, with(val))
	}
	for el := range jsonl.Elements(v) {
		list = append(list, with(el))
	}
	switch {
	case !changed:
		return v
	case list != nil:
		return record.Array(list)
	}
	return o.Done()
}
