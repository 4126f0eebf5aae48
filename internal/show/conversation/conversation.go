// Package conversation makes a conversation of the entries of a tape: who said what, each call of
// a tool with its results, and the events between them. The terminal, the web view, exports and
// MCP show it, each in its own way.
//
// It is built as the entries are read, so that a tape may be of any length: only calls that wait
// for their results are held back, with what follows them, and of these only some megabytes.
// The text of an item is what was recorded: who shows it makes it safe.
package conversation

import (
	"strings"
	"time"

	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Kind is what an item is.
type Kind int

// The kinds of items.
const (
	Phase   Kind = iota // a phase begins; the entry is its anchor, or the first that was read of it
	Message             // somebody said something, and may have called tools
	Calls
	Results // of calls that are elsewhere
	Events
	Failure // an entry of kind error
)

// Item is what a reader takes for one thing.
type Item struct {
	Kind  Kind
	Entry repo.Entry // the first one
	Who   string     // a message's role, or the entry's kind

	Parts   []Part // of a message, what was said; of others, what is not in the fields below
	Name    string // of a phase
	State   []byte // of a phase, as it is stored
	Summary string // of a phase, or what went wrong
	Details string // the state of a phase without its summary, or more about what went wrong
	Typed   string // the command that a phase begins with
	Calls   []*Call
	Repeats bool // the entry has calls that were part of the message before it
	Results []Result
	Events  []Event // of a run of them; the entry is that of the first

	waiting int // calls without a result
	size    int // bytes of its entries
}

// Speaker is somebody who says messages.
type Speaker string

// The speakers.
const (
	User      Speaker = "user" // a person
	Assistant Speaker = "assistant"
	System    Speaker = "system" // or a program in the place of a person
	Other     Speaker = "other"
)

// Part is a piece of what was said: text, or something else as readable text.
type Part struct {
	Kind    string // "" for text; else what the recorder called it: image_url, …
	Text    string
	Raw     []byte // what is not text, as it is stored
	Picture string // the data: address of a picture that pages show
	File    bool   // it is a picture or an artifact
	Command *Command
}

// Call is a call of a tool with what came of it. Its arguments and results are there only while
// its item is used.
type Call struct {
	ID, Name  string
	Arguments string // as they were recorded
	Entry     int64
	Results   []Result

	raw      []byte
	began    time.Time
	answered bool
}

// Failed reports whether a result is marked as an error.
func (c *Call) Failed() bool {
	for _, r := range c.Results {
		if r.Failed {
			return true
		}
	}
	return false
}

// Took is the time up to the last result; 0 if it is not known.
func (c *Call) Took() time.Duration {
	if len(c.Results) == 0 || c.began.IsZero() {
		return 0
	}
	ended, ok := c.Results[len(c.Results)-1].Entry.Time()
	if !ok {
		return 0
	}
	return max(0, ended.Sub(c.began))
}

// Result is what a call returned.
type Result struct {
	Entry  repo.Entry
	Of     *Call // nil if it is not known
	Index  int   // among the results of its entry
	Failed bool
	Parts  []Part
}

// Title says what a result is.
func (r Result) Title() string {
	if r.Failed {
		return "result, failed"
	}
	return "result"
}

// Event is an entry that nobody said.
type Event struct{ Entry repo.Entry }

// Asked is what a person asked in an entry, as a title; "" if nothing.
func Asked(e repo.Entry) string {
	var one about.Tape
	one.Add(e)
	return one.Asked
}

// Author is who wrote an entry, where that is not who began the tape.
func Author(e repo.Entry) string { return jsonl.GetString(e.Meta, "author") }

// Fork is the fork that an entry was merged from, "" if none.
func Fork(e repo.Entry) string { return jsonl.GetString(e.Meta, "origin", "fork") }

// Hidden reports whether an entry is left out of what models get: a branch that was abandoned, or
// a note that was not for the model.
func Hidden(e repo.Entry) bool { return string(jsonl.Get(e.Meta, "context")) == "false" }

func who(e repo.Entry) string {
	if role := jsonl.GetString(e.Payload, "role"); role != "" && e.Kind == repo.KindMessage {
		return role
	}
	return e.Kind
}

// Speaker is who says a message.
func (it *Item) Speaker() Speaker {
	switch it.Who {
	case "user":
		if Asked(it.Entry) == "" { // a program put it there
			return System
		}
		return User
	case "assistant":
		return Assistant
	case repo.KindSystem, "developer":
		return System
	}
	return Other
}

// Text is what was said in a message, without what is not text.
func (it *Item) Text() string {
	var texts []string
	for _, p := range it.Parts {
		if p.Kind == "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Of is the item of an entry by itself: its calls have no results, and its results no calls.
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

// fill reads what an item shows of its entry.
func (it *Item) fill() {
	e := it.Entry
	it.Who = who(e)
	switch it.Kind {
	case Phase:
		if e.Kind == repo.KindAnchor {
			it.opening()
		}
	case Message:
		it.Parts = messageParts(e)
		for i, p := range it.Parts {
			if p.Kind == "" {
				it.Parts[i].Command = readCommand(p.Text)
			}
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
