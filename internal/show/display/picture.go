package display

import (
	"strings"

	"tape/internal/text/jsonl"
)

// Picture returns the picture in a part of a message or result, in the form of any provider:
// {"type":"image","source":{"media_type","data"}}, {"data","mimeType"}, {"inlineData":{…}}, or
// {"image_url":"data:…"} and {"image_url":{"url":"data:…"}}. The data is base64; "" if there is
// none.
func Picture(part []byte) (media, data string) {
	for _, at := range [][]string{nil, {"source"}, {"inlineData"}, {"inline_data"}} {
		obj := jsonl.Get(part, at...)
		for _, key := range []string{"mimeType", "mime_type", "media_type"} {
			if m := jsonl.GetString(obj, key); m != "" {
				media, data = m, jsonl.GetString(obj, "data")
			}
		}
	}
	for _, at := range [][]string{{"image_url"}, {"image_url", "url"}} {
		if head, body, ok := strings.Cut(jsonl.GetString(part, at...), ";base64,"); ok && strings.HasPrefix(head, "data:") {
			media, data = head[len("data:"):], body
		}
	}
	const inBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	if !strings.HasPrefix(media, "image/") || strings.Trim(data, inBase64) != "" {
		return "", ""
	}
	return media, data
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
