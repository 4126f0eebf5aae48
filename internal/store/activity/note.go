package activity

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Note is what an entry says about what was done. The zero value says nothing.
type Note struct {
	turn    bool // a person asked something
	asked   string
	commit  string // the id and the subject of a commit that the agent made
	ending  Ending // how the session ended, if nothing follows
	answer  string // the beginning of an error, or of the model's answer
	reply   []byte // the payload of an answer; its beginning is read only if the answer is the last
	helper  bool   // the session is a subagent's
	aside   bool   // the entry's date does not count as activity
	author  string
	model   string
	dir     string // the working directory from here on
	calls   []call
	results []result
	details []detail
	usage   *run
	spent   float64 // dollars of the whole session so far, if the agent says only that
	touches []Touch // from an event that says which files were changed, apart from any call
	fact    int64   // see factOf
	copied  bool    // the agent says that it copied the entry from another session
	forked  bool    // the session began with the history of another one
}

// Fact returns a number that is the same for every copy of what an entry says; 0 if there is none.
func (n *Note) Fact() int64 {
	if n == nil {
		return 0
	}
	return n.fact
}

// call is a call of a tool.
type call struct {
	ID, Tool string
	Touches  []Touch `json:",omitempty"`
	Shell    bool    `json:",omitempty"` // it may have done something although it failed
	Same     uint64  `json:",omitempty"` // equal for calls that do the same
	Run      string  `json:",omitempty"` // the beginning of the command that it runs
}

// result is the result of a call.
type result struct {
	id       string // "": of the next call
	failed   bool
	rejected bool // by a person or the settings: the call was not run
	tests    *TestRun
}

// detail is what an agent says about a call after its result.
type detail struct {
	id             string
	failed         bool // a command's exit code says so
	known          bool // added and removed are known
	added, removed int64
	began, ended   int64 // microseconds since 1970; 0 if unknown
}

// run is one call of the model with the tokens that it used.
type run struct {
	ID    string `json:",omitempty"` // of the message, if the agent says it
	Model string `json:"-"`
	Total int64  `json:"-"` // tokens of the session so far, if the agent says it
	Used  Tokens
}

// Tokens counts tokens. Input does not include those that came from the cache or were written to it. CacheLong are those
// of CacheWrite that the cache keeps for an hour, which costs more.
type Tokens struct {
	Input, Output, CacheRead, CacheWrite int64
	CacheLong                            int64 `json:",omitempty"`
	// Noted are the tokens of calls of the model whose cost the agent has noted.
	Noted Noted `json:",omitzero"`
}

// Noted is what an agent says that calls of the model cost, in millionths of a dollar, and the tokens of these calls.
type Noted struct{ Cost, Input, Output, CacheRead, CacheWrite, CacheLong int64 }

// Add adds o to t.
func (t *Tokens) Add(o Tokens) {
	to, from := t.fields(), o.fields()
	for i := range to {
		*to[i] += *from[i]
	}
}

// more returns what t has more than o.
func (t Tokens) more(o Tokens) Tokens {
	to, from := t.fields(), o.fields()
	for i := range to {
		*to[i] = max(0, *to[i]-*from[i])
	}
	return t
}

func (t *Tokens) fields() [11]*int64 {
	n := &t.Noted
	return [...]*int64{&t.Input, &t.Output, &t.CacheRead, &t.CacheWrite, &t.CacheLong, &n.Cost, &n.Input, &n.Output, &n.CacheRead, &n.CacheWrite, &n.CacheLong}
}

// note takes down that all the tokens cost an amount in dollars.
func (t *Tokens) note(cost float64) {
	if n := int64(cost*1e6 + 0.5); n > 0 {
		t.Noted = Noted{n, t.Input, t.Output, t.CacheRead, t.CacheWrite, t.CacheLong}
	}
}

// Touch says what was done with a file.
type Touch struct {
	Path           string // absolute if the working directory is known
	Entry          int64  `json:",omitempty"` // of the call, or of the event that says it
	At             int64  `json:",omitempty"` // microseconds since 1970; 0 if unknown
	Reads, Writes  int64  `json:",omitempty"`
	Added, Removed int64  `json:",omitempty"` // lines
}

// Limits for what one entry may say.
const (
	maxTouches = 64
	longest    = 4 << 10 // bytes of a path or a name
)

// Read returns what an entry says; nil if it says nothing. Read is called for every entry, so it searches for what
// matters before it reads JSON.
func Read(e layout.Entry) *Note {
	n := read(e)
	if n != nil && len(e.Meta) > len("{}") {
		n.fact = factOf(e, n)
		n.copied = e.Copied()
	}
	if len(e.Meta) > len("{}") && bytes.Contains(e.Meta, []byte(`"author"`)) {
		if author := short(e.Author()); author != "" {
			if n == nil {
				n = &Note{}
			}
			n.author = author
		}
	}
	return n
}

func read(e layout.Entry) *Note {
	switch e.Kind {
	case layout.KindMessage:
		return readMessage(e)
	case layout.KindToolCall:
		n := &Note{}
		n.readCalls(e, jsonl.Get(e.Payload, "calls"))
		if !e.Hidden() {
			n.ending = Working
		}
		return n
	case layout.KindError:
		return &Note{ending: Failed, answer: jsonl.GetString(e.Payload, "message")}
	case layout.KindToolResult:
		return readResults(e)
	case layout.KindAnchor:
		n := &Note{}
		state := jsonl.Get(e.Payload, "state")
		n.aside = e.Anchor == layout.FirstAnchor
		n.helper = n.aside && jsonl.GetString(state, "owner") == "agent"
		n.forked = n.aside && jsonl.Get(state, "forked_from") != nil
		n.readSession(state)
		return n
	case layout.KindEvent:
		return readEvent(e)
	}
	return nil
}

func readMessage(e layout.Entry) *Note {
	hidden := e.Hidden()
	role := e.Role()
	if role == "user" {
		if hidden {
			return nil
		}
		if asked := about.Prompt(e); asked != "" {
			return &Note{turn: true, asked: asked, ending: Asked}
		}
		if about.IsInterruption(e) {
			return &Note{ending: Interrupted}
		}
		return nil
	}
	n := &Note{}
	content := jsonl.Get(e.Payload, "content")
	if !hidden && role == "assistant" && hasText(content) {
		n.ending, n.reply = Answered, e.Payload
	}
	const bare = 40 // bytes of a payload that has nothing but the role and the content
	if len(e.Payload)-len(content) <= bare {
		if n.ending == "" {
			return nil
		}
		return n
	}
	n.readCalls(e, jsonl.Get(e.Payload, "tool_calls"))
	if id := jsonl.GetString(e.Payload, "tool_call_id"); id != "" {
		n.results = []result{{id: id, tests: readTests(content)}}
	}
	if n.calls != nil && !hidden {
		n.ending = Working
	}
	if n.calls == nil && n.results == nil && n.ending == "" {
		return nil
	}
	return n
}

// hasText reports whether the content of a message has any text.
func hasText(content []byte) bool {
	if len(content) > 2 && content[0] == '"' {
		return true
	}
	for part := range jsonl.Elements(content) {
		if jsonl.GetString(part, "text") != "" {
			return true
		}
	}
	return false
}

func short(s string) string {
	if len(s) > longest {
		return ""
	}
	return s
}

func (n *Note) readCalls(e layout.Entry, list []byte) {
	for raw := range jsonl.Elements(list) {
		c := call{ID: jsonl.GetString(raw, "id")}
		tool, args := functionOf(raw)
		c.Tool = cmp.Or(tool, "call")
		what := effectOf(c.Tool)
		if what != nothing {
			c.Touches, c.Shell = touchesOf(what, args), what == shell
		}
		c.identify(what, args)
		for i := range c.Touches {
			c.Touches[i].Entry = e.ID
		}
		n.calls = append(n.calls, c)
	}
}

// readEvent reads the events that matter here; nil for others.
func readEvent(e layout.Entry) *Note {
	n := &Note{}
	switch about.EventName(e.Payload) {
	case "run":
		n.readRun(e, jsonl.Get(e.Payload, "data"))
	case "session.usage":
		n.spent = dollars(jsonl.Get(e.Payload, "data", "cost"))
	case "tool.detail":
		n.readDetail(jsonl.Get(e.Payload, "data"))
	case "tool.run":
		n.readToolRun(e, jsonl.Get(e.Payload, "data"))
	case "session_meta", "turn_context", "environment":
		if !e.Hidden() {
			n.readSession(jsonl.Get(e.Payload, "data"))
		}
	case about.TitleEvent, about.StarEvent, about.TagEvent, "session.continued", "tape.purged":
		n.aside = true // of somebody who keeps the tape, not who works in the session
	case "project.commit":
		n.commit = strings.TrimSpace(short(jsonl.GetString(e.Payload, "data", "id")) + " " + short(jsonl.GetString(e.Payload, "data", "subject")))
	default:
		return nil
	}
	return n
}

// readSession reads the facts of a session that change how its entries are read.
func (n *Note) readSession(facts []byte) {
	for key, v := range jsonl.Fields(facts) {
		switch key {
		case "cwd":
			s, _ := jsonl.String(v)
			n.dir = short(s)
		case "model":
			s, _ := jsonl.String(v)
			n.model = short(s)
		}
	}
}

func (n *Note) readRun(e layout.Entry, data []byte) {
	model := short(jsonl.GetString(data, "model"))
	if !e.Hidden() { // not a subagent's
		n.model = model
	}
	u, ok := about.UsageOf(e)
	if !ok {
		return
	}
	n.usage = &run{ID: short(jsonl.GetString(data, "message_id")), Model: model, Total: number(jsonl.Get(data, "total_token_usage", "total_tokens")),
		Used: Tokens{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheLong: u.CacheLong}}
	if jsonl.GetString(e.Meta, "source", "format") != "copilot" { // its cost counts requests
		n.usage.Used.note(dollars(jsonl.Get(data, "cost")))
	}
}

// dollars returns an amount of money; 0 for anything else.
func dollars(raw []byte) float64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	const most = 1e6
	if err != nil || !(n > 0 && n < most) {
		return 0
	}
	return n
}

// readResults reads which calls failed, and which were rejected.
func readResults(e layout.Entry) *Note {
	var ids, wrong []string
	if len(e.Meta) > len("{}") {
		ids, wrong = jsonl.Strings(jsonl.Get(e.Meta, "call_ids")), jsonl.Strings(jsonl.Get(e.Meta, "is_error"))
	}
	n := &Note{}
	for raw := range jsonl.Elements(jsonl.Get(e.Payload, "results")) {
		var r result
		if i := len(n.results); i < len(ids) {
			r.id = ids[i]
		}
		r.tests = readTests(raw)
		r.failed, r.rejected = Outcome(raw, r.id != "" && slices.Contains(wrong, r.id))
		n.results = append(n.results, r)
	}
	return n
}

// headBytes is how many bytes are searched at the beginning of a result, or at its end.
const headBytes = 240

// rejections are what agents write as results of calls that a person or the settings did not allow.
var rejections = [...]string{
	"The user doesn't want to", "User rejected tool use", "[Request interrupted by user", "was rejected by the user",
	"The user rejected permission", "User denied execution", "Operation cancelled by user", "rejected by user", "aborted by user",
	"Permission to use ", "has been denied", "The user has specified a rule which prevents",
}

// Outcome says how a call ended, from its result as JSON. marked says that the agent marked the result as an error. A
// call that was not allowed counts as rejected, not as failed.
func Outcome(result []byte, marked bool) (failed, rejected bool) {
	rejected = isRejection(result, marked)
	return !rejected && (marked || exitedBadly(result)), rejected
}

// isRejection reports whether a result says that the call was not allowed. Results that are not marked as errors are
// texts of any kind, so only their beginning counts.
func isRejection(result []byte, marked bool) bool {
	head := result[:min(len(result), headBytes)]
	if marked {
		return slices.ContainsFunc(rejections[:], func(s string) bool { return bytes.Contains(head, []byte(s)) })
	}
	head = bytes.TrimPrefix(head, []byte(`"`))
	if rest, ok := bytes.CutPrefix(head, []byte("Wall time: ")); ok { // Codex
		_, head, _ = bytes.Cut(rest, []byte(`\n`))
	}
	return slices.ContainsFunc(unmarkedRejections[:], func(s string) bool { return bytes.HasPrefix(head, []byte(s)) })
}

// unmarkedRejections are how rejections begin in results that are not marked as errors.
var unmarkedRejections = [...]string{"aborted by user", "exec command rejected by user", "patch rejected by user", "[Operation Cancelled]"}

// exitedBadly reports whether a result has the exit code of a failed command: Codex writes the code at the
// beginning, Gemini at the end.
func exitedBadly(raw []byte) bool {
	starts := func(s string) bool { return bytes.HasPrefix(raw, []byte(s)) }
	head, tail := raw[:min(len(raw), headBytes)], raw[max(0, len(raw)-headBytes):]
	var code []byte
	switch {
	case starts(`"Chunk ID: `), starts(`"Wall time: `):
		_, code, _ = bytes.Cut(head, []byte("Process exited with code "))
	case starts(`"apply_patch verification failed`): // before anything was changed
		return true
	case starts(`"Exit code: `):
		code = raw[len(`"Exit code: `):]
	case starts(`"<untrusted_context>`), starts(`"Command: `):
		_, code, _ = bytes.Cut(tail, []byte(`\nExit Code: `))
	}
	return len(code) > 0 && code[0] >= '1' && code[0] <= '9'
}

func number(raw []byte) (n int64) {
	for _, c := range raw {
		if c < '0' || c > '9' || n > 1<<58 {
			return 0
		}
		n = 10*n + int64(c-'0')
	}
	return n
}
