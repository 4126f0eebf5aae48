package record

// HookEvent is an event in a session that the program runs a hook for.
type HookEvent struct {
	Name    string
	Is      Moment
	Timeout int // of the hook, in the program's unit; 0: the settings get none
}

// Moment is what an event means for recording.
type Moment int

// The moments. Meanwhile is any other: the transcript may have something new.
const (
	Meanwhile Moment = iota
	Start
	TurnEnd // the model waits for the next prompt
	End
)

// Moment returns what the event with a name means. f may be nil.
func (f *Format) Moment(event string) Moment {
	if f != nil {
		for _, e := range f.Events {
			if e.Name == event {
				return e.Is
			}
		}
	}
	return Meanwhile
}

// Agent describes the settings of an agent that can run hooks or MCP servers. Hooks are entries in a JSON file, as in
// Claude Code, or tables [[hooks]] in a TOML file, or a plugin, or a folder of scripts.
type Agent struct {
	// ProjectVariable is the environment variable with the project's directory: hooks may run in
	// another directory.
	ProjectVariable string
	// Folder returns the folder with the settings of a project or user. Hooks is the file in it with
	// the hooks, LocalHooks the one for hooks that are not committed; "" if there is none. Without Hooks, the program
	// has no hooks to record with, and MCPFile and MCP are set.
	Folder            func(Where) string
	Hooks, LocalHooks string
	HookName          string        // the name of our hook, "" if hooks have none
	Plugin            func() []byte // the content of Hooks if that is a plugin
	Scripts           bool          // Hooks is a folder with a script for each event, named after it
	// OwnFile returns the content of Hooks, if that is a JSON file in which only tape has hooks.
	OwnFile func(command func(HookEvent) string) []byte
	// TranslateInput is set if the input of hooks differs from that of Claude Code. It returns the input in Claude Code's
	// form, or nil if there is nothing to record.
	TranslateInput func(payload []byte, user Where) []byte
	// AnswerPrefix is what stands right before the text of an answer in the transcript. It is set if the same text
	// comes earlier in the transcript, in another place.
	AnswerPrefix string
	// RecallSources are the sources of a SessionStart after which the model sees what the hook prints.
	RecallSources []string

	// MCPFile is the file with the MCP servers; nil: the file with the hooks. MCP returns the name of its member
	// with the servers, and the value for a server that is a program; nil if the agent does not support MCP.
	MCPFile func(Where) string
	MCP     func(program string) (member string, server any)

	// Settings is the file in Folder that may turn hooks off, "" for Hooks. An administrator's file, on Linux
	// or macOS, may do so, too. Off returns the setting that turns them off, or ""; nil: nothing can.
	Settings                   string
	ManagedLinux, ManagedMacOS string
	Off                        func(settings map[string]any, managed bool) string

	// Review reads from the user's settings whether a person has approved the hooks in a file; nil if
	// the program runs hooks without that. ReviewHint says how to approve them.
	Review     func(settings map[string]any, file string, hooks []Hook) Trust
	ReviewHint string
}

// Handler is a hook as the settings have it.
type Handler struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// Hook is a hook of ours in a file, with the index of its group and its index in the group.
type Hook struct {
	Event         string
	Group, Number int
	Handler
}

// Trust says whether a person has approved our hooks; "" where nobody has to.
type Trust string

// The states of trust.
const (
	Reviewed    Trust = "reviewed"
	NotReviewed Trust = "not reviewed"
	Changed     Trust = "changed since the review"
	SwitchedOff Trust = "switched off"
)

// MCPServer returns an MCP server as most programs write it.
func MCPServer(program string) (member string, server any) {
	return "mcpServers", struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{program, []string{"mcp"}}
}

// Setting returns the value at a path through objects, or nil.
func Setting(settings map[string]any, path ...string) any {
	var at any = settings
	for _, name := range path {
		in, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = in[name]
	}
	return at
}
