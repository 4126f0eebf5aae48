package importer

import (
	"bytes"
	"cmp"
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
	maxInline   = 16 << 10 // bytes; a longer text of a result becomes an artifact
	previewEach = 1000     // the entry keeps this many characters of the text's beginning, and of its end
	maxDepth    = 8        // what is nested deeper in a payload is not found
)

// attachments makes artifacts of an entry's large results, pictures and other files. The outcome depends on the entry
// alone, so it is the same whether a session is recorded live or imported later.
type attachments struct {
	tx  *writer.Tx
	err error
}

// attach moves the large results and the files of an entry to artifacts, after redacting its secrets. If the entry is
// too large for a line, all of its large texts become artifacts. whole are the results that the agent has in files of
// their own, by position.
func (in *intake) attach(ctx context.Context, d repo.Draft, whole [][]byte) (repo.Draft, error) {
	tooLarge := func() bool { return len(d.Payload)+len(d.Meta) > record.MaxEntry }
	large := d.Kind == repo.KindToolResult && len(d.Payload) > maxInline
	if (in.inline || !large && (d.Kind == repo.KindToolCall || !mayHaveFiles(d.Payload))) && !tooLarge() && whole == nil {
		return d, nil
	}
	safe, err := in.tx.Tape().Redact(jsonl.Draft{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta})
	if err != nil {
		return d, err
	}
	a := &attachments{tx: in.tx}
	d.Payload, d.Meta = safe.Payload, safe.Meta
	if whole != nil {
		d.Payload = a.wholeResults(ctx, d.Payload, whole, in.inline)
	}
	if !in.inline || tooLarge() {
		d.Payload = a.files(ctx, d.Payload, maxDepth)
	}
	if large && !in.inline || tooLarge() {
		d.Payload = a.results(ctx, d.Payload)
	}
	if tooLarge() {
		d.Payload = a.shrunk(ctx, d.Payload, maxDepth)
	}
	if tooLarge() {
		small := in.stats.TooLarge(jsonl.Draft{Kind: d.Kind, Payload: d.Payload, Meta: d.Meta})
		d.Kind, d.Payload = small.Kind, small.Payload
	}
	return d, a.err
}

// store stores data as an artifact, and returns a reference to it. It returns nil if the data is too large, and after
// an error, which is kept in a.err.
func (a *attachments) store(ctx context.Context, media, name string, data []byte) []byte {
	if a.err != nil || len(data) > layout.ArtifactLimit {
		return nil
	}
	ref, err := a.tx.Attach(ctx, layout.Artifact{MIMEType: media, Name: name}, data)
	if a.err = err; err != nil {
		return nil
	}
	return ref.Reference()
}

// mayHaveFiles reports whether a payload may have a picture or another file. It is called for every entry, and searches
// for as little as it can: one of these texts is in each form that [display.FileOf] knows.
func mayHaveFiles(payload []byte) bool {
	return bytes.Contains(payload, []byte("base64")) || bytes.Contains(payload, []byte("mime")) || bytes.Contains(payload, []byte("input_audio"))
}

// files replaces the pictures and other files in a value with references to artifacts.
func (a *attachments) files(ctx context.Context, v []byte, depth int) []byte {
	if depth == 0 || len(v) == 0 || v[0] != '{' && v[0] != '[' || !mayHaveFiles(v) {
		return v
	}
	if f, data := fileIn(v); data != nil {
		if ref := a.store(ctx, f.Media, f.Name, data); ref != nil {
			kind := jsonl.GetString(v, "type")
			if strings.HasPrefix(f.Media, "image/") {
				kind = "image"
			}
			return record.NewObject(len(ref)).Str("type", cmp.Or(kind, "file")).All(v, fileKeys...).Raw("artifact", ref).Done()
		}
		return v
	}
	return eachValue(v, func(v []byte) []byte { return a.files(ctx, v, depth-1) })
}

// fileKeys are the members of a part that the reference replaces; the others are kept.
var fileKeys = []string{"type", "source", "data", "mimeType", "mime_type", "media_type", "inlineData", "inline_data", "image_url", "artifact",
	"url", "file_data", "file", "resource", "input_audio", "base64"}

// fileIn returns the file in a part of a message. data is nil if there is none, or if encoding it again would give
// different base64.
func fileIn(part []byte) (f display.File, data []byte) {
	f = display.FileOf(part)
	data, err := base64.StdEncoding.Strict().DecodeString(f.Data)
	if err != nil || len(data) == 0 || base64.StdEncoding.EncodedLen(len(data)) != len(f.Data) { // it has line breaks
		return f, nil
	}
	return f, data
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
	preview := display.KeepEnds(text, previewEach)
	ref := a.store(ctx, textMedia, "", []byte(text))
	if ref == nil {
		return v
	}
	o := record.NewObject(len(ref)+3*previewEach).Str("text", preview)
	if jsonl.IsObject(v) {
		o.All(v, "text")
	}
	return o.Raw("artifact", ref).Done()
}

// textMedia is the media type of texts that become artifacts.
const textMedia = "text/plain; charset=utf-8"

// wholeResults gives the results that the agent has in files of their own an artifact with the whole text. With inline,
// the text takes the place of what the result shows of it.
func (a *attachments) wholeResults(ctx context.Context, payload []byte, whole [][]byte, inline bool) []byte {
	i := -1
	results := eachValue(jsonl.Get(payload, "results"), func(v []byte) []byte {
		if i++; i >= len(whole) || whole[i] == nil {
			return v
		}
		safe, err := a.tx.Tape().Redact(jsonl.Draft{Kind: record.KindToolResult, Payload: record.NewObject(len(whole[i])).Str("text", string(whole[i])).Done()})
		if err != nil {
			a.err = cmp.Or(a.err, err)
			return v
		}
		text := jsonl.Get(safe.Payload, "text")
		if inline {
			return text
		}
		ref := a.store(ctx, textMedia, "", []byte(record.Text(text)))
		plain, all := record.Plain(v)
		if ref == nil || !all {
			return v
		}
		return record.NewObject(len(ref)+len(plain)).Raw("text", plain).Raw("artifact", ref).Done()
	})
	return record.NewObject(len(payload)).Raw("results", results).All(payload, "results").Done()
}

// shrunk replaces every long text in a payload that is too large with a preview and an artifact.
func (a *attachments) shrunk(ctx context.Context, v []byte, depth int) []byte {
	switch {
	case depth == 0 || len(v) <= maxInline:
		return v
	case v[0] == '"':
		return a.result(ctx, v)
	case jsonl.Get(v, "function", "arguments") != nil:
		return a.call(ctx, v)
	case jsonl.GetString(v, "role") != "":
		if content := jsonl.Get(v, "content"); len(content) > maxInline && content[0] == '"' {
			part := record.NewObject(64).Str("type", "text").All(a.result(ctx, content)).Done()
			v = record.NewObject(len(part)).Str("role", jsonl.GetString(v, "role")).Raw("content", record.Array([][]byte{part})).All(v, "role", "content").Done()
		}
	case len(jsonl.GetString(v, "text")) > maxInline:
		v = a.result(ctx, v)
	}
	return eachValue(v, func(v []byte) []byte { return a.shrunk(ctx, v, depth-1) })
}

// call replaces the long texts in the arguments of a call with previews. The artifact has the arguments as they were.
func (a *attachments) call(ctx context.Context, v []byte) []byte {
	args := jsonl.GetString(v, "function", "arguments")
	ref := a.store(ctx, "application/json", "", []byte(args))
	if ref == nil {
		return v
	}
	short := display.KeepEnds(args, previewEach)
	if whole := []byte(args); jsonl.IsObject(whole) {
		short = string(eachValue(whole, func(v []byte) []byte {
			if text, ok := jsonl.String(v); ok {
				return record.Quote(display.KeepEnds(text, previewEach))
			}
			return v
		}))
	}
	function := record.NewObject(len(short)).All(jsonl.Get(v, "function"), "arguments").Str("arguments", short).Done()
	return record.NewObject(len(function)).All(v, "function").Raw("function", function).Raw("artifact", ref).Done()
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
