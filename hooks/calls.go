package hooks

import (
	"context"
	"encoding/json"
	"time"
)

// ModelCall is what an agent's step is about to ask a model. Hooks may change Model, Messages
// and MaxTokens.
type ModelCall struct {
	RunID     string
	Model     string            // provider:model
	Messages  []json.RawMessage // in the form of the model's API
	Tools     []string          // names, for information
	MaxTokens int               // 0: the provider's
}

// ModelDecision is the answer to BeforeModelCall. Finish has the text that is the answer
// instead of the model's; else Call, if not nil, is the call that is made.
type ModelDecision struct {
	Call   *ModelCall
	Finish *string
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
	RunID     string
	ID        string
	Tool      string
	Arguments json.RawMessage // a JSON object
}

// What is done with a call of a tool.
const (
	Proceed = "proceed" // it runs, with Arguments if they are not nil
	Replace = "replace" // Result is its result
	Deny    = "deny"    // Message is an error that the model is told
)

// ToolDecision is the answer to BeforeToolCall. The first that replaces or denies counts.
type ToolDecision struct {
	Action    string
	Arguments json.RawMessage
	Result    string
	Message   string
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
