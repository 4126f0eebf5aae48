package channels

import (
	"strings"

	"tape/hooks"
)

// merge makes one message of several: the last one, with the texts and files of all and the id of
// the first.
func merge(list []stored) hooks.Envelope {
	if len(list) == 1 {
		return list[0].message
	}
	out := list[len(list)-1].message.Clone()
	out[hooks.KeyMessageID] = list[0].id
	var texts []string
	var parts []any
	var media []hooks.Media
	for _, k := range list {
		switch content := k.message[hooks.KeyContent].(type) {
		case []any:
			parts = append(parts, content...)
		case []hooks.Part:
			for _, p := range content {
				parts = append(parts, p)
			}
		default:
			text := k.message.Text(hooks.KeyContent)
			if text != "" {
				texts = append(texts, text)
				parts = append(parts, hooks.Part{"type": "text", "text": text})
			}
		}
		files, _ := k.message.Files() // else there are none
		media = append(media, files...)
	}
	out[hooks.KeyContent] = strings.Join(texts, "\n")
	if len(parts) > len(texts) {
		out[hooks.KeyContent] = parts
	}
	delete(out, hooks.KeyMedia)
	if len(media) > 0 {
		out[hooks.KeyMedia] = media
	}
	return out
}
