package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tape/index"
	"tape/internal/show/display"
	"tape/repo"
)

func newIndexCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index COMMAND",
		Short: "Manage the search index",
		Long: `Manage index.db, the search index. It is built from the sessions, and can be deleted at any time.
Each search updates it for the sessions that it searches.

You can query it with sqlite3, too; docs/format.md describes its tables.`,
		Example: `  tape index status
  tape index rebuild
  sqlite3 "$(tape index status --json | jq -r .file)" 'SELECT kind, count(*) FROM entries GROUP BY kind'`,
	}
	addSubcommands(cmd, &cobra.Command{
		Use:   "status",
		Short: "Check whether the index is up to date",
		Long: `Show the state of the index: fresh, stale (a search will update it), or absent, damaged,
foreign or outdated (a search will build it).`,
		Example: `  tape index status
  tape index status --json`,
		RunE: a.inStore(a.indexStatus),
	}, &cobra.Command{
		Use:     "sync",
		Short:   "Bring the index up to date with all sessions",
		Long:    "Bring the index up to date with all tapes of the workspace, and drop the rows of removed tapes.",
		Example: `  tape index sync`,
		RunE:    a.inStore(a.indexed((*index.Index).Sync)),
	}, &cobra.Command{
		Use:     "rebuild",
		Short:   "Rebuild the index",
		Long:    "Rebuild the index from the history of all tapes and their uncommitted entries. Searches work meanwhile.",
		Example: `  tape index rebuild`,
		RunE:    a.inStore(a.indexed((*index.Index).Rebuild)),
	})
	return cmd
}

// withIndex calls do with the index, and shows its progress.
func withIndex[T any](a *App, store *repo.Store, do func(x *index.Index) (T, error)) (T, error) {
	bar := a.Progress("indexing")
	x := index.New(store, &index.Options{Progress: bar.Count})
	x.CountElsewhere(a.elsewhere[store.Dir()])
	found, err := do(x)
	bar.Clear()
	return found, cmp.Or(err, x.Close())
}

// indexed runs a sync or a rebuild of the index, and shows the result.
func (a *App) indexed(call func(*index.Index, context.Context) (index.Synced, error)) func(context.Context, *repo.Store, []string) error {
	return func(ctx context.Context, store *repo.Store, _ []string) error {
		start := time.Now()
		done, err := withIndex(a, store, func(x *index.Index) (index.Synced, error) { return call(x, ctx) })
		if err != nil {
			return err
		}
		status, err := index.New(store, nil).Status(ctx)
		if err != nil {
			return err
		}
		seconds := time.Since(start).Seconds()
		return a.Result(object{{"entries", done.Total}, {"added", done.Entries}, {"tapes", done.Tapes}, {"fresh", status.Fresh()},
			{"bytes", status.Bytes}, {"seconds", round(seconds)}},
			"%s of %s; added %s in %.1f s", display.Entries(done.Total), display.Count(done.Tapes, "tape", "tapes"), display.Entries(done.Entries), seconds)
	}
}

// rebuildIndex rebuilds the index file, if there is one. It removes the shown index, which is made again at
// its next search.
func (a *App) rebuildIndex(ctx context.Context) error {
	if err := index.DropShown(a.store); err != nil {
		return err
	}
	if _, err := os.Stat(a.store.IndexFile()); err != nil {
		return nil //nolint:nilerr // there is none
	}
	x := index.New(a.store, nil)
	_, err := x.Rebuild(ctx)
	return cmp.Or(err, x.Close())
}

// round rounds to milliseconds.
func round(seconds float64) float64 { return float64(int64(seconds*1000+0.5)) / 1000 }

func (a *App) indexStatus(ctx context.Context, store *repo.Store, _ []string) error {
	start := time.Now()
	st, err := index.New(store, nil).Status(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Emit(object{{"state", st.State}, {"fresh", st.Fresh()}, {"entries", st.Entries}, {"tapes", st.Tapes}, {"stale_tapes", st.Stale},
			{"bytes", st.Bytes}, {"segments", st.Segments}, {"schema", st.Schema}, {"file", st.File}, {"seconds", round(time.Since(start).Seconds())}})
	}
	state := st.State
	if st.Stale > 0 {
		state += fmt.Sprintf(" (%s out of date)", display.Count(st.Stale, "tape", "tapes"))
	}
	a.Fields("state", state, "entries", st.Entries, "tapes", st.Tapes, "size", display.Bytes(st.Bytes), "file", filepath.Clean(st.File))
	return nil
}
