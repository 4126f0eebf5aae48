package claudecode

import (
	"bytes"
	"hash/maphash"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

// kind is what a record of a session is.
type kind uint8

const (
	kindOther kind = iota
	kindUser
	kindAssistant
	kindBoundary // a compaction happened here
	kindDigest   // the summary of a compaction
	kindClear
	kindTitle   // of this session, not of another one
	kindRewound // the person went back to a line, its leaf
	kindDamaged
)

type flag uint16

const (
	flagPrompt    flag = 1 << iota // typed by a person
	flagRelayed                    // progress with a subagent's message
	flagSide                       // a subagent's line
	flagDuplicate                  // its uuid came before in this file
	flagMember                     // emitted with the first record of its group
	flagOrdered
	flagOnChain
	flagAbandoned
	flagNoID
	flagMoved   // the environment changed here
	flagRoot    // has no parent and names none
	flagAnother // its uuid came before in this file, with another content
	flagQueued  // a prompt that was typed while the model worked, see queue
)

// rec is what the scan keeps of a line. It is small, because there is one for every line.
type rec struct {
	off    int64
	size   int32
	line   int32
	parent uint64 // hash of the parent's uuid, later the parent's index plus 1; without a uuid of its own, the count of identical lines so far
	msg    uint64 // hash of the message's id, later the index of the group's next record plus 1
	tape   uint16
	kind   kind
	flags  flag
}

func (r *rec) at() record.Span {
	return record.Span{Off: r.off, Size: int64(r.size), Line: int(r.line)}
}

func (r *rec) is(f flag) bool { return r.flags&f != 0 }

// scan is the first pass over a session.
type scan struct {
	r    *record.Reading
	seed maphash.Seed
	recs []rec
	byID map[uint64]int32 // by uuid, also those of relayed messages
	agents
	launches
	home        uint16                  // the tape of lines that name no subagent
	env         [][len(envelope)]uint64 // hashes of the present values, by tape
	moved       map[int32]uint16        // the fields of the envelope that a record changed, as bits
	reasons     map[int32]string        // why lines are damaged
	counts      record.Counter
	leaves      map[int32]int32   // by record with a title, or a rewind: the last line of the conversation that is meant
	unknownLeaf bool              // a title names a line that was not read
	unlinked    map[uint16]bool   // by tape: an answer has no parent
	linked      map[uint16]bool   // by tape: a line has a parent
	previous    map[uint16]uint64 // by tape: the uuid of the last line, for lines that do not say what they follow
	others      map[uint64]bool   // uuids with a content, of records whose uuid came before with another content
	queue
	resume
}

func newScan(r *record.Reading, start *opening) *scan {
	c := &scan{
		r: r, seed: maphash.MakeSeed(), byID: map[uint64]int32{},
		agents:   agents{tapes: []string{""}, tapeNo: map[string]uint16{"": 0}, taken: map[string]bool{}, spoke: map[uint16]bool{}, rooted: map[uint16]bool{}},
		launches: launches{byCall: map[string][]*launch{}, last: map[int32]*launch{}, prompts: map[uint64][]string{}},
		env:      make([][len(envelope)]uint64, 1),
		moved:    map[int32]uint16{}, reasons: map[int32]string{}, leaves: map[int32]int32{}, previous: map[uint16]uint64{}, unlinked: map[uint16]bool{}, linked: map[uint16]bool{}, others: map[uint64]bool{}, queue: queue{removed: map[int32]waiting{}, latest: map[uint64]int32{}}, resume: resume{prompt: -1, first: -1, lost: map[int32]bool{}},
	}
	switch {
	case start.agent == "":
	case r.Within:
		c.home = c.tape(start.agent, start.agent)
	default:
		c.tapeNo[start.agent] = 0 // the file is the subagent's own
	}
	if r.From != nil {
		c.counts = start.counts
	}
	c.values = start.env
	for i, v := range start.env {
		if v != nil {
			c.env[0][i], c.env[c.home][i] = c.hash(v), c.hash(v)
		}
	}
	return c
}

func (c *scan) hash(raw []byte) uint64 {
	return max(maphash.Bytes(c.seed, raw), 1) // 0 means none
}

// Enough is false: the first line may depend on the last one.
func (c *scan) Enough() bool { return false }

// isRecord distinguishes records from the messages inside them, which have no session.
func isRecord(raw []byte) bool {
	return jsonl.Get(raw, "sessionId") != nil || jsonl.Get(raw, "leafUuid") != nil || jsonl.Get(raw, "snapshot") != nil
}

// Record keeps what the second pass needs of a line.
func (c *scan) Record(at record.Span, raw []byte) {
	var l line
	l.parse(raw)
	r := rec{off: at.Off, size: int32(at.Size), line: int32(at.Line), tape: c.home}
	i := int32(len(c.recs))
	c.r.Stats.Records++
	c.link(&r, &l, i)
	if l.inner != nil {
		c.relayed(&r, &l, i)
	} else {
		c.classify(&r, &l)
		c.entitle(&r, &l, i)
		c.noteLaunch(&r, &l)
		if l.side {
			r.flags |= flagSide
			r.tape = c.sideTape(&r, &l)
		}
		c.noteQueue(&r, &l, i)
	}
	c.follow(&r, &l)
	c.spoke[r.tape] = true
	c.candidate(&r, i)
	c.environment(&r, &l, i)
	c.recs = append(c.recs, r)
}

// Damaged keeps the place of a line that is not a record.
func (c *scan) Damaged(at record.Span, reason string) {
	c.reasons[int32(len(c.recs))] = reason
	// A line may be longer than a rec can express.
	c.recs = append(c.recs, rec{
		off: at.Off, size: int32(min(at.Size, 1<<31-1)), line: int32(at.Line),
		tape: c.home, kind: kindDamaged, flags: flagNoID,
	})
}

// Unfinished gets an incomplete last line, which somebody is writing.
func (c *scan) Unfinished(at record.Span) { c.r.Unfinished(at) }

func (c *scan) link(r *rec, l *line, i int32) {
	if l.uuid == nil {
		r.flags |= flagNoID
		r.parent = uint64(c.counts.Next(record.SumOf(l.raw)))
		return
	}
	c.identify(r, l, l.uuid, i)
	switch {
	case len(l.parent) > 2 && l.parent[0] == '"':
		r.parent = c.hash(l.parent)
	case len(l.logical) > 2 && l.logical[0] == '"':
		r.parent = c.hash(l.logical)
	case l.parent != nil:
		r.flags |= flagRoot
	}
}

// follow links a line that does not say what it follows, not even that it is the first: it follows the line before it.
// Some programs write no parentUuid at all, or null in each line (daaain/claude-code-log test data, vshulcz/deja-vu fixtures):
// if an answer, which follows something in any case, has no parent, and no line has, null does not say that one begins.
func (c *scan) follow(r *rec, l *line) {
	if r.is(flagNoID) || l.inner != nil {
		return
	}
	before := c.previous[r.tape]
	if l.parent != nil && !r.is(flagRoot) {
		c.linked[r.tape] = true
	}
	if r.is(flagRoot) && r.kind == kindAssistant && before != 0 {
		c.unlinked[r.tape] = true
	}
	if r.parent == 0 && (!r.is(flagRoot) || c.unlinked[r.tape] && !c.linked[r.tape]) {
		if r.parent = before; before == 0 {
			r.flags |= flagRoot
		} else {
			r.flags &^= flagRoot
		}
	}
	c.previous[r.tape] = c.hash(l.uuid)
}

// identify notes a record's uuid. A record that comes again still links its neighbours, but makes no
// entry. One with the same uuid and another content is another record (anthropics/claude-code#24304).
func (c *scan) identify(r *rec, l *line, uuid []byte, i int32) {
	id := c.hash(uuid)
	first, ok := c.byID[id]
	switch {
	case !ok:
		c.byID[id] = i
	case int(first) < len(c.recs) && c.differs(&c.recs[first], l):
		other := id ^ c.hash(l.said())
		if r.flags |= flagAnother; c.others[other] {
			r.flags |= flagDuplicate
		}
		c.others[other] = true
	default:
		r.flags |= flagDuplicate
	}
}

// differs reports whether a line says something else than a record before it.
func (c *scan) differs(r *rec, l *line) bool {
	raw := make([]byte, r.size)
	if _, err := c.r.R.ReadAt(raw, r.off); err != nil {
		return false
	}
	var before line
	before.parse(raw)
	return !r.is(flagRelayed) && (before.typ != l.typ || !bytes.Equal(before.said(), l.said()))
}

// relayed notes a subagent's message inside a progress record.
func (c *scan) relayed(r *rec, l *line, i int32) {
	r.flags |= flagRelayed
	r.tape = c.agentTape(record.Text(l.agent))
	c.relays(record.Text(l.call), r.tape, i)
	var in line
	in.parse(l.inner)
	c.classify(r, &in)
	if in.uuid != nil {
		c.identify(r, &in, in.uuid, i)
	}
}

func (c *scan) classify(r *rec, l *line) {
	switch {
	case l.typ == "user" && jsonl.IsObject(l.message):
		content := first(l.message, "content")
		if content == nil {
			return
		}
		r.kind = kindUser
		switch {
		case l.digest:
			r.kind = kindDigest
		case isClear(content):
			r.kind = kindClear
		case !l.meta && !l.byProgram && !l.unseen && isPrompt(content):
			r.flags |= flagPrompt
		}
	case l.typ == "assistant" && jsonl.IsObject(l.message):
		r.kind = kindAssistant
		if id := first(l.message, "id"); len(id) > 2 {
			r.msg = c.hash(id)
		}
	case l.typ == "system" && l.subtype == "compact_boundary":
		r.kind = kindBoundary
	case l.typ == "system" && l.subtype == "local_command" && isClear(l.get("content")):
		r.kind = kindClear
	}
}

// entitle marks a line that has a title of this session, or says that the person went back. Claude Code also writes titles
// of other sessions into a file; leafUuid says which conversation has the title, or the last line that is left of it,
// null for none.
func (c *scan) entitle(r *rec, l *line, i int32) {
	if l.typ == "last-prompt" && string(l.get("rewound")) == "true" {
		r.kind, c.leaves[i] = kindRewound, -1
		if leaf, ok := c.byID[c.hash(l.get("leafUuid"))]; ok {
			c.leaves[i] = leaf
		}
		return
	}
	if l.typ != "summary" || !bytes.HasPrefix(l.get("summary"), []byte{'"'}) {
		return
	}
	if leaf, ok := c.byID[c.hash(l.get("leafUuid"))]; ok {
		r.kind, c.leaves[i] = kindTitle, leaf
	} else {
		c.unknownLeaf = true
	}
}

func isClear(content []byte) bool {
	const open, command = `"<command-`, "<command-name>/clear</command-name>"
	return bytes.HasPrefix(content, []byte(open)) && bytes.Contains(content[:min(len(content), 400)], []byte(command))
}

// isNote reports whether Claude Code, not a person, wrote the text of a user line.
func isNote(text []byte) bool {
	if bytes.HasPrefix(text, []byte(`"<command-message>`)) {
		return about.SentCommand(record.Text(text)) == ""
	}
	notes := []string{`"[Request interrupted`, `"<local-command-`, `"<command-`, `"<bash-std`, `"<bash-notification`, `"<task-notification`}
	return slices.ContainsFunc(notes, func(note string) bool { return bytes.HasPrefix(text, []byte(note)) })
}

// isPrompt reports whether a person may have typed the content of a user line: it is neither a tool's
// result nor a note.
func isPrompt(content []byte) bool {
	if content[0] == '"' {
		return !isNote(content)
	}
	if startsWithResult(content) {
		return false
	}
	prompt := false
	for block := range jsonl.Elements(content) {
		switch typ := record.Text(first(block, "type")); {
		case typ == "tool_result":
			return false
		case typ == "text" && isNote(jsonl.Get(block, "text")):
		default:
			prompt = true
		}
	}
	return prompt
}

// environment notes the fields of the envelope that differ from their last known values on the same tape.
func (c *scan) environment(r *rec, l *line, i int32) {
	if r.is(flagDuplicate) {
		return
	}
	now := &c.env[r.tape]
	var moved uint16
	for j, v := range l.env {
		if len(v) <= 2 || v[0] != '"' {
			continue
		}
		if h := c.hash(v); h != now[j] {
			now[j] = h
			moved |= 1 << j
			if r.tape == c.home {
				c.values[j] = bytes.Clone(v)
			}
		}
	}
	if moved != 0 {
		r.flags |= flagMoved
		c.moved[i] = moved
	}
}
