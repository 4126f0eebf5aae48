// Package importer brings the transcripts of other programs onto tapes.
//
// A package for each format reads a file and yields entries in the order in which they
// belong on a tape; this one finds out which format a file has, and writes the entries.
// Each says from which source records it was made ([record.Item.Keys]), and [Batch] looks for
// every such key on the tape, so that a file that has grown, or had a line repaired,
// adds only what is new.
package importer

import (
	"context"
	"fmt"

	"tape/internal/sessions/importer/acp"
	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/gemini"
	"tape/internal/sessions/importer/openai"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// The formats, by the names that users write.
const (
	ACP        = "acp"
	Bub        = "bub"
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Gemini     = "gemini"
	OpenAI     = "openai"
	OpenCode   = "opencode"
)

// Formats are the names that [Read] knows.
var Formats = []string{ACP, Bub, ClaudeCode, Codex, Gemini, OpenAI, OpenCode}

type format struct {
	read     func(context.Context, *record.Reading) error
	describe func(context.Context, record.Source, *record.Info) error
}

var formats = map[string]format{
	ACP:        {acp.Read, acp.Describe},
	Bub:        {bub.Read, bub.Describe},
	ClaudeCode: {claudecode.Read, claudecode.Describe},
	Codex:      {codex.Read, codex.Describe},
	Gemini:     {gemini.Read, gemini.Describe},
	OpenAI:     {openai.Read, openai.Describe},
	OpenCode:   {opencode.Read, opencode.Describe},
}

// Read yields the items of a source in the order of the tape. Records that seen knows
// already are left out and counted: it tells whether the tape has an entry with that key
// in a fork, which is as in [record.Item.Fork]; no two forks have a key in common. Read stops at
// the first error of emit, of the source's reader, or of the context, and returns it;
// nothing in a source's content is an error.
//
// Memory is bounded by the number of records, not by the size of the source.
func Read(ctx context.Context, name string, src record.Source, seen func(fork, key string) bool, emit func(record.Item) error) (record.Stats, error) {
	r := &record.Reading{Source: src, Format: name, Seen: seen, Emit: emit}
	err := readInto(ctx, r)
	return r.Stats, err
}

// readInto is [Read] for a reading that was made.
func readInto(ctx context.Context, r *record.Reading) error {
	f, ok := formats[r.Format]
	if !ok {
		return fmt.Errorf("read %q: unknown format %q", r.Name, r.Format)
	}
	if info, err := Describe(ctx, r.Format, r.Source); err == nil {
		r.Date = info.Started // for records before the first that has a date
		if r.Within {
			r.Home = info.Agent
		}
	}
	seen := r.Seen
	r.Seen = func(fork, key string) bool {
		known := seen(fork, key)
		if known {
			r.Last = nil // it is not emitted, so nobody could count what was
		}
		return known
	}
	if r.Fail(f.read(ctx, r)); r.Err != nil {
		return fmt.Errorf("read %q as %s: %w", r.Name, r.Format, r.Err)
	}
	return nil
}

// Describe looks at the start of a source, and no further than it has to.
func Describe(ctx context.Context, name string, src record.Source) (record.Info, error) {
	f, ok := formats[name]
	if !ok {
		return record.Info{}, fmt.Errorf("describe %q: unknown format %q", src.Name, name)
	}
	info := record.Info{Format: name}
	if err := f.describe(ctx, src, &info); err != nil {
		return record.Info{}, fmt.Errorf("describe %q as %s: %w", src.Name, name, err)
	}
	if info.Named = info.Session != ""; !info.Named {
		info.Session = src.Stem()
	}
	return info, nil
}

// Keys returns the source keys recorded in the meta of a stored entry: what
// [record.Item.Keys] was when it was imported. Bub's entries have none; see [bub.Keys].
func Keys(meta []byte) []string {
	return jsonl.Strings(jsonl.Get(meta, "source", "ids"))
}
