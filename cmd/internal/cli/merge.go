package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/purge"
	"tape/internal/store/workspace"
	"tape/merge"
	"tape/repo"
)

type mergeOptions struct {
	app     *App
	keep    bool
	summary string
	short   bool // --summary was given
	resume  bool
	abort   bool
}

func newMergeCmd(a *App) *cobra.Command {
	o := &mergeOptions{app: a}
	cmd := &cobra.Command{
		Use:   "merge FORK [--keep] [--summary TEXT] | --continue | --abort",
		Short: "Merge a fork into its parent",
		Long: `Append the fork's own entries to its parent, in one merge commit, and close the fork. The
parent's entries do not change. The fork's entries follow under new numbers, each
with its previous one in meta.origin, and its anchors become phases of the parent. Uncommitted
entries of both sides are committed first.

FORK is the name of a fork of the current session (x), or the full name of any fork (main/x).

With --keep the fork stays open. You can continue it and merge it again, which adds its new
entries. With --summary only that text is recorded, as a message; the fork's entries stay
reachable through the merge commit. With --summary -, the text is read from standard input.

There are no conflicts to resolve. If somebody has changed entries that both sides had in
common, nothing is merged: the first different entry is shown, and the exit code is 4.

After tape git install, git merge of a fork's branch has the same result. If git has stopped at
a conflict in the session's working tree, --continue finishes the merge, whatever the files
contain, and --abort undoes it, so that the fork stays open.`,
		Example: `  tape merge try-redis
  tape merge try-redis --summary "redis is slower here: 40 ms against 12 ms"
  tape merge main/try-redis/cluster --keep
  tape merge --continue`,
		Args:              o.args,
		ValidArgsFunction: upTo(1, a.completeForks),
		PreRunE: func(*cobra.Command, []string) error {
			if o.short && o.summary != "-" {
				return checkSummary(o.summary)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.resume:
				return a.onTape(o.runContinue)(cmd, args)
			case o.abort:
				return a.onTape(o.runAbort)(cmd, args)
			}
			return a.inStoreOf(o.run)(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&o.resume, "continue", false, "finish a merge that git has stopped at a conflict")
	cmd.Flags().BoolVar(&o.abort, "abort", false, "undo such a merge")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave the fork open")
	cmd.Flags().StringVar(&o.summary, "summary", "", "record this `TEXT` (- for standard input) instead of the fork's entries")
	cmd.MarkFlagsMutuallyExclusive("continue", "abort")
	exclude(cmd, "continue", "keep", "summary")
	exclude(cmd, "abort", "keep", "summary")
	return cmd
}

func (o *mergeOptions) args(cmd *cobra.Command, args []string) error {
	o.short = cmd.Flags().Changed("summary")
	if o.resume || o.abort {
		return takes(0)(cmd, args)
	}
	return takes(1, "FORK")(cmd, args)
}

// runContinue finishes a merge that git has begun in the tape's working tree.
func (o *mergeOptions) runContinue(ctx context.Context, t *repo.Tape, _ []string) error {
	r, err := merge.Continue(ctx, t)
	if err != nil {
		return err
	}
	text := "it had nothing new"
	if r.Merged > 0 {
		text = fmt.Sprintf("%s, %s; commit %.12s", display.Entries(r.Merged), display.IDRange(r.FirstID, r.LastID), r.Commit)
	}
	return o.app.Result(describeMerge("", r), "finished the merge into %s: %s", quoted(t.Name()), text)
}

func (o *mergeOptions) runAbort(ctx context.Context, t *repo.Tape, _ []string) error {
	if err := merge.Abort(ctx, t); err != nil {
		return err
	}
	return o.app.Result(object{{"aborted", true}, {"into", t.Name()}}, "undid the merge into %s", quoted(t.Name()))
}

// describeMerge returns the result of a merge as JSON. The fork is null if git began the merge.
func describeMerge(fork string, r merge.Result) object {
	first, last := mergedIDs(r)
	return object{{"fork", orNull(fork)}, {"into", r.Into}, {"merged", r.Merged}, {"first_id", first}, {"last_id", last}, {"commit", orNull(r.Commit)},
		{"anchors", r.Anchors}, {"closed", r.Closed}}
}

// mergedIDs returns the ids of the first and last merged entry; nil if nothing was merged.
func mergedIDs(r merge.Result) (first, last any) {
	if r.Merged > 0 {
		return r.FirstID, r.LastID
	}
	return nil, nil
}

func (o *mergeOptions) run(ctx context.Context, store *repo.Store, args []string) error {
	if o.summary == "-" {
		limit := (*workspace.Store)(store).Config().MaxLine
		text, err := o.app.ReadText(ctx, limit, inputTooLong(limit))
		if err != nil {
			return err
		}
		o.summary = text
		if err := checkSummary(o.summary); err != nil {
			return err
		}
	}
	f, err := o.app.openFork(ctx, store, args[0])
	if errors.Is(err, repo.ErrNotFound) {
		if closed, ok := o.app.closedFork(ctx, store, args[0]); ok {
			return o.alreadyClosed(store, closed, err)
		}
	}
	if err != nil {
		return err
	}
	before := store.CurrentTape()
	// A refused merge shows entries, so first finish an interrupted purge, which may remove some.
	if err := purge.FinishPurge(ctx, (*workspace.Store)(store), o.app.rebuildIndex); err != nil {
		return err
	}
	r, err := merge.BackWith(ctx, f, merge.Options{Keep: o.keep, Summary: o.summary})
	if err != nil {
		return err
	}
	return o.app.Result(describeMerge(f.Name(), r), "%s%s", mergeText(f.Name(), r, o.short), movedFrom(store, before))
}

// movedFrom says which tape is current now, if the current one was the fork that was closed.
func movedFrom(store *repo.Store, before string) string {
	if now := store.CurrentTape(); now != before {
		return "\nthe current tape is " + quoted(now) + " again"
	}
	return ""
}

func mergeText(fork string, r merge.Result, short bool) string {
	fate := "stays open"
	if r.Closed {
		fate = "is closed now"
	}
	if r.Merged == 0 {
		return fmt.Sprintf("nothing to merge: %s has nothing that %s lacks; the fork %s", quoted(fork), quoted(r.Into), fate)
	}
	what := display.Entries(r.Merged)
	if short {
		what = "a summary"
	}
	phases := ""
	if r.Anchors > 0 {
		phases = " in " + display.Count(r.Anchors, "new phase", "new phases")
	}
	return fmt.Sprintf("merged %s of %s into %s%s: %s; commit %.12s\nthe fork %s", what, quoted(fork), quoted(r.Into), phases,
		display.IDRange(r.FirstID, r.LastID), r.Commit, fate)
}

// alreadyClosed answers for a closed fork. Merging a merged one again is not an error, and adds nothing; for
// a discarded one, the error says how to bring it back.
func (o *mergeOptions) alreadyClosed(store *repo.Store, f repo.ForkInfo, notFound error) error {
	if f.Status == repo.ForkDiscarded {
		return layout.NotFound("bring it back with: "+bringBack(store, f), "the fork %s was discarded", quoted(f.Name))
	}
	if f.Into == "" {
		return notFound
	}
	r := merge.Result{Into: f.Parent, Closed: true}
	return o.app.Result(describeMerge(f.Name, r), "nothing to merge: %s was merged %s, in commit %.12s, and is closed", quoted(f.Name),
		o.app.ago(f.Updated), f.Into)
}

// checkSummary refuses an empty summary, which would replace the fork's entries with nothing.
func checkSummary(text string) error {
	if strings.TrimSpace(text) == "" {
		return usagef("the summary is empty")
	}
	return nil
}
