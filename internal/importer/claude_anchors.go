package importer

import (
	"tape/internal/jsonl"
)

// compaction makes one anchor of a boundary and the summary that follows it.
func (c *claude) compaction(i int32) error {
	if err := c.flush(c.recs[i].tape); err != nil {
		return err
	}
	first, err := c.fetch(i)
	if err != nil {
		return err
	}
	p := part{fork: first.fork, kind: kindAnchor, date: first.date, hidden: first.hidden}
	state := newObject(512)
	if c.recs[i].kind == claudeBoundary {
		if !c.fresh(&first, first.key) {
			return c.lateDigest(c.next(i))
		}
		p.keys = append(p.keys, first.key)
		facts := boundaryFacts(first.raw)
		if i = c.next(i); i >= 0 {
			s, err := c.fetchMember(i)
			if err != nil {
				return err
			}
			if c.fresh(&s, s.key) {
				p.keys = append(p.keys, s.key)
				state.raw("summary", plainContent(jsonl.Get(s.msg, "content")))
				p.extra = s.leftovers(userFields)
			}
		}
		for name, v := range jsonl.Fields(facts) {
			state.raw(name, v)
		}
	} else {
		if !c.fresh(&first, first.key) {
			return nil
		}
		p.keys = append(p.keys, first.key)
		state.raw("summary", plainContent(jsonl.Get(first.msg, "content")))
		p.extra = first.leftovers(userFields)
	}
	p.payload = anchorPayload("compaction", state.done())
	return c.r.out.put(p)
}

// lateDigest keeps a summary whose boundary was imported before it came.
func (c *claude) lateDigest(i int32) error {
	if i < 0 {
		return nil
	}
	s, err := c.fetchMember(i)
	if err != nil {
		return err
	}
	payload := messagePayload("user", jsonl.Get(s.msg, "content"))
	return c.put(&s, s.key, kindMessage, payload, s.leftovers(userFields))
}

// boundaryFacts is an owned object of what a boundary says about a compaction.
func boundaryFacts(raw []byte) []byte {
	o := newObject(128)
	for name, v := range jsonl.Fields(raw) {
		switch {
		case name == "compactMetadata":
			for name, v := range jsonl.Fields(v) {
				if name == "preTokens" {
					name = "pre_tokens"
				}
				if name != "summary" {
					o.raw(name, v)
				}
			}
		case name == "content" && string(v) == `"Conversation compacted"`, name == "level", name == "subtype":
		case claudeEnvelope(name) || blank(v):
		case name == "trigger", name == "pre_tokens", name == "summary":
			o.raw("boundary_"+name, v)
		default:
			o.raw(name, v)
		}
	}
	return o.done()
}

// plainContent is the content of a message as a string where it is only text.
func plainContent(content []byte) []byte {
	var only []byte
	n := 0
	for block := range jsonl.Elements(content) {
		if text(jsonl.Get(block, "type")) != "text" {
			return content
		}
		only = jsonl.Get(block, "text")
		n++
	}
	if n == 1 && len(only) > 0 && only[0] == '"' {
		return only
	}
	return content
}

func (c *claude) cleared(s *source) error {
	if err := c.flush(c.recs[s.i].tape); err != nil {
		return err
	}
	content := s.line.content
	if s.msg != nil {
		content = jsonl.Get(s.msg, "content")
	}
	state := newObject(len(content) + 16)
	state.raw("content", content)
	return c.put(s, s.key, kindAnchor, anchorPayload("clear", state.done()), s.leftovers(userFields))
}

func (c *claude) summary(s *source) error {
	if err := c.flush(c.recs[s.i].tape); err != nil {
		return err
	}
	state := newObject(len(s.raw))
	state.raw("summary", s.line.summary)
	for name, v := range jsonl.Fields(s.raw) {
		switch {
		case name == "leafUuid":
			state.raw("leaf", v)
		case name == "summary" || claudeEnvelope(name):
		default:
			state.raw(name, v)
		}
	}
	return c.put(s, s.key, kindAnchor, anchorPayload(titleOf(text(s.line.summary)), state.done()), nil)
}
