package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/entrydiff"
	"tape/internal/jsonl"
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
		Short: "Merge a fork into the tape that it is a fork of",
		Long: `Append what a fork has of its own to its parent, in one commit with both as parents, and
close the fork. The parent's entries stay as they are; the fork's follow under new
numbers, each with its former one in meta.origin; its anchors become phases of the parent.
What is not committed on either side is committed first.

FORK is the name of a fork of the tape in hand (x), or the full name of any (main/x).

With --keep the fork stays open: it can go on, and be merged again, which adds what is new
since then. With --summary only that text is recorded, as a message; the fork's entries
stay reachable through the merge commit. A summary of - is read from standard input.

There are no conflicts to resolve. If somebody has changed what both begin with, nothing is
merged: the first entry that differs is shown, and the exit code is 4.

A git merge of a fork's branch comes to the same, if tape git install has told git how. If
git has stopped at a conflict in the tape's working tree, --continue finishes the merge,
whatever is in the files, and --abort takes it back. The fork stays open then.`,
		Example: `  tape merge try-redis
  tape merge try-redis --summary "redis is slower here: 40 ms against 12 ms"
  tape merge main/try-redis/cluster --keep
  tape merge --continue`,
		Args:              o.args,
		ValidArgsFunction: a.completeForks,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.resume:
				return o.runContinue(cmd.Context())
			case o.abort:
				return o.runAbort(cmd.Context())
			}
			o.short = cmd.Flags().Changed("summary")
			return o.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&o.resume, "continue", false, "finish a merge that git has stopped at a conflict")
	cmd.Flags().BoolVar(&o.abort, "abort", false, "take such a merge back")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "leave the fork open")
	cmd.Flags().StringVar(&o.summary, "summary", "", "record this `TEXT` (- for standard input) instead of the fork's entries")
	return cmd
}

// args checks that there is a fork, or a flag that needs none.
func (o *mergeOptions) args(cmd *cobra.Command, args []string) error {
	switch {
	case o.resume && o.abort:
		return usagef("--continue and --abort exclude each other")
	case !o.resume && !o.abort:
		return takes(1, "FORK")(cmd, args)
	case o.keep || cmd.Flags().Changed("summary"):
		return usagef("--keep and --summary are for a merge that begins")
	}
	return takes(0)(cmd, args)
}

// runContinue finishes a merge of git's in the tape's working tree.
func (o *mergeOptions) runContinue(ctx context.Context) error {
	a := o.app
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	r, err := merge.Continue(ctx, t)
	if err != nil {
		return err
	}
	if r.Merged == 0 {
		return a.result(describeMerge("", r), "finished the merge into %s: it had nothing new", quoted(t.Name()))
	}
	return a.result(describeMerge("", r), "finished the merge into %s: %s, %s; commit %.12s", quoted(t.Name()), entries(r.Merged),
		idRange(r.FirstID, r.LastID), r.Commit)
}

func (o *mergeOptions) runAbort(ctx context.Context) error {
	a := o.app
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	if err := merge.Abort(ctx, t); err != nil {
		return err
	}
	result := struct {
		Aborted bool   `json:"aborted"`
		Into    string `json:"into"`
	}{true, t.Name()}
	return a.result(result, "took the merge into %s back", quoted(t.Name()))
}

// mergeJSON is the result of a merge. Which fork it was is null where git knew it.
type mergeJSON struct {
	Fork    any    `json:"fork"`
	Into    string `json:"into"`
	Merged  int    `json:"merged"`
	FirstID any    `json:"first_id"`
	LastID  any    `json:"last_id"`
	Commit  any    `json:"commit"`
	Anchors int    `json:"anchors"`
	Closed  bool   `json:"closed"`
}

func describeMerge(fork string, r merge.Result) mergeJSON {
	out := mergeJSON{Fork: orNull(fork), Into: r.Into, Merged: r.Merged, Commit: orNull(r.Commit), Anchors: r.Anchors, Closed: r.Closed}
	if r.Merged > 0 {
		out.FirstID, out.LastID = r.FirstID, r.LastID
	}
	return out
}

func (o *mergeOptions) run(ctx context.Context, name string) error {
	a := o.app
	if o.short {
		text, err := a.summaryText(ctx, o.summary)
		if err != nil {
			return err
		}
		o.summary = text
	}
	f, err := a.openFork(ctx, name)
	if errors.Is(err, repo.ErrNotFound) {
		if closed, ok := a.closedFork(ctx, name); ok {
			return o.already(closed, err)
		}
	}
	if err != nil {
		return err
	}
	before := a.store.CurrentTape()
	// A refused merge shows entries: not what a purge was about to take out.
	if err := a.store.FinishPurge(ctx, a.rebuildIndex); err != nil {
		return err
	}
	r, err := merge.BackWith(ctx, f, merge.Options{Keep: o.keep, Summary: o.summary})
	if err != nil {
		return err
	}
	return a.result(describeMerge(f.Name(), r), "%s%s", mergeText(f.Name(), r, o.short), a.movedFrom(before))
}

// movedFrom tells that the current tape was a fork that has just been closed.
func (a *App) movedFrom(before string) string {
	if now := a.store.CurrentTape(); now != before {
		return "\nthe current tape is " + quoted(now) + " again"
	}
	return ""
}

// mergeText says what a merge did.
func mergeText(fork string, r merge.Result, short bool) string {
	fate := "which stays open"
	if r.Closed {
		fate = "which is closed now"
	}
	if r.Merged == 0 {
		return fmt.Sprintf("nothing to merge: %s has nothing that %s lacks; the fork %s", quoted(fork), quoted(r.Into), strings.TrimPrefix(fate, "which "))
	}
	what := entries(r.Merged)
	if short {
		what = "a summary"
	}
	phases := ""
	if r.Anchors > 0 {
		phases = " in " + count(int64(r.Anchors), "new phase", "new phases")
	}
	return fmt.Sprintf("merged %s of %s into %s%s: %s; commit %.12s\nthe fork %s", what, quoted(fork), quoted(r.Into), phases, idRange(r.FirstID, r.LastID), r.Commit,
		strings.TrimPrefix(fate, "which "))
}

func idRange(first, last int64) string {
	if first == last {
		return fmt.Sprintf("@%d", first)
	}
	return fmt.Sprintf("@%d to @%d", first, last)
}

// already is for a fork that is closed: to merge it again is no error, and adds nothing.
func (o *mergeOptions) already(f repo.ForkInfo, notFound error) error {
	if f.Status == repo.ForkDiscarded {
		return &cliError{class: repo.ErrNotFound, msg: "the fork " + quoted(f.Name) + " was discarded", hint: "bring it back with: " + o.app.bringBack(f)}
	}
	if f.Into == "" {
		return notFound
	}
	r := merge.Result{Into: f.Parent, Closed: true}
	return o.app.result(describeMerge(f.Name, r), "nothing to merge: %s was merged %s, in commit %.12s, and is closed", quoted(f.Name),
		o.app.ago(f.Updated), f.Into)
}

// closedFork finds the last fork of a name that was closed.
func (a *App) closedFork(ctx context.Context, name string) (repo.ForkInfo, bool) {
	store, err := a.openStore(ctx)
	if err != nil {
		return repo.ForkInfo{}, false
	}
	for _, full := range []string{a.tapeInHand(store) + "/" + name, name} {
		i := strings.LastIndexByte(full, '/')
		if i < 1 {
			continue
		}
		parent, err := store.Tape(ctx, full[:i])
		if err != nil {
			continue
		}
		closed, err := parent.ClosedForks(ctx)
		if err != nil {
			return repo.ForkInfo{}, false
		}
		for _, f := range closed {
			if f.Name == full {
				return f, true
			}
		}
	}
	return repo.ForkInfo{}, false
}

// summaryText is the text of --summary, which must not be empty: it stands for entries.
func (a *App) summaryText(ctx context.Context, text string) (string, error) {
	if text == "-" {
		store, err := a.openStore(ctx)
		if err != nil {
			return "", err
		}
		data, err := a.readAll(ctx, store.Config().MaxLine)
		if err != nil {
			return "", err
		}
		text = strings.TrimRight(string(data), "\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", usagef("the summary is empty")
	}
	return text, nil
}

// rewrittenJSON is the first entry of a rewritten history that differs.
type rewrittenJSON struct {
	Tape  string     `json:"tape"`
	ID    int64      `json:"id"`
	Was   any        `json:"was"`
	Is    any        `json:"is"`
	Parts []partJSON `json:"parts"`
}

type partJSON struct {
	Path string `json:"path"`
	Old  any    `json:"old"`
	New  any    `json:"new"`
}

func describeRewritten(e *repo.RewrittenError) *rewrittenJSON {
	out := &rewrittenJSON{Tape: e.Name, Was: rawEntry(e.Base[0]), Is: rawEntry(e.Base[1]), Parts: []partJSON{}}
	for _, line := range e.Base {
		if id, err := jsonl.ParseID(line); err == nil && out.ID == 0 {
			out.ID = id
		}
	}
	if e.Base[0] == nil || e.Base[1] == nil {
		return out
	}
	for _, p := range entrydiff.Entry(e.Base[0], e.Base[1]) {
		part := partJSON{Path: p.Path}
		if p.HasOld {
			part.Old = p.Old
		}
		if p.HasNew {
			part.New = p.New
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// rawEntry is a stored line in JSON output: as it is, or a string if it is no entry.
func rawEntry(line []byte) any {
	if line == nil {
		return nil
	}
	if _, err := jsonl.Parse(line); err != nil {
		return string(line)
	}
	return json.RawMessage(line)
}

// tellRewritten shows people the first entry that differs.
func (a *App) tellRewritten(e *repo.RewrittenError) {
	tell := func(format string, args ...any) { fmt.Fprintf(a.Stderr, format+"\n", args...) }
	d := describeRewritten(e)
	switch {
	case e.Base[0] == nil && e.Base[1] == nil:
		return
	case e.Base[1] == nil:
		tell("  @%d is gone; it was:", d.ID)
		tell("  - %s", truncate(safeLine(string(e.Base[0])), lineCells))
		return
	case e.Base[0] == nil:
		tell("  @%d was not there; it is:", d.ID)
		tell("  + %s", truncate(safeLine(string(e.Base[1])), lineCells))
		return
	}
	tell("  @%d was changed:", d.ID)
	for _, p := range entrydiff.Entry(e.Base[0], e.Base[1]) {
		path := p.Path
		if path == "" {
			path = "the line"
		}
		tell("    %s", truncate(safeLine(path), lineCells))
		for _, l := range partLines(p) {
			tell("    %s", strings.TrimRight(string(l.sign)+" "+l.cut(lineCells).text, " "))
		}
	}
}
