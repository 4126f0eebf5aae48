package trace

import (
	"context"
	"iter"
	"slices"

	"tape/index"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// TouchedEntries yields what sessions did with a file, session by session: the calls, their results, and before them what
// the person had asked. The touches of a session come together, in the order of their entries.
func TouchedEntries(ctx context.Context, store *repo.Store, touches []index.Touch) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for len(touches) > 0 {
			n := slices.IndexFunc(touches, func(t index.Touch) bool { return t.Tape != touches[0].Tape })
			if n < 0 {
				n = len(touches)
			}
			t, err := store.Tape(ctx, touches[0].Tape)
			if err != nil {
				yield(repo.Entry{}, err)
				return
			}
			for e, err := range ofSession(ctx, t, touches[:n]) {
				if !yield(e, err) {
					return
				}
			}
			touches = touches[n:]
		}
	}
}

func ofSession(ctx context.Context, t *repo.Tape, touches []index.Touch) iter.Seq2[repo.Entry, error] {
	wanted := map[int64]bool{}
	for _, touch := range touches {
		wanted[touch.Entry] = true
	}
	return func(yield func(repo.Entry, error) bool) {
		var prompt *repo.Entry
		waiting := map[string]bool{} // ids of the calls whose results are wanted
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err != nil {
				yield(e, err)
				return
			}
			isResult := slices.ContainsFunc(jsonl.Strings(jsonl.Get(e.Meta, "call_ids")), func(id string) bool { return waiting[id] })
			switch {
			case wanted[e.ID]:
				for call := range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
					waiting[jsonl.GetString(call, "id")] = true
				}
				if prompt != nil && !yield(*prompt, nil) || !yield(e, nil) {
					return
				}
				prompt = nil
			case e.Kind == repo.KindToolResult && isResult:
				if !yield(e, nil) {
					return
				}
			case about.IsPrompt(e):
				prompt = &e
			}
		}
	}
}
