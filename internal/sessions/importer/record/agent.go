package record

// HookEvent is something that happens in a session, and that a hook tells of.
type HookEvent struct {
	Name    string
	Is      Moment
	Timeout int // of the hook, in the program's unit; 0: none is written
}

// Moment is what an event means for recording.
type Moment int

// The moments. Meanwhile is any other: something new may be in the transcript.
const (
	Meanwhile Moment = iota
	Start
	TurnEnd // the model says no more until somebody asks
	End
)

// Moment is what the event of a name means.
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

// Agent describes the settings of a program that can be told to call hooks. Its hooks are objects
// in a file of JSON, as Claude Code has them, or a plugin.
type Agent struct {
	Title string // what people call it
	// ProjectVariable names the project in the environment of hooks, whose working directory may be
	// another one.
	ProjectVariable string
	// Folder has the settings, of the project or the user. Hooks is the file in it that has the
	// hooks; LocalHooks the one for settings of a project that are not committed, if there are such.
	Folder            func(Where) string
	Hooks, LocalHooks string
	HookName          string        // that a hook has, besides its command
	Plugin            func() []byte // the content of Hooks, for a program whose hooks are a plugin
	// Recall are the sources of a SessionStart at which the hook's output is shown to the model of a
	// new session.
	Recall []string

	// MCPFile has the MCP servers; nil: the file of the hooks. MCP is the member of the file that
	// has them, and what stands there for a server that is a program.
	MCPFile func(Where) string
	MCP     func(program string) (member string, server any)

	// Settings is the file in Folder that may turn hooks off, if it is not Hooks. So may the file of an
	// administrator, on Linux or macOS. Off names the setting that does, "" if none does; nil:
	// nothing can.
	Settings                   string
	ManagedLinux, ManagedMacOS string
	Off                        func(settings map[string]any, managed bool) string

	// Review tells from the user's settings whether a person has approved of the hooks in a file, for
	// a program that runs no others; ReviewHint says how to.
	Review     func(settings map[string]any, file string, hooks []Hook) Trust
	ReviewHint string
}

// Handler is a hook as it is written in settings.
type Handler struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// Hook is a hook of ours in a file, and where: the numbers of its group and of it in the group.
type Hook struct {
	Event         string
	Group, Number int
	Handler
}

// Trust is whether a person has approved of our hooks; "" where nobody has to.
type Trust string

// The states of trust.
const (
	Reviewed    Trust = "reviewed"
	NotReviewed Trust = "not reviewed"
	Changed     Trust = "changed since the review"
	SwitchedOff Trust = "switched off"
)

// MCPServer is how most programs write an MCP server.
func MCPServer(program string) (member string, server any) {
	return "mcpServers", struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{program, []string{"mcp"}}
}

// Setting is the value at a path through objects, nil if there is none.
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
