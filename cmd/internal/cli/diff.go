package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"tape/internal/store/query"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
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

A and B are anchors, as tape anchors shows them, or entries (@17), which mean everything
up to there; tapes and forks, which mean all that they have, committed or not; or tags,
branches and commits, of which HEAD is the tape's newest. Of two forks of one tape, each
side's own entries are shown.

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
		return o.showDiffStat(ctx, from, to)
	}
	show := o.emitChange
	if !o.JSON {
		o.Page()
		show = (&diffView{App: o.App, from: from.Name(), to: to.Name()}).show
	}
	some := false
	err = query.Compare(ctx, from, to, func(c query.Change) error {
		some = true
		return show(c)
	})
	if err == nil && !some {
		o.Tell("no entry differs")
	}
	return err
}

func (a *App) emitChange(c query.Change) error {
	out := append(jsonl.AppendString([]byte(`{"change":`), c.Kind), `,"id":`...)
	out = strconv.AppendInt(out, c.Entry.ID, 10)
	out = append(append(out, `,"entry":`...), c.Entry.JSON()...)
	if c.Kind == query.ChangeEdited {
		out = append(append(out, `,"old":`...), c.Old.JSON()...)
		out = append(append(out, `,"parts":`...), marshal(objects(c.Parts(), describePart))...)
	}
	return a.WriteLine(append(out, '}'))
}

// describePart is a value that differs; null where it is absent.
func describePart(p entrydiff.Part) object {
	out := object{{"path", p.Path}, {"old", nil}, {"new", nil}}
	if p.HasOld {
		out[1][1] = p.Old
	}
	if p.HasNew {
		out[2][1] = p.New
	}
	return out
}
