package export

import (
	"context"
	"slices"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// A block is what a reader takes for one thing: the opening of a phase, a message, a
// tool call with its results, a run of events.
type block struct {
	kind    blockKind
	entry   repo.Entry
	calls   []*call
	results []result     // of calls that are not here
	events  []repo.Entry // of a run, the block's entry among them

	repeats bool // calls that are part of a message, which has them
	waiting int  // calls without a result
	size    int  // bytes of its entries
}

type blockKind int

const (
	blockPhase blockKind = iota
	blockMessage
	blockCalls
	blockResults
	blockEvents
	blockError
)

type call struct {
	id, name string
	args     string // readable
	brief    string // what of them says most, on one line
	entry    int64
	answered bool
	results  []result
}

type result struct {
	entry  repo.Entry
	of     *call // nil if it is not known
	index  int   // among the results of its entry
	failed bool
	parts  []part
}

func (r result) title() string {
	if r.failed {
		return "result, failed"
	}
	return "result"
}

// What is held back is bounded by these: past them, a call is shown without its result.
const (
	maxHeld      = 512
	maxHeldBytes = 4 << 20
	maxRun       = 256  // events in one block
	maxEarlier   = 4096 // calls remembered after they were shown
)

// grouper makes blocks of entries. A call and what follows are held for its results.
type grouper struct {
	emit func(*block) error

	tape  string
	seq   int
	held  []*block
	bytes int
	last  *block           // the latest with calls, for results that name none
	calls map[string]*call // by id, those without a result
}

// eachBlock calls emit for each block of the source, in the order of their first
// entries, and closes every phase with its last one.
func eachBlock(ctx context.Context, src Source, emit func(*block) error) error {
	g := &grouper{emit: emit, calls: map[string]*call{}}
	if err := src.each(ctx, g.add); err != nil {
		return err
	}
	return g.flush()
}

func (g *grouper) add(e repo.Entry) error {
	if e.Tape != g.tape { // another tape's calls have nothing to do with its results
		if err := g.flush(); err != nil {
			return err
		}
		g.last = nil
		clear(g.calls)
	}
	if e.AnchorSeq != g.seq || e.Tape != g.tape {
		if err := g.flush(); err != nil {
			return err
		}
		g.tape, g.seq = e.Tape, e.AnchorSeq
		if err := g.emit(&block{kind: blockPhase, entry: e}); err != nil || e.Kind == repo.KindAnchor {
			return err
		}
	}
	switch e.Kind {
	case repo.KindMessage, repo.KindSystem:
		if id := jsonl.GetString(e.Payload, "tool_call_id"); id != "" {
			g.addResult(result{entry: e, parts: messageParts(e)}, id)
			break
		}
		g.addCalls(&block{kind: blockMessage, entry: e}, jsonl.Get(e.Payload, "tool_calls"))
	case repo.KindToolCall:
		g.addCalls(&block{kind: blockCalls, entry: e}, jsonl.Get(e.Payload, "calls"))
	case repo.KindToolResult:
		g.addResults(e)
	case repo.KindError:
		g.hold(&block{kind: blockError, entry: e})
	default:
		g.addEvent(e)
	}
	return g.release()
}

func (g *grouper) hold(b *block) {
	g.held = append(g.held, b)
	g.grow(b, b.entry)
}

func (g *grouper) grow(b *block, e repo.Entry) {
	b.size += len(e.Raw)
	g.bytes += len(e.Raw)
}

func (g *grouper) addCalls(b *block, calls []byte) {
	g.hold(b)
	for raw := range jsonl.Elements(calls) {
		c := readCall(raw)
		if g.again(c) {
			b.repeats = true
			continue
		}
		c.entry = b.entry.ID
		b.calls = append(b.calls, c)
		if c.id != "" {
			g.remember(c)
		}
	}
	if b.waiting = len(b.calls); b.waiting > 0 {
		g.last = b
	}
}

// again reports whether a call was recorded a moment ago, as part of a message.
func (g *grouper) again(c *call) bool {
	known := g.calls[c.id]
	return known != nil && g.last != nil && slices.Contains(g.last.calls, known) &&
		!known.answered && known.name == c.name && known.args == c.args
}

// remember keeps a call until its result comes; of too many, only those that are held.
func (g *grouper) remember(c *call) {
	if len(g.calls) >= maxEarlier {
		clear(g.calls)
		for _, b := range g.held {
			for _, c := range b.calls {
				if c.id != "" && !c.answered {
					g.calls[c.id] = c
				}
			}
		}
	}
	g.calls[c.id] = c
}

func (g *grouper) addEvent(e repo.Entry) {
	if n := len(g.held); n > 0 {
		b := g.held[n-1]
		if b.kind == blockEvents && len(b.events) < maxRun {
			b.events = append(b.events, e)
			g.grow(b, e)
			return
		}
	}
	g.hold(&block{kind: blockEvents, entry: e, events: []repo.Entry{e}})
}

// addResults puts the results of an entry to their calls: by the ids in meta.call_ids
// where an import left them there, else by position to the latest calls.
func (g *grouper) addResults(e repo.Entry) {
	ids := jsonl.Strings(jsonl.Get(e.Meta, "call_ids"))
	wrong := jsonl.Strings(jsonl.Get(e.Meta, "is_error"))
	var open []*call
	if g.last != nil {
		open = slices.DeleteFunc(slices.Clone(g.last.calls), func(c *call) bool { return c.answered })
	}
	results := slices.Collect(jsonl.Elements(jsonl.Get(e.Payload, "results")))
	for i, raw := range results {
		r := result{entry: e, index: i, parts: contentParts(raw)}
		if i == 0 {
			r.parts = append(r.parts, moreParts(e.Payload, "results")...)
		}
		id := ""
		switch {
		case i < len(ids):
			id = ids[i]
		case len(ids) == 0 && i < len(open):
			r.of, id = open[i], open[i].id
		}
		r.failed = id != "" && slices.Contains(wrong, id)
		g.addResult(r, id)
	}
	if len(results) == 0 {
		g.hold(&block{kind: blockResults, entry: e})
	}
}

func (g *grouper) addResult(r result, id string) {
	if r.of == nil {
		r.of = g.calls[id]
	}
	if r.of != nil {
		if g.calls[r.of.id] == r.of {
			delete(g.calls, r.of.id)
		}
		first := !r.of.answered
		r.of.answered = true
		for _, b := range g.held {
			if !slices.Contains(b.calls, r.of) {
				continue
			}
			if first {
				b.waiting--
			}
			r.of.results = append(r.of.results, r)
			if r.index == 0 {
				g.grow(b, r.entry)
			}
			return
		}
	}
	if n := len(g.held); n > 0 && g.held[n-1].kind == blockResults && g.held[n-1].entry.ID == r.entry.ID {
		g.held[n-1].results = append(g.held[n-1].results, r)
		return
	}
	g.hold(&block{kind: blockResults, entry: r.entry, results: []result{r}})
}

// release emits what nothing can be added to any more.
func (g *grouper) release() error {
	if len(g.held) > maxHeld || g.bytes > maxHeldBytes {
		return g.flush()
	}
	n := 0
	for ; n < len(g.held); n++ {
		b := g.held[n]
		if b.waiting > 0 || n == len(g.held)-1 && b.kind == blockEvents && len(b.events) < maxRun {
			break
		}
		if err := g.show(b); err != nil {
			return err
		}
	}
	g.held = g.held[n:]
	if len(g.held) == 0 {
		g.held = nil
	}
	return nil
}

func (g *grouper) flush() error {
	for _, b := range g.held {
		if err := g.show(b); err != nil {
			return err
		}
	}
	g.held = nil
	return nil
}

// show emits a block. Of its calls only what a late result needs is kept.
func (g *grouper) show(b *block) error {
	g.bytes -= b.size
	err := g.emit(b)
	for _, c := range b.calls {
		c.args, c.brief, c.results = "", "", nil
	}
	b.entry, b.events, b.results = repo.Entry{ID: b.entry.ID}, nil, nil
	return err
}
