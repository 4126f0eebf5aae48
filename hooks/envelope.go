package hooks

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// The keys of an [Envelope] that the runtime knows.
const (
	KeyMessageID     = "message_id" // the same when a message comes again after a crash
	KeySession       = "session_id"
	KeyChannel       = "channel"
	KeyChat          = "chat_id"
	KeyContent       = "content"        // text, or parts in OpenAI's form
	KeyMedia         = "media"          // []Media
	KeyKind          = "kind"           // KindNormal, KindError or KindCommand
	KeyActive        = "is_active"      // whether the message was meant for the agent
	KeyContext       = "context"        // what a channel tells of a message: sender, time, …
	KeyStage         = "stage"          // of a message of KindError: that of Plugin.OnError; other than StageTurn, the turn goes on
	KeyNoModel       = "no_model"       // true: it is no answer, but the prompt, as no model has run
	KeyOutputChannel = "output_channel" // where an answer goes, if not to channel
	KeyEdited        = "edited"         // true: its sender has changed it since; while the one with the same id waits, this is it
)

// The kinds of messages.
const (
	KindNormal  = "normal"
	KindError   = "error"
	KindCommand = "command"
)

// Envelope is a message, in or out. Plugins may add keys of their own.
type Envelope map[string]any

// Text gives a value as text: "" if it is missing or nil.
func (e Envelope) Text(key string) string {
	switch v := e[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64: // as JSON has numbers: an id of many digits stays as it is
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

// Clone returns a copy whose keys can be set without changing e.
func (e Envelope) Clone() Envelope { return maps.Clone(e) }

// Media is a file that came with a message.
type Media struct {
	Type string `json:"type"` // MIME type
	Name string `json:"name,omitempty"`
	Data []byte `json:"data"`
}

// State is what the plugins share in one turn. One turn's hooks are called one after the
// other; tools that run side by side must not write to it.
type State map[string]any

// The keys of a [State] that the runtime sets or reads.
const (
	StateWorkspace = "_runtime_workspace" // the project's folder
	StateTapes     = "tape_workspace"     // the folder of the workspace with the tapes
	StateModel     = "model"              // provider:model for this turn, over the configured one
)

// Part is a part of a prompt with several, in OpenAI's form.
type Part = map[string]any

// Prompt is what the model is asked: Text, or Parts if there are any.
type Prompt struct {
	Text  string
	Parts []Part
}

// Empty reports whether the prompt says nothing.
func (p Prompt) Empty() bool { return p.Text == "" && len(p.Parts) == 0 }

// contentPrompt is a message's content as a prompt.
func contentPrompt(m Envelope) Prompt {
	switch content := m[KeyContent].(type) {
	case []Part:
		return Prompt{Parts: content}
	case []any: // as JSON is decoded
		var parts []Part
		for _, c := range content {
			if part, ok := c.(Part); ok {
				parts = append(parts, part)
			}
		}
		return Prompt{Parts: parts}
	}
	return Prompt{Text: m.Text(KeyContent)}
}

// words are the texts of a prompt, a line each.
func (p Prompt) words() string {
	if len(p.Parts) == 0 {
		return p.Text
	}
	var texts []string
	for _, part := range p.Parts {
		if text := Envelope(part).Text("text"); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}
