package view

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
)

type partKind int

const (
	partText partKind = iota
	partRefusal
	partImage
	partFile
	partAudio
	partThinking // Anthropic's, signed
	partCall
	partResult
)

type part struct {
	kind   partKind
	text   string // of text and refusals
	url    string // of an image or file whose data the message does not have
	media  string // the media type, or the format of audio
	data   string // base64
	name   string // of a file
	detail string // of an image
	fileID string
	raw    []byte // of thinking, calls and results, as recorded
}

// parseContent reads the content of a message. plain means that it was not an array.
func parseContent(raw []byte) (parts []part, plain bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, true
	}
	if s, ok := jsonl.String(raw); ok {
		return []part{{kind: partText, text: s}}, true
	}
	elements := [][]byte{raw}
	switch raw[0] {
	case '[':
		elements = slices.Collect(jsonl.Elements(raw))
	case '{':
	default:
		return []part{{kind: partText, text: jsonText(raw)}}, true
	}
	for _, el := range elements {
		if p, ok := parsePart(el); ok {
			parts = append(parts, p)
		}
	}
	return parts, false
}

// parsePart reads a part. It returns false if no format shows the part.
func parsePart(el []byte) (part, bool) {
	if s, ok := jsonl.String(el); ok {
		return part{kind: partText, text: s}, s != ""
	}
	str := func(path ...string) string { return jsonl.GetString(el, path...) }
	switch str("type") {
	case "text", "input_text", "output_text":
		return part{kind: partText, text: str("text")}, str("text") != ""
	case "refusal":
		return part{kind: partRefusal, text: str("refusal")}, str("refusal") != ""
	case "image_url", "input_image":
		url := cmp.Or(str("image_url"), str("image_url", "url"))
		detail := str("detail") + str("image_url", "detail")
		if url != "" {
			return imagePart(url, detail), true
		}
	case "image", "document":
		if p, ok := parseSource(el); ok {
			return p, true
		}
	case "input_audio":
		if p := (part{kind: partAudio, media: str("input_audio", "format"), data: str("input_audio", "data")}); p.data != "" {
			return p, true
		}
	case "file", "input_file":
		if url := str("url"); url != "" && strings.HasPrefix(str("mime"), "image/") { // opencode's
			return imagePart(url, ""), true
		}
		return parseFile(el), true
	case "thinking", "redacted_thinking":
		signed := str("signature") != "" || str("data") != ""
		return part{kind: partThinking, raw: el}, signed
	case "reasoning":
		return part{}, false
	case "tool_use":
		return part{kind: partCall, raw: el}, true
	case "tool_result":
		return part{kind: partResult, raw: el}, true
	case "":
		if s := str("text"); s != "" {
			return part{kind: partText, text: s}, true
		}
	}
	return part{kind: partText, text: jsonText(el)}, true
}

// imagePart returns the image at a URL. A data URL contains the image itself.
func imagePart(url, detail string) part {
	p := part{kind: partImage, detail: detail}
	if media, data, ok := dataURL(url); ok {
		p.media, p.data = media, data
	} else {
		p.url = url
	}
	return p
}

// parseSource reads Anthropic's images and documents.
func parseSource(el []byte) (part, bool) {
	str := func(path ...string) string { return jsonl.GetString(el, path...) }
	p := part{kind: partImage, name: str("title"), media: str("source", "media_type"), data: str("source", "data"), url: str("source", "url")}
	if str("type") == "document" {
		p.kind = partFile
	}
	switch str("source", "type") {
	case "base64":
		return p, p.data != ""
	case "url":
		p.data = ""
		return p, p.url != ""
	case "text":
		return part{kind: partText, text: p.data}, p.data != ""
	}
	return part{}, false
}

// parseFile reads files of both of OpenAI's interfaces.
func parseFile(el []byte) part {
	if f := jsonl.Get(el, "file"); f != nil {
		el = f
	}
	p := part{kind: partFile, name: jsonl.GetString(el, "filename"), fileID: jsonl.GetString(el, "file_id"), url: jsonl.GetString(el, "file_url")}
	file := jsonl.GetString(el, "file_data")
	if media, data, ok := dataURL(file); ok {
		p.media, p.data = media, data
	} else {
		p.data = file
	}
	return p
}

// isShown reports whether providers accept the image.
func (p part) isShown() bool {
	switch p.media {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return p.data != ""
	}
	return isWeb(p.url)
}

func isWeb(url string) bool {
	return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
}

// dataURL splits data:image/png;base64,…
func dataURL(url string) (media, data string, ok bool) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	media, isBase64 := strings.CutSuffix(head, ";base64")
	media, _, _ = strings.Cut(media, ";")
	return strings.ToLower(media), data, ok && isBase64
}

// label describes a part in text, if a provider cannot show it.
func (p part) label() string {
	what := map[partKind]string{partImage: "image", partFile: "file", partAudio: "audio", partThinking: "reasoning"}[p.kind]
	for _, more := range []string{p.name, p.media, p.url, p.fileID} {
		if more != "" {
			what += " " + shorten(more, 200)
		}
	}
	return "[" + what + ": not shown]"
}

// asText returns the text that stands for a part where only text is possible.
func (p part) asText() string {
	switch p.kind {
	case partText, partRefusal:
		return p.text
	case partCall, partResult:
		return jsonText(p.raw)
	}
	return p.label()
}

// jsonText returns recorded JSON as text: compact, without needless escapes.
func jsonText(raw []byte) string { return string(jsonl.Unescape(nil, raw)) }

// cleanJSON returns recorded JSON as JSON: compact, and without unpaired surrogates, which many readers refuse.
func cleanJSON(raw []byte) []byte {
	out := jsonl.Unescape(nil, raw)
	for i := 0; i < len(out); i += 2 {
		at := bytes.IndexByte(out[i:], '\\')
		if at < 0 {
			break
		}
		if i += at; len(out) < i+6 || out[i+1] != 'u' {
			continue
		}
		if hex := out[i+2 : i+6]; (hex[0] == 'd' || hex[0] == 'D') && bytes.IndexByte([]byte("89abcdefABCDEF"), hex[1]) >= 0 {
			copy(hex, "fffd")
		}
	}
	return out
}
