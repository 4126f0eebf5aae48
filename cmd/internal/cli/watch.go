package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/show/display"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// WatchOptions are what a watch of transcripts gets of the command line.
type WatchOptions struct {
	Dirs       map[string]time.Time // and from when on what is written there counts
	Poll, Once bool
	Is         func(path string) bool
	Changed    func(ctx context.Context, paths []string) error
	Again      time.Duration // after which a transcript that rests is told of once more
	Warn       func(error)
}

func newWatchCmd(a *App) *cobra.Command {
	var poll, once bool
	cmd := &cobra.Command{
		Use:   "watch [DIR...] [--once] [--poll]",
		Short: "Record the transcripts that agents write, without hooks",
		Long: `Record transcripts while agents write them, until it is interrupted. It is for agents without
hooks, and catches up with what hooks have missed. Each session is recorded in the workspace
of its project, as by tape record install; --workspace names one for all.

Without DIR, these are the transcripts of ` + strings.Join(importer.All().WithFolders().Names(), ", ") + ` wherever they
keep them. The first time, it begins with what is written from then on: tape import brings
in the rest. Later it first catches up with what was written while it did not run. Of a DIR,
all transcripts in it and below are recorded, also the first time.`,
		Example: `  tape watch
  tape watch ~/agents/logs
  tape watch --once`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&poll, "poll", false, "look at the folders again and again; use it for network folders")
	cmd.Flags().BoolVar(&once, "once", false, "only catch up, then exit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, dir := range args {
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return &cliError{class: repo.ErrNotFound, msg: quoted(dir) + " is no folder",
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
	w := &watching{App: a, places: places, recorder: a.newRecorder(places), file: filepath.Join(places[0], "watched.json")}
	imported := w.recorder.Imported
	w.recorder.Imported = func(ctx context.Context, s *repo.Store, tape string) error {
		a.Tell("%s  %s", a.Now().Local().Format(time.TimeOnly), display.Line(tape))
		return imported(ctx, s, tape)
	}
	dirs, err := w.begin(args)
	if err != nil {
		return err
	}
	w.catchUp(ctx) // a watch that was interrupted may have left something
	return host.Watch(ctx, WatchOptions{Dirs: dirs, Poll: poll, Once: once, Is: importer.All().IsTranscript, Changed: w.changed,
		Again: recorder.Unannounced + time.Minute,
		Warn:  func(err error) { a.Warn("looking at the folders again and again: " + err.Error()) }})
}

// watching records the transcripts that a watch tells of.
type watching struct {
	*App
	places   []string
	recorder *recorder.Recorder
	file     string               // that keeps until
	until    map[string]time.Time // by folders: what was written there before is recorded
	dirs     []string             // those that this watch is of
}

// begin says from when on what is written in the folders counts.
func (w *watching) begin(args []string) (map[string]time.Time, error) {
	if raw, err := os.ReadFile(w.file); err == nil {
		_ = json.Unmarshal(raw, &w.until) // without it, more is looked at, and nothing is recorded twice
	}
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	for _, dir := range args {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		w.dirs = append(w.dirs, dir)
	}
	if len(args) == 0 {
		for _, agent := range importer.All().WithFolders() {
			w.dirs = append(w.dirs, importer.Folders(agent, w.Getenv)...)
		}
	}
	since := map[string]time.Time{}
	for _, dir := range w.dirs {
		if _, ok := w.until[dir]; !ok && len(args) == 0 {
			w.until[dir] = w.Now()
		}
		since[dir] = w.until[dir]
	}
	w.Tell("watching %s", strings.Join(w.dirs, ", "))
	return since, w.save()
}

func (w *watching) save() error {
	raw, err := json.Marshal(w.until)
	var d *disk.FS
	if err == nil {
		err = spool.Make(d, w.places[0])
	}
	if err == nil {
		err = d.WriteFile(w.file, append(raw, '\n'))
	}
	return err
}

// changed records what some transcripts have got.
func (w *watching) changed(ctx context.Context, paths []string) error {
	at := w.Now()
	for _, path := range paths {
		n, ok := w.noteOf(ctx, path)
		if !ok {
			continue
		}
		if err := spool.Add(nil, w.places, n); err != nil {
			return err
		}
	}
	for _, dir := range w.dirs {
		w.until[dir] = at
	}
	w.catchUp(ctx)
	return w.save()
}

// catchUp records what was told of. What fails is tried again with the next change.
func (w *watching) catchUp(ctx context.Context) {
	if err := w.recorder.Run(ctx, false); err != nil && ctx.Err() == nil {
		w.Warn(err.Error())
	}
}

// noteOf is what a hook would have told of a transcript. One that is none, or does not say which
// project it is of, is left out.
func (w *watching) noteOf(ctx context.Context, path string) (n spool.Note, ok bool) {
	info, err := importer.Identify(ctx, path)
	n = spool.Note{Agent: info.Format, At: w.Now(), Program: cmp.Or(w.Version, "dev"), Workspace: w.workspaceDir(),
		Project: jsonl.GetString(info.State, "cwd")}
	if err == nil && n.Project == "" && n.Workspace == "" {
		err = errors.New("it does not say which project it is of; tape import, or --workspace, records it")
	}
	if err != nil {
		w.Note("%s: %v", path, err)
		return n, false
	}
	told := map[string]string{"session_id": info.Session, "hook_event_name": "Watch", "cwd": n.Project, "transcript_path": path}
	if info.Agent != "" { // a subagent's
		delete(told, "transcript_path")
		told["agent_id"], told["agent_transcript_path"] = info.Agent, path
	}
	n.Payload, err = json.Marshal(told)
	return n, err == nil
}
