package cli

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/show/display"
	"tape/repo"
)

// WatchOptions are the command line's options for a watch of transcripts.
type WatchOptions struct {
	Dirs       map[string]time.Time                            // the folders, with the time from which changes count
	Later      func() map[string]time.Time                     // returns new folders to watch from now on, too
	Poll, Once bool                                            // check at intervals; only catch up
	Is         func(path string) bool                          // whether a file may have sessions
	Changed    func(ctx context.Context, paths []string) error // gets the transcripts that were written to
	Again      time.Duration                                   // report a transcript again after it has not changed for so long
	Warn       func(error)                                     // gets the reason if the system cannot watch all folders
}

func newWatchCmd(a *App) *cobra.Command {
	var poll, once bool
	cmd := &cobra.Command{
		Use:   "watch [DIR...] [--once] [--poll]",
		Short: "Record the transcripts that agents write, without hooks",
		Long: `Record transcripts while agents write them, until interrupted. Use it for agents without hooks,
and to catch up with what hooks have missed. Each session is recorded in the workspace of its
project, as with tape record install; --workspace selects one workspace for all.

Without DIR, these are the transcripts of ` + strings.Join(importer.All().WithFolders().Names(), ", ") + ` in their
usual folders. The first time, only what is written from then on is recorded; use tape import
for the rest. Later starts first catch up with what was written in the meantime. With DIR, all
transcripts in it and below are recorded, including existing ones the first time.`,
		Example: `  tape watch
  tape watch ~/agents/logs
  tape watch --once`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&poll, "poll", false, "check the folders at intervals; use it for network folders")
	cmd.Flags().BoolVar(&once, "once", false, "only catch up, then exit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, dir := range args {
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return &cliError{class: repo.ErrNotFound, msg: quoted(dir) + " is not a folder",
					hint: "name a folder of transcripts, or none for those of the known agents"}
			}
		}
		return a.hosted(func(ctx context.Context, host Host) error { return a.watch(ctx, host, args, poll, once) })(cmd, args)
	}
	return cmd
}

func (a *App) watch(ctx context.Context, host Host, args []string, poll, once bool) error {
	places, err := a.places()
	if err != nil {
		return err
	}
	w := &agentside.Watch{Streams: &a.Streams, Recorder: a.newRecorder(places), Places: places, Program: cmp.Or(a.Version, "dev"), Workspace: a.workspaceDir()}
	imported := w.Recorder.Imported
	w.Recorder.Imported = func(ctx context.Context, s *repo.Store, tape string) error {
		a.StderrUnlessQuiet("%s  %s", a.Now().Local().Format(time.TimeOnly), display.Line(tape))
		return imported(ctx, s, tape)
	}
	dirs, err := w.Begin(args)
	if err != nil {
		return err
	}
	w.CatchUp(ctx) // an interrupted watch may have left something
	return host.Watch(ctx, WatchOptions{Dirs: dirs, Later: w.Later, Poll: poll, Once: once, Is: agentside.MayHaveSessions, Changed: w.Changed,
		Again: recorder.EndedAfter + time.Minute,
		Warn:  func(err error) { a.Warn("the folders are checked at intervals: " + err.Error()) }})
}
