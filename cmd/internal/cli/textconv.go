package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/internal/show/plain"
)

func newTextconvCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "textconv FILE",
		Short: "Show a file of a phase as git diff does",
		Long: `Show a file of a phase (messages.jsonl, tool_calls.jsonl, events.jsonl, anchor.json) in a form
suited to diffs. Git calls this command after tape git install.

Each entry has a line with its number, kind, time and checksum, and below it the text, wrapped
at a fixed width. Tool calls and long results are shortened; the checksum of the stored line
shows changes in what is not shown. A line that is not an entry is shown as it is. FILE may be
- for standard input. No workspace is needed.`,
		Example: `  tape textconv anchors/002_implement/messages.jsonl
  git show tape/main:anchors/001_session-start/anchor.json | tape textconv -`,
		Args: takes(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runTextconv(cmd.Context(), args[0]) },
	}
}

func (a *App) runTextconv(ctx context.Context, name string) error {
	raw, err := ReadFile(ctx, &a.Streams, name)
	if err != nil {
		return err
	}
	// Write everything at once: if tape fails, the configured driver prints the raw file, and no part of ours may come before it.
	_, _ = a.Out.Write(plain.Textconv(raw))
	return a.Written()
}
