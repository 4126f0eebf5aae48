package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/display"
	"tape/internal/upkeep"
	"tape/repo"
)

type gcOptions struct {
	*App
	worktreesOnly bool
	allWorktrees  bool
}

func newGCCmd(a *App) *cobra.Command {
	o := &gcOptions{App: a}
	cmd := &cobra.Command{
		Use:   "gc [--all-worktrees] [--worktrees-only]",
		Short: "Pack the repository and take away idle working trees",
		Long: `Make the workspace small: take away the working trees of tapes and forks that nobody has
written to for a day, and what killed processes left; then let git pack everything.

A working tree is taken away only if git has all that is in it: nothing uncommitted, no
file of anybody else's. The current tape's stays, and so do those that you have made
elsewhere with git worktree. The next write to a tape makes its working tree again.

Others may go on to read and write meanwhile, and it can be interrupted at any time.
Forks, archives, and what a reflog knows are kept.`,
		Example: `  tape gc
  tape gc --worktrees-only --all-worktrees`,
		RunE: a.inStore(o.run),
	}
	cmd.Flags().BoolVar(&o.allWorktrees, "all-worktrees", false, "also take away working trees that were written to of late")
	cmd.Flags().BoolVar(&o.worktreesOnly, "worktrees-only", false, "do not pack")
	return cmd
}

func (o *gcOptions) run(ctx context.Context, store *repo.Store, _ []string) error {
	shown := o.progress("")
	opts := &repo.GCOptions{WorktreesOnly: o.worktreesOnly, Step: shown.step}
	if o.allWorktrees {
		opts.Idle = -1
	}
	report, err := store.GC(ctx, opts)
	shown.clear()
	if err != nil {
		return err
	}
	if o.json {
		return o.emit(object{{"before", report.Before}, {"after", report.After}, {"worktrees", objects(report.Worktrees, describeTree)},
			{"kept", objects(report.Kept, describeTree)}, {"locks", report.Locks}, {"temporary", report.Temporary}, {"packed", !o.worktreesOnly}})
	}
	for _, t := range report.Worktrees {
		o.note("took away %s", t.Dir)
	}
	for _, t := range report.Kept {
		o.tell("kept %s: %s", display.Line(t.Dir), display.Line(t.Reason))
	}
	o.say("%s", gcText(report))
	return nil
}

func describeTree(t upkeep.GCWorktree) object {
	return object{{"tape", t.Tape}, {"path", t.Dir}}.with("reason", t.Reason)
}

func gcText(r repo.GCReport) string {
	done := slices.Concat(some(len(r.Worktrees), "working tree taken away", "working trees taken away"),
		some(len(r.Locks), "dead lock removed", "dead locks removed"), some(r.Temporary, "unfinished file removed", "unfinished files removed"))
	text := display.Bytes(r.Before) + " before, " + display.Bytes(r.After) + " now"
	if len(done) > 0 {
		text += "; " + strings.Join(done, ", ")
	}
	return text
}
