// Package api has the types of the host's requests and answers, from which the OpenAPI document is
// made, and its errors.
package api

import (
	"encoding/json"
	"errors"
	"time"
)

// Party is a person, a bot or a thing that takes part in a run.
type Party struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// Input is what a run has to answer.
type Input struct {
	Text        string            `json:"text,omitempty"`
	Contents    []json.RawMessage `json:"contents,omitempty"`
	Attachments []json.RawMessage `json:"attachments,omitempty"`
}

// Manifest says what a runner needs and supports.
type Manifest struct {
	Scopes                *[]string `json:"scopes,omitempty" jsonschema:"what the runner needs; missing: all but cross_conversation"`
	Bootstrap             string    `json:"bootstrap,omitempty" jsonschema:"none, current_event, recent_tail or summary_tail; missing: recent_tail where the host begins the context, else none"`
	MaxInlineEvents       int       `json:"max_inline_events,omitempty"`
	MaxInlineBytes        int       `json:"max_inline_bytes,omitempty"`
	MaxRound              int       `json:"max_round,omitempty" jsonschema:"for old bindings: the same as recent_tail with this many rounds"`
	Ownership             string    `json:"ownership,omitempty" jsonschema:"self_managed: at most the current event is inlined; host_bootstrap or hybrid: the host begins the context; missing: what bootstrap needs"`
	OwnsCompaction        bool      `json:"owns_compaction,omitempty"`
	WantsStaticContextRef bool      `json:"wants_static_context_refs,omitempty"`
	SupportsHistoryPull   *bool     `json:"supports_history_pull,omitempty" jsonschema:"false: the runner reads no pages of the history, and may not"`
	SupportsHistorySearch *bool     `json:"supports_history_search,omitempty" jsonschema:"false: the runner does not search, and may not"`
	SupportsArtifactPull  *bool     `json:"supports_artifact_pull,omitempty" jsonschema:"false: the runner reads no artifacts, and may not"`
}

// Policy is what a binding allows.
type Policy struct {
	Scopes   *[]string `json:"scopes,omitempty"`
	Unmasked bool      `json:"unmasked,omitempty" jsonschema:"secrets are not masked in what the run reads"`
}

// Conversation is the name of a tape, which is created if needed. In JSON it may also be an object
// with a conversation_id.
type Conversation string

// UnmarshalJSON reads both forms. Other members of the object are ignored.
func (c *Conversation) UnmarshalJSON(data []byte) error {
	var object struct {
		ID *string `json:"conversation_id"`
	}
	if len(data) == 0 || data[0] != '{' {
		return json.Unmarshal(data, (*string)(c))
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	if object.ID == nil {
		return errors.New("conversation has no conversation_id")
	}
	*c = Conversation(*object.ID)
	return nil
}

// RunRequest starts a run.
type RunRequest struct {
	Runner       string                     `json:"runner"`
	Binding      string                     `json:"binding,omitempty"`
	Workspace    string                     `json:"workspace,omitempty"`
	Bot          string                     `json:"bot,omitempty"`
	Tape         string                     `json:"tape,omitempty" jsonschema:"another name for conversation"`
	Conversation Conversation               `json:"conversation,omitempty"`
	Thread       string                     `json:"thread,omitempty"`
	Event        json.RawMessage            `json:"event,omitempty"`
	Input        Input                      `json:"input,omitzero"`
	Actor        Party                      `json:"actor,omitzero"`
	Subject      Party                      `json:"subject,omitzero"`
	Scopes       []string                   `json:"scopes,omitempty"`
	DeadlineS    int64                      `json:"deadline_s,omitempty" jsonschema:"an hour if missing, at most a day"`
	Manifest     Manifest                   `json:"manifest,omitzero"`
	Policy       Policy                     `json:"policy,omitzero"`
	Static       map[string]json.RawMessage `json:"static,omitempty" jsonschema:"system prompt, tool schemas and the like, by name"`
	Delivery     json.RawMessage            `json:"delivery,omitempty"`
	Config       map[string]json.RawMessage `json:"config,omitempty"`
}

// Given is the part of a request that the run's context repeats.
type Given struct {
	Event    json.RawMessage            `json:"event,omitempty"`
	Input    Input                      `json:"input,omitzero"`
	Actor    Party                      `json:"actor,omitzero"`
	Subject  Party                      `json:"subject,omitzero"`
	Delivery json.RawMessage            `json:"delivery,omitempty"`
	Config   map[string]json.RawMessage `json:"config,omitempty"`
}

// RunStarted is a run with its token, which is shown only here.
type RunStarted struct {
	RunID   string     `json:"run_id"`
	Token   string     `json:"token"`
	Context RunContext `json:"context"`
}

// RunContext is what an agent starts with.
type RunContext struct {
	RunID        string                     `json:"run_id"`
	Trigger      string                     `json:"trigger"`
	Event        json.RawMessage            `json:"event"`
	Conversation string                     `json:"conversation"`
	Actor        Party                      `json:"actor"`
	Subject      Party                      `json:"subject"`
	Input        Input                      `json:"input"`
	Delivery     json.RawMessage            `json:"delivery"`
	Resources    map[string]json.RawMessage `json:"resources"`
	Context      ContextAccess              `json:"context"`
	State        map[string]json.RawMessage `json:"state"`
	Runtime      Runtime                    `json:"runtime"`
	Config       map[string]json.RawMessage `json:"config"`
	Bootstrap    []Item                     `json:"bootstrap"`
}

// ContextAccess says what a run can read.
type ContextAccess struct {
	ConversationID   string       `json:"conversation_id"`
	ThreadID         string       `json:"thread_id"`
	LatestCursor     string       `json:"latest_cursor"`
	EventSeq         int64        `json:"event_seq"`
	TranscriptSeq    int64        `json:"transcript_seq"`
	HasHistoryBefore bool         `json:"has_history_before"`
	InlinePolicy     InlinePolicy `json:"inline_policy"`
	AvailableAPIs    []string     `json:"available_apis"`
}

// InlinePolicy says how much of the history comes with the context.
type InlinePolicy struct {
	Bootstrap       string `json:"bootstrap"`
	MaxInlineEvents int    `json:"max_inline_events"`
	MaxInlineBytes  int    `json:"max_inline_bytes"`
	Ownership       string `json:"ownership"`
}

// Runtime says what a run is bound to.
type Runtime struct {
	Runner     string    `json:"runner"`
	Binding    string    `json:"binding"`
	SessionKey string    `json:"session_key"`
	Scopes     []string  `json:"scopes"`
	Deadline   time.Time `json:"deadline"`
}

// RunAnswer is the present state of a run.
type RunAnswer struct {
	RunID          string    `json:"run_id"`
	Runner         string    `json:"runner"`
	Binding        string    `json:"binding"`
	ConversationID string    `json:"conversation_id"`
	ThreadID       string    `json:"thread_id"`
	Status         string    `json:"status" jsonschema:"running, completed, failed, cancelled, or expired: its deadline passed"`
	Scopes         []string  `json:"scopes"`
	StartedAt      time.Time `json:"started_at"`
	Deadline       time.Time `json:"deadline"`
	Pending        int       `json:"steering_pending"`
}

// Steer is a message to a running agent.
type Steer struct {
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

// SteerRequest sends a message to a run.
type SteerRequest struct {
	Text string `json:"text"`
}

// SteerAnswer has the number of waiting messages.
type SteerAnswer struct {
	Pending int `json:"pending"`
}

// SteerPulled has the messages that were waiting.
type SteerPulled struct {
	Items []Steer `json:"items"`
}

// RunResult is one result that a run reports.
type RunResult struct {
	Sequence int64           `json:"sequence" jsonschema:"1, 2, 3 and so on; a repeated one is ignored"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// ResultsRequest is a batch of results.
type ResultsRequest struct {
	Results []RunResult `json:"results"`
}

// ResultsAnswer says what was done with a batch.
type ResultsAnswer struct {
	Accepted int      `json:"accepted"`
	Ignored  int      `json:"ignored"`
	Warnings []string `json:"warnings"`
	Status   string   `json:"status"`
}

// Item is an entry in a transcript.
type Item struct {
	TranscriptID    string            `json:"transcript_id"`
	EventID         string            `json:"event_id"`
	ConversationID  string            `json:"conversation_id"`
	ThreadID        string            `json:"thread_id"`
	Role            string            `json:"role"`
	ItemType        string            `json:"item_type"`
	Content         string            `json:"content"`
	ContentJSON     json.RawMessage   `json:"content_json"`
	AttachmentRefs  []json.RawMessage `json:"attachment_refs"`
	Seq             int64             `json:"seq"`
	Cursor          string            `json:"cursor"`
	CreatedAt       string            `json:"created_at"`
	Metadata        json.RawMessage   `json:"metadata"`
	Truncated       bool              `json:"truncated,omitempty"`
	FullRef         string            `json:"full_ref,omitempty" jsonschema:"where the complete text is, if it was cut"`
	ContentRedacted bool              `json:"content_redacted,omitempty"`
}

// Page is a part of a transcript.
type Page struct {
	Items      []Item `json:"items"`
	NextCursor string `json:"next_cursor" jsonschema:"continues in the same direction; empty if there is nothing to continue from"`
	PrevCursor string `json:"prev_cursor"`
	HasMore    bool   `json:"has_more"`
}

// Found is an item that matches a search.
type Found struct {
	Item
	Score   float64 `json:"score"`
	Snippet string  `json:"snippet"`
}

// Hits are the results of a search. Items may be fewer than Matches, if they are long. If Exact, Matches counts all
// matches; otherwise there may be more.
type Hits struct {
	Items   []Found `json:"items"`
	Matches int     `json:"matches"`
	Exact   bool    `json:"exact"`
}

// EventItem is an entry in full.
type EventItem struct {
	EventID        string          `json:"event_id"`
	ConversationID string          `json:"conversation_id"`
	ThreadID       string          `json:"thread_id"`
	Type           string          `json:"type" jsonschema:"the kind of the entry, or the name of an event"`
	Seq            int64           `json:"seq"`
	Cursor         string          `json:"cursor"`
	CreatedAt      string          `json:"created_at"`
	Data           json.RawMessage `json:"data"`
	Metadata       json.RawMessage `json:"metadata"`
}

// EventPage is a part of a tape.
type EventPage struct {
	Items      []EventItem `json:"items"`
	NextCursor string      `json:"next_cursor"`
	PrevCursor string      `json:"prev_cursor"`
	HasMore    bool        `json:"has_more"`
}

// OrNull returns a JSON value, and null for nil.
func OrNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}
