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

// Tape is what some entries of a tape say about it. The zero value knows nothing. It can be
// saved as JSON, and goes on from there.
type Tape struct {
	Name         string    `json:"-"`               // the tape's
	Title        string    `json:"title,omitempty"` // that was given last, or what was asked first
	Agent        string    `json:"agent,omitempty"` // that was recorded, such as claude-code
	AgentVersion string    `json:"agent_version,omitempty"`
	Model        string    `json:"model,omitempty"`   // that was used last
	Project      string    `json:"project,omitempty"` // the directory in which the session began
	Branch       string    `json:"branch,omitempty"`  // of git, in that directory
	Started      time.Time `json:"started,omitzero"`
	Updated      time.Time `json:"updated,omitzero"`
	Entries      int64     `json:"entries"`
	Messages     int       `json:"messages"`
	ToolCalls    int       `json:"tool_calls"`
	Tokens       int64     `json:"tokens"` // of all runs, what was read again included
	Anchors      int       `json:"anchors"`
	LastAnchor   string    `json:"last_anchor,omitempty"`
	Authors      []string  `json:"authors,omitempty"` // as in meta.author

	Asked string `json:"asked,omitempty"` // what was asked first, where another title was given
	Given bool   `json:"given,omitempty"` // somebody gave the title
}

// TitleEvent is the name of the event that gives a tape its title: data.title. An empty one
// takes it back.
const TitleEvent = "tape.title"

// What a tape remembers is bounded: lists read it of all tapes.
const (
	maxAuthors  = 20
	longestFact = 4 << 10 // bytes, as a path may have
)

// fact is a text, "" if it is too long to be what it stands for.
func fact(s string) string {
	if len(s) > longestFact {
		return ""
	}
	return s
}

// ProjectName is the last part of the project's directory, "" if that is not known.
func (t Tape) ProjectName() string {
	dir := strings.TrimRight(strings.ReplaceAll(t.Project, `\`, "/"), "/")
	return dir[strings.LastIndexByte(dir, '/')+1:]
}

// Add takes one more entry into account. Entries come in the order of their ids.
func (t *Tape) Add(e layout.Entry) {
	t.Name, t.Entries = e.Tape, e.ID
	if t.Agent == "" && len(e.Meta) > len("{}") {
		t.Agent = fact(jsonl.GetString(e.Meta, "source", "format"))
	}
	if bytes.Contains(e.Meta, []byte(`"author"`)) {
		t.wrote(fact(jsonl.GetString(e.Meta, "author")))
	}
	switch e.Kind {
	case layout.KindMessage:
		t.Messages++
		if t.Asked == "" {
			t.ask(e)
		}
	case layout.KindToolCall:
		for range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
			t.ToolCalls++
		}
	case layout.KindAnchor:
		t.Anchors, t.LastAnchor = e.AnchorSeq, e.Anchor
		if e.Anchor == layout.FirstAnchor {
			t.session(jsonl.Get(e.Payload, "state"))
		}
	case layout.KindEvent:
		if t.event(e, name(e.Payload)) {
			return // to give a title is no activity
		}
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

func (t *Tape) wrote(author string) {
	if author != "" && len(t.Authors) < maxAuthors && !slices.Contains(t.Authors, author) {
		t.Authors = append(t.Authors, author)
	}
}

// name is the name of an event. It is mostly the first member, and what may be long is
// behind it.
func name(payload []byte) string {
	for key, v := range jsonl.Fields(payload) {
		if key == "name" {
			s, _ := jsonl.String(v)
			return s
		}
	}
	return ""
}

// event reports whether the event gives a title.
func (t *Tape) event(e layout.Entry, name string) bool {
	switch name {
	case TitleEvent:
		// The title of a fork that was merged is not the tape's.
		if jsonl.Get(e.Meta, "origin", "fork") == nil {
			title := squeeze(jsonl.GetString(e.Payload, "data", "title"))
			t.Title, t.Given = cmp.Or(title, t.Asked), title != ""
		}
		return true
	case "run":
		if u, ok := UsageOf(e); ok && u.TotalTokens != nil {
			t.Tokens += *u.TotalTokens
		}
		if !hidden(e) {
			t.Model = cmp.Or(fact(jsonl.GetString(e.Payload, "data", "model")), t.Model)
		}
	case "session_meta", "turn_context", "environment":
		if !hidden(e) {
			t.session(jsonl.Get(e.Payload, "data"))
		}
	case "loop.step": // of the built-in agent, and of whoever follows the same convention
		if t.Agent == "" && jsonl.Get(e.Meta, "message_id") != nil {
			t.Agent = "tape"
		}
	case "loop.step.start", "loop.step.finish", "loop.result":
		t.Agent = cmp.Or(t.Agent, "bub") // whose entries come as they are, without a source
	}
	return false
}

// hidden reports whether an entry is not of the conversation: a subagent's, or abandoned.
func hidden(e layout.Entry) bool { return string(jsonl.Get(e.Meta, "context")) == "false" }

// session takes what the programs tell of a session, by the names that they have for it.
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
