package claudecode

import (
	"strings"
	"unicode/utf8"

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
	p.Extra = s.rest(userFields...)
	c.put(&s, p)
}

// boundaryFacts returns what a boundary says about a compaction, as a copy.
func boundaryFacts(raw []byte) []byte {
	o := record.NewObject(128)
	for name, v := range jsonl.Fields(raw) {
		switch {
		case name == "compactMetadata":
			o.As(v, map[string]string{"preTokens": "pre_tokens", "summary": ""})
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

func (c *reader) summary(s *source) {
	c.flush(c.recs[s.i].tape)
	summary := s.get("summary")
	others := record.Without(s.raw, lineFields...)
	state := record.NewObject(len(s.raw)).Raw("summary", summary).As(others, map[string]string{"leafUuid": "leaf", "summary": ""})
	c.put(s, record.Anchor(s.key, s.date, titleOf(record.Text(summary)), state.Done()))
}

// titleRunes is the maximum length of a name made from a summary.
const titleRunes = 60

// titleOf shortens a summary to a name, at the end of a word if possible.
func titleOf(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "summary"
	}
	if utf8.RuneCountInString(s) <= titleRunes {
		return s
	}
	runes := []rune(s)
	cut := titleRunes
	for cut > titleRunes/2 && runes[cut] != ' ' {
		cut--
	}
	if runes[cut] != ' ' {
		cut = titleRunes
	}
	return strings.TrimRight(string(runes[:cut]), " ")
}
