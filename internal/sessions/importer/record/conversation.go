package record

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
)

// Conversation makes the entries of formats whose records are in the order of the tape. It groups
// calls, and holds results until each call of the group has a result.
type Conversation struct {
	*Reading
	Counts Counter // of contents, for keys
	Hidden bool    // the user abandoned the part that is being read
	group  Group
	open   []Call // calls not emitted yet: more may follow in the same entry
}

// Call is a call of a tool.
type Call struct {
	Raw   []byte // as entries have it, see [RawCall]
	ID    string
	Name  string
	Input []byte
	Key   string
	Date  string

	Fact   string // as in [Entry]
	Copied bool
}

// NewCall makes a call; input is JSON.
func NewCall(id, name string, input []byte, key, date string) Call {
	return Call{Raw: RawCall(id, name, Quote(string(input))), ID: id, Name: name, Input: input, Key: key, Date: date}
}

// Has reports whether the tape has an entry with that key.
func (t *Conversation) Has(key string) bool { return t.Seen(t.Home, key) }

// PutCalls emits the calls that came since the last entry.
func (t *Conversation) PutCalls() {
	if len(t.open) == 0 {
		return
	}
	p := Entry{Kind: KindToolCall, Hidden: t.Hidden}
	var calls [][]byte
	t.group = Group{}
	for _, c := range t.open {
		t.group.AddCall(c.ID, c.Name, c.Input)
		if t.Has(c.Key) {
			t.Skipped(c.Date)
			continue
		}
		calls = append(calls, c.Raw)
		p.Keys = append(p.Keys, c.Key)
		p.Date, p.Copied = c.Date, c.Copied
		p.Fact = cmp.Or(p.Fact, c.Fact)
	}
	t.open = nil
	if p.Keys != nil {
		p.Payload = Calls(calls)
		t.Reading.Put(p)
	}
}

// Call adds a call to the group.
func (t *Conversation) Call(c Call) {
	if t.group.calls != nil {
		t.Flush()
	}
	t.open = append(t.open, c)
}

// Result adds a result. extra is an object with what else the program says about it, or nil: what of it
// the model did not see becomes an event.
func (t *Conversation) Result(r Result, extra []byte) {
	t.PutCalls()
	if t.group.Full(r) {
		t.Flush()
	}
	r.Stored, r.Hidden = t.Has(r.Key), t.Hidden
	stray := t.group.AddResult(r, func(input []byte) *Entry {
		rest, key := Remainder(extra, r.Content, input), r.Key+"/detail"
		if rest == nil || t.Has(key) {
			return nil
		}
		p := Event(key, r.Date, EventToolDetail, NewObject(len(rest)+64).Str("call_id", r.ID).All(rest).Done())
		p.Hidden = t.Hidden
		return &p
	})
	if stray != nil {
		t.PutResults("", stray)
	} else if t.group.Complete() {
		t.Flush()
	}
}

// Flush emits everything that is held.
func (t *Conversation) Flush() {
	t.PutCalls()
	held := t.group
	t.group = Group{}
	t.PutResults("", &held)
}

// NothingHeld reports whether no calls, results or messages wait.
func (t *Conversation) NothingHeld() bool {
	return t.open == nil && t.group.calls == nil && t.group.After == nil
}

// Waits reports whether there is a call with an id, and it has no result yet.
func (t *Conversation) Waits(id string) bool {
	return slices.Contains(t.Waiting(), id)
}

// Waiting returns the ids of the calls without a result.
func (t *Conversation) Waiting() (ids []string) {
	for _, c := range t.open {
		ids = append(ids, c.ID)
	}
	for _, p := range t.group.calls {
		if p.waits() {
			ids = append(ids, p.result.ID)
		}
	}
	return ids
}

// End flushes at the end of the source, unless the session goes on.
func (t *Conversation) End() {
	if !t.Open {
		t.Flush()
	}
}

// Put emits an entry, unless the tape has it.
func (t *Conversation) Put(p Entry) {
	t.PutCalls()
	if p.Kind != KindEvent {
		// The conversation goes on: no more results will come.
		t.Flush()
	}
	if t.Has(p.Keys[0]) {
		t.Skipped(p.Date)
		if t.Hidden {
			t.WasTakenBack(p.Keys[0])
		}
		return
	}
	p.Hidden = t.Hidden
	t.Reading.Put(p)
}

// PutTitle emits the title that the program has for the session, unless the tape has it.
func (t *Conversation) PutTitle(title string) {
	data := NewObject(len(title)+16).Str("title", title).Done()
	if key := "title:" + ContentKey(data, 1); title != "" && !t.Has(key) {
		t.Put(Event(key, "", "tape.title", data))
	}
}

// InRun returns Put for the entries of a request to the model.
func (t *Conversation) InRun(id string) func(Entry) {
	return func(p Entry) {
		p.RunID = id
		t.Put(p)
	}
}

// Damaged emits the event for a line that cannot be read.
func (t *Conversation) Damaged(at Span, reason string) {
	t.PutCalls()
	t.PutDamaged("", at, reason, &t.Counts)
}

// Group is calls with their results, and the messages that wait for the results.
type Group struct {
	calls []pending
	held  int // bytes of results held

	After []Entry  // messages that came between the calls and their results
	Ends  []string // subagents that end with these results
}

// pending is a call and, once it came, its result.
type pending struct {
	input  []byte
	search bool   // it shows recorded entries, see isSearch
	result Result // has the call's ID; without Content until it comes
	detail *Entry

	commits []commit // that the result shows
}

func (p *pending) waits() bool { return p.result.Content == nil && !p.result.Stored }

// Result is the result of a call.
type Result struct {
	ID, Key, Date  string
	Content        []byte
	Failed, Hidden bool
	Stored         bool     // the tape has it
	Whole          []byte   // the whole text, if the program keeps that in a file of its own, see [Source.Kept]
	Ends           []string // subagents that end with it
}

// maxHeld bounds the results that are held until the last one of a group comes, and so the size of
// an entry with several results, in bytes.
const maxHeld = 8 << 20

// AddCall adds a call.
func (g *Group) AddCall(id, name string, input []byte) {
	g.calls = append(g.calls, pending{input: input, search: isSearch(name), result: Result{ID: id}})
}

// isSearch reports whether a tool of tape mcp shows recorded entries. Agents put the server's name
// before the tool's. A search does not find the results of such calls.
func isSearch(name string) bool {
	return strings.HasSuffix(name, "tape_search") || strings.HasSuffix(name, "tape_read") || strings.HasSuffix(name, "tape_context")
}

// Complete reports whether every call has its result.
func (g *Group) Complete() bool {
	return !slices.ContainsFunc(g.calls, func(p pending) bool { return p.waits() })
}

// Full reports whether the group has to be emitted before a result is added.
func (g *Group) Full(r Result) bool { return g.held > 0 && g.held+len(r.Content) > maxHeld }

// Answered returns the ids of the calls that have a result.
func (g *Group) Answered() (ids []string) {
	for i := range g.calls {
		if p := &g.calls[i]; !p.waits() {
			ids = append(ids, p.result.ID)
		}
	}
	return ids
}

// AddResult adds a result, and the entry that detail makes from the call's input. If the call is
// unknown, it returns a new group with the result.
func (g *Group) AddResult(r Result, detail func(input []byte) *Entry) (stray *Group) {
	i := slices.IndexFunc(g.calls, func(p pending) bool { return p.result.ID == r.ID && p.waits() })
	in := g
	if i < 0 {
		stray = &Group{calls: []pending{{}}}
		in, i = stray, 0
	}
	in.Ends = append(in.Ends, r.Ends...)
	call := &in.calls[i]
	call.detail, call.commits = detail(call.input), commitsIn(call.input, r.Content)
	if r.Stored {
		r.Content = nil
	}
	r.Content = bytes.Clone(r.Content)
	g.held += len(r.Content)
	call.result = r
	return stray
}

// PutResults emits the results of a group in the order of the calls, then the events with their commits
// and details, and then the messages that waited for them. A missing result becomes a null if others follow.
func (r *Reading) PutResults(fork string, g *Group) {
	last := -1
	for i := range g.calls {
		if g.calls[i].result.Content != nil {
			last = i
		}
	}
	p := Entry{Fork: fork, Kind: KindToolResult, search: true}
	var results [][]byte
	for i := range g.calls {
		call := &g.calls[i].result
		if i > last && !call.Stored {
			continue
		}
		if call.Stored {
			r.Skipped(call.Date)
			continue
		}
		p.callIDs = append(p.callIDs, call.ID)
		results = append(results, Or(call.Content, "null"))
		if call.Whole != nil && p.whole == nil {
			p.whole = make([][]byte, len(g.calls))
		}
		if call.Whole != nil {
			p.whole[len(results)-1] = call.Whole
		}
		if call.Content == nil {
			continue
		}
		p.search = p.search && g.calls[i].search
		p.Keys = append(p.Keys, call.Key)
		p.Date = max(p.Date, call.Date)
		p.Hidden = call.Hidden
		if call.Failed {
			p.failed = append(p.failed, call.ID)
		}
	}
	var parts []Entry
	if last >= 0 {
		p.Payload = NewObject(g.held+5*len(results)+16).List("results", results).Done()
		for i := range g.calls {
			g.calls[i].result.Content = nil
		}
		parts = append(parts, p)
	}
	for i := range g.calls {
		parts = append(parts, r.commitEvents(fork, &g.calls[i])...)
	}
	for i := range g.calls {
		if d := g.calls[i].detail; d != nil {
			parts = append(parts, *d)
		}
	}
	if n := len(parts); n > 0 {
		parts[n-1].Ends = g.Ends
	}
	for _, p := range append(parts, g.After...) {
		r.Put(p)
	}
}

// Calls returns the payload of an entry with calls.
func Calls(calls [][]byte) []byte { return NewObject(0).Raw("calls", Array(calls)).Done() }

// RawCall returns a call as entries have it. arguments is a JSON string.
func RawCall(id, name string, arguments []byte) []byte {
	b := make([]byte, 0, len(id)+len(name)+len(arguments)+72)
	b = jsonl.AppendString(append(b, `{"id":`...), id)
	b = jsonl.AppendString(append(b, `,"type":"function","function":{"name":`...), name)
	b = append(append(b, `,"arguments":`...), arguments...)
	return append(b, '}', '}')
}
