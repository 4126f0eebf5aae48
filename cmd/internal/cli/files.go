package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tape/cmd/internal/reports"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/sessions/trace"
	"tape/repo"
)

func newFilesCmd(a *App) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "files [PATH] [--tape NAME] [-n N] [-A]",
		Short: "Show which sessions read and wrote a file, or the last edits",
		Long: `Show which sessions read and wrote a file, the latest first. Without PATH, show the last edits of all
sessions, or the files that the session of --tape read and wrote.

This is known from the agents' calls: tools that read and edit files, patches, and common shell
commands (cat, sed -i, output to a file). A call that failed or was rejected does not count.
Lines are those that edits added and removed.

PATH may be a folder, and the file need not exist any more. It is the same file in all git
worktrees of the project, and under the names that it had in earlier commits. If no session used it,
files of its name elsewhere are shown.`,
		Example: `  tape files                    # the last edits
  tape files cmd/shop/main.go
  tape files internal/upload/   # of a folder
  tape files --tape 2           # what a session read and wrote
  tape log --file cmd/shop/main.go
  tape blame cmd/shop/main.go   # line by line`,
		SuggestFor: []string{"touched", "file"},
		Args:       takes(0, "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, most := first(args), (*int)(nil)
			if _, err := filter.Count("--limit", &limit); err != nil {
				return err
			}
			if cmd.Flags().Changed("limit") {
				most = &limit
			}
			if path == "" && a.wantedTape() == "" {
				return a.showEdits(cmd.Context(), limit)
			}
			return a.showFiles(cmd.Context(), path, most)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", lastEdits, "show at most `N` rows (without PATH and --tape: default 20)")
	cmd.Flags().Lookup("limit").DefValue = "0"
	a.addAllWorkspaces(cmd)
	return cmd
}

// lastEdits is how many edits are shown, unless -n says it.
const lastEdits = 20

// showEdits shows the last edits of all sessions.
func (a *App) showEdits(ctx context.Context, most int) error {
	if err := a.findShared(ctx); err != nil {
		return err
	}
	lists, err := inStores(ctx, a, func(ctx context.Context, store *repo.Store) ([]reports.FileRow, error) {
		if most == 0 {
			return nil, nil
		}
		rows, err := withIndex(a, store, func(x *index.Index) ([]reports.FileRow, error) { return reports.FileEdits(ctx, x, store, most) })
		for i := range rows {
			rows[i].Workspace = a.workspaceOf(store)
		}
		return rows, err
	})
	if err != nil {
		return err
	}
	names, err := a.shortNames(ctx)
	if err != nil {
		return err
	}
	return reports.ShowFileEdits(&a.Streams, slices.Concat(lists...), most, names)
}

// showFiles shows how a file was used, or, without a path, which files a session used. most is the number of rows; nil: all.
func (a *App) showFiles(ctx context.Context, path string, most *int) (err error) {
	var file *trace.File
	if path != "" {
		if file, err = trace.FileNamed(ctx, path); err != nil {
			return err
		}
	}
	if err := a.findShared(ctx); err != nil {
		return err
	}
	rows, err := reports.FindFile(&a.Streams, file, func(file *trace.File) ([][]reports.FileRow, error) {
		return inSessions(ctx, a, path == "", func(ctx context.Context, store *repo.Store, tapes []string) ([]reports.FileRow, error) {
			rows, err := withIndex(a, store, func(x *index.Index) ([]reports.FileRow, error) {
				return reports.FileRows(ctx, x, store, file, tapes)
			})
			for i := range rows {
				rows[i].Workspace = a.workspaceOf(store)
			}
			return rows, err
		})
	})
	if err != nil {
		return err
	}
	names, err := a.shortNames(ctx)
	if err != nil {
		return err
	}
	return reports.ShowFiles(&a.Streams, rows, path == "", most, names)
}

// inSessions calls f with a workspace and the tapes of one session, its forks and subagents included: the session that
// --tape names or, if current is set, the current one. Otherwise it calls f for each workspace, with nil for all tapes.
func inSessions[T any](ctx context.Context, a *App, current bool, f func(context.Context, *repo.Store, []string) (T, error)) ([]T, error) {
	if a.tapeName == "" && !current {
		return inStores(ctx, a, func(ctx context.Context, store *repo.Store) (T, error) { return f(ctx, store, nil) })
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return nil, err
	}
	names, err := catalog.OfSession(ctx, t)
	if err != nil {
		return nil, err
	}
	one, err := f(ctx, t.Store(), names)
	return []T{one}, err
}

// shortNames returns short names of all tapes for a screen; in a pipe none.
func (a *App) shortNames(ctx context.Context) (map[string]string, error) {
	if !a.Screen().Out {
		return nil, nil
	}
	all, err := a.allTapes(ctx)
	return catalog.ShortNames(catalog.Names(all)), err
}
