// Package gemini reads the sessions of Gemini CLI.
//
// A session is one document {sessionId, …, messages: […]}, in newer versions a file of lines: first the
// fields of the document, then messages, another line for a message that has changed, {"$set": …} for a
// field, and {"$rewindTo": id} where the user went back. The model's history is repeated in a $set, or
// as messages with other ids: at each start, after a cancelled tool, and shortened when it was
// compressed. Only what is new in it counts, see [history].
package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"path"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	history
	rewound map[[sha256.Size]byte]bool // messages that the user took back
	waiting []record.Entry             // the session's first entries, until somebody says something
	done    record.Counter             // keys of this pass
	last    string                     // the date of the last message
	lastAt  string                     // the same at the last mark
	session string                     // its id, if that can be the name of a folder
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	g := &reader{Conversation: record.Conversation{Reading: r}}
	whole := r.Source
	whole.Start = record.Span{}
	var info record.Info
	if err := Describe(ctx, whole, &info); err != nil {
		return err
	}
	if info.Agent == "" && record.IsUUID(info.Session) {
		g.session = info.Session
	}
	header := record.NewObject(256)
	field := func(name string, raw []byte) { header.Raw(name, raw) }
	if r.From != nil {
		g.restoreState(record.State(r.From.State))
		field = nil // only a file of lines can be read from a later place
	}
	s := &survey{last: map[[sha256.Size]byte]int{}}
	see := func(_ record.Span, raw []byte) bool { s.add(raw); return true }
	if err := record.Scan(ctx, r.Source, isRecord, field, see); err != nil {
		return err
	}
	if r.From != nil && s.rewinds != nil {
		return record.ErrNotRestartable
	}
	g.rewound = s.rewound()
	if !header.Empty() {
		// With the date of the last change, the same header would be a new entry each time.
		data := record.NewObject(256).All(header.Done(), "lastUpdated").OrNil()
		if key := g.Counts.Key(data); !g.Has(key) {
			r.Put(record.Event(key, record.Date(jsonl.Get(data, "startTime")), "session", data))
		}
	}
	if field != nil {
		field = func(string, []byte) {} // the header has it
	}
	err := record.Each(ctx, r.Source, isRecord, field, g)
	g.End()
	if r.Last != nil {
		g.saveState()
	}
	return err
}

// saveState stores what restoreState needs.
func (g *reader) saveState() {
	var s record.State
	for _, c := range []*record.Counter{&g.Counts, &g.seen, &g.done} {
		s.Counter(c)
	}
	s.Bytes([]byte(g.lastAt))
	g.Last.State = s
}

func (g *reader) restoreState(s record.State) {
	g.Counts, g.seen, g.done = s.TakeCounter(), s.TakeCounter(), s.TakeCounter()
	g.last = string(s.TakeBytes())
	g.lastAt = g.last
}

// mark notes that a later reading can begin with a record, if that is a prompt and nothing is pending.
func (g *reader) mark(at record.Span, raw []byte) {
	id := jsonl.GetString(raw, "id")
	content := jsonl.Get(raw, "content")
	if jsonl.GetString(raw, "type") != "user" || id == "" || g.repeating != nil || g.rewound != nil || g.had(id) ||
		isContext(firstText(content)) || bytes.Contains(content, []byte(`"functionResponse"`)) || !g.NothingHeld() {
		return
	}
	g.begin()
	g.Mark(at)
	g.lastAt = g.last
	for _, c := range []*record.Counter{&g.Counts, &g.seen, &g.done} {
		c.Mark()
	}
}

func isRecord(raw []byte) bool {
	has := record.MembersOf(raw).Has
	return has("timestamp", "type") || has("$set") || has("$rewindTo") || has("sessionId", "projectHash")
}

// survey is the first pass, which finds what the user took back.
type survey struct {
	n       int                       // versions of messages so far
	last    map[[sha256.Size]byte]int // the number of each message's last version
	rewinds []rewind
}

type rewind struct{ from, to int } // numbers of versions

func (s *survey) add(raw []byte) {
	if to := jsonl.Get(raw, "$rewindTo"); to != nil {
		s.rewinds = append(s.rewinds, rewind{s.last[sha256.Sum256(to)], s.n})
	} else if id := jsonl.Get(raw, "id"); id != nil && jsonl.Get(raw, "type") != nil {
		s.n++
		s.last[sha256.Sum256(id)] = s.n
	}
}

// rewound returns the hashes of the ids of messages that were taken back.
func (s *survey) rewound() map[[sha256.Size]byte]bool {
	if s.rewinds == nil {
		return nil
	}
	gone := map[[sha256.Size]byte]bool{}
	for sum, i := range s.last {
		gone[sum] = slices.ContainsFunc(s.rewinds, func(r rewind) bool { return r.from <= i && i <= r.to })
	}
	return gone
}

// Record makes the entries of a line.
func (g *reader) Record(at record.Span, raw []byte) {
	g.Stats.Records++
	g.mark(at, raw)
	if id := jsonl.GetString(raw, "id"); id != "" {
		g.first(id)
	}
	hidden := g.rewound[sha256.Sum256(jsonl.Get(raw, "id"))]
	if hidden != g.Hidden {
		g.Flush()
		g.Hidden = hidden
	}
	if jsonl.Get(raw, "type") != nil {
		g.message(raw)
	} else {
		g.note(raw)
	}
}

// note emits a record that is not a message.
func (g *reader) note(raw []byte) {
	set, header := jsonl.Get(raw, "$set"), jsonl.Get(raw, "sessionId") != nil
	switch {
	case jsonl.IsObject(set):
		g.set(raw, set)
	case jsonl.Get(raw, "$rewindTo") != nil:
		g.say(record.Event(g.Counts.Key(raw), g.last, "session.rewind", record.Compact(raw)))
	case header:
		g.repeating = nil
		data := record.Without(raw, "lastUpdated")
		g.waiting = append(g.waiting, record.Event(g.Counts.Key(raw), record.Date(jsonl.Get(raw, "startTime")), "session", data))
	default:
		g.say(record.Event(g.Counts.Key(raw), record.Date(jsonl.Get(raw, "lastUpdated")), "record", record.Compact(raw)))
	}
}

// set emits what is new in the fields of a session, without its id and the date of change.
func (g *reader) set(raw, set []byte) {
	date := cmp.Or(record.Date(jsonl.Get(set, "lastUpdated")), g.last)
	rest := record.NewObject(256).All(set, "messages", "lastUpdated", "sessionId")
	if !rest.Empty() {
		g.say(record.Event(g.Counts.Key(raw), date, "session.update", record.Compact(rest.Done())))
	}
	messages := jsonl.Get(set, "messages")
	if messages == nil {
		return
	}
	g.repeating = map[record.Sum]int{}
	for m := range jsonl.Elements(messages) {
		if jsonl.IsObject(m) {
			g.message(m)
		}
	}
	g.repeating = nil
}

// say emits an entry once, and before it the session's first entries. So starting the program without a
// prompt makes no entries.
func (g *reader) say(p record.Entry) {
	if !g.first(p.Keys[0]) {
		return
	}
	if g.repeating != nil && p.Kind == record.KindMessage && isContext(jsonl.Get(p.Payload, "content")) {
		g.waiting = append(g.waiting, p)
		return
	}
	g.begin()
	g.Put(p)
}

func (g *reader) begin() {
	waiting := g.waiting
	g.waiting = nil
	for _, p := range waiting {
		g.Put(p)
	}
}

// first notes a key, and reports whether it is new in this pass.
func (g *reader) first(key string) bool {
	return g.done.Next(record.SumOf(key)) == 1
}

// had reports whether this pass had a key before.
func (g *reader) had(key string) bool {
	return g.done.Count(record.SumOf(key)) > 0
}

// Describe reads the fields that a session begins with.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	sub := false
	add := func(name string, v []byte) {
		if v != nil && jsonl.Get(info.State, name) == nil {
			info.State = record.With(info.State, name, v)
		}
	}
	field := func(name string, v []byte) {
		switch name {
		case "sessionId":
			info.Session = cmp.Or(info.Session, record.Text(v))
		case "startTime":
			info.Began(v)
		case "kind":
			sub = record.Text(v) == "subagent"
		case "directories":
			for dir := range jsonl.Elements(v) {
				add("cwd", dir)
			}
		case "projectHash", "model":
			add(name, v)
		}
	}
	err := record.Scan(ctx, src, isRecord, field, func(at record.Span, raw []byte) bool {
		if at.Line > record.OpeningLines {
			info.Complete = true
			return false
		}
		for name, v := range jsonl.Fields(raw) {
			field(name, v)
		}
		info.Began(jsonl.Get(raw, "timestamp"))
		add("cwd", workspaceOf(raw))
		info.Complete = jsonl.GetString(raw, "type") == "gemini"
		return !info.Complete
	})
	// A subagent's file is in a folder with the session's id as its name.
	if dir := path.Dir(strings.ReplaceAll(src.Name, `\`, "/")); sub && path.Base(path.Dir(dir)) == "chats" {
		info.Agent, info.Session = "agent-"+info.Session, path.Base(dir)
	}
	return err
}

// workspaceOf returns the first directory that a record tells the model to work in, or nil. No field has
// it.
func workspaceOf(raw []byte) []byte {
	_, dir, found := bytes.Cut(raw, []byte(`- **Workspace Directories:**\n  - `))
	dir, _, ends := bytes.Cut(dir, []byte(`\n`))
	if quoted := slices.Concat([]byte{'"'}, dir, []byte{'"'}); found && ends && jsonl.Valid(quoted) == nil {
		return quoted
	}
	return nil
}
