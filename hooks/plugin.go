package hooks

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"strings"

	"tape/repo"
)

// Plugin implements the hooks whose fields are not nil when it is registered. A nil answer leaves
// the decision to the next plugin. The tags are the hooks' names in reports and in the protocol of
// plugins that are processes.
type Plugin struct {
	Name     string
	Priority int // plugins with a higher priority are asked first
	// Required makes the plugin a guard: if one of its hooks around calls fails, the call is denied.
	// In these hooks, guards are asked after the other plugins, so that they see the changed call.
	Required bool
	// Internal plugins are part of the program. They are asked after all others, for every hook. The
	// names of the plugin and the hook are left out of their errors, except panics: users did not
	// choose the plugin, and need only know what failed.
	Internal bool
	// Status says, for [Runtime.Report], whether the plugin works; it may be nil.
	Status func() string

	// One answer: the first that is not nil.

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
	// SaveState is called even when the model failed: then output is "", and [ModelError] of ctx
	// says why.
	SaveState           func(ctx context.Context, session string, s State, m Envelope, output string) error               `hook:"save_state"`
	RenderOutbound      func(ctx context.Context, m Envelope, session string, s State, output string) ([]Envelope, error) `hook:"render_outbound"`
	DispatchOutbound    func(ctx context.Context, m Envelope) (delivered bool, err error)                                 `hook:"dispatch_outbound"`
	SystemPrompt        func(ctx context.Context, p Prompt, s State) (*string, error)                                     `hook:"system_prompt"`
	ProvideChannels     func(ctx context.Context, h Handler) ([]Channel, error)                                           `hook:"provide_channels"`
	RegisterCommands    func() []Command                                                                                  `hook:"register_cli_commands"`
	OnboardConfig       func(ctx context.Context, current map[string]any) (map[string]any, error)                         `hook:"onboard_config"`
	ProvideModelOptions func(ctx context.Context, session string) ([]ModelOption, error)                                  `hook:"provide_model_options"`
	// OnError is told of errors. stage is [StageTurn] if the error ended the turn, [StageModel] if it was
	// in a model's stream or if the turn goes on without the model's answer, [StageApproval], or a hook's
	// name: of a hook around a call that failed, or dispatch_outbound if no plugin has sent a message.
	// m may be nil.
	OnError func(ctx context.Context, stage string, err error, m Envelope) error `hook:"on_error"`

	// Around calls: each plugin sees the call with the changes of the plugins before it.

	BeforeModelCall func(ctx context.Context, c ModelCall, s State) (*ModelDecision, error) `hook:"before_llm_call"`
	AfterModelCall  func(ctx context.Context, c ModelCall, r ModelResult, s State) error    `hook:"after_llm_call"`
	BeforeToolCall  func(ctx context.Context, c ToolCall, s State) (*ToolDecision, error)   `hook:"before_tool_call"`
	// AfterToolCall may change the result's content, or the error of a call that failed.
	AfterToolCall func(ctx context.Context, c ToolCall, r *ToolResult, s State) error `hook:"after_tool_call"`

	// Tools are offered to the model besides the built-in ones. If two have the same name, the first is used.
	Tools []Tool
	// MoreTools returns tools that become known only when they are needed; it may be nil.
	MoreTools func(ctx context.Context) []Tool
}

// The kinds of events in a [Stream].
const (
	EventText       = "text"        // {"delta": text}; with "instead", what was said last and was no part of the answer, which delta replaces
	EventReasoning  = "reasoning"   // {"delta": text}
	EventToolCall   = "tool_call"   // {"id", "name", "arguments": JSON as text}
	EventToolOutput = "tool_output" // {"id", "name", "text": the end of what the running tool has written, "bytes": how many in all}
	EventToolResult = "tool_result" // {"id", "name", "content", "error": true or missing, "duration_ms", "artifact": id of the whole result, if content is only a part}
	EventSteering   = "steering"    // {"message_id"}: the turn has read a message that came in meanwhile
	EventNotice     = "notice"      // {"text"}: what a person should know about the turn, for example that its context starts over; with "tell": true, also in a chat that does not show the turn
	EventUsage      = "usage"       // {"input_tokens", "output_tokens", …}
	EventError      = "error"       // {"message"}
	EventFinal      = "final"       // {"text": the whole answer, "ok": bool}
)

// Event is something that happens while a model answers.
type Event struct {
	Kind string         `json:"kind"`
	Data map[string]any `json:"data"`
}

// Text makes an event with a piece of the answer.
func Text(delta string) Event { return Event{Kind: EventText, Data: map[string]any{"delta": delta}} }

// AddText adds what an event of kind text says to what was said before.
func AddText(text *strings.Builder, e Event) {
	data := Envelope(e.Data)
	if instead := data.Text("instead"); instead != "" {
		if before, ok := strings.CutSuffix(text.String(), instead); ok {
			text.Reset()
			text.WriteString(before)
		}
	}
	text.WriteString(data.Text("delta"))
}

// Stream yields the events of a model's answer as they come. It ends after an error.
type Stream = iter.Seq2[Event, error]

// TapeContext builds the messages of the next call from a tape, in the format of the model's API.
// Nil messages mean the default of [Runtime.BuildTapeContext].
type TapeContext func(ctx context.Context, t *repo.Tape, form string) (messages []json.RawMessage, err error)

// Handler accepts an incoming message. When it returns nil, the message is stored; Handler does not wait
// for the turn.
type Handler func(ctx context.Context, m Envelope) error

// Channel is a way in and out for messages.
type Channel interface {
	Name() string
	// Start returns when the channel is ready. The channel then listens until ctx ends or Stop is
	// called.
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Send(ctx context.Context, m Envelope) error
}

// EventWatcher is a [Channel] that shows an answer while it is being written.
type EventWatcher interface {
	OnEvent(ctx context.Context, m Envelope, e Event)
}

// Admission says what happens to a message for a session.
type Admission string

// The admissions.
const (
	Undecided Admission = ""          // the next plugin is asked
	Admit     Admission = "process"   // a turn of its own, after those that run or wait
	Drop      Admission = "drop"      // the message is ignored
	FollowUp  Admission = "follow_up" // after the running turn, together with others that wait
	Steer     Admission = "steer"     // into the running turn, before its next step
)

// Turn says what a session is doing.
type Turn struct {
	Session  string `json:"session_id"`
	Running  bool   `json:"running"`
	Pending  int    `json:"pending"`  // turns that wait; one may answer several messages
	Steering int    `json:"steering"` // messages that wait for the running turn's next step
}

// SteeringInbox keeps messages for running turns.
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
	// Window is how many tokens of context the model takes; 0: unknown.
	Window int64 `json:"window,omitempty"`
}
