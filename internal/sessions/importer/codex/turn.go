package codex

import (
	"bytes"
	"slices"
	"strconv"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// turn finds the events that repeat a response item. The item may come a little later than the event:
// until it comes or the turn ends, the event and the records after it wait.
type turn struct {
	items  record.Counter // what response items said and no event repeated
	queue  []queued
	marked struct {
		context, model []byte
		scope          string
		recorded       bool
	} // at the last mark
	recorded bool // there was a token_usage_record, see usage.go
}

type queued struct {
	item
	key   string
	waits bool
}

// maxQueue: when so many records wait, the next one that is not a response item releases them.
const maxQueue = 256

// Record handles a line.
func (c *reader) Record(at record.Span, raw []byte) {
	it := parse(raw)
	it.hidden = c.rolledBack.Has(at.Off)
	c.Stats.Records++
	if c.first < 0 {
		c.first = at.Off
		c.own, _ = number(jsonl.Get(it.payload, "subagent_history_start_ordinal"))
	}
	if c.own > 0 && at.Off > c.first && c.inherited(it, raw) {
		c.Counts.Key(raw)
		return
	}
	if c.own == 0 && at.Off > c.first && it.begins() && c.queue == nil && c.NothingHeld() && len(c.details) == 0 {
		c.mark(at)
	}
	c.trace(&it)
	key := c.Counts.Key(raw)
	if at.Off == c.first && goesOn(it, c.Stem()) {
		key = c.beginPart(&it, key)
	}
	q := queued{item: it, key: key}
	switch {
	case it.typ == "response_item":
		it.repeats(c.itemSays)
	case it.typ == usageRecord:
		c.releaseUsage()
		q.waits, c.recorded = true, true
	case it.kind == "token_count" && c.recorded:
		q.repeated = !c.pairUsage(it, key)
	case it.bounds() || len(c.queue) >= maxQueue:
		c.releaseAll()
	case it.repeating():
		q.repeated, q.waits = c.itemSaid(it)
	}
	c.drain()
	if c.queue == nil && !q.waits {
		c.emit(q.item, key)
		return
	}
	q.payload = bytes.Clone(q.payload)
	c.queue = append(c.queue, q)
}

// mark notes that a later reading can begin at this record.
func (c *reader) mark(at record.Span) {
	c.Mark(at)
	c.Counts.Mark()
	c.said.Mark()
	c.items.Mark()
	c.facts.Mark()
	c.marked.context, c.marked.model, c.marked.scope, c.marked.recorded = c.context, c.model, c.scope, c.recorded
}

// inherited reports whether a record is from the history of a subagent's parent, which has a file of its
// own. Messages that the program adds for the subagent have no metadata.
func (c *reader) inherited(it item, raw []byte) bool {
	n, ok := number(jsonl.Get(raw, "ordinal"))
	if !ok || n >= c.own {
		c.own = 0
		return false
	}
	if m := jsonl.Get(it.payload, "model"); it.typ == "turn_context" && m != nil {
		c.model = bytes.Clone(m)
	}
	return it.typ != "response_item" || jsonl.Get(raw, "metadata") != nil
}

// itemSays releases the first event that waits for what a response item says.
func (c *reader) itemSays(who, said string) {
	sum := saidSum(who, said)
	i := slices.IndexFunc(c.queue, func(q queued) bool {
		same := false
		if q.waits {
			q.repeats(func(who, said string) { same = same || saidSum(who, said) == sum })
		}
		return same
	})
	if i < 0 {
		c.items.Next(sum)
		return
	}
	c.queue[i].repeated, c.queue[i].waits = true, false
}

// itemSaid reports whether a response item has already said what an event says; otherwise the event
// waits for one that does.
func (c *reader) itemSaid(it item) (repeated, waits bool) {
	waits = true
	it.repeats(func(who, said string) {
		if sum := saidSum(who, said); c.items.Count(sum) > 0 {
			c.items.Drop(sum)
			repeated, waits = true, false
		}
	})
	return repeated, waits
}

// releaseAll releases all records that wait.
func (c *reader) releaseAll() {
	for i := range c.queue {
		c.queue[i].waits = false
	}
	c.drain()
}

func (c *reader) drain() {
	for len(c.queue) > 0 && !c.queue[0].waits {
		q := c.queue[0]
		c.queue = c.queue[1:]
		c.emit(q.item, q.key)
	}
	if len(c.queue) == 0 {
		c.queue = nil
	}
}

// Damaged handles a line that cannot be read.
func (c *reader) Damaged(at record.Span, reason string) {
	c.releaseAll()
	c.Conversation.Damaged(at, reason)
}

func number(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// bounds reports whether a record separates turns.
func (it item) bounds() bool {
	return it.typ == "turn_context" || it.typ == "compacted" || it.typ == "session_meta" ||
		it.typ == "event_msg" && (it.kind == "task_started" || it.ends())
}

// ends reports whether a record ends a turn.
func (it item) ends() bool { return it.kind == "task_complete" || it.kind == "turn_aborted" }

// begins reports whether a turn may begin with a record.
func (it item) begins() bool {
	return it.kind == "task_started" || it.typ == "response_item" && it.kind == "message" && it.str("role") == "user"
}

// repeating reports whether a record is an event that may repeat a response item.
func (it item) repeating() (is bool) {
	if it.typ == "event_msg" {
		it.repeats(func(string, string) { is = true })
	}
	return is
}
