package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/merge"
	"tape/repo"
)

func newSplitCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "split WORKSPACE DIR",
		Short: "Take the sessions of a directory out of a workspace",
		Long: `Move the sessions that began in DIR, which may be gone, from a workspace to DIR's own one. WORKSPACE
is its folder, or its project's directory. The workspace keeps an archive of each session that
leaves. What was pushed stays at the remote: tape rm --forget --remote removes it there.

Earlier versions took directories for one project if they were gone and had the same name: tape
workspaces shows where.`,
		Example: `  tape workspaces split ~/src/api /old/disk/api`,
		Args:    takes(2, "WORKSPACE", "DIR"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.runSplit(cmd.Context(), args[0], args[1]) },
	}
}

func (a *App) runSplit(ctx context.Context, name, dir string) error {
	in, err := findWorkspace(name)
	if err != nil {
		return err
	}
	if projects.Holds(in, dir) {
		return layout.Invalid("", "%s is the project of that workspace", display.Line(dir))
	}
	to, project, err := projects.ForSession(dir, "")
	if err != nil {
		return err
	}
	from, err := repo.Open(ctx, in, a.storeOptions())
	if err != nil {
		return err
	}
	names, err := sessionsOf(ctx, from, func(began string) bool { return workspace.ProjectDir(began) == project })
	if err == nil && len(names) == 0 {
		err = layout.NotFound("", "no session in %s began in %s", display.Line(in), display.Line(dir))
	}
	if err != nil {
		return err
	}
	store, err := a.openRecording(ctx, to, project)
	if err != nil {
		return err
	}
	if err := moveTapes(ctx, from, store, names); err != nil {
		return err
	}
	return a.Result(object{{"from", in}, {"workspace", to}, {"project", project}, {"tapes", names}}, "moved %s to %s",
		display.Count(len(names), "session", "sessions"), display.Line(to))
}

// sessionsOf returns the names of a workspace's sessions that began in certain directories, with those of their subagents.
func sessionsOf(ctx context.Context, s *repo.Store, of func(dir string) bool) (names []string, err error) {
	tapes, err := s.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	is := map[string]bool{}
	for _, t := range tapes {
		if strings.Contains(t.Name(), "/") {
			continue
		}
		dir, err := importer.Began(ctx, t)
		if err != nil {
			return nil, err
		}
		is[t.Name()] = dir != "" && of(dir)
	}
	for _, t := range tapes {
		if top, _, _ := strings.Cut(t.Name(), "/"); is[top] {
			names = append(names, t.Name())
		}
	}
	return names, nil
}

// moveTapes copies tapes to another workspace. Once all have arrived there, each is removed, and kept as an archive.
func moveTapes(ctx context.Context, from, to *repo.Store, names []string) error {
	const remote = "tape-moves-here"
	heads := map[string]string{}
	for _, name := range names {
		t, err := from.Tape(ctx, name)
		if err != nil {
			return err
		}
		if heads[name], _, err = t.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if err := to.AddRemote(ctx, remote, filepath.ToSlash(from.Dir())); err != nil {
		return err
	}
	o := &merge.PullOptions{}
	o.Tapes = names
	done, err := merge.Pull(ctx, to, remote, o)
	for _, status := range done {
		err = errors.Join(err, status.Err)
	}
	if err = errors.Join(err, to.RemoveRemote(context.WithoutCancel(ctx), remote)); err != nil {
		return err
	}
	for _, name := range names {
		t, err := to.Tape(ctx, name)
		if err != nil {
			return err
		}
		if commit, _, err := t.Checkpoint(ctx); err != nil || commit != heads[name] {
			return errors.Join(err, layout.Conflict("", "tape %s is in both workspaces, with different entries; nothing was removed", quoted(name)))
		}
	}
	for i := range names {
		t, err := from.Tape(ctx, names[len(names)-1-i]) // subagents first
		if err == nil && from.CurrentTape() == t.Name() {
			_, err = from.Switch(ctx, repo.DefaultTape)
		}
		if err == nil {
			_, err = t.Remove(ctx, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mergedByName returns directories whose sessions earlier versions recorded into a workspace because its project has the
// same name.
func mergedByName(ctx context.Context, a *App, store *repo.Store) (dirs []string) {
	home := filepath.Base(workspace.ProjectOf(store.Dir()).Dir)
	for _, dir := range importer.RecordedFrom(ctx, store, a.Getenv) {
		project := workspace.ProjectDir(dir)
		if workspace.IsGone(dir) && filepath.Base(project) == home && !projects.Holds(store.Dir(), dir) {
			dirs = append(dirs, project)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
