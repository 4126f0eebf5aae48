package hooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// The keys of an [Envelope] that the runtime knows.
const (
	KeyMessageID     = "message_id" // the same when a message is delivered again after a crash
	KeySession       = "session_id"
	KeyChannel       = "channel"
	KeyChat          = "chat_id"
	KeyContent       = "content"        // text, or parts in OpenAI's form
	KeyMedia         = "media"          // []Media
	KeyKind          = "kind"           // KindNormal, KindError or KindCommand
	KeyActive        = "is_active"      // whether the message was meant for the agent
	KeyContext       = "context"        // what the channel says about the message: sender, time, …
	KeyStage         = "stage"          // with KindError: the stage of Plugin.OnError; unless it is StageTurn, the turn goes on
	KeyPartial       = "partial"        // with KindError: what was said before it, for a channel that does not show a turn as it runs
	KeyNoModel       = "no_model"       // true: the content is the prompt, because no model has run
	KeyOutputChannel = "output_channel" // the channel for the answer, if not KeyChannel
	KeyAdmission     = "admission"      // an Admission: what the sender wants to happen to the message if it comes during a turn
	KeyEdited        = "edited"         // true: the sender edited the message; it replaces the message with the same id if that still waits
)

// The kinds of messages.
const (
	KindNormal  = "normal"
	KindError   = "error"
	KindCommand = "command"
)

// Envelope is a message, in or out. Plugins may add keys of their own.
type Envelope map[string]any

// Text returns a value as text: "" if it is missing or nil.
func (e Envelope) Text(key string) string {
	switch v := e[key].(type) {
	case nil:
		return ""
	case string:
		return v
	case float64: // a number from JSON; an id of many digits must not become 1e+12
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

// Files returns the files of a message, also if the message was decoded from JSON.
func (e Envelope) Files() (out []Media, err error) {
	out, ok := e[KeyMedia].([]Media)
	if ok || e[KeyMedia] == nil {
		return out, nil
	}
	raw, err := json.Marshal(e[KeyMedia])
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("the media of the message cannot be used: %w", err)
	}
	return out, nil
}

// State is what the plugins share during one turn. A turn's hooks run one after the other; tools
// that run in parallel must not write to it.
type State map[string]any

// The keys of a [State] that the runtime sets or reads.
const (
	StateWorkspace = "_runtime_workspace" // the project's folder
	StateTapes     = "tape_workspace"     // the folder of the workspace that holds the tapes
	StateModel     = "model"              // provider:model for this turn, instead of the configured one
)

// Part is one part of a prompt, in OpenAI's form.
type Part = map[string]any

// Prompt is what the model is asked: Text, or Parts if there are any.
type Prompt struct {
	Text  string
	Parts []Part
}

// Empty reports whether the prompt has neither text nor parts.
func (p Prompt) Empty() bool { return p.Text == "" && len(p.Parts) == 0 }

// contentPrompt makes a prompt of a message's content.
func contentPrompt(m Envelope) Prompt {
	switch content := m[KeyContent].(type) {
	case []Part:
		return Prompt{Parts: content}
	case []any: // decoded from JSON
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

// plainText joins the texts of a prompt's parts with newlines.
func (p Prompt) plainText() string {
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
