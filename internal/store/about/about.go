package about

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Tape is what the entries added so far say about their tape. It can be saved as JSON, loaded and
// continued. The zero value is for a tape without entries.
type Tape struct {
	Name         string    `json:"-"`               // of the tape
	Title        string    `json:"title,omitempty"` // of the titles below, the one that counts most
	Agent        string    `json:"agent,omitempty"` // the recorded program, such as claude-code
	AgentVersion string    `json:"agent_version,omitempty"`
	Model        string    `json:"model,omitempty"`   // the last one used
	Project      string    `json:"project,omitempty"` // the directory in which the session began
	Branch       string    `json:"branch,omitempty"`  // the git branch of that directory
	ProjectLabel string    `json:"-"`                 // the project's name, if it is known better than from its path
	Started      time.Time `json:"started,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	Entries      int64     `json:"entries"`
	Messages     int       `json:"messages"`
	ToolCalls    int       `json:"tool_calls"`
	Tokens       int64     `json:"tokens"` // of all runs, cached input included
	Anchors      int       `json:"anchors"`
	LastAnchor   string    `json:"last_anchor,omitempty"`
	Authors      []string  `json:"authors,omitempty"` // from meta.author

	// Titles, from the one that counts least to the one that counts most.
	Copied  string `json:"copied,omitempty"`  // the last request in a history that was copied from another session
	Asked   string `json:"asked,omitempty"`   // the first request
	Called  string `json:"called,omitempty"`  // by the agent
	Renamed string `json:"renamed,omitempty"` // by a person, in the agent
	Given   string `json:"given,omitempty"`   // by a person, to the tape

	Starred bool     `json:"starred,omitempty"` // by a person, see StarEvent
	Tags    []string `json:"tags,omitempty"`    // by people, sorted, see TagEvent
	Marks   []Mark   `json:"marks,omitempty"`   // set by the index, which counts what was done

	// Unclaimed are titles whose leaf has not come yet, see wait.
	Unclaimed []leafTitle `json:"unclaimed,omitempty"`

	// Apart tells the tape from others with the same title. A list sets it.
	Apart string `json:"-"`
	// IsHostTape marks a tape that tape serve keeps for itself: its audit log or the shared state. A list sets it.
	IsHostTape bool `json:"-"`
}

// Label is what a list calls the tape: the title with what tells it apart, or the name.
func (t Tape) Label() string {
	if t.Title == "" {
		return t.Name
	}
	return t.Title + t.Suffix()
}

// Suffix is the end of the label, which must not be cut off: "", or Apart after a separator.
func (t Tape) Suffix() string {
	if t.Apart == "" {
		return ""
	}
	return " · " + t.Apart
}

// TitleEvent is the name of the event that gives a tape its title, data.title. An empty title
// removes the last one. In an imported entry the title is the agent's.
const TitleEvent = "tape.title"

// Lists keep a Tape for every tape, so its size is bounded.
const (
	maxAuthors  = 20
	longestFact = 4 << 10 // bytes; as long as the longest path
)

// fact returns a text, or "" if it is too long to be a name or a path.
func fact(s string) string {
	if len(s) > longestFact {
		return ""
	}
	return s
}

// ProjectName is the name of the project, "" if its directory is unknown. A worktree has
// the name of its repository.
func (t Tape) ProjectName() string {
	dir := strings.TrimRight(strings.ReplaceAll(layout.ProjectPath(t.Project), `\`, "/"), "/")
	return cmp.Or(t.ProjectLabel, dir[strings.LastIndexByte(dir, '/')+1:])
}

// InProject returns a recorded path relative to a project's directory, or the path itself if it is elsewhere.
func InProject(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "" {
		return rest
	}
	return path
}

// ProjectBranch is the name of the project, with the branch unless that is main, master or (detached) HEAD.
func (t Tape) ProjectBranch() string {
	name := t.ProjectName()
	if name == "" || t.Branch == "" || t.Branch == "main" || t.Branch == "master" || t.Branch == "HEAD" {
		return name
	}
	return name + " (" + t.Branch + ")"
}

// Add takes the next entry into account. Entries must come in the order of their ids.
func (t *Tape) Add(e layout.Entry) {
	t.Name, t.Entries = e.Tape, e.ID
	if t.Agent == "" && len(e.Meta) > len("{}") {
		t.Agent = fact(jsonl.GetString(e.Meta, "source", "format"))
	}
	if t.Unclaimed != nil {
		t.claim(e)
	}
	if bytes.Contains(e.Meta, []byte(`"author"`)) {
		t.addAuthor(fact(jsonl.GetString(e.Meta, "author")))
	}
	switch e.Kind {
	case layout.KindMessage:
		if e.Copied() { // it counts in the session that it was copied from
			t.inherit(e)
			break
		}
		t.Messages++
		if t.Asked == "" {
			t.ask(e)
		}
	case layout.KindToolCall:
		if e.Copied() {
			break
		}
		for range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
			t.ToolCalls++
		}
	case layout.KindAnchor:
		t.Anchors, t.LastAnchor = e.AnchorSeq, e.Anchor
		if e.Anchor == layout.FirstAnchor {
			t.session(jsonl.Get(e.Payload, "state"))
		} else {
			t.formerTitle(e)
		}
	case layout.KindEvent:
		name := EventName(e.Payload)
		if t.addTitle(e, name) || t.addLabel(e, name) {
			return // a new title, star or tag does not count as activity
		}
		t.event(e, name)
	}
	t.date(e)
}

func (t *Tape) date(e layout.Entry) {
	at, ok := e.Time()
	if !ok {
		return
	}
	if t.Started.IsZero() || at.Before(t.Started) {
		t.Started = at.UTC()
	}
	if at.After(t.Updated) {
		t.Updated = at.UTC()
	}
}

func (t *Tape) addAuthor(author string) {
	if author != "" && len(t.Authors) < maxAuthors && !slices.Contains(t.Authors, author) {
		t.Authors = append(t.Authors, author)
	}
}

// EventName returns the name of an event. It reads only up to the name, usually the first member, because the data
// after it may be long.
func EventName(payload []byte) string {
	for key, v := range jsonl.Fields(payload) {
		if key == "name" {
			s, _ := jsonl.String(v)
			return s
		}
	}
	return ""
}

// event takes an event into account.
func (t *Tape) event(e layout.Entry, name string) {
	switch name {
	case "run":
		if u, ok := UsageOf(e); ok && u.TotalTokens != nil && !e.Copied() {
			t.Tokens += *u.TotalTokens
		}
		if !e.Hidden() {
			t.Model = cmp.Or(fact(jsonl.GetString(e.Payload, "data", "model")), t.Model)
		}
	case "session_meta", "turn_context", "environment":
		if !e.Hidden() {
			t.session(jsonl.Get(e.Payload, "data"))
		}
	case "loop.step": // the built-in agent, and others that follow its convention
		if t.Agent == "" && jsonl.Get(e.Meta, "message_id") != nil {
			t.Agent = "tape"
		}
	case "loop.step.start", "loop.step.finish", "loop.result":
		t.Agent = cmp.Or(t.Agent, "bub") // its entries are stored without meta.source
	}
}

// session reads facts about a session, under the names that the various programs give them.
func (t *Tape) session(facts []byte) {
	for key, v := range jsonl.Fields(facts) {
		if key == "git" {
			t.Branch = cmp.Or(fact(jsonl.GetString(v, "branch")), t.Branch)
			continue
		}
		s, _ := jsonl.String(v)
		if s = fact(s); s == "" {
			continue
		}
		switch key {
		case "agent":
			t.Agent = cmp.Or(t.Agent, s)
		case "version", "cli_version", "agent_version":
			t.AgentVersion = s
		case "model":
			t.Model = s
		case "cwd":
			t.Project = cmp.Or(t.Project, s)
		case "gitBranch":
			t.Branch = s
		}
	}
}
