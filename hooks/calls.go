package hooks

import (
	"context"
	"encoding/json"
	"time"
)

// ModelCall is what an agent's step is about to ask a model. Hooks may change Model, Messages
// and MaxTokens.
type ModelCall struct {
	RunID     string            `json:"run_id"`
	Model     string            `json:"model"`      // provider:model
	Messages  []json.RawMessage `json:"messages"`   // in the form of the model's API
	Tools     []string          `json:"tools"`      // names, for information
	MaxTokens int               `json:"max_tokens"` // 0: the provider's
}

// ModelDecision is the answer to BeforeModelCall. Finish has the text that is the answer
// instead of the model's; else Call, if not nil, is the call that is made.
type ModelDecision struct {
	Call   *ModelCall `json:"call"`
	Finish *string    `json:"finish"`
}

// ModelResult is how a call of a model ended.
type ModelResult struct {
	Text      string
	ToolCalls []ToolCall
	Usage     map[string]any
	Err       error
	Duration  time.Duration
}

// ToolCall is a call of a tool.
type ToolCall struct {
	RunID     string          `json:"run_id"`
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object
}

// What is done with a call of a tool.
const (
	Proceed = "proceed" // it runs, with Arguments if they are not nil
	Replace = "replace" // Result is its result
	Deny    = "deny"    // Message is an error that the model is told
)

// ToolDecision is the answer to BeforeToolCall. The first that replaces or denies counts.
type ToolDecision struct {
	Action    string          `json:"action"`
	Arguments json.RawMessage `json:"arguments"`
	Result    string          `json:"result"`
	Message   string          `json:"message"`
}

// ToolResult is how a call of a tool ended.
type ToolResult struct {
	Content  string
	Err      error
	Duration time.Duration
}

// Tool is something that a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
	Run         func(ctx context.Context, c ToolContext, arguments json.RawMessage) (string, error)
}

// ToolContext is what a tool gets beside its arguments.
type ToolContext struct {
	Session string
	CallID  string
	State   State
}

type modelErrorKey struct{}

// ModelError returns the error with which the turn's model failed, for SaveState; else nil.
func ModelError(ctx context.Context) error {
	err, _ := ctx.Value(modelErrorKey{}).(error)
	return err
}
