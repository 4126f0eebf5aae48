// Package record is what the formats of transcripts share: how the records of a file are found,
// how entries are made of them, and the keys that keep an entry from being made twice.
//
// Nothing of a source is dropped silently. What is neither a message nor a tool's call or result
// becomes an event; a line that cannot be read becomes the event import.damaged with its text.
package record

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tape/internal/text/jsonl"
)

// Item is one entry for a tape.
type Item struct {
	// Fork is "" for the session itself. Otherwise it names a subagent and its fork, such as
	// "agent-1f2e".
	Fork string
	// Begins names subagents that the entry's calls start, Ends those whose result it shows.
	Begins, Ends []string
	// Entry shares no memory with the source. Its date is "" if no record so far has a date.
	Entry jsonl.Draft
	// Keys identify the parts of source records that the entry was made from. No two items of a
	// source share a key. Entry.Meta has them too, except in Bub's entries, which are stored unchanged.
	Keys []string
	// Line is set for Bub's entries only: the source line without its newline. It is stored byte for
	// byte if its id is the tape's next one. Entry has the same content.
	Line []byte
	// Whole has the whole texts of results that the program keeps in files of their own, by position; nil if there are
	// none.
	Whole [][]byte
}

// Info describes a source before it is read.
type Info struct {
	Format  string
	Session string // what to name the tape
	Named   bool   // the name comes from the source, not from the file's name
	// Full is a unique name, set if sessions of several workspaces may have the same Session.
	Full    string
	Started string // date of the first record that has one, or ""
	State   []byte // a JSON object for the session's opening anchor, or nil
	// First is the id of the first line. It is set if the session was forked from another one, and
	// begins with copies of that one's lines.
	First string
	// Complete says that lines added to the source later will not change this Info.
	Complete bool
	// Agent is set for a subagent's own file: its name, as in [Item.Fork]. Session then is the
	// session that started it.
	Agent string
}

// Began sets Started, unless it is set already, or raw is not a date.
func (i *Info) Began(raw []byte) { i.Started = cmp.Or(i.Started, Date(raw)) }

// Problem is something about a source that a person should know.
type Problem struct {
	Line int // from 1; 0 if the problem is not about a line
	Msg  string
}

// Stats counts what was found in a source.
type Stats struct {
	Records  int // source records that could be read
	Damaged  int // lines that could not be read, or only in part
	Problems []Problem
}

// maxProblems bounds the memory for a file that is all broken.
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
	Start Span // where reading begins; its Size is not used
	Open  bool // it is still being written: entries that may change are held back
	Idle  bool // Open is set, but the model's last answer is complete
	// Within makes a subagent's own file a fork of its session. Otherwise that file is a session of
	// its own.
	Within bool
}

func (s Source) section(at Span) *io.SectionReader { return io.NewSectionReader(s.R, at.Off, at.Size) }

func (s Source) reader() *io.SectionReader {
	return s.section(Span{Off: s.Start.Off, Size: s.Size - s.Start.Off})
}

// Modified returns when the file was last written to, "" if that is not known: for a format without dates.
func (s Source) Modified() string {
	st, err := os.Stat(s.Name)
	if err != nil || s.Name == "-" {
		return ""
	}
	return formatDate(st.ModTime())
}

// Beside returns the content of a small file in the same folder; nil if there is none. A link is none: it could lead to
// any file.
func (s Source) Beside(name string) []byte {
	if s.Name == "-" {
		return nil
	}
	path := filepath.Join(filepath.Dir(s.Name), name)
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() || st.Size() > jsonl.DefaultMaxLine {
		return nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return raw
}

// Stem returns the file's name without folders and extension, "-" if nothing is left.
func (s Source) Stem() string {
	name := path.Base(strings.ReplaceAll(s.Name, `\`, "/"))
	for _, ext := range []string{".gz", ".zst", ".jsonl", ".ndjson", ".json"} {
		name = strings.TrimSuffix(name, ext)
	}
	if name == "" || name == "." || name == "/" {
		return "-"
	}
	return name
}

// Reading is one pass over a source, which emits entries.
type Reading struct {
	Source
	Format string
	Home   string // the fork of entries that name none; "" is the session itself
	Stats  Stats
	Date   string                      // of the last item, for records without a date
	Seen   func(fork, key string) bool // whether the tape has an entry with that key, or the fork is left out
	Emit   func(Item) error
	// IsCopy reports whether an entry with a key is from the history of another session, with which this one begins; nil:
	// that is not known.
	IsCopy func(key string) bool
	// TookBack is told of entries that the tape has and that a person took back; nil: nobody asks.
	TookBack func(key string)
	Own      string   // set if the session began with the history of another one: the date of its own beginning
	Err      error    // the first error; nothing is emitted after it
	From     *Restart // where an earlier reading stopped; nil: read from the beginning
	Last     *Restart // where a later reading can begin; nil: only at the beginning
}

// Fail keeps the first error.
func (r *Reading) Fail(err error) { r.Err = cmp.Or(r.Err, err) }

// The kinds of entries that imports make.
const (
	KindAnchor     = "anchor"
	KindEvent      = "event"
	KindMessage    = "message"
	KindSystem     = "system"
	KindToolCall   = "tool_call"
	KindToolResult = "tool_result"
)

// Names of events that several formats make.
const (
	EventRun        = "run"
	EventThinking   = "thinking"
	EventPart       = "session.part" // the session goes on in another file of its program
	EventToolDetail = "tool.detail"  // what a program knows about a result and did not show to the model

	eventDamaged = "import.damaged"
	eventPhase   = "phase" // replaces a subagent's anchor
)

// MaxEntry bounds payload and meta together, so that the line of an entry is not too long. An import makes artifacts of
// the texts and files of a longer one.
const MaxEntry = jsonl.DefaultMaxLine - 4096

// MaxRecord is the longest line or value of a source that is read as a record, in bytes. Others have reported lines of
// 22 MB (kenn-io/agentsview#12).
const MaxRecord = 64 << 20

// Entry is an entry that a format has made. [Reading.Put] emits it.
type Entry struct {
	Fork    string
	Kind    string
	Payload []byte // shares no memory with the source
	Keys    []string
	Date    string // as from [Date]; "" stands for the previous item's date

	RunID  string
	Copied bool     // from the history of another session, as the program says
	Fact   string   // set if the entry's date or ids differ in a copy: what a copy has as well, see activity.Note
	Hidden bool     // abandoned, or a subagent's: not part of the context
	Begins []string // subagents that start here
	Ends   []string // subagents whose result this is
	Extra  []byte   // fields of the source record without a place in the payload

	callIDs []string // of a tool_result, by position
	whole   [][]byte // of a tool_result, see [Item.Whole]
	failed  []string // calls whose tool reported an error
	search  bool     // the results show recorded entries, see isSearch
}

// Event returns an event. data is an object, left out if it is empty.
func Event(key, date, name string, data []byte) Entry {
	return Entry{Kind: KindEvent, Keys: []string{key}, Date: date, Payload: named(name, "data", data)}
}

// Anchor returns an anchor.
func Anchor(key, date, name string, state []byte) Entry {
	return Entry{Kind: KindAnchor, Keys: []string{key}, Date: date, Payload: named(name, "state", state)}
}

// Message returns a chat message; content is JSON.
func Message(key, date, role string, content []byte) Entry {
	payload := NewObject(len(role)+len(content)+32).Str("role", role).Raw("content", content).Done()
	return Entry{Kind: KindMessage, Keys: []string{key}, Date: date, Payload: payload}
}

func named(name, member string, v []byte) []byte {
	o := NewObject(len(name)+len(v)+24).Str("name", name)
	if len(v) > len("{}") {
		o.Raw(member, v)
	}
	return o.Done()
}

// Skipped notes the date of an entry that is left out because the tape has it.
func (r *Reading) Skipped(date string) { r.Date = cmp.Or(date, r.Date) }

// WasTakenBack notes that a person took back an entry that the tape has.
func (r *Reading) WasTakenBack(key string) {
	if r.TookBack != nil {
		r.TookBack(key)
	}
}

// Enough reports whether the reading has failed.
func (r *Reading) Enough() bool { return r.Err != nil }

// Put emits an entry. Its payload may be larger than MaxEntry. If it is nested too deep, the entry becomes the event
// import.damaged.
func (r *Reading) Put(p Entry) {
	if r.Err != nil {
		return
	}
	p.Fork = cmp.Or(p.Fork, r.Home)
	if p.Fork != "" {
		// The session's model did not see it, and the session's phase goes on.
		p.Hidden = true
		if p.Kind == KindAnchor {
			p.Kind, p.Payload = KindEvent, named(eventPhase, "data", p.Payload)
		}
	}
	p.Date = cmp.Or(p.Date, r.Date)
	r.Date = p.Date
	p.Copied = p.Copied || r.IsCopy != nil && len(p.Keys) > 0 && r.IsCopy(p.Keys[0]) || r.Own != "" && p.Date < r.Own
	if err := fits(p.Payload); err != "" {
		r.Stats.problem(0, "record "+p.Keys[0]+": "+err)
		p.Kind = KindEvent
		p.Payload = named(eventDamaged, "data", damagedData(err, int64(len(p.Payload)), bytes.NewReader(p.Payload)))
		p.Extra = nil
	}
	if len(p.Extra) > MaxEntry/2 || fits(p.Extra) != "" {
		r.Stats.problem(0, "record "+p.Keys[0]+": extra fields left out, they do not fit")
		p.Extra = nil
	}
	entry := jsonl.Draft{Kind: p.Kind, Payload: p.Payload, Meta: r.meta(p), Date: p.Date}
	r.emit(Item{Fork: p.Fork, Begins: p.Begins, Ends: p.Ends, Entry: entry, Keys: p.Keys, Whole: p.whole})
}

func (r *Reading) meta(p Entry) []byte {
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
	return addSource(o, r.Format, p)
}

func addSource(o *Object, format string, p Entry) []byte {
	src := NewObject(cap(o.b)).Str("format", format).strs("ids", p.Keys)
	if p.Fact != "" {
		src.Str("fact", p.Fact)
	}
	if p.Copied {
		src.Raw("copied", []byte("true"))
	}
	src.Raw("extra", p.Extra)
	return o.Raw("source", src.Done()).Done()
}

// WithKeys adds keys to an entry's meta, unless the meta has a source already.
func WithKeys(meta []byte, format string, keys []string) []byte {
	if jsonl.Get(meta, "source") != nil {
		return meta
	}
	o := NewObject(96)
	if len(meta) > len("{}") {
		o.b = append(o.b[:0], meta[:len(meta)-1]...)
	}
	return addSource(o, format, Entry{Keys: keys})
}

// fits returns why a payload does not fit into an entry of any size, or "".
func fits(payload []byte) string {
	if len(payload) > MaxRecord {
		return tooLarge
	}
	// In its entry, a payload or an extra field is nested deeper, by at most this many levels.
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
