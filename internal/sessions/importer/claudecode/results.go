package claudecode

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

func (c *reader) user(s *source) {
	tape := c.recs[s.i].tape
	if c.recs[s.i].is(flagPrompt) {
		c.flush(tape)
	}
	content := first(s.message, "content")
	if !hasResult(content) {
		extra := s.rest(userFields...)
		if d := s.toolUseResult; d != nil && !record.Blank(d) {
			extra = record.With(extra, "toolUseResult", d)
		}
		if s.unseen {
			extra = record.NotTyped(extra)
		}
		payload := record.NewObject(len(s.message)).Str("role", "user").All(s.message, "role")
		c.userMessage(s, []string{s.key}, record.Entry{Payload: payload.Done(), Extra: extra})
		return
	}
	var keys []string // of other blocks
	var blocks [][]byte
	detail := s.toolUseResult
	for i, block := range slices.Collect(jsonl.Elements(content)) {
		key := record.BlockKey(s.key, i)
		if record.Text(first(block, "type")) != "tool_result" {
			keys = append(keys, key)
			blocks = append(blocks, block)
			continue
		}
		c.result(s, key, block, detail)
		detail = nil // it is about the first result of a line
	}
	if c.groups[tape].Complete() {
		c.flush(tape)
	}
	c.userMessage(s, keys, record.Message("", "", "user", record.Array(blocks)))
}

// startsWithResult recognises most lists that begin with a tool's result.
func startsWithResult(content []byte) bool {
	return bytes.HasPrefix(content, []byte(`[{"tool_use_id":`)) || bytes.HasPrefix(content, []byte(`[{"type":"tool_result"`))
}

func hasResult(content []byte) bool {
	return startsWithResult(content) || slices.ContainsFunc(slices.Collect(jsonl.Elements(content)), func(block []byte) bool {
		return record.Text(first(block, "type")) == "tool_result"
	})
}

func (c *reader) userMessage(s *source, keys []string, p record.Entry) {
	p.Keys = nil
	for _, key := range keys {
		if c.fresh(s, key) {
			p.Keys = append(p.Keys, key)
		}
	}
	if p.Keys == nil {
		return
	}
	p.Kind, p.Fork, p.Date, p.Hidden, p.Copied = record.KindMessage, s.fork, s.date, s.hidden, s.forked
	g := &c.groups[c.recs[s.i].tape]
	if g.Complete() {
		c.r.Put(p)
	} else {
		g.After = append(g.After, p)
	}
}

// result adds a result to its call, or emits it if the call is unknown.
func (c *reader) result(s *source, key string, block, detail []byte) {
	r := record.Result{Key: key, Date: s.date, Hidden: s.hidden, Content: []byte(`""`)}
	for name, v := range jsonl.Fields(block) {
		switch name {
		case "tool_use_id":
			r.ID = record.Text(v)
		case "content":
			r.Content = v
		case "is_error":
			r.Failed = v[0] == 't'
		}
	}
	if r.Whole = c.persisted(r.Content); r.Whole != nil {
		r.Content, _ = record.Plain(r.Content)
	}
	tape := c.recs[s.i].tape
	if c.groups[tape].Full(r) {
		c.flush(tape)
	}
	r.Stored = !c.fresh(s, key)
	stray := c.groups[tape].AddResult(r, func(input []byte) *record.Entry { return c.detail(s, r, input, detail) })
	if stray != nil {
		stray.Ends = c.ended(stray.Answered())
		c.r.PutResults(s.fork, stray)
	}
}

// persisted returns the whole text of a result that was too large for the model: the program keeps it in
// SESSION/tool-results beside the transcript, and deletes it after a while (anthropics/claude-code#45982, basic-memory#1527).
func (c *reader) persisted(content []byte) []byte {
	const tag, before = "<persisted-output>", "saved to:"
	if !bytes.Contains(content[:min(len(content), 200)], []byte(tag)) {
		return nil
	}
	plain, all := record.Plain(content)
	text := record.Text(plain)
	_, named, found := strings.Cut(text[:min(len(text), 8<<10)], before)
	if named, _, _ = strings.Cut(named, "\n"); !all || !found || !strings.HasPrefix(text, tag) {
		return nil
	}
	root, session := filepath.Dir(c.r.Name), c.r.Stem()
	if filepath.Base(root) == "subagents" { // SESSION/subagents/agent-ID.jsonl
		root = filepath.Dir(root)
		root, session = filepath.Dir(root), filepath.Base(root)
	}
	return c.r.Kept(root, session+"/tool-results", named)
}

// flush emits the results that a tape holds.
func (c *reader) flush(tape uint16) {
	g := c.groups[tape]
	c.groups[tape] = record.Group{}
	g.Ends = c.ended(g.Answered())
	c.r.PutResults(c.tapes[tape], &g)
}

// detail returns the event with what the model did not see of a result, or nil.
func (c *reader) detail(s *source, r record.Result, input, detail []byte) *record.Entry {
	if detail == nil {
		return nil
	}
	key := s.key + "/detail"
	rest := record.Remainder(detail, r.Content, input)
	extra := s.rest(append([]string{"promptId"}, userFields...)...) // the prompt's line has promptId
	if rest == nil && extra == nil || !c.fresh(s, key) {
		return nil
	}
	data := record.NewObject(len(rest)+len(extra)+64).Str("call_id", r.ID)
	if jsonl.IsObject(rest) {
		for name, v := range jsonl.Fields(rest) {
			if name == "call_id" || name == "record" {
				name = "result." + name
			}
			data.Raw(name, v)
		}
	} else if rest != nil {
		data.Raw("result", rest)
	}
	data.Raw("record", extra)
	p := record.Event(key, s.date, record.EventToolDetail, data.Done())
	p.Fork, p.Hidden = s.fork, s.hidden
	return &p
}
