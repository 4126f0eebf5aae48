// Package importer reads the transcripts of other programs and yields them as
// tape entries, in the order in which they belong on a tape.
//
// It only reads. What it yields says from which source records it was made
// ([Item.Keys]), and [Read] asks for every such key whether the tape has it
// already, so that a file that has grown, or had a line repaired, gives only
// what is new. Nothing of a source is dropped silently: what is neither a
// message nor a tool's call or result becomes an event, and a line that cannot
// be read becomes an event named import.damaged that holds its text.
package importer

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"tape/internal/jsonl"
)

// The formats, by the names that users write.
const (
	Bub        = "bub"
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Gemini     = "gemini"
	OpenAI     = "openai"
)

// Formats are the names that [Read] knows.
var Formats = []string{Bub, ClaudeCode, Codex, Gemini, OpenAI}

// Item is one entry for a tape.
type Item struct {
	// Fork is "" for what is the session's own. Otherwise it names the subagent
	// whose entry it is, and the fork that keeps it, such as "agent-1f2e".
	Fork string
	// Begins names the subagents that the entry's calls start, Ends those whose
	// result it shows.
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
	Started string // date of the first record that has one, or ""
	State   []byte // a JSON object for the session's opening anchor, or nil
	// Agent is set for the file that a subagent has for itself: its name, as in
	// [Item.Fork]. Session is that of the session then.
	Agent string
}

// Problem is something that a person should know about a source.
type Problem struct {
	Line int // from 1; 0 when there is none to name
	Msg  string
}

// Stats counts what [Read] found.
type Stats struct {
	Records  int // source records that could be read
	Skipped  int // of those, the ones that gave nothing new
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
	Name string // of the file, as given; "-" for standard input
	R    io.ReaderAt
	Size int64
	// Within makes of a subagent's own file what it is within the session: a fork.
	// Otherwise that file is a session by itself.
	Within bool
}

func (s Source) reader() *io.SectionReader { return io.NewSectionReader(s.R, 0, s.Size) }

// stem is the file's name without folders and extension.
func (s Source) stem() string {
	name := path.Base(strings.ReplaceAll(s.Name, `\`, "/"))
	for _, ext := range []string{".gz", ".jsonl", ".ndjson", ".json"} {
		name = strings.TrimSuffix(name, ext)
	}
	if name == "" || name == "." || name == "/" {
		return "-"
	}
	return name
}

// SeenFunc tells whether the tape has an entry with that key. fork is as in
// [Item.Fork]; no two forks have a key in common.
type SeenFunc func(fork, key string) bool

// reading is one call of Read.
type reading struct {
	ctx   context.Context
	src   Source
	out   *sink
	stats *Stats
}

// Read yields the items of a source in the order of the tape. Records that
// seen knows already are left out and counted. It stops at the first error of
// emit, of the source's reader, or of the context, and returns it; nothing in
// a source's content is an error.
//
// Memory is bounded by the number of records, not by the size of the source.
func Read(ctx context.Context, format string, src Source, seen SeenFunc, emit func(Item) error) (Stats, error) {
	var stats Stats
	if seen == nil {
		seen = func(string, string) bool { return false }
	}
	r := &reading{ctx: ctx, src: src, stats: &stats}
	r.out = &sink{format: format, seen: seen, emit: emit, stats: &stats}
	read := map[string]func(*reading) error{
		Bub:        readBub,
		ClaudeCode: readClaude,
		Codex:      readCodex,
		Gemini:     readGemini,
		OpenAI:     readOpenAI,
	}[format]
	if read == nil {
		return stats, fmt.Errorf("read %q: unknown format %q", src.Name, format)
	}
	if info, err := Describe(ctx, format, src); err == nil {
		r.out.date = info.Started // for records before the first that has a date
	}
	if err := read(r); err != nil {
		return stats, fmt.Errorf("read %q as %s: %w", src.Name, format, err)
	}
	return stats, nil
}

// Describe looks at the start of a source, and no further than it has to.
func Describe(ctx context.Context, format string, src Source) (Info, error) {
	describe := map[string]func(*reading, *Info) error{
		Bub:        describeBub,
		ClaudeCode: describeClaude,
		Codex:      describeCodex,
		Gemini:     describeGemini,
		OpenAI:     describeOpenAI,
	}[format]
	if describe == nil {
		return Info{}, fmt.Errorf("describe %q: unknown format %q", src.Name, format)
	}
	info := Info{Format: format}
	r := &reading{ctx: ctx, src: src, stats: &Stats{}}
	if err := describe(r, &info); err != nil {
		return Info{}, fmt.Errorf("describe %q as %s: %w", src.Name, format, err)
	}
	if info.Named = info.Session != ""; !info.Named {
		info.Session = src.stem()
	}
	return info, nil
}

// Keys returns the source keys recorded in the meta of a stored entry: what
// [Item.Keys] was when it was imported. Bub's entries have none; see [BubKeys].
func Keys(meta []byte) []string {
	var keys []string
	for raw := range jsonl.Elements(jsonl.Get(meta, "source", "ids")) {
		if key, ok := jsonl.String(raw); ok {
			keys = append(keys, key)
		}
	}
	return keys
}
