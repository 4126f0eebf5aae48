// Package conversation makes a conversation of the entries of a tape: who said what, each tool
// call with its results, and the events between them. The terminal, the web view, exports and
// MCP render it.
//
// It is built while the entries are read, so a tape may have any length: only calls that wait for their
// results are held back, with the items after them, up to some megabytes. The text of an item is as it was
// recorded: callers make it safe to show.
package conversation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Kind is the kind of an item.
type Kind int

// The kinds of items.
const (
	Phase   Kind = iota // a phase begins; the entry is its anchor, or the first entry of the phase that was read
	Message             // may have tool calls
	Calls
	Results // without their calls
	Events
	Failure // an entry of kind error
)

// Item is a piece of a conversation.
type Item struct {
	Kind  Kind
	Entry repo.Entry // the first one
	Who   string     // who speaks: a message's role, "command" or "program"; for other kinds, the entry's kind

	Parts   []ContentPart // the content of a message; for other kinds, what the fields below lack of the payload
	Name    string        // of a phase
	State   []byte        // of a phase, as it is stored
	Summary string        // of a phase or a failure
	Details string        // the state of a phase without its summary, or the details of a failure
	Typed   string        // the command that a phase begins with
	Calls   []*Call
	Repeats bool // the message before it also has some of the entry's calls
	Results []Result
	Events  []Event // consecutive events; Entry is the first one's

	waiting int // calls without a result
	size    int // bytes of its entries
}

// Speaker is the kind of a message's author.
type Speaker string

// The speakers.
const (
	User      Speaker = "user" // a person
	Assistant Speaker = "assistant"
	System    Speaker = "system" // includes programs that write as the user, and commands to the agent's program
	Other     Speaker = "other"
)

// ContentPart is one part of the content of a message or a result: text, or something else in readable form.
type ContentPart struct {
	Kind    string // "" for text; otherwise as recorded: image_url, …
	Text    string
	Raw     []byte // as it is stored; nil for text
	Picture string // the data: URL of a picture that pages show; "" for anything else
	File    bool   // it is a picture or an artifact
	Command *Command
}

// Call is a call of a tool with its results. Its arguments and results are valid only as long as
// its item.
type Call struct {
	ID, Name  string
	Arguments string // as they were recorded
	Entry     int64
	Results   []Result
	Detail    []byte // what the agent says about the call after its result, as JSON; nil: nothing

	raw      []byte
	began    time.Time
	ran      *time.Duration // as the agent says; nil: unknown
	answered bool
}

// Failed reports whether a result is marked as an error, or says that a command exited with one.
func (c *Call) Failed() bool {
	return slices.ContainsFunc(c.Results, func(r Result) bool { return r.Failed })
}

// Rejected reports whether a person or the settings did not allow the call.
func (c *Call) Rejected() bool {
	return slices.ContainsFunc(c.Results, func(r Result) bool { return r.Rejected })
}

// Outcome says in a word or two how the call ended.
func (c *Call) Outcome() string {
	switch {
	case len(c.Results) == 0:
		return "no result"
	case c.Rejected():
		return "rejected"
	case c.Failed():
		return "failed"
	}
	return "ok"
}

// Took is how long the call ran. If the agent says it, that leaves out the time in which the call waited for
// a person; otherwise it is the time up to the last result. It is 0 if that is unknown, or the call never ran.
func (c *Call) Took() time.Duration {
	if c.ran != nil {
		return *c.ran
	}
	if len(c.Results) == 0 || c.began.IsZero() || c.Rejected() {
		return 0
	}
	ended, ok := c.Results[len(c.Results)-1].Entry.Time()
	if !ok {
		return 0
	}
	return max(0, ended.Sub(c.began))
}

// Result is a result of a call.
type Result struct {
	Entry  repo.Entry
	Of     *Call // nil if it is unknown
	Index  int   // among the results of its entry
	Failed bool
	// Rejected says that the call was not allowed; then it has not failed.
	Rejected bool
	Parts    []ContentPart

	raw []byte
}

// Title is the heading of a result.
func (r Result) Title() string {
	switch {
	case r.Rejected:
		return "result, rejected"
	case r.Failed:
		return "result, failed"
	}
	return "result"
}

// Reason returns what a person said when they rejected the call; "" if they said nothing.
func (r Result) Reason() string {
	const said = "the user said:" // Claude Code
	for _, p := range r.Parts {
		if _, reason, ok := strings.Cut(p.Text, said); ok && r.Rejected {
			return strings.TrimSpace(reason)
		}
	}
	return ""
}

// Event is an entry that is neither a message, a call, a result, an error nor an anchor.
type Event struct{ Entry repo.Entry }

// Asked returns a person's prompt in an entry, shortened to a title; "" if there is none.
func Asked(e repo.Entry) string {
	var one about.Tape
	one.Add(e)
	return one.Asked
}

// Fork returns the fork that an entry was merged from, "" if none.
func Fork(e repo.Entry) string { return jsonl.GetString(e.Meta, "origin", "fork") }

// Values of Item.Who for messages of the role user that are not a person's prompts.
const (
	whoCommand = "command" // a command for the agent's program, typed by a person
	whoProgram = "program" // the agent's program: the text of a skill, the output of a hook or command
)

// Speaker returns the kind of the message's author.
func (it *Item) Speaker() Speaker {
	switch it.Who {
	case "user":
		return User
	case "assistant":
		return Assistant
	case repo.KindSystem, "developer", whoCommand, whoProgram:
		return System
	}
	return Other
}

// speaker finds out who speaks in a message of the role user.
func (it *Item) speaker() string {
	if about.IsPrompt(it.Entry) {
		return "user"
	}
	who := "user" // of a message without a text, such as a picture
	for _, p := range it.Parts {
		switch {
		case p.Command != nil && p.Command.Typed != "", p.Kind == "" && about.IsCommand(p.Text):
			return whoCommand
		case p.Kind == "" && strings.TrimSpace(p.Text) != "":
			who = whoProgram
		}
	}
	return who
}

// OnlyResults reports whether a message only passes results to the model: Gemini records such
// messages beside the results.
func (it *Item) OnlyResults() bool {
	return len(it.Parts) > 0 && len(it.Calls) == 0 && !slices.ContainsFunc(it.Parts, func(p ContentPart) bool { return !strings.HasPrefix(p.Text, "functionResponse:") })
}

// Text is the text of a message.
func (it *Item) Text() string {
	var texts []string
	for _, p := range it.Parts {
		if p.Kind == "" {
			texts = append(texts, p.Said())
		}
	}
	return strings.Join(texts, "\n")
}

// Of makes the item of a single entry: its calls have no results, and its results no calls.
func Of(e repo.Entry) *Item {
	it := &Item{Kind: Events, Entry: e}
	switch e.Kind {
	case repo.KindAnchor:
		it.Kind = Phase
	case repo.KindMessage, repo.KindSystem:
		it.Kind = Message
	case repo.KindToolCall:
		it.Kind = Calls
	case repo.KindToolResult:
		it.Kind, it.Results = Results, readResults(e)
	case repo.KindError:
		it.Kind = Failure
	default:
		it.Events = []Event{{e}}
	}
	it.Calls = readCalls(e)
	it.fill()
	return it
}

// fill reads the item's fields from its entry.
func (it *Item) fill() {
	e := it.Entry
	it.Who = cmp.Or(e.Role(), e.Kind)
	switch it.Kind {
	case Phase:
		if e.Kind == repo.KindAnchor {
			it.fillPhase()
		}
	case Message:
		it.Parts = messageParts(e)
		for i, p := range it.Parts {
			if p.Kind == "" {
				it.Parts[i].Command = readCommand(p.Text)
			}
		}
		if it.Who == "user" {
			it.Who = it.speaker()
		}
	case Calls:
		it.Parts = moreParts(e.Payload, "calls")
	case Results:
		if len(it.Results) == 0 {
			it.Parts = moreParts(e.Payload, "results")
		}
	case Failure:
		it.Summary, it.Details = errorText(e)
	}
}
