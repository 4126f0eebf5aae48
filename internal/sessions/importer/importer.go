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

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Read yields the items of a source in the order of the tape. Records that seen knows
// already are left out and counted: it tells whether the tape has an entry with that key
// in a fork, which is as in [record.Item.Fork]; no two forks have a key in common. Read stops at
// the first error of emit, of the source's reader, or of the context, and returns it;
// nothing in a source's content is an error.
//
// Memory is bounded by the number of records, not by the size of the source.
func Read(ctx context.Context, f *record.Format, src record.Source, seen func(fork, key string) bool, emit func(record.Item) error) (record.Stats, error) {
	r := &record.Reading{Source: src, Format: f.Name, Seen: seen, Emit: emit}
	err := readInto(ctx, f, r)
	return r.Stats, err
}

// readInto is [Read] for a reading that was made.
func readInto(ctx context.Context, f *record.Format, r *record.Reading) error {
	if info, err := Describe(ctx, f, r.Source); err == nil {
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
	if r.Fail(f.Read(ctx, r)); r.Err != nil {
		return fmt.Errorf("read %q as %s: %w", r.Name, r.Format, r.Err)
	}
	return nil
}

// Describe looks at the start of a source, and no further than it has to.
func Describe(ctx context.Context, f *record.Format, src record.Source) (record.Info, error) {
	info := record.Info{Format: f.Name}
	if err := f.Describe(ctx, src, &info); err != nil {
		return record.Info{}, fmt.Errorf("describe %q as %s: %w", src.Name, f.Name, err)
	}
	if info.Named = info.Session != ""; !info.Named {
		info.Session = src.Stem()
	}
	return info, nil
}

// Keys returns the source keys recorded in the meta of a stored entry: what
// [record.Item.Keys] was when it was imported. There are none where the format has a Keys of its own.
func Keys(meta []byte) []string {
	return jsonl.Strings(jsonl.Get(meta, "source", "ids"))
}

// keysOf returns a function that gives the keys of each entry of a tape, called in their order.
func keysOf(f *record.Format) func(repo.Entry) ([]string, error) {
	if f.Keys == nil {
		return func(e repo.Entry) ([]string, error) { return Keys(e.Meta), nil }
	}
	next := f.Keys()
	return func(e repo.Entry) ([]string, error) {
		d, err := jsonl.ParseDraft(e.Raw)
		if err != nil {
			return nil, err
		}
		return append(Keys(e.Meta), next(d)), nil
	}
}
