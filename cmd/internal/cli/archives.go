package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/repo"
)

func newArchivesCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "archives",
		Short: "List the archives of the session",
		Long: `List the archives of the session: the earlier histories that tape reset --archive and tape rm have
kept. If the session was removed, name it with --tape.`,
		Example: `  tape archives --tape review`,
		RunE:    opened(a.openTapeOrRemoved, a.runArchives),
	}
}

func (a *App) runArchives(ctx context.Context, t *repo.Tape, _ []string) error {
	archives, err := t.Archives(ctx)
	return listing[repo.Archive]{
		None: "tape " + quoted(t.Name()) + " has no archives",
		Head: []string{"STAMP", ">ENTRIES", ">PHASES", "COMMIT"},
		Object: func(x repo.Archive) object {
			return object{{"tape", t.Name()}, {"stamp", x.Stamp}, {"ref", x.Ref}, {"commit", x.Commit}, {"entries", x.Entries}, {"anchors", x.Anchors}}
		},
		Row: func(x repo.Archive, add func(cells ...any)) { add(x.Stamp, x.Entries, x.Anchors, shortID(x.Commit)) },
	}.Show(&a.Streams, archives, err)
}
