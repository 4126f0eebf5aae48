package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/upkeep"
	"tape/internal/store/workspace"
	"tape/repo"
)

type gcOptions struct {
	app           *App
	worktreesOnly bool
	allWorktrees  bool
	auto          bool
}

func newGCCmd(a *App) *cobra.Command {
	o := &gcOptions{app: a}
	cmd := &cobra.Command{
		Use:   "gc [--all-worktrees] [--worktrees-only | --auto]",
		Short: "Pack the repository and remove idle working trees",
		Long: `Make the workspace smaller: remove the working trees of tapes and forks that nobody has
written to for a day, and leftovers of killed processes; then let git pack everything.

A working tree is removed only if git has everything in it: it has no uncommitted entries and
no other files. The current tape's stays, and so do those that you have made elsewhere with git
worktree. The next write to a tape creates its working tree again.

Other processes can read and write meanwhile, and you can interrupt gc at any time. Forks,
archives and commits in a reflog are kept.

With --auto, only merge small packs into one, and only if there are more than 50 packs. import,
fetch, pull and recording do this by themselves.`,
		Example: `  tape gc
  tape gc --worktrees-only --all-worktrees`,
		RunE: a.inStore(o.run),
	}
	cmd.Flags().BoolVar(&o.allWorktrees, "all-worktrees", false, "also remove working trees that were written to recently")
	cmd.Flags().BoolVar(&o.worktreesOnly, "worktrees-only", false, "do not pack")
	cmd.Flags().BoolVar(&o.auto, "auto", false, "only make one pack of many small ones")
	cmd.MarkFlagsMutuallyExclusive("auto", "worktrees-only")
	cmd.MarkFlagsMutuallyExclusive("auto", "all-worktrees")
	return cmd
}

// tidy packs after something was added, so that reading stays fast. If it fails, the next command tries again.
func tidy(ctx context.Context, store *repo.Store) { _, _ = store.GC(ctx, &repo.GCOptions{Auto: true}) }

func (o *gcOptions) run(ctx context.Context, store *repo.Store, _ []string) error {
	shown := o.app.Progress("")
	opts := &repo.GCOptions{WorktreesOnly: o.worktreesOnly, Auto: o.auto, Step: shown.Step}
	if o.allWorktrees {
		opts.Idle = -1
	}
	report, err := store.GC(ctx, opts)
	shown.Clear()
	if err != nil {
		return err
	}
	if o.app.JSON {
		return o.app.Emit(object{{"before", report.Before}, {"after", report.After}, {"worktrees", objects(report.Worktrees, describeTree)},
			{"kept", objects(report.Kept, describeTree)}, {"locks", report.Locks}, {"temporary", report.Temporary}, {"packed", !o.worktreesOnly}}.With("left_out", len((*workspace.Store)(store).LeftOut())))
	}
	for _, t := range report.Worktrees {
		o.app.StderrIfVerbose("removed %s", t.Dir)
	}
	for _, t := range report.Kept {
		o.app.StderrUnlessQuiet("kept %s: %s", display.Line(t.Dir), display.Line(t.Reason))
	}
	o.app.PrintUnlessQuiet("%s", gcText(report))
	return nil
}

func describeTree(t upkeep.GCWorktree) object {
	return object{{"tape", t.Tape}, {"path", t.Dir}}.With("reason", t.Reason)
}

func gcText(r repo.GCReport) string {
	done := slices.Concat(display.CountList(len(r.Worktrees), "working tree removed", "working trees removed"),
		display.CountList(len(r.Locks), "stale lock removed", "stale locks removed"), display.CountList(r.Temporary, "unfinished file removed", "unfinished files removed"))
	text := display.Bytes(r.Before) + " before, " + display.Bytes(r.After) + " now"
	if len(done) > 0 {
		text += "; " + strings.Join(done, ", ")
	}
	return text
}
