// Package importer brings the transcripts of other programs onto tapes.
//
// A package for each format reads a file and makes entries in the order of the tape; this one finds out
// a file's format and writes the entries. Each entry has the keys of the source records that it was
// made from ([record.Item.Keys]), and [Batch] looks for each key on the tape. So a file that has grown,
// or had a line repaired, adds only what is new.
package importer

import (
	"context"
	"errors"
	"fmt"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Read emits the items of a source in the order of the tape. It leaves out what the tape has: seen reports whether a
// fork (named as in [record.Item.Fork]; "" is the tape itself) has an entry with a key. No two forks share a key.
//
// Read returns the first error of emit, of the source's reader, or of the context. Nothing in a source's content is an
// error.
//
// Memory grows with the number of records, not with the size of the source. But a session that is one JSON value is held
// as a whole, see [record.MaxSession].
func Read(ctx context.Context, f *record.Format, src record.Source, seen func(fork, key string) bool, emit func(record.Item) error) (record.Stats, error) {
	r := &record.Reading{Source: src, Format: f.Name, Seen: seen, Emit: emit}
	err := readInto(ctx, f, r)
	return r.Stats, err
}

// readInto is [Read] for an existing reading.
func readInto(ctx context.Context, f *record.Format, r *record.Reading) error {
	if info, err := Describe(ctx, f, r.Source); err == nil {
		r.Date = info.Started // for records before the first that has a date
		if r.Within {
			r.Home = info.Agent
		}
	}
	seen := r.Seen
	r.Seen = func(fork, key string) bool {
		stored := seen(fork, key)
		if stored {
			r.Last = nil // a restart needs all items after it to be emitted
		}
		return stored
	}
	if r.Fail(f.Read(ctx, r)); r.Err != nil {
		return fmt.Errorf("read %q as %s: %w", r.Name, r.Format, r.Err)
	}
	return nil
}

// Describe reads the start of a source, and no more than it has to.
func Describe(ctx context.Context, f *record.Format, src record.Source) (record.Info, error) {
	info := record.Info{Format: f.Name}
	if err := f.Describe(ctx, src, &info); err != nil {
		return record.Info{}, fmt.Errorf("describe %q as %s: %w", src.Name, f.Name, err)
	}
	if info.Named = info.Session != ""; !info.Named {
		info.Session = src.Stem()
	}
	info.Agent = asForkName(info.Agent)
	return info, nil
}

// Keys returns the keys in the meta of a stored entry, which are the [record.Item.Keys] of its import. A format with
// a [record.Format.Keys] stores none, except for an entry in which a secret was masked.
func Keys(meta []byte) []string {
	return jsonl.Strings(jsonl.Get(meta, "source", "ids"))
}

// keysOf returns a function that returns the keys of an entry. Call it for each entry of a tape, in order.
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

// IsEmpty reports whether nobody says anything in a transcript.
func IsEmpty(ctx context.Context, path string) bool {
	empty, enough := true, errors.New("enough")
	_, err := identify(ctx, path, func(f *record.Format, src record.Source) error {
		_, err := Read(ctx, f, src, func(string, string) bool { return false }, func(item record.Item) error {
			e := layout.Entry{Kind: item.Entry.Kind, Payload: item.Entry.Payload, Meta: item.Entry.Meta}
			if empty = !says(e); !empty {
				return enough
			}
			return nil
		})
		return err
	})
	return err == nil && empty
}
