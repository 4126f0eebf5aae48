package hostcli

import (
	"context"
	"time"

	"tape/cmd/internal/cli"
	"tape/internal/sessions/importer/acp"
)

// rescanEvery is the time between scans of folders for which the system reports no changes.
const rescanEvery = 2 * time.Second

// Watch reports transcripts that change, until ctx ends; with Once, only those that have changed so far.
func (Host) Watch(ctx context.Context, o cli.WatchOptions) error {
	w := watchOptions{Is: o.Is, Changed: o.Changed, Again: o.Again, Warn: o.Warn, Rescan: rescanEvery, Poll: o.Poll, Once: o.Once}
	w.Dirs = dirsOf(o.Dirs)
	w.Later = func() []watchedFolder { return dirsOf(o.Later()) }
	return watchFolders(ctx, w)
}

func dirsOf(since map[string]time.Time) (out []watchedFolder) {
	for dir, at := range since {
		out = append(out, watchedFolder{Path: dir, Since: at})
	}
	return out
}

// ACP runs an agent, and returns its exit status.
func (Host) ACP(ctx context.Context, o cli.ACPOptions) (int, error) {
	return acp.Run(ctx, acp.Options{Argv: o.Argv, In: o.In, Out: o.Out, Err: o.Err, Dir: o.Dir, Now: time.Now,
		Note: func(e acp.Event) error { return o.Note(e.Name, e.Session, e.File, e.Cwd) }})
}
