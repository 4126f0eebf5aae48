package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// ModelCall is a call that an agent's step is about to make. Hooks may change Model, Messages and
// MaxTokens.
type ModelCall struct {
	RunID     string            `json:"run_id"`
	Model     string            `json:"model"`      // provider:model
	Messages  []json.RawMessage `json:"messages"`   // in the form of the model's API
	Tools     []string          `json:"tools"`      // names, for information only
	MaxTokens int               `json:"max_tokens"` // 0: the provider's default
}

// ModelDecision is the answer to BeforeModelCall. Finish is a text to use instead of the model's
// answer; otherwise Call, if not nil, replaces the call.
type ModelDecision struct {
	Call   *ModelCall `json:"call"`
	Finish *string    `json:"finish"`
}

// ModelResult is the outcome of a call of a model.
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
	// Typed says that a person has typed the call, as a comma command.
	Typed bool `json:"-"`
}

// The actions of a [ToolDecision].
const (
	Proceed = "proceed" // run the tool, with Arguments if they are not nil
	Replace = "replace" // do not run it: Result is its result
	Deny    = "deny"    // do not run it: Message is the error that the model gets
)

// ToolDecision is the answer to BeforeToolCall. The first plugin that replaces or denies decides.
type ToolDecision struct {
	Action    string          `json:"action"`
	Arguments json.RawMessage `json:"arguments"`
	Result    string          `json:"result"`
	Message   string          `json:"message"`
}

// ToolResult is the outcome of a call of a tool.
type ToolResult struct {
	Content  string
	Err      error
	Duration time.Duration
}

// Tool is a function that a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
	Run         func(ctx context.Context, c ToolContext, arguments json.RawMessage) (string, error)
	// Reads says that the tool reads in the project, or works on the session's own tape, and does
	// nothing else. Other tools may need a person's consent: see [Runtime.Approve].
	Reads bool
	// Preview, if not nil, says more about what a call would do than its arguments do. An error says why
	// the call cannot be made.
	Preview func(ctx context.Context, arguments json.RawMessage) (Preview, error)
}

// Preview is what a call of a tool would do: for rules, and for a person who is asked.
type Preview struct {
	Title   string // one line; "" if the tool's name is enough
	Command string // a command line for the shell
	Folder  string // where Command would run, relative to the project; "" is the project's own folder
	Outside bool   // Command would run outside the project, or its folder cannot be found
	Path    string // the file, relative to the project with slashes, and with links resolved
	Named   string // the file as the call names it, relative to the project
	Diff    string // how the file would change, as a unified diff
	Host    string // the host that a page would be fetched from, in lower case
}

// ErrUnanswered says that a call needs a person's consent, and that there is nobody to ask.
var ErrUnanswered = errors.New("not allowed")

// ToolContext is what a tool gets besides its arguments.
type ToolContext struct {
	Session string
	CallID  string
	State   State
	// Output, if not nil, shows the end of what the running tool has written, and how many bytes it has
	// written in all. It does not block, and may be called from any goroutine.
	Output func(end string, bytes int64)
	Typed  bool // see [ToolCall]
}

type modelErrorKey struct{}

// ModelError returns, within SaveState, the error with which the turn's model failed; else nil.
func ModelError(ctx context.Context) error {
	err, _ := ctx.Value(modelErrorKey{}).(error)
	return err
}
