package hooks

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"tape/repo"
)

// Plugin implements hooks: those whose fields are not nil when it is registered. An answer that
// is nil is "none". The tags are the names under which hooks are reported, and by which
// plugins that are processes know them.
type Plugin struct {
	Name     string
	Priority int // a higher one is asked before those that were registered later
	// Required makes the plugin a guard: where it fails around a call of a model or a tool, the
	// call is denied, and not gone on with. In the hooks around calls it is asked after those that
	// are not required, so that it sees what they made of the call.
	Required bool
	// Status says how a plugin does that may be down, for [Runtime.Report]; it may be nil.
	Status func() string

	// One answer: the first that is not none.

	ResolveSession func(ctx context.Context, m Envelope) (*string, error)                          `hook:"resolve_session"`
	BuildPrompt    func(ctx context.Context, m Envelope, session string, s State) (*Prompt, error) `hook:"build_prompt"`
	RunModelStream func(ctx context.Context, p Prompt, session string, s State) (Stream, error)    `hook:"run_model_stream"`
	RunModel       func(ctx context.Context, p Prompt, session string, s State) (*string, error)   `hook:"run_model"`
	// ContinuePrompt gives the prompt of an agent's next step.
	ContinuePrompt       func(ctx context.Context, p Prompt, t *repo.Tape, s State) (*Prompt, error)      `hook:"continue_prompt"`
	BuildTapeContext     func(ctx context.Context) (TapeContext, error)                                   `hook:"build_tape_context"`
	ProvideTapeStore     func(ctx context.Context) (*repo.Store, error)                                   `hook:"provide_tape_store"`
	AdmitMessage         func(ctx context.Context, session string, m Envelope, t Turn) (Admission, error) `hook:"admit_message"`
	ProvideSteeringInbox func(ctx context.Context) (SteeringInbox, error)                                 `hook:"provide_steering_inbox"`

	// Many answers.

	LoadState func(ctx context.Context, m Envelope, session string) (State, error) `hook:"load_state"`
	// SaveState is called also when the model failed: then output is "", and [ModelError] of
	// ctx says why.
	SaveState           func(ctx context.Context, session string, s State, m Envelope, output string) error               `hook:"save_state"`
	RenderOutbound      func(ctx context.Context, m Envelope, session string, s State, output string) ([]Envelope, error) `hook:"render_outbound"`
	DispatchOutbound    func(ctx context.Context, m Envelope) (delivered bool, err error)                                 `hook:"dispatch_outbound"`
	SystemPrompt        func(ctx context.Context, p Prompt, s State) (*string, error)                                     `hook:"system_prompt"`
	ProvideChannels     func(ctx context.Context, h Handler) ([]Channel, error)                                           `hook:"provide_channels"`
	RegisterCommands    func() []Command                                                                                  `hook:"register_cli_commands"`
	OnboardConfig       func(ctx context.Context, current map[string]any) (map[string]any, error)                         `hook:"onboard_config"`
	ProvideModelOptions func(ctx context.Context, session string) ([]ModelOption, error)                                  `hook:"provide_model_options"`
	// OnError observes. stage is [StageTurn] for an error that ended a turn, [StageModel] where
	// the turn goes on without the model's answer, and the hook's name for a hook around a call
	// that failed; m may be nil.
	OnError func(ctx context.Context, stage string, err error, m Envelope) `hook:"on_error"`

	// Around calls: each sees what the one before it made of the call.

	BeforeModelCall func(ctx context.Context, c ModelCall, s State) (*ModelDecision, error) `hook:"before_llm_call"`
	AfterModelCall  func(ctx context.Context, c ModelCall, r ModelResult, s State) error    `hook:"after_llm_call"`
	BeforeToolCall  func(ctx context.Context, c ToolCall, s State) (*ToolDecision, error)   `hook:"before_tool_call"`
	// AfterToolCall may change the content of a result that is no error.
	AfterToolCall func(ctx context.Context, c ToolCall, r *ToolResult, s State) error `hook:"after_tool_call"`

	// Tools are offered to the model beside the built-in ones; of a name, the first.
	Tools []Tool
}

// The kinds of events in a [Stream].
const (
	EventText       = "text"        // {"delta": text}
	EventReasoning  = "reasoning"   // {"delta": text}
	EventToolCall   = "tool_call"   // {"id", "name", "arguments": JSON as text}
	EventToolResult = "tool_result" // {"id", "name", "content", "error": true or missing, "duration_ms"}
	EventUsage      = "usage"       // {"input_tokens", "output_tokens", …}
	EventError      = "error"       // {"message"}
	EventFinal      = "final"       // {"text": all of it, "ok": bool}
)

// Event is something that happens while a model answers.
type Event struct {
	Kind string         `json:"kind"`
	Data map[string]any `json:"data"`
}

// Text makes an event of a piece of the answer.
func Text(delta string) Event { return Event{Kind: EventText, Data: map[string]any{"delta": delta}} }

// Stream gives the events of a model's answer, as they come. An error is the last it gives.
type Stream = iter.Seq2[Event, error]

// TapeContext makes of a tape the messages of the next call, in the form of the API. Nil leaves
// it to [Runtime.BuildTapeContext]'s own.
type TapeContext func(ctx context.Context, t *repo.Tape, form string) (messages []json.RawMessage, err error)

// Handler takes a message that came in. When it returns nil, the message is safe with the
// host; it does not wait for the turn.
type Handler func(ctx context.Context, m Envelope) error

// Channel is a way in and out for messages.
type Channel interface {
	Name() string
	// Start listens until ctx ends or Stop is called; it returns when it is ready.
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Send(ctx context.Context, m Envelope) error
}

// EventWatcher is a [Channel] that shows an answer while it comes.
type EventWatcher interface {
	OnEvent(ctx context.Context, m Envelope, e Event)
}

// Admission is what becomes of a message for a session.
type Admission string

// The admissions.
const (
	Undecided Admission = ""          // none: the next plugin is asked
	Admit     Admission = "process"   // a turn of its own, after those that run or wait
	Drop      Admission = "drop"      // nothing
	FollowUp  Admission = "follow_up" // after the running turn, together with others that wait
	Steer     Admission = "steer"     // into the running turn, before its next step
)

// Turn is what a session does at the moment.
type Turn struct {
	Session  string `json:"session_id"`
	Running  bool   `json:"running"`
	Pending  int    `json:"pending"`  // messages that wait for a turn
	Steering int    `json:"steering"` // messages that wait for the running turn's next step
}

// SteeringInbox keeps messages for turns that run.
type SteeringInbox interface {
	Put(ctx context.Context, session string, m Envelope) error
	Drain(ctx context.Context, session string) ([]Envelope, error)
	Len(session string) int
}

// Command is a command of a plugin: tape run ,NAME ARGS.
type Command struct {
	Name  string
	Short string // one line
	Run   func(ctx context.Context, args []string, out io.Writer) error
}

// ModelOption is a model that a session may use.
type ModelOption struct {
	ID    string `json:"id"` // provider:model
	Label string `json:"label"`
}
