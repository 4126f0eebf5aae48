package view

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Limits of what a model sees of an artifact, in bytes.
const (
	previewBytes = 2000    // of a text
	imageBytes   = 5 << 20 // of an image
)

// expander puts the content of a tape's artifacts into the payloads of entries.
type expander struct {
	picturesOnly bool
	textsOnly    bool
	texts        int64 // limit of a text in bytes; 0 for a short preview
	err          error // of reading; a missing artifact is not an error
	open         func(id string) (io.ReadCloser, error)
}

// WithArtifacts puts into an entry what a model sees of the artifacts that it refers to: a picture, or the
// beginning of a text and how to read on. It is for entries that are given to Messages.
func WithArtifacts(ctx context.Context, t *repo.Tape, e repo.Entry) (repo.Entry, error) {
	return (&expander{}).entry(ctx, t, e)
}

// WithPictures puts into an entry the pictures that it refers to.
func WithPictures(ctx context.Context, t *repo.Tape, e repo.Entry) (repo.Entry, error) {
	return (&expander{picturesOnly: true}).entry(ctx, t, e)
}

// WithTexts puts into an entry the texts that it refers to, each up to most bytes; 0 means all.
func WithTexts(ctx context.Context, t *repo.Tape, e repo.Entry, most int64) (repo.Entry, error) {
	return (&expander{texts: cmp.Or(most, layout.ArtifactLimit), textsOnly: true}).entry(ctx, t, e)
}

// Inlined puts all texts and pictures that an entry refers to into the entry and its line.
func Inlined(ctx context.Context, t *repo.Tape, e repo.Entry) (repo.Entry, error) {
	out, err := (&expander{texts: layout.ArtifactLimit}).entry(ctx, t, e)
	out.Raw = bytes.Replace(e.Raw, e.Payload, out.Payload, 1)
	return out, err
}

// Each applies show, for example WithArtifacts, to the entries of a tape.
func Each(ctx context.Context, t *repo.Tape, entries iter.Seq2[repo.Entry, error], show func(context.Context, *repo.Tape, repo.Entry) (repo.Entry, error)) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				e, err = show(ctx, t, e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s *expander) entry(ctx context.Context, t *repo.Tape, e repo.Entry) (repo.Entry, error) {
	if e.Kind == repo.KindAnchor || !bytes.Contains(e.Payload, []byte(layout.ArtifactKey)) {
		return e, nil
	}
	s.open = func(id string) (io.ReadCloser, error) { return t.Artifact(ctx, id) }
	switch e.Kind {
	case repo.KindMessage:
		e.Payload = s.message(e.Payload)
	case repo.KindToolResult:
		e.Payload = replaced(e.Payload, "results", s.results(jsonl.Get(e.Payload, "results")))
	}
	return e, s.err
}

// message shows the artifacts of the parts of a message, and that of the message itself.
func (s *expander) message(payload []byte) []byte {
	content := s.parts(jsonl.Get(payload, "content"))
	beside := s.part(payload)
	if beside == nil {
		return replaced(payload, "content", content)
	}
	text, isText := jsonl.String(content)
	note, isNote := jsonl.String(jsonl.Get(beside, "text"))
	switch {
	case isText && isNote:
		content = jsonl.AppendString(nil, strings.TrimPrefix(text+"\n\n"+note, "\n\n"))
	case isText:
		content = list(append(textBlock(text), ','), beside)
	case len(content) > 0 && content[0] == '[' && len(content) > len("[]"):
		content = list(append(bytes.TrimSuffix(bytes.Clone(content[1:]), []byte("]")), ','), beside)
	default:
		content = list(beside)
	}
	return replaced(payload, "content", content)
}

func list(parts ...[]byte) []byte {
	return append(append([]byte("["), bytes.Join(parts, nil)...), ']')
}

// parts shows the artifacts of an array of parts. Other content stays.
func (s *expander) parts(content []byte) []byte {
	if len(content) == 0 || content[0] != '[' {
		return content
	}
	var out [][]byte
	for el := range jsonl.Elements(content) {
		if shown := s.part(el); shown != nil {
			el = shown
		}
		out = append(out, el)
	}
	return append(append([]byte("["), bytes.Join(out, []byte(","))...), ']')
}

// results shows the artifacts of results. An artifact replaces the result that has it.
func (s *expander) results(results []byte) []byte {
	if len(results) == 0 || results[0] != '[' {
		return results
	}
	var out [][]byte
	for el := range jsonl.Elements(results) {
		switch shown := s.part(el); {
		case shown == nil:
			el = s.parts(el)
		case jsonl.Get(shown, "text") != nil:
			el = jsonl.Get(shown, "text")
		default:
			el = list(shown)
		}
		out = append(out, el)
	}
	return append(append([]byte("["), bytes.Join(out, []byte(","))...), ']')
}

// part returns a message part that shows the artifact of an object; nil if there is nothing to show.
func (s *expander) part(obj []byte) []byte {
	refs := layout.Artifacts([]byte(`{"artifact":` + string(jsonl.Get(obj, "artifact")) + `}`))
	if !jsonl.IsObject(obj) || len(refs) != 1 {
		return nil
	}
	a := refs[0]
	isImage := part{media: a.MIMEType, data: "x"}.isShown() && a.Size <= imageBytes
	if s.picturesOnly && !isImage || s.textsOnly && isImage {
		return nil
	}
	limit := int64(previewBytes)
	switch {
	case isImage:
		limit = a.Size
	case s.texts > 0:
		limit = s.texts
	}
	data, err := s.read(a, limit)
	if isImage && err == nil {
		return fmt.Appendf(nil, `{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, a.MIMEType, base64.StdEncoding.EncodeToString(data))
	}
	if s.texts > 0 {
		if data = wholeRunes(data); err != nil || !utf8.Valid(data) {
			return nil
		}
		return textBlock(string(data))
	}
	var texts []string
	for _, key := range []string{"text", "preview", "content"} { // what the object itself says about it
		if text := jsonl.GetString(obj, key); text != "" && jsonl.GetString(obj, "role") == "" {
			texts = append(texts, text)
		}
	}
	return textBlock(strings.Join(append(texts, note(a, data, err, len(texts) > 0)), "\n"))
}

func (s *expander) read(a repo.Artifact, limit int64) ([]byte, error) {
	r, err := s.open(a.ID)
	if err != nil {
		if !errors.Is(err, repo.ErrNotFound) {
			s.err = err
		}
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, limit))
}

// note describes an artifact, with the beginning of a text unless the object already shows it.
func note(a repo.Artifact, data []byte, err error, shown bool) string {
	about := a.About() + ", id " + a.ID
	data = wholeRunes(data)
	switch {
	case err != nil:
		return "[artifact " + about + ": it is not here]"
	case shown || !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return "[artifact " + about + ": read it by its id]"
	case int64(len(data)) == a.Size:
		return "[artifact " + about + "]\n" + string(data)
	}
	return fmt.Sprintf("[artifact %s: its first %d bytes]\n%s\n[read on by its id, from offset %d]", about, len(data), data, len(data))
}

// wholeRunes removes a character that was cut off at the end.
func wholeRunes(data []byte) []byte {
	for i := 1; i <= min(utf8.UTFMax-1, len(data)); i++ {
		if last := data[len(data)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

// replaced returns an object with a new value for a key, which is added if it is missing.
func replaced(obj []byte, name string, value []byte) []byte {
	if value == nil {
		return obj
	}
	out, found := []byte("{"), false
	add := func(key string, v []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(jsonl.AppendString(out, key), ':'), v...)
	}
	for key, v := range jsonl.Fields(obj) {
		if key == name {
			v, found = value, true
		}
		add(key, v)
	}
	if !found {
		add(name, value)
	}
	return append(out, '}')
}
