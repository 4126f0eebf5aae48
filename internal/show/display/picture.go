package display

import (
	"strings"

	"tape/internal/text/jsonl"
)

// File is a picture, a document or another file in a part of a message or result.
type File struct {
	Media string // its media type
	Name  string // "" if the part does not say it
	Data  string // base64
}

// FileOf returns the file in a part of a message or result, in the form of any provider:
// {"type":"image","source":{"media_type","data"}}, the same of a document, {"data","mimeType"}, {"inlineData":{…}},
// {"image_url":"data:…"}, {"image_url":{"url":"data:…"}}, {"file_data":"data:…"}, {"file":{"file_data":"data:…"}},
// {"mime","filename","url":"data:…"} of opencode, {"resource":{"mimeType","blob"}} of MCP, {"input_audio":{"format","data"}},
// {"filePath","base64"} of Claude Code. Its data is "" if there is none.
func FileOf(part []byte) (f File) {
	for _, at := range [][]string{nil, {"source"}, {"inlineData"}, {"inline_data"}, {"resource"}} {
		obj := jsonl.Get(part, at...)
		for _, key := range []string{"mimeType", "mime_type", "media_type"} {
			if m := jsonl.GetString(obj, key); m != "" {
				f.Media, f.Data = m, jsonl.GetString(obj, "data")+jsonl.GetString(obj, "blob")
			}
		}
	}
	for _, at := range [][]string{{"image_url"}, {"image_url", "url"}, {"url"}, {"file_data"}, {"file", "file_data"}} {
		if head, body, ok := strings.Cut(jsonl.GetString(part, at...), ";base64,"); ok && strings.HasPrefix(head, "data:") {
			f.Media, f.Data = head[len("data:"):], body
		}
	}
	if format := jsonl.GetString(part, "input_audio", "format"); format != "" {
		f.Media, f.Data = "audio/"+format, jsonl.GetString(part, "input_audio", "data")
	}
	if data := jsonl.GetString(part, "base64"); data != "" {
		f.Data = data
		if f.Media = jsonl.GetString(part, "type"); !strings.Contains(f.Media, "/") {
			f.Media = "application/pdf" // a page of one, or all of it
		}
	}
	const inBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	if f.Media == "" || f.Data == "" || strings.Trim(f.Data, inBase64) != "" {
		return File{}
	}
	for _, at := range [][]string{{"title"}, {"filename"}, {"name"}, {"file", "filename"}, {"filePath"}, {"source", "filename"}, {"inlineData", "displayName"}, {"resource", "uri"}} {
		if name := jsonl.GetString(part, at...); name != "" {
			f.Name = name[strings.LastIndexAny(name, `/\`)+1:]
			break
		}
	}
	return f
}

// Picture returns the type of the picture in a part of a message or result, and its data, as [FileOf] does; "" if there
// is none.
func Picture(part []byte) (media, data string) {
	if f := FileOf(part); strings.HasPrefix(f.Media, "image/") {
		return f.Media, f.Data
	}
	return "", ""
}

// IsShown reports whether pages show pictures of a type. They do not show SVG, which may
// contain scripts.
func IsShown(media string) bool {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
