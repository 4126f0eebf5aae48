package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/repo"
)

func newRestoreCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "restore STAMP",
		Short: "Restore an archive of the session",
		Long: `Make an archive the session's history again. The current history is archived first. STAMP is as
tape archives shows it, any unique beginning of it, or latest. This also brings back a session
that was removed; name it with --tape.`,
		Example: `  tape restore latest
  tape restore latest --tape review`,
		Args: takes(1, "STAMP"),
		ValidArgsFunction: upTo(1, completeListed(a.openTapeOrRemoved, (*repo.Tape).Archives,
			func(x repo.Archive) string { return x.Stamp })),
		RunE: opened(a.openTapeOrRemoved, a.runRestore),
	}
}

func (a *App) runRestore(ctx context.Context, t *repo.Tape, args []string) error {
	restored, archived, err := t.Restore(ctx, args[0])
	if err != nil {
		return err
	}
	text := fmt.Sprintf("restored %s with %s", restored.Stamp, display.Entries(restored.Entries))
	if archived != "" {
		text += "; the session's former history is kept as " + archived
	}
	return a.Result(object{{"restored", restored.Stamp}, {"commit", restored.Commit}, {"entries", restored.Entries}, {"archived", orNull(archived)}}, "%s", text)
}
