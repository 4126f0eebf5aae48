package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"

	"tape/cmd/internal/agentside"
	"tape/hooks/githooks"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// maxPayload limits the input of a hook.
const maxPayload = 256 << 20 // bytes

// agentHook stores the input of an agent's hook; a process in the background does the rest.
// Whatever happens, the agent sees no output, except what --recall tells it.
func (a *App) agentHook(ctx context.Context, f *record.Format, args []string) {
	var payload json.RawMessage
	// Some agents keep our input open, so reading ends with a complete value.
	if err := json.NewDecoder(io.LimitReader(a.Stdin, maxPayload)).Decode(&payload); err != nil {
		return
	}
	if user, err := a.userSettings(); err == nil && f.Agent.TranslateInput != nil {
		if payload = f.Agent.TranslateInput(payload, user); payload == nil {
			return // nothing to record
		}
	}
	places, err := a.places()
	if err != nil {
		return
	}
	n := spool.Note{Agent: f.Name, At: a.Now(), Program: cmp.Or(a.Version, "dev"), Payload: payload,
		Workspace: a.Getenv(repo.EnvWorkspace), Push: slices.Contains(args, "--push")}
	if name := f.Agent.ProjectVariable; name != "" {
		n.Project = a.Getenv(name)
	}
	// If nothing can be written, the transcript still has it, and the next event catches up.
	if err := spool.Add(nil, places, n); err == nil {
		_ = startCatchingUp(places)
	}
	if slices.Contains(args, "--recall") && slices.Contains(f.Agent.RecallSources, jsonl.GetString(payload, "source")) {
		agentside.TellHandoff(ctx, a.Stdout, cmp.Or(n.Project, jsonl.GetString(payload, "cwd")))
	}
}

// startCatchingUp starts a process that catches up, detached from this one, unless one is running.
func startCatchingUp(places []string) error {
	unlock, ok, err := recorder.Lock(nil, places)
	if err != nil || !ok {
		return err
	}
	program, err := os.Executable()
	if err = errors.Join(err, unlock()); err != nil {
		return err
	}
	return githooks.StartDetached(os.TempDir(), program, "record", "sync", "--no-wait") // a project may be moved meanwhile
}

// newRecorder returns a recorder that writes to the workspaces of the projects.
func (a *App) newRecorder(places []string) *recorder.Recorder {
	version, commit := a.build()
	return &recorder.Recorder{Places: places, Now: a.Now, Version: version + " " + commit, Open: a.openRecording, Push: a.pushRecording,
		Imported: func(ctx context.Context, store *repo.Store, tape string) error {
			return imported(ctx, store, []string{tape})
		}}
}

// openRecording opens a workspace, and creates it if there is none, as tape import does.
func (a *App) openRecording(ctx context.Context, dir, project string) (*repo.Store, error) {
	store, err := repo.Open(ctx, dir, a.storeOptions())
	if p := workspace.ProjectOf(dir); err == nil && p.Dir != "" && p.Folder == "" && !p.Gone() {
		err = (*workspace.Store)(store).NoteProject(p.Dir) // as older versions did not, so that a move is noticed
	}
	if !errors.Is(err, repo.ErrNotFound) {
		return store, err
	}
	o := *a.storeOptions()
	o.Project = project
	store, _, err = repo.Init(ctx, dir, &repo.InitOptions{Options: o})
	return store, err
}

func (a *App) pushRecording(ctx context.Context, store *repo.Store, tape string) error {
	r, err := findRemote(ctx, store, "")
	if err != nil {
		return err
	}
	done, err := store.Push(ctx, r.Name, &repo.PushOptions{Tapes: []string{tape}})
	for _, s := range done {
		if s.Err != nil {
			err = errors.Join(err, s.Err)
		}
	}
	return err
}
