// Package record is what the formats of transcripts have in common: how the records of
// a file are found, what is made of them, and what keeps an entry from being made twice.
//
// Nothing of a source is dropped silently: what is neither a message nor a tool's call
// or result becomes an event, and a line that cannot be read becomes an event named
// import.damaged that holds its text.
package record

import (
	"bytes"
	"cmp"
	"io"
	"path"
	"strings"

	"tape/internal/text/jsonl"
)

// Item is one entry for a tape.
type Item struct {
	// Fork is "" for what is the session's own. Otherwise it names the subagent
	// whose entry it is, and the fork that keeps it, such as "agent-1f2e".
	Fork string
	// Begins names subagents that the entry's calls start, Ends those whose result it shows.
	Begins, Ends []string
	// Entry has a payload and a meta of its own memory. Its date is "" only
	// when neither the source record nor one before it has a date.
	Entry jsonl.Draft
	// Keys identify the parts of source records that the entry was made from.
	// No two items of a source share one. They are in Entry.Meta too, except
	// for Bub's entries, which stay as they are.
	Keys []string
	// Line is set for Bub's entries only: the source line without its newline,
	// to be stored byte for byte where the id fits. Entry holds the same.
	Line []byte
}

// Info describes a source before it is read.
type Info struct {
	Format  string
	Session string // what to name the tape
	Named   bool   // the source gave that name; otherwise it is the file's
	// Full is set where sessions of several workspaces may have the same name: one that only this
	// session has.
	Full    string
	Started string // date of the first record that has one, or ""
	State   []byte // a JSON object for the session's opening anchor, or nil
	// First is set for a session that begins with lines of another one, which it was forked
	// from: what tells the first of them from others.
	First string
	// Complete says that what may be added to the source will not change any of it.
	Complete bool
	// Agent is set for the file that a subagent has for itself: its name, as in
	// [Item.Fork]. Session is that of the session then.
	Agent string
}

// Began keeps the first date that a source has; raw is its JSON.
func (i *Info) Began(raw []byte) { i.Started = cmp.Or(i.Started, Date(raw)) }

// Problem is something that a person should know about a source.
type Problem struct {
	Line int // from 1; 0 when there is none to name
	Msg  string
}

// Stats counts what was found in a source.
type Stats struct {
	Records  int // source records that could be read
	Damaged  int // lines that could not be read, or not as a whole
	Problems []Problem
}

// maxProblems bounds what a thoroughly broken file can make us remember.
const maxProblems = 100

func (s *Stats) problem(line int, msg string) {
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, Problem{Line: line, Msg: msg})
	}
}

// Source is a transcript.
type Source struct {
	Name  string // of the file, as given; "-" for standard input
	R     io.ReaderAt
	Size  int64
	Start Span // where reading begins: its offset and line; the zero value is the beginning
	Open  bool // it is still being written: what may change is held back
	Idle  bool // of an open one: the model's last answer is whole, its program waits for a person
	// Within makes of a subagent's own file what it is within the session: a fork.
	// Otherwise that file is a session by itself.
	Within bool
}

func (s Source) section(at Span) *io.SectionReader { return io.NewSectionReader(s.R, at.Off, at.Size) }

func (s Source) reader() *io.SectionReader {
	return s.section(Span{Off: s.Start.Off, Size: s.Size - s.Start.Off})
}

// Stem is the file's name without folders and extension.
func (s Source) Stem() string {
	name := path.Base(strings.ReplaceAll(s.Name, `\`, "/"))
	for _, ext := range []string{".gz", ".jsonl", ".ndjson", ".json"} {
		name = strings.TrimSuffix(name, ext)
	}
	if name == "" || name == "." || name == "/" {
		return "-"
	}
	return name
}

// Reading is one pass over a source that hands entries on.
type Reading struct {
	Source
	Format string
	Home   string // the fork of what is not said to be another's; "" is the session itself
	Stats  Stats
	Date   string                      // of the last item, for records that have none
	Seen   func(fork, key string) bool // whether the tape has an entry of that key
	Emit   func(Item) error
	Err    error    // the first, after which nothing is emitted any more
	From   *Restart // where reading goes on; nil: it begins
	Last   *Restart // where a later one can go on; nil: nowhere
}

// Fail keeps the first error.
func (r *Reading) Fail(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// The kinds of entries that imports make.
const (
	KindAnchor     = "anchor"
	KindEvent      = "event"
	KindMessage    = "message"
	KindSystem     = "system"
	KindToolCall   = "tool_call"
	KindToolResult = "tool_result"
)

// Names of events that more than one format makes.
const (
	EventRun        = "run"
	EventThinking   = "thinking"
	EventToolDetail = "tool.detail" // what a program knows of a result and did not tell the model

	eventDamaged = "import.damaged"
	eventPhase   = "phase" // an anchor of a subagent
)

// maxEntry bounds payload and meta together, so that a line stays under its limit.
const maxEntry = jsonl.DefaultMaxLine - 4096

// Part is one entry about to be made.
type Part struct {
	Fork    string
	Kind    string
	Payload []byte // owned
	Keys    []string
	Date    string // normalised; "" stands for the date of the item before

	RunID  string
	Hidden bool     // abandoned: not for any view
	Begins []string // subagents that are started here
	Ends   []string // and those whose result this is
	Extra  []byte   // fields of the source record without a place in the payload

	callIDs []string // of a tool_result, by position
	failed  []string // those of them whose tool reported an error
	search  bool     // they show what is recorded
}

// Event is an event; data is an object, left out where it is empty.
func Event(key, date, name string, data []byte) Part {
	return Part{Kind: KindEvent, Keys: []string{key}, Date: date, Payload: named(name, "data", data)}
}

// Anchor is an anchor.
func Anchor(key, date, name string, state []byte) Part {
	return Part{Kind: KindAnchor, Keys: []string{key}, Date: date, Payload: named(name, "state", state)}
}

// Message is a chat message; content is JSON.
func Message(key, date, role string, content []byte) Part {
	payload := NewObject(len(role)+len(content)+32).Str("role", role).Raw("content", content).Done()
	return Part{Kind: KindMessage, Keys: []string{key}, Date: date, Payload: payload}
}

func named(name, member string, v []byte) []byte {
	o := NewObject(len(name)+len(v)+24).Str("name", name)
	if len(v) > len("{}") {
		o.Raw(member, v)
	}
	return o.Done()
}

// Past notes the date of something that the tape has.
func (r *Reading) Past(date string) { r.Date = cmp.Or(date, r.Date) }

// Enough reports whether there is no use in reading on.
func (r *Reading) Enough() bool { return r.Err != nil }

// Put makes an entry.
func (r *Reading) Put(p Part) {
	if r.Err != nil {
		return
	}
	p.Fork = cmp.Or(p.Fork, r.Home)
	if p.Fork != "" {
		// The session's model saw none of it, and its phases go on meanwhile.
		p.Hidden = true
		if p.Kind == KindAnchor {
			p.Kind, p.Payload = KindEvent, named(eventPhase, "data", p.Payload)
		}
	}
	p.Date = cmp.Or(p.Date, r.Date)
	r.Date = p.Date
	if err := fits(p.Payload); err != "" {
		r.Stats.problem(0, "record "+p.Keys[0]+": "+err)
		p.Kind = KindEvent
		p.Payload = named(eventDamaged, "data", damagedData(err, int64(len(p.Payload)), bytes.NewReader(p.Payload)))
		p.Extra = nil
	}
	if len(p.Payload)+len(p.Extra) > maxEntry || fits(p.Extra) != "" {
		r.Stats.problem(0, "record "+p.Keys[0]+": extra fields left out, they do not fit")
		p.Extra = nil
	}
	entry := jsonl.Draft{Kind: p.Kind, Payload: p.Payload, Meta: r.meta(p), Date: p.Date}
	r.emit(Item{Fork: p.Fork, Begins: p.Begins, Ends: p.Ends, Entry: entry, Keys: p.Keys})
}

func (r *Reading) meta(p Part) []byte {
	o := NewObject(96 + len(p.RunID) + len(p.Extra) + 64*len(p.Keys))
	if p.RunID != "" {
		o.Str("run_id", p.RunID)
	}
	if p.Hidden {
		o.Raw("context", []byte("false"))
	}
	o.strs("call_ids", p.callIDs)
	o.strs("is_error", p.failed)
	if p.search {
		o.Raw("search", []byte("true"))
	}
	return addSource(o, r.Format, p.Keys, p.Extra)
}

func addSource(o *Object, format string, keys []string, extra []byte) []byte {
	src := NewObject(cap(o.b)).Str("format", format).strs("ids", keys)
	src.Raw("extra", extra)
	return o.Raw("source", src.Done()).Done()
}

// WithKeys adds the keys of a record to a meta that says nothing of a source.
func WithKeys(meta []byte, format string, keys []string) []byte {
	if jsonl.Get(meta, "source") != nil {
		return meta
	}
	o := NewObject(96)
	if len(meta) > len("{}") {
		o.b = append(o.b[:0], meta[:len(meta)-1]...)
	}
	return addSource(o, format, keys, nil)
}

// fits says why a payload cannot be an entry's, or "".
func fits(payload []byte) string {
	if len(payload) > maxEntry {
		return "larger than an entry may be"
	}
	// Wrapping adds levels to a deep record: as many as meta puts anything deep.
	const plenty, levels = jsonl.MaxDepth / 2, 4
	if bytes.Count(payload, []byte{'{'})+bytes.Count(payload, []byte{'['}) < plenty {
		return ""
	}
	wrapped := append(bytes.Repeat([]byte{'['}, levels), payload...)
	if jsonl.Valid(append(wrapped, bytes.Repeat([]byte{']'}, levels)...)) != nil {
		return "nested too deep"
	}
	return ""
}
