package agentside

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/text/jsonl"
)

// Watch records the changed transcripts that a watch of folders reports. Call Begin first.
type Watch struct {
	*stdio.Streams
	Recorder  *recorder.Recorder
	Places    []string // the spool folders, as in Recorder; the first also has watched.json
	Program   string   // the version of this program
	Workspace string   // the workspace for all sessions; "": each project's own

	file  string               // the file that stores until
	until map[string]time.Time // by folder: changes before this time need not be recorded again
	since map[string]time.Time // by folder: the time from which changes are recorded
	dirs  []string             // the watched folders
	named bool                 // the folders were named by a person
	began time.Time
}

// MayHaveSessions reports whether a file may contain sessions, judging by its name.
func MayHaveSessions(path string) bool {
	f, _ := importer.All().DatabaseOf(path)
	return f != nil || importer.All().IsTranscript(path)
}

// Begin selects the folders to watch: args, or the agents' own folders if args is empty. It returns, by folder, the
// time from which changes are recorded: for a folder that was never watched, now, or the zero time if args has it.
func (w *Watch) Begin(args []string) (map[string]time.Time, error) {
	w.file = filepath.Join(w.Places[0], "watched.json")
	if raw, err := os.ReadFile(w.file); err == nil {
		_ = json.Unmarshal(raw, &w.until) // a damaged file counts as none; nothing is recorded twice
	}
	w.named, w.began = len(args) > 0, w.Now()
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
		w.dirs = w.kept()
	}
	since := map[string]time.Time{}
	w.since = since
	for _, dir := range w.dirs {
		if _, ok := w.until[dir]; !ok && len(args) == 0 {
			w.until[dir] = w.Now()
		}
		since[dir] = w.until[dir]
	}
	w.StderrUnlessQuiet("watching %s", strings.Join(w.dirs, ", "))
	return since, w.save()
}

// kept returns the folders of the agents, and of their databases, that are not watched yet.
func (w *Watch) kept() (out []string) {
	for _, agent := range importer.All().WithFolders() {
		for _, dir := range importer.Folders(agent, w.Getenv) {
			if !slices.Contains(w.dirs, dir) && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
		if agent.Files.Database != nil && agent.Files.Database.Unwatched {
			continue
		}
		databases, _ := importer.Databases(agent, w.Getenv)
		for _, kept := range databases {
			if dir := filepath.Dir(kept.Path); !slices.Contains(w.dirs, dir) && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}

// Later returns the folders that are new since the last call, such as those of a project's database or of a task of Claude
// Desktop, each with the time from which changes are recorded. It returns nil if Begin was given folders.
func (w *Watch) Later() map[string]time.Time {
	if w.named {
		return nil
	}
	out := map[string]time.Time{}
	for _, dir := range w.kept() {
		w.dirs = append(w.dirs, dir)
		if _, ok := w.until[dir]; !ok {
			w.until[dir] = w.began
		}
		out[dir], w.since[dir] = w.until[dir], w.until[dir]
	}
	return out
}

func (w *Watch) save() error {
	raw, err := json.Marshal(w.until)
	var d *disk.FS
	if err == nil {
		err = spool.Make(d, w.Places[0])
	}
	if err == nil {
		err = d.WriteFile(w.file, append(raw, '\n'))
	}
	return err
}

// Changed records the new entries of changed transcripts.
func (w *Watch) Changed(ctx context.Context, paths []string) error {
	at := w.Now()
	for _, path := range w.transcripts(ctx, paths) {
		n, ok := w.noteOf(ctx, path)
		if !ok {
			continue
		}
		if err := spool.Add(nil, w.Places, n); err != nil {
			return err
		}
	}
	for _, dir := range w.dirs {
		w.until[dir] = at
	}
	w.CatchUp(ctx)
	return w.save()
}

// transcripts returns the changed files, with each database replaced by its sessions that have changed or may have
// ended.
func (w *Watch) transcripts(ctx context.Context, paths []string) (out []string) {
	seen := map[string]bool{}
	for _, path := range paths {
		f, db := importer.All().DatabaseOf(path)
		if f == nil {
			out = append(out, path)
			continue
		}
		if seen[db] {
			continue
		}
		seen[db] = true
		list, err := importer.Sessions(ctx, f, db)
		if err != nil {
			w.StderrIfVerbose("%s: %v", db, err)
		}
		from, recent := w.until[w.folder(db)], w.Now().Add(-recorder.EndedAfter-2*time.Minute)
		if recent.Before(from) {
			from = recent
		}
		if since := w.since[w.folder(db)]; from.Before(since) {
			from = since
		}
		for _, s := range list {
			if s.Changed.IsZero() || !s.Changed.Before(from.Add(-2*time.Second)) {
				out = append(out, s.Path)
			}
		}
	}
	return out
}

// folder returns the watched folder that a file is in, or "".
func (w *Watch) folder(path string) string {
	for _, dir := range w.dirs {
		if strings.HasPrefix(path, dir+string(filepath.Separator)) {
			return dir
		}
	}
	return ""
}

// projectOf returns the project whose database contains a session, or "".
func (w *Watch) projectOf(path string) string {
	for _, agent := range importer.All().WithFolders() {
		databases, _ := importer.Databases(agent, w.Getenv)
		for _, kept := range databases {
			if kept.Path == filepath.Dir(path) {
				return kept.Dir
			}
		}
	}
	return ""
}

// CatchUp records the transcripts of all waiting notes. After a failure, the next change tries again.
func (w *Watch) CatchUp(ctx context.Context) {
	if err := w.Recorder.Run(ctx, false); err != nil && ctx.Err() == nil {
		w.Warn(err.Error())
	}
}

// noteOf makes the note that a hook would have left about a transcript. ok is false if the file is not
// a transcript, or if neither it nor w.Workspace says where it belongs.
func (w *Watch) noteOf(ctx context.Context, path string) (n spool.Note, ok bool) {
	info, err := importer.Identify(ctx, path)
	n = spool.Note{Agent: info.Format, At: w.Now(), Program: w.Program, Workspace: w.Workspace,
		Project: cmp.Or(jsonl.GetString(info.State, "cwd"), w.projectOf(path))}
	if err == nil && n.Project == "" && n.Workspace == "" {
		err = errors.New("it does not name its project; record it with tape import or --workspace")
	}
	if err != nil {
		w.StderrIfVerbose("%s: %v", path, err)
		return n, false
	}
	payload := map[string]string{"session_id": info.Session, "hook_event_name": "Watch", "cwd": n.Project, "transcript_path": path}
	if info.Agent != "" { // a subagent's
		delete(payload, "transcript_path")
		payload["agent_id"], payload["agent_transcript_path"] = info.Agent, path
	}
	n.Payload, err = json.Marshal(payload)
	return n, err == nil
}
