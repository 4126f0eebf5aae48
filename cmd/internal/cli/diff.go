package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/store/query"
	"tape/repo"
)

type diffOptions struct {
	*App
	stat bool
}

func newDiffCmd(a *App) *cobra.Command {
	o := &diffOptions{App: a}
	cmd := &cobra.Command{
		Use:   "diff A [B] [--stat]",
		Short: "Compare two points of a tape, or two tapes",
		Long: `Show the entries that only B has (+), those that only A has (-), and the changes in edited
ones (~). Without B, A is compared with the tape as it is now.

A and B can be anchors as tape anchors shows them, or entries (@17), which mean everything up
to there; tapes and forks, which mean all their entries, committed or not; or tags, branches
and commits, where HEAD is the tape's newest commit. For two forks of one tape, each fork's own
entries are shown.

With --stat, show numbers instead: entries of each kind, tokens from run events, and calls of
each tool.`,
		Example: `  tape diff implement
  tape diff HEAD
  tape diff 002 003 --stat
  tape diff main main/try-wal
  tape diff @17 latest --json`,
		Args:              takes(1, "A", "B"),
		ValidArgsFunction: upTo(2, a.completePoints),
		RunE:              a.onTape(o.run),
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "show numbers instead of entries")
	return cmd
}

func (a *App) completePoints(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	anchors, _ := a.completeAnchors()(cmd, args, prefix)
	tapes, directive := a.completeTapes()(cmd, args, prefix)
	return append(anchors, tapes...), directive
}

func (o *diffOptions) run(ctx context.Context, t *repo.Tape, args []string) error {
	from, err := t.Store().Revision(ctx, t, args[0])
	if err != nil {
		return err
	}
	to, err := t.Store().Revision(ctx, t, first(args[1:]))
	if err != nil {
		return err
	}
	if o.stat {
		return rows.Stat(ctx, &o.Streams, from, to)
	}
	show := (&rows.Changes{Streams: &o.Streams, From: from.Name(), To: to.Name()}).Show
	some := false
	err = query.Compare(ctx, from, to, func(c query.Change) error {
		some = true
		return show(c)
	})
	if err == nil && !some {
		o.StderrUnlessQuiet("no entry differs")
	}
	return err
}
