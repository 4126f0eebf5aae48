package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

type gcOptions struct {
	app           *App
	worktreesOnly bool
	allWorktrees  bool
}

func newGCCmd(a *App) *cobra.Command {
	o := &gcOptions{app: a}
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
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	cmd.Flags().BoolVar(&o.allWorktrees, "all-worktrees", false, "also take away working trees that were written to of late")
	cmd.Flags().BoolVar(&o.worktreesOnly, "worktrees-only", false, "do not pack")
	return cmd
}

// steps shows on a terminal what long work is at.
type steps struct{ out io.Writer }

func (a *App) steps() steps {
	if a.quiet || a.json || !isTerminal(a.Stderr) {
		return steps{io.Discard}
	}
	return steps{a.Stderr}
}

func (s steps) begin(what string) { fmt.Fprintf(s.out, "\r\x1b[K%s …", what) }
func (s steps) clear()            { fmt.Fprint(s.out, "\r\x1b[K") }

type gcJSON struct {
	Before    int64        `json:"before"`
	After     int64        `json:"after"`
	Worktrees []gcTreeJSON `json:"worktrees"`
	Kept      []gcTreeJSON `json:"kept"`
	Locks     []string     `json:"locks"`
	Temporary int          `json:"temporary"`
	Packed    bool         `json:"packed"`
}

type gcTreeJSON struct {
	Tape   string `json:"tape"`
	Path   string `json:"path"`
	Reason string `json:"reason,omitempty"`
}

func (o *gcOptions) run(ctx context.Context) error {
	a := o.app
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	opts := &repo.GCOptions{WorktreesOnly: o.worktreesOnly}
	if o.allWorktrees {
		opts.Idle = -1
	}
	shown := a.steps()
	opts.Step = shown.begin
	report, err := store.GC(ctx, opts)
	shown.clear()
	if err != nil {
		return err
	}
	if a.json {
		out := gcJSON{Before: report.Before, After: report.After, Worktrees: gcTrees(report.Worktrees), Kept: gcTrees(report.Kept),
			Locks: append([]string{}, report.Locks...), Temporary: report.Temporary, Packed: !o.worktreesOnly}
		return a.emit(out)
	}
	for _, t := range report.Worktrees {
		a.note("took away %s", t.Dir)
	}
	for _, t := range report.Kept {
		a.tell("kept %s: %s", safeLine(t.Dir), safeLine(t.Reason))
	}
	a.say("%s", gcText(report))
	return nil
}

func gcTrees(list []repo.GCWorktree) []gcTreeJSON {
	out := []gcTreeJSON{}
	for _, t := range list {
		out = append(out, gcTreeJSON{t.Tape, t.Dir, t.Reason})
	}
	return out
}

func gcText(r repo.GCReport) string {
	var done []string
	if n := len(r.Worktrees); n > 0 {
		done = append(done, count(int64(n), "working tree", "working trees")+" taken away")
	}
	if n := len(r.Locks); n > 0 {
		done = append(done, count(int64(n), "dead lock", "dead locks")+" removed")
	}
	if n := r.Temporary; n > 0 {
		done = append(done, count(int64(n), "unfinished file", "unfinished files")+" removed")
	}
	text := bytesText(r.Before) + " before, " + bytesText(r.After) + " now"
	if len(done) > 0 {
		text += "; " + strings.Join(done, ", ")
	}
	return text
}
