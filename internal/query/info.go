package query

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// Info is an overview of one tape.
type Info struct {
	Summary
	Branch                 string // as git names it
	Dir                    string // its working tree; "" if it has none
	EntriesSinceLastAnchor int64
	Uncommitted            int64  // entries that the last commit does not have
	Commit                 string // the last commit
	Size                   int64  // bytes of all entry files
	Usage                  Usage  // of the last run event
}

// Usage is what the last run event says about tokens. Nil means that it does not say.
type Usage struct {
	TotalTokens  *int64
	CacheHitRate *float64 // share of the input that came from the cache, 0 to 1
}

// Summary is the part of Info that costs little, for lists of many tapes.
type Summary struct {
	Name       string
	Entries    int64
	Anchors    int
	LastAnchor string
	Updated    string // date of the last entry
}

// SummaryOf returns a short overview of the tape.
func SummaryOf(ctx context.Context, t *workspace.Tape) (out Summary, err error) {
	defer reading(t, &err)
	v, err := snapshot.Take(ctx, t)
	if err == nil {
		out, _, err = summarize(t, v)
	}
	return out, err
}

func summarize(t *workspace.Tape, v *snapshot.Snapshot) (Summary, layout.Entry, error) {
	anchor, err := snapshot.ReadAnchor(v, v.LastPhase(), t.Name())
	if err != nil {
		return Summary{}, anchor, err
	}
	end, line, err := snapshot.EndOf(v, v.LastPhase())
	if err != nil {
		return Summary{}, anchor, err
	}
	out := Summary{Name: t.Name(), Entries: end.LastID, Anchors: len(v.List), LastAnchor: anchor.Anchor, Updated: anchor.Date}
	if line != nil {
		e, err := jsonl.Parse(line)
		out.Updated = e.Date
		if err != nil {
			out.Updated = "" // readers will tell what is wrong
		}
	}
	return out, anchor, nil
}

// InfoOf returns an overview of the tape.
func InfoOf(ctx context.Context, t *workspace.Tape) (out Info, err error) {
	defer reading(t, &err)
	v, err := snapshot.Take(ctx, t)
	if err != nil {
		return Info{}, err
	}
	sum, anchor, err := summarize(t, v)
	if err != nil {
		return Info{}, err
	}
	out = Info{Summary: sum, Branch: t.Branch(), EntriesSinceLastAnchor: sum.Entries - anchor.ID, Commit: v.Commit.String()}
	last, err := snapshot.LastOf(t.Store(), v.Commit)
	if err != nil {
		return out, err
	}
	out.Uncommitted = max(0, out.Entries-last)
	if wt, _, err := t.Worktree(); err == nil {
		out.Dir = wt.Dir
	} else if !errors.Is(err, gitstore.ErrNotFound) {
		return out, layout.Classify(err)
	}
	if out.Size, err = v.TotalSize(); err != nil {
		return out, layout.Classify(err)
	}
	out.Usage, err = lastUsage(ctx, v)
	return out, err
}

// lastUsage looks for the last run event, from the end.
func lastUsage(ctx context.Context, v *snapshot.Snapshot) (Usage, error) {
	for _, p := range slices.Backward(v.List) {
		if err := ctx.Err(); err != nil {
			return Usage{}, err
		}
		segments, err := v.Segments(p)
		if err != nil {
			return Usage{}, err
		}
		for _, f := range slices.Backward(segments[layout.ClassEvents]) {
			data, err := v.Content(p, f)
			if err != nil {
				return Usage{}, err
			}
			for data = data[:bytes.LastIndexByte(data, '\n')+1]; len(data) > 0; {
				line := snapshot.LastLine(data)
				data = data[:len(data)-len(line)-1]
				if !bytes.Contains(line, []byte(`"run"`)) {
					continue
				}
				e, err := snapshot.ParseEntry(line, "", "", p.Seq)
				if err != nil || string(jsonl.Get(e.Meta, "context")) == "false" {
					continue
				}
				if u, ok := UsageOf(e); ok {
					return u, nil
				}
			}
		}
	}
	return Usage{}, nil
}

// UsageOf is what a run event says about tokens; false for any other entry.
func UsageOf(e layout.Entry) (Usage, bool) {
	usage := jsonl.Get(e.Payload, "data", "usage")
	if e.Kind != layout.KindEvent || jsonl.GetString(e.Payload, "name") != "run" || !jsonl.IsObject(usage) {
		return Usage{}, false
	}
	return readUsage(usage), true
}

// readUsage understands the usage objects of the common providers. Where the input
// count leaves the cached tokens out (Anthropic), they are added.
func readUsage(usage json.RawMessage) Usage {
	number := func(path ...string) (int64, bool) {
		n, err := strconv.ParseFloat(string(jsonl.Get(usage, path...)), 64)
		return int64(n), err == nil
	}
	first := func(paths ...[]string) (int64, bool) {
		for _, p := range paths {
			if n, ok := number(p...); ok {
				return n, true
			}
		}
		return 0, false
	}
	input, hasInput := first([]string{"input_tokens"}, []string{"prompt_tokens"})
	output, _ := first([]string{"output_tokens"}, []string{"completion_tokens"})
	cached, hasCached := first([]string{"cache_read_input_tokens"}, []string{"cached_input_tokens"}, []string{"cached_tokens"},
		[]string{"prompt_tokens_details", "cached_tokens"}, []string{"input_tokens_details", "cached_tokens"})
	if read, ok := number("cache_read_input_tokens"); ok {
		created, _ := number("cache_creation_input_tokens")
		input += read + created
	}
	var out Usage
	if total, ok := number("total_tokens"); ok {
		out.TotalTokens = &total
	} else if hasInput {
		total = input + output
		out.TotalTokens = &total
	}
	if hasCached && input > 0 {
		rate := float64(cached) / float64(input)
		out.CacheHitRate = &rate
	}
	return out
}
