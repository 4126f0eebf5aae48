package cli

import (
	"context"
	"errors"
	"strconv"

	"github.com/spf13/cobra"

	"tape/cmd/internal/reports"
	"tape/cmd/internal/rows"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/repo"
)

type diffOptions struct {
	app  *App
	stat bool
}

func newDiffCmd(a *App) *cobra.Command {
	o := &diffOptions{app: a}
	cmd := &cobra.Command{
		Use:   "diff A [B] [--stat]",
		Short: "Compare two points of a session, or two sessions",
		Long: `Show the entries that only B has (+), those that only A has (-), and the changes in edited
ones (~). Without B, A is compared with the session as it is now.

A and B can be anchors, as tape anchors shows them, or entries (@17; TAPE@17 is one of another session):
they mean everything up to that point. Sessions and forks mean all their entries, committed or not.
Tags, branches and commits can be compared, too; HEAD is the session's newest commit. For two forks of one
session, each fork's own entries are shown.

For two sessions that have no entries in common, the prompts that only one has, the answers that
differ, and the files that they changed are shown; --json has the entries.

As in other commands, the beginning of a session's name is enough. If both A and B are given, a number
such as 2 means a session in the list of tape tapes, and 002 a phase.

With --stat, numbers are shown instead: entries of each kind, tokens from run events, and calls of
each tool.`,
		Example: `  tape diff implement
  tape diff HEAD
  tape diff 002 003 --stat
  tape diff main main/try-wal
  tape diff 1 2
  tape diff @17 latest --json`,
		Args:              takes(1, "A", "B"),
		ValidArgsFunction: upTo(2, a.completePoints),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := a.storeShown(cmd.Context(), args[0]); err != nil {
				return err
			}
			if other, ok := a.numberShown(first(args[1:])); ok && a.workspaceDir() == "" {
				if here, err := a.openStore(cmd.Context()); err != nil {
					return err
				} else if other.Workspace != here.Dir() {
					return layout.Invalid("tape diff compares sessions of one workspace; tape log "+shellWord(args[1])+" reads that one",
						"number %s of the last list is a session of another workspace", args[1])
				}
			}
			return a.onTape(o.run)(cmd, args)
		},
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
	from, err := o.revision(ctx, t, args[0], len(args) > 1)
	if err != nil {
		return err
	}
	to, err := o.revision(ctx, t, first(args[1:]), true)
	if err != nil {
		return err
	}
	if o.stat {
		return rows.Stat(ctx, &o.app.Streams, from, to)
	}
	if shared, err := from.SharedWith(ctx, to); err != nil {
		return err
	} else if shared == 0 && from.Tape() != to.Tape() && !o.app.JSON {
		return o.sessions(ctx, t.Store(), from, to)
	}
	show := (&rows.Changes{Streams: &o.app.Streams, From: from.Name(), To: to.Name()}).Show
	differ := false
	err = query.Compare(ctx, from, to, func(c query.Change) error {
		differ = true
		return show(c)
	})
	if err == nil && !differ {
		o.app.StderrUnlessQuiet("no entry differs")
	}
	return err
}

// revision finds one of the two sides. If numbers is true, a number means a tape in the list of tapes.
func (o *diffOptions) revision(ctx context.Context, t *repo.Tape, target string, numbers bool) (*query.Revision, error) {
	name, at := catalog.Entry(target)
	n, err := strconv.Atoi(target)
	if name == "" && !(numbers && err == nil && strconv.Itoa(n) == target) {
		r, err := t.Store().Revision(ctx, t, target)
		if !errors.Is(err, repo.ErrNotFound) || target == "" {
			return r, err
		}
		if other, findErr := o.app.findTape(ctx, t.Store(), target); findErr == nil {
			return other.Store().Revision(ctx, other, "")
		}
		return nil, err
	}
	if name == "" {
		name, at = target, ""
	}
	other, err := o.app.findTape(ctx, t.Store(), name)
	if err != nil {
		return nil, err
	}
	return other.Store().Revision(ctx, other, at)
}

// sessions shows how two sessions differ.
func (o *diffOptions) sessions(ctx context.Context, store *repo.Store, from, to *query.Revision) error {
	sides := [2]reports.ComparedSide{{Revision: from}, {Revision: to}}
	for i := range sides {
		t, err := store.Tape(ctx, sides[i].Revision.Tape())
		if err != nil {
			return err
		}
		if sides[i].Facts, err = o.app.aboutTape(ctx, t); err != nil {
			return err
		}
		if sides[i].Touches, err = withIndex(o.app, store, func(x *index.Index) ([]index.Touch, error) {
			return x.Touches(ctx, index.FileFilter{Tapes: []string{t.Name()}})
		}); err != nil {
			return err
		}
	}
	differ, err := reports.ShowComparison(ctx, &o.app.Streams, sides[0], sides[1])
	if err == nil && !differ {
		o.app.StderrUnlessQuiet("no prompt, answer or file differs")
	}
	return err
}
