package codex

import (
	"bytes"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// usageRecord is the type of the record that newer versions write after each response of the model, with what it used. Then
// an event token_count says the same, but there is none after a compaction (openai/codex#47003), and there are others with
// what no response used: the same again, an estimate after a compaction, the whole window when it was too small. Later
// versions may write none (xiufengsun/TokenTracker#652). So from the first such record on, a token_count counts only if a
// record waits for it, and a record that gets none counts by itself.
const usageRecord = "token_usage_record"

// releaseUsage releases the record that waits for a token_count. It counts by itself.
func (c *reader) releaseUsage() {
	for i := range c.queue {
		if c.queue[i].typ == usageRecord {
			c.queue[i].waits = false
		}
	}
}

// pairUsage releases the record that says the same as a token_count, and reports whether there is one. A record that was
// imported before its token_count was written counts already.
func (c *reader) pairUsage(it item, key string) (paired bool) {
	last := counts(jsonl.Get(it.payload, "info", "last_token_usage"))
	for i := range c.queue {
		if q := &c.queue[i]; q.typ == usageRecord && q.waits && bytes.Equal(counts(jsonl.Get(q.payload, "usage")), last) {
			q.waits, q.repeated, paired = false, true, c.Has(key) || !c.Has(q.key)
		}
	}
	return paired
}

// usage emits a record with what a response used, if no token_count says that.
func (c *reader) usage(it item, key string) {
	if it.repeated {
		c.Put(record.Event(key, it.date, usageRecord, it.payload))
		return
	}
	data := record.NewObject(512).Raw("model", c.model).Raw("usage", counts(jsonl.Get(it.payload, "usage")))
	p := record.Event(key, it.date, record.EventRun, data.Rest(it.payload, "usage").Done())
	if id := it.str("response_id"); id != "" {
		p.Fact, p.Copied = "response "+id, it.copied
		c.Put(p)
		return
	}
	c.counted(it, p)
}

// counts returns how many tokens a response used.
func counts(usage []byte) []byte {
	return pick(usage, "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens")
}
