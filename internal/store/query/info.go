package query

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// Info is an overview of one tape.
type Info struct {
	Summary
	Branch                 string // as git names it
	Dir                    string // its working tree; "" if it has none
	EntriesSinceLastAnchor int64
	Uncommitted            int64       // entries after the last commit
	Commit                 string      // the last commit
	Size                   int64       // bytes of all entry files
	Usage                  about.Usage // of the last run event; zero if there is none
}

// Summary is the part of Info that costs little, for lists of many tapes.
type Summary struct {
	Name       string
	Entries    int64
	Anchors    int
	LastAnchor string
	Updated    string // date of the last entry; "" if its line is damaged
}

// SummaryOf returns a short overview of the tape.
func SummaryOf(ctx context.Context, t *workspace.Tape) (out Summary, err error) {
	defer wrapRead(t, &err)
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
			out.Updated = "" // whoever reads it reports what is wrong
		}
	}
	return out, anchor, nil
}

// InfoOf returns an overview of the tape.
func InfoOf(ctx context.Context, t *workspace.Tape) (out Info, err error) {
	defer wrapRead(t, &err)
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

// lastUsage returns the usage of the last run event that is not hidden; zero if there is none.
func lastUsage(ctx context.Context, v *snapshot.Snapshot) (about.Usage, error) {
	for _, p := range slices.Backward(v.List) {
		if err := ctx.Err(); err != nil {
			return about.Usage{}, err
		}
		segments, err := v.Segments(p)
		if err != nil {
			return about.Usage{}, err
		}
		for _, f := range slices.Backward(segments[layout.ClassEvents]) {
			data, err := v.Content(p, f)
			if err != nil {
				return about.Usage{}, err
			}
			for data = data[:bytes.LastIndexByte(data, '\n')+1]; len(data) > 0; {
				line := snapshot.LastLine(data)
				data = data[:len(data)-len(line)-1]
				if !bytes.Contains(line, []byte(`"run"`)) {
					continue
				}
				e, err := snapshot.ParseEntry(line, "", "", p.Seq)
				if err != nil || e.Hidden() {
					continue
				}
				if u, ok := about.UsageOf(e); ok {
					return u, nil
				}
			}
		}
	}
	return about.Usage{}, nil
}
