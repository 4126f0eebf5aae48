package conversation

import (
	"context"
	"iter"
	"slices"

	"tape/internal/store/activity"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Bounds on the items that are held back. Beyond them, a call is passed on without its result.
const (
	maxHeld      = 512
	maxHeldBytes = 4 << 20
	maxRun       = 256  // events in one item
	maxEarlier   = 4096 // calls that are remembered after they were passed on
)

// builder makes items of entries. It holds back a call, and the items after it, until the call's
// results come.
type builder struct {
	use func(*Item) error

	workspace string
	tape      string
	seq       int
	held      []*Item
	bytes     int
	last      *Item            // the latest with calls, for results that name no call
	calls     map[string]*Call // by id, those without a result
}

// Each passes the items of a conversation to use, in the order of their first entries. An item is
// valid until use returns.
func Each(ctx context.Context, entries iter.Seq2[repo.Entry, error], use func(*Item) error) error {
	b := &builder{use: use, calls: map[string]*Call{}}
	for e, err := range entries {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = b.add(e)
		}
		if err != nil {
			return err
		}
	}
	return b.flush()
}

func (b *builder) add(e repo.Entry) error {
	if e.Tape != b.tape || e.Workspace != b.workspace { // results belong to calls of the same tape
		if err := b.flush(); err != nil {
			return err
		}
		b.last = nil
		clear(b.calls)
	}
	if e.AnchorSeq != b.seq || e.Tape != b.tape || e.Workspace != b.workspace {
		if err := b.flush(); err != nil {
			return err
		}
		b.workspace, b.tape, b.seq = e.Workspace, e.Tape, e.AnchorSeq
		if err := b.pass(&Item{Kind: Phase, Entry: e}); err != nil || e.Kind == repo.KindAnchor {
			return err
		}
	}
	switch e.Kind {
	case repo.KindMessage, repo.KindSystem:
		if id := jsonl.GetString(e.Payload, "tool_call_id"); id != "" {
			b.addResult(Result{Entry: e, Parts: messageParts(e)}, id)
			break
		}
		b.addCalls(&Item{Kind: Message, Entry: e})
	case repo.KindToolCall:
		b.addCalls(&Item{Kind: Calls, Entry: e})
	case repo.KindToolResult:
		b.addResults(e)
	case repo.KindError:
		b.hold(&Item{Kind: Failure, Entry: e})
	default:
		b.addEvent(e)
	}
	return b.release()
}

func (b *builder) hold(it *Item) {
	b.held = append(b.held, it)
	b.grow(it, it.Entry)
}

func (b *builder) grow(it *Item, e repo.Entry) {
	it.size += len(e.Raw)
	b.bytes += len(e.Raw)
}

func (b *builder) addCalls(it *Item) {
	b.hold(it)
	for _, c := range readCalls(it.Entry) {
		if b.repeats(c) {
			it.Repeats = true
			continue
		}
		it.Calls = append(it.Calls, c)
		if c.ID != "" {
			b.remember(c)
		}
	}
	if it.waiting = len(it.Calls); it.waiting > 0 {
		b.last = it
	}
}

// repeats reports whether the latest item with calls has the same call.
func (b *builder) repeats(c *Call) bool {
	earlier := b.calls[c.ID]
	return earlier != nil && b.last != nil && slices.Contains(b.last.Calls, earlier) &&
		!earlier.answered && earlier.Name == c.Name && earlier.Args() == c.Args()
}

// remember keeps a call until its result comes. If there are too many, it keeps only those
// that are held back.
func (b *builder) remember(c *Call) {
	if len(b.calls) >= maxEarlier {
		clear(b.calls)
		for _, it := range b.held {
			for _, c := range it.Calls {
				if c.ID != "" && !c.answered {
					b.calls[c.ID] = c
				}
			}
		}
	}
	b.calls[c.ID] = c
}

func (b *builder) addEvent(e repo.Entry) {
	b.addDetail(Event{Entry: e})
	if n := len(b.held); n > 0 {
		it := b.held[n-1]
		if it.Kind == Events && len(it.Events) < maxRun {
			it.Events = append(it.Events, Event{Entry: e})
			b.grow(it, e)
			return
		}
	}
	b.hold(&Item{Kind: Events, Entry: e, Events: []Event{{Entry: e}}})
}

// addDetail adds what the agent says about a call after its result, such as how long it ran, or that it failed.
func (b *builder) addDetail(ev Event) {
	if ev.Name() != "tool.detail" {
		return
	}
	data := jsonl.Get(ev.Entry.Payload, "data")
	ran, known := ranFor(data)
	id := jsonl.GetString(data, "call_id")
	for _, it := range b.held {
		for _, c := range it.Calls {
			if c.ID != id {
				continue
			}
			if c.Detail = data; known {
				c.ran = &ran
			}
			if n := len(c.Results); n > 0 && !c.Rejected() && activity.DetailFailed(data) {
				c.Results[n-1].Failed = true
			}
		}
	}
}

// addResults adds the results of an entry to their calls: by the ids in meta.call_ids, which
// imports write, otherwise by position to the latest calls.
func (b *builder) addResults(e repo.Entry) {
	ids := jsonl.Strings(jsonl.Get(e.Meta, "call_ids"))
	var open []*Call
	if b.last != nil {
		open = slices.DeleteFunc(slices.Clone(b.last.Calls), func(c *Call) bool { return c.answered })
	}
	results := readResults(e)
	failed := jsonl.Strings(jsonl.Get(e.Meta, "is_error"))
	for i, r := range results {
		id := ""
		switch {
		case i < len(ids):
			id = ids[i]
		case len(ids) == 0 && i < len(open):
			r.Of, id = open[i], open[i].ID
		}
		r.Failed, r.Rejected = activity.Outcome(r.raw, id != "" && slices.Contains(failed, id))
		b.addResult(r, id)
	}
	if len(results) == 0 {
		b.hold(&Item{Kind: Results, Entry: e})
	}
}

func (b *builder) addResult(r Result, id string) {
	if r.Of == nil {
		r.Of = b.calls[id]
	}
	if r.Of != nil {
		if b.calls[r.Of.ID] == r.Of {
			delete(b.calls, r.Of.ID)
		}
		first := !r.Of.answered
		r.Of.answered = true
		for _, it := range b.held {
			if !slices.Contains(it.Calls, r.Of) {
				continue
			}
			if first {
				it.waiting--
			}
			r.Of.Results = append(r.Of.Results, r)
			if r.Index == 0 {
				b.grow(it, r.Entry)
			}
			return
		}
	}
	if n := len(b.held); n > 0 && b.held[n-1].Kind == Results && b.held[n-1].Entry.ID == r.Entry.ID {
		b.held[n-1].Results = append(b.held[n-1].Results, r)
		return
	}
	b.hold(&Item{Kind: Results, Entry: r.Entry, Results: []Result{r}})
}

// release passes on the items to which nothing can be added any more. It keeps the latest calls, because the details
// of a call follow its result.
func (b *builder) release() error {
	if len(b.held) > maxHeld || b.bytes > maxHeldBytes {
		return b.flush()
	}
	last := len(b.held) - 1 // the last item before the events at the end
	for last > 0 && b.held[last].Kind == Events {
		last--
	}
	n := 0
	for ; n < len(b.held); n++ {
		it := b.held[n]
		if it.waiting > 0 || n == last && len(it.Calls) > 0 || n == len(b.held)-1 && it.Kind == Events && len(it.Events) < maxRun {
			break
		}
		if err := b.pass(it); err != nil {
			return err
		}
	}
	b.held = b.held[n:]
	if len(b.held) == 0 {
		b.held = nil
	}
	return nil
}

func (b *builder) flush() error {
	for _, it := range b.held {
		if err := b.pass(it); err != nil {
			return err
		}
	}
	b.held = nil
	return nil
}

// pass passes an item on. It keeps only what a late result needs to know about the item's calls.
func (b *builder) pass(it *Item) error {
	b.bytes -= it.size
	it.fill()
	err := b.use(it)
	for _, c := range it.Calls {
		*c = Call{ID: c.ID, Name: c.Name, Entry: c.Entry, answered: c.answered}
	}
	*it = Item{Kind: it.Kind, Entry: repo.Entry{ID: it.Entry.ID}, Calls: it.Calls}
	return err
}
