package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"tape/index"
)

func newIndexCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "index COMMAND",
		Short: "Look after the derived index that searches use",
		Long: `Look after index.db, the index that searches use. It is made from the tapes, and can be
deleted at any time. A search brings it up to date itself with the tapes that it searches.

The program sqlite3 can ask it, too; docs/format.md describes its tables.`,
		Example: `  tape index status
  tape index rebuild
  sqlite3 "$(tape index status --json | jq -r .file)" 'SELECT kind, count(*) FROM entries GROUP BY kind'`,
		Args: takes(1, "COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usagef("tape index has no command %s: it is status, sync or rebuild", quoted(args[0]))
		},
	}
	cmd.AddCommand(newIndexStatusCmd(a), newIndexSyncCmd(a), newIndexRebuildCmd(a))
	for _, c := range cmd.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return cmd
}

func newIndexStatusCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say whether the index has everything",
		Long: `Say what state the index is in: fresh, stale (a search will catch up), or absent, damaged,
foreign or outdated (a search will build it).`,
		Example: `  tape index status
  tape index status --json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.indexStatus(cmd.Context()) },
	}
}

func newIndexSyncCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:     "sync",
		Short:   "Bring the index up to date with all tapes",
		Long:    "Bring the index up to date with all tapes of the workspace, and drop what is of tapes that are gone.",
		Example: `  tape index sync`,
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.indexed(cmd.Context(), (*index.Index).Sync)
		},
	}
}

func newIndexRebuildCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:     "rebuild",
		Short:   "Make the index anew",
		Long:    "Make the index anew from the history of all tapes and from what is not committed yet. Searches go on meanwhile.",
		Example: `  tape index rebuild`,
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.indexed(cmd.Context(), (*index.Index).Rebuild)
		},
	}
}

// indexed runs one of the two calls that write the index, and tells what it did.
func (a *App) indexed(ctx context.Context, call func(*index.Index, context.Context) (index.Synced, error)) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	bar := a.progress("indexing")
	x := index.New(store, &index.Options{Progress: bar.count})
	done, err := call(x, ctx)
	bar.clear()
	if closeErr := x.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	status, err := index.New(store, nil).Status(ctx)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	return a.result(struct {
		Entries int64   `json:"entries"`
		Added   int64   `json:"added"`
		Tapes   int     `json:"tapes"`
		Fresh   bool    `json:"fresh"`
		Bytes   int64   `json:"bytes"`
		Seconds float64 `json:"seconds"`
	}{done.Total, done.Entries, done.Tapes, status.Fresh(), status.Bytes, round(seconds)},
		"%s of %s; %s taken up in %.1f s", entries(done.Total), count(int64(done.Tapes), "tape", "tapes"), entries(done.Entries), seconds)
}

// round keeps milliseconds.
func round(seconds float64) float64 { return float64(int64(seconds*1000+0.5)) / 1000 }

func (a *App) indexStatus(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	x := index.New(store, nil)
	st, err := x.Status(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.emit(struct {
			State    string  `json:"state"`
			Fresh    bool    `json:"fresh"`
			Entries  int64   `json:"entries"`
			Tapes    int     `json:"tapes"`
			Stale    int     `json:"stale_tapes"`
			Bytes    int64   `json:"bytes"`
			Segments int     `json:"segments"`
			Schema   int     `json:"schema"`
			File     string  `json:"file"`
			Seconds  float64 `json:"seconds"`
		}{st.State, st.Fresh(), st.Entries, st.Tapes, st.Stale, st.Bytes, st.Segments, st.Schema, st.File, round(time.Since(start).Seconds())})
	}
	state := st.State
	if st.Stale > 0 {
		state += fmt.Sprintf(" (%s to catch up with)", count(int64(st.Stale), "tape", "tapes"))
	}
	a.fields("state", state, "entries", strconv.FormatInt(st.Entries, 10), "tapes", strconv.Itoa(st.Tapes),
		"size", bytesText(st.Bytes), "file", filepath.Clean(st.File))
	return nil
}
