package record

import (
	"bytes"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
)

// Talk makes the entries of formats whose records are in order already: it
// groups calls and holds results until a group is complete.
type Talk struct {
	*Reading
	Counts Counter // of contents, for keys
	Hidden bool    // what comes now was abandoned
	group  Group
	open   []Call // calls that may still be joined by others
}

// Call is one call that is about to be written.
type Call struct {
	Raw   []byte // in the shape of the format
	ID    string
	Name  string
	Input []byte
	Key   string
	Date  string
}

// NewCall makes a call of its name and input, which is JSON.
func NewCall(id, name string, input []byte, key, date string) Call {
	return Call{Raw: RawCall(id, name, Quote(string(input))), ID: id, Name: name, Input: input, Key: key, Date: date}
}

// Has reports whether the tape has an entry of that key.
func (t *Talk) Has(key string) bool { return t.Seen(t.Home, key) }

// Settle writes the calls that are open.
func (t *Talk) Settle() {
	if len(t.open) == 0 {
		return
	}
	p := Part{Kind: KindToolCall, Hidden: t.Hidden}
	var calls [][]byte
	t.group = Group{}
	for _, c := range t.open {
		t.group.Expect(c.ID, c.Name, c.Input)
		if t.Has(c.Key) {
			t.Past(c.Date)
			continue
		}
		calls = append(calls, c.Raw)
		p.Keys = append(p.Keys, c.Key)
		p.Date = c.Date
	}
	t.open = nil
	if p.Keys != nil {
		p.Payload = Calls(calls)
		t.Reading.Put(p)
	}
}

// Call adds a call to the group.
func (t *Talk) Call(c Call) {
	if t.group.calls != nil {
		t.Flush()
	}
	t.open = append(t.open, c)
}

// Result adds a result. extra, or nil, is an object with what the model was not told.
func (t *Talk) Result(r Result, extra []byte) {
	t.Settle()
	if t.group.Full(r) {
		t.Flush()
	}
	r.Known, r.Hidden = t.Has(r.Key), t.Hidden
	stray := t.group.Answer(r, func(input []byte) *Part {
		rest, key := Untold(extra, r.Content, input), r.Key+"/detail"
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

// Flush writes everything that is held.
func (t *Talk) Flush() {
	t.Settle()
	held := t.group
	t.group = Group{}
	t.PutResults("", &held)
}

// Idle reports whether nothing is held.
func (t *Talk) Idle() bool { return t.open == nil && t.group.calls == nil && t.group.After == nil }

// Waits reports whether the result of a call is waited for.
func (t *Talk) Waits(id string) bool {
	return slices.ContainsFunc(t.open, func(c Call) bool { return c.ID == id }) ||
		slices.ContainsFunc(t.group.calls, func(p pending) bool { return p.result.ID == id && p.waits() })
}

// Waiting lists the calls whose results are waited for.
func (t *Talk) Waiting() (ids []string) {
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

// End is for the end of the source.
func (t *Talk) End() {
	if !t.Open {
		t.Flush()
	}
}

// Put writes an entry, unless the tape has it.
func (t *Talk) Put(p Part) {
	t.Settle()
	if p.Kind != KindEvent {
		// A conversation goes on: no results are to come.
		t.Flush()
	}
	if t.Has(p.Keys[0]) {
		t.Past(p.Date)
		return
	}
	p.Hidden = t.Hidden
	t.Reading.Put(p)
}

// Damaged writes what cannot be read.
func (t *Talk) Damaged(at Span, reason string) {
	t.Settle()
	t.PutDamaged("", at, reason, &t.Counts)
}

// Group is some calls, and what waits for their results.
type Group struct {
	calls []pending
	held  int // bytes of results held

	After []Part   // messages that came between the calls and their results
	Ends  []string // subagents whose results they are
}

// pending is a call and, once it came, its result.
type pending struct {
	input  []byte
	search bool   // of what is recorded
	result Result // of the call's ID; without Content while it is waited for
	detail *Part

	commits []commit // that the result shows
}

func (p *pending) waits() bool { return p.result.Content == nil && !p.result.Known }

// Result is what came of a call.
type Result struct {
	ID, Key, Date  string
	Content        []byte
	Failed, Hidden bool
	Known          bool // the tape has it
}

// maxHeld is how much of results is held until the last of a group is there,
// and how large an entry of several results may get.
const maxHeld = 8 << 20

// Expect adds a call.
func (g *Group) Expect(id, name string, input []byte) {
	g.calls = append(g.calls, pending{input: input, search: isSearch(name), result: Result{ID: id}})
}

// isSearch reports whether a tool shows what is recorded: one of tape mcp, in front of whose name
// agents put that of the server. A search does not find what these have shown.
func isSearch(name string) bool {
	return strings.HasSuffix(name, "tape_search") || strings.HasSuffix(name, "tape_read") || strings.HasSuffix(name, "tape_context")
}

// Complete reports whether no result is waited for.
func (g *Group) Complete() bool {
	return !slices.ContainsFunc(g.calls, func(p pending) bool { return p.waits() })
}

// Full reports whether a result has to wait for the group to be written.
func (g *Group) Full(r Result) bool { return g.held > 0 && g.held+len(r.Content) > maxHeld }

// Answered lists the ids of the calls whose results are there.
func (g *Group) Answered() []string {
	var ids []string
	for i := range g.calls {
		if p := &g.calls[i]; !p.waits() {
			ids = append(ids, p.result.ID)
		}
	}
	return ids
}

// Answer keeps a result with its call, and what detail makes of the call's input. A
// result whose call is not known gets a group to itself.
func (g *Group) Answer(r Result, detail func(input []byte) *Part) (stray *Group) {
	i := slices.IndexFunc(g.calls, func(p pending) bool { return p.result.ID == r.ID && p.waits() })
	in := g
	if i < 0 {
		stray = &Group{calls: []pending{{}}}
		in, i = stray, 0
	}
	call := &in.calls[i]
	call.detail, call.commits = detail(call.input), commitsIn(call.input, r.Content)
	if r.Known {
		r.Content = nil
	}
	r.Content = bytes.Clone(r.Content)
	g.held += len(r.Content)
	call.result = r
	return stray
}

// PutResults makes entries of a group's results, in the order of the calls, and of what
// came between. A missing result becomes a null if others follow.
func (r *Reading) PutResults(fork string, g *Group) {
	last := -1
	for i := range g.calls {
		if g.calls[i].result.Content != nil {
			last = i
		}
	}
	p := Part{Fork: fork, Kind: KindToolResult, search: true}
	var results [][]byte
	for i := range g.calls {
		call := &g.calls[i].result
		if i > last && !call.Known {
			continue
		}
		if call.Known {
			r.Past(call.Date)
			continue
		}
		p.callIDs = append(p.callIDs, call.ID)
		results = append(results, Or(call.Content, "null"))
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
	var parts []Part
	if last >= 0 {
		p.Payload = NewObject(g.held+5*len(results)+16).Raw("results", Array(results)).Done()
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

// Calls is the payload of an entry of calls.
func Calls(calls [][]byte) []byte { return NewObject(0).Raw("calls", Array(calls)).Done() }

// RawCall is a call in the shape of the format. arguments is a JSON string.
func RawCall(id, name string, arguments []byte) []byte {
	b := make([]byte, 0, len(id)+len(name)+len(arguments)+72)
	b = jsonl.AppendString(append(b, `{"id":`...), id)
	b = jsonl.AppendString(append(b, `,"type":"function","function":{"name":`...), name)
	b = append(append(b, `,"arguments":`...), arguments...)
	return append(b, '}', '}')
}
