package claudecode

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// userFields are fields of a user line that entries have elsewhere.
var userFields = []string{"message", "toolUseResult", "sourceToolAssistantUUID", "isCompactSummary", "isVisibleInTranscriptOnly"}

// compaction emits one anchor for a boundary and its summary, or for a summary alone.
func (c *reader) compaction(s *source) {
	c.flush(c.recs[s.i].tape)
	p := record.Entry{Fork: s.fork, Kind: record.KindAnchor, Date: s.date, Hidden: s.hidden}
	state := record.NewObject(512)
	digest := func(s *source) {
		if c.fresh(s, s.key) {
			p.Keys = append(p.Keys, s.key)
			state.Raw("summary", plainContent(jsonl.Get(s.message, "content")))
			p.Extra = s.rest(userFields...)
		}
	}
	next := c.next(s.i)
	switch {
	case c.recs[s.i].kind == kindDigest:
		digest(s)
	case !c.fresh(s, s.key):
		c.lateDigest(next)
	default:
		p.Keys = append(p.Keys, s.key)
		facts := boundaryFacts(s.raw)
		if next >= 0 {
			s := c.fetchMember(next)
			digest(&s)
		}
		state.All(facts)
	}
	if p.Keys != nil {
		p.Payload = record.Anchor("", "", "compaction", state.Done()).Payload
		c.r.Put(p)
	}
}

// lateDigest emits a summary that came after its boundary was imported.
func (c *reader) lateDigest(i int32) {
	if i < 0 {
		return
	}
	s := c.fetchMember(i)
	p := record.Message(s.key, s.date, "user", jsonl.Get(s.message, "content"))
	p.Extra = record.NotTyped(s.rest(userFields...))
	c.put(&s, p)
}

// boundaryFacts returns what a boundary says about a compaction, as a copy.
func boundaryFacts(raw []byte) []byte {
	o := record.NewObject(128)
	for name, v := range jsonl.Fields(raw) {
		switch {
		case name == "compactMetadata":
			o.As(v, map[string]string{"preTokens": "pre_tokens", "summary": "", "preservedSegment": "", "preservedMessages": ""})
			// The messages from head to tail stay in the model's context, after the summary. Newer versions list them.
			list := jsonl.Get(v, "preservedMessages")
			if kept := jsonl.Get(v, "preservedSegment"); jsonl.IsObject(kept) {
				o.Raw("kept", record.NewObject(128).As(kept, map[string]string{"headUuid": "first", "tailUuid": "last", "anchorUuid": "after"}).Done())
			} else if ids := jsonl.Strings(jsonl.Get(list, "uuids")); len(ids) > 0 {
				o.Raw("kept", record.NewObject(128).Str("first", ids[0]).Str("last", ids[len(ids)-1]).Raw("after", jsonl.Get(list, "anchorUuid")).Done())
			}
		case name == "content" && string(v) == `"Conversation compacted"`, name == "level", name == "subtype":
		case isLineField(name) || record.Blank(v):
		case name == "trigger", name == "pre_tokens", name == "summary":
			o.Raw("boundary_"+name, v)
		default:
			o.Raw(name, v)
		}
	}
	return o.Done()
}

func (c *reader) cleared(s *source) {
	c.flush(c.recs[s.i].tape)
	content := s.get("content")
	if s.message != nil {
		content = jsonl.Get(s.message, "content")
	}
	p := record.Anchor(s.key, s.date, "clear", record.With(nil, "content", content))
	p.Extra = s.rest(userFields...)
	c.put(s, p)
}

// title emits the session's title, which the program gave to the conversation up to a line, the leaf.
func (c *reader) title(s *source) {
	data := record.NewObject(len(s.raw)).As(record.Without(s.raw, lineFields...), map[string]string{"summary": "title", "leafUuid": "leaf"})
	s.hidden = s.hidden || c.recs[c.leaves[s.i]].is(flagAbandoned)
	c.put(s, record.Event(s.key, s.date, "tape.title", data.Done()))
}
