package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"tape/hooks"
	"tape/internal/text/jsonl"
	"tape/repo/view"
)

// The APIs.
const (
	apiChat      = "chat"      // https://platform.openai.com/docs/api-reference/chat/create
	apiResponses = "responses" // https://platform.openai.com/docs/api-reference/responses/create
	apiMessages  = "messages"  // https://docs.anthropic.com/en/api/messages
)

// request is a request as it is sent, with what may have to be left out of the next one.
type request struct {
	api   string
	path  string
	body  []byte
	whole bool // the answer is not streamed
	limit int  // of the answer, in tokens; 0: none is sent
	event func(a *answer, data []byte) error

	system, kept, usage, cache bool     // what it has
	lists                      bool     // a content is a list
	images                     []string // the pictures and files in it, by [pictureID]
	tools                      []hooks.Tool
}

// object is a JSON object whose members are kept as they are.
type object = map[string]json.RawMessage

// request makes the request for a model, without what its server is known to refuse.
func (p *provider) request(model string, r Request, h habits) request {
	q := request{api: p.api, whole: p.whole || h.gave(withoutStream), system: r.System != "", tools: h.tools(r.Tools)}
	if q.limit = r.MaxTokens; q.limit == 0 {
		q.limit = p.maxTokens
	}
	if q.limit == 0 && p.api == apiMessages {
		q.limit = outputLimit(model)
	}
	for _, most := range []int{h.limit, h.once} {
		if most > 0 && (q.limit == 0 || most < q.limit) {
			q.limit = most
		}
	}
	list := decoded(r.Messages)
	list, q.images = withPictures(list, func(id string) bool { return !h.gave(withoutPictures) && !h.image[id] })
	var kept []Kept
	for _, k := range r.Kept {
		if k.By == p.id(model) && !h.gave(withoutKept) {
			kept = append(kept, k)
		}
	}
	q.kept = len(kept) > 0
	var body object
	switch p.api {
	case apiMessages:
		q.path, q.event = "/v1/messages", messagesEvent
		body = q.messages(r.System, list, kept, h)
	case apiResponses:
		q.path, q.event = "/responses", responsesEvent
		body = q.responses(r.System, list, kept, h)
	default:
		q.path, q.event = "/chat/completions", chatEvent
		body = q.chat(p, model, r.System, list, kept, h)
	}
	body["model"] = jsonl.AppendString(nil, model)
	body["stream"] = boolean(!q.whole)
	q.body = encode(body)
	return q
}

// message is a message of a request.
type message struct {
	raw json.RawMessage // as it was given
	m   object          // nil: raw is no object, or nothing has read it
}

func decoded(list []json.RawMessage) []message {
	out := make([]message, len(list))
	for i, raw := range list {
		out[i].raw = raw
		_ = json.Unmarshal(raw, &out[i].m) // what is no object is sent as it is
	}
	return out
}

// set changes a member. The members of the message as it was given stay as they are.
func (m *message) set(name string, v json.RawMessage) {
	copied := make(object, len(m.m)+1)
	for k, old := range m.m {
		copied[k] = old
	}
	copied[name] = v
	m.m, m.raw = copied, encode(copied)
}

func (m message) role() string { text, _ := jsonl.String(m.m["role"]); return text }

// text returns the content if it is a string, or missing.
func (m message) text() (string, bool) {
	raw := m.m["content"]
	if len(raw) == 0 || string(raw) == "null" {
		return "", true
	}
	return jsonl.String(raw)
}

func (m message) calls() []json.RawMessage {
	var list []json.RawMessage
	_ = json.Unmarshal(m.m["tool_calls"], &list) // no list: no calls
	return list
}

func raws(list []message) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, m := range list {
		out[i] = m.raw
	}
	return out
}

// encode returns JSON without HTML escapes, with sorted members, so that equal requests are the same bytes: servers keep
// what they have computed of a prefix.
func encode(v any) json.RawMessage {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null") // only invalid raw JSON fails, and the server names it
	}
	return json.RawMessage(strings.TrimSuffix(out.String(), "\n"))
}

func quoted(text string) json.RawMessage { return jsonl.AppendString(nil, text) }

func boolean(yes bool) json.RawMessage {
	if yes {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// textPicture stands for a picture that a server does not take.
const textPicture = "[a picture or file was here: this model does not take it]"

// isPicture reports whether a part of a content is a picture, or a file of another kind.
func isPicture(part []byte) bool {
	switch jsonl.GetString(part, "type") {
	case "image_url", "image", "input_image", "input_audio", "video_url", "file", "document":
		return true
	}
	return false
}

// pictureID identifies a picture or a file.
func pictureID(part []byte) string {
	sum := sha256.Sum256(part)
	return hex.EncodeToString(sum[:8])
}

// withPictures returns messages with a text in the place of each picture that is not wanted, and the ids of the others.
func withPictures(list []message, wanted func(id string) bool) (out []message, ids []string) {
	changed := false
	var parts func(content json.RawMessage) json.RawMessage
	parts = func(content json.RawMessage) json.RawMessage {
		var out []json.RawMessage
		for part := range jsonl.Elements(content) {
			inner := jsonl.Get(part, "content")
			switch {
			case isPicture(part) && wanted(pictureID(part)):
				ids = append(ids, pictureID(part))
			case isPicture(part):
				changed = true
				part = encode(map[string]string{"type": "text", "text": textPicture})
			case len(inner) > 0 && inner[0] == '[':
				var m object
				if json.Unmarshal(part, &m) == nil {
					before := changed
					changed = false
					m["content"] = parts(inner)
					if changed {
						part = encode(m)
					}
					changed = changed || before
				}
			}
			out = append(out, part)
		}
		return encode(out)
	}
	for i, m := range list {
		content := m.m["content"]
		if len(content) == 0 || content[0] != '[' {
			continue
		}
		changed = false
		if next := parts(content); changed {
			list[i].set("content", next)
		}
	}
	return list, ids
}

// idsOf returns the ids of the calls in a message, in either form.
func idsOf(m message) (ids []string) {
	for _, c := range m.calls() {
		ids = append(ids, jsonl.GetString(c, "id"))
	}
	for block := range jsonl.Elements(m.m["content"]) {
		if jsonl.GetString(block, "type") == "tool_use" {
			ids = append(ids, jsonl.GetString(block, "id"))
		}
	}
	return ids
}

// keptFor calls f for each message with calls of which something was kept. Both lists are in the order of the
// conversation, because ids of calls may come again.
func keptFor(list []message, kept []Kept, f func(m *message, k Kept)) {
	for i := range list {
		ids := idsOf(list[i])
		if len(ids) == 0 {
			continue
		}
		for n, k := range kept {
			if equalIDs(ids, k.Calls) {
				f(&list[i], k)
				kept = kept[n+1:]
				break
			}
		}
	}
}

func equalIDs(shown, kept []string) bool {
	if len(shown) != len(kept) {
		return false
	}
	for i, id := range shown {
		// Views shorten ids, and replace characters in them that a provider does not accept.
		if id != kept[i] && view.ToolName(id) != view.ToolName(kept[i]) {
			return false
		}
	}
	return true
}
