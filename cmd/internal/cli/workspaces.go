package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/cmd/internal/hints"
	"tape/internal/sessions/recorder"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

func newWorkspacesCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workspaces [list] | link WORKSPACE [DIR] | unlink [DIR] | split WORKSPACE DIR | trust [DIR]",
		Short: "List the workspaces of all projects",
		Long: `List the workspaces below $TAPE_HOME (~/.tape), those with the newest entries first, each with
the project directory that it belongs to, its tapes and its size.

If a project with a git remote (origin) was moved or renamed, the next command there says so, and
moves its workspace along. If it has no remote, or was copied, use link: WORKSPACE is the
workspace's folder, or the project's previous directory.

All worktrees of a repository share a workspace. Another clone has one of its own, because anybody
can write the address of a remote into a folder: on a terminal, tape asks once whether it is yours;
elsewhere it names the command, tape workspaces link. A clone that is linked shares the sessions
and settings of the workspace.

The list marks a workspace that came from an archive or by git clone as not trusted: its own
git settings do not count until you run tape workspaces trust.`,
		Example: `  tape workspaces
  tape workspaces link ~/src/shop .   # the project was moved from ~/src/shop to here
  tape workspaces trust ./copy        # its git settings and hooks count from now on`,
		RunE: a.runWorkspaces,
	}
	addSubcommands(cmd, &cobra.Command{
		Use:     "list",
		Short:   "List the workspaces of all projects",
		Long:    `List the workspaces of all projects, those with the newest entries first.`,
		Example: `  tape workspaces list --json`,
		RunE:    a.runWorkspaces,
	}, &cobra.Command{
		Use:   "link WORKSPACE [DIR]",
		Short: "Tell tape where a project was moved to, or which clone is yours",
		Long: `Link a workspace to the directory DIR, or the current one.

If the workspace's project is gone, it is in DIR now: the workspace is renamed, and nothing in it
changes. If the project is still there, DIR is another clone of it, and both share the workspace.

If DIR has a workspace already, its sessions move to the other one. One with remotes or settings
of its own is refused.`,
		Example: `  tape workspaces link ~/src/shop .          # the project was moved to here
  tape workspaces link ~/src/shop ~/src/shop2   # another clone of mine`,
		Args: takes(1, "WORKSPACE", "DIR"),
		RunE: a.linkWorkspace,
	}, &cobra.Command{
		Use:   "unlink [DIR]",
		Short: "Undo that a clone belongs to another project's workspace",
		Long: `Undo tape workspaces link for a clone: DIR, or the current directory, gets a workspace of its own
again, and tape asks again about its git remote. Sessions that were recorded stay where they are.`,
		Example: `  tape workspaces unlink ~/src/shop2`,
		Args:    takes(0, "DIR"),
		RunE:    a.unlinkWorkspace,
	}, newSplitCmd(a), newTrustCmd(a))
	return cmd
}

// listedWorkspace is a workspace in the list.
type listedWorkspace struct {
	dir     string
	project workspace.Project
	tapes   int
	empty   int // 1 if main is empty, since lists of sessions then leave it out; else 0
	updated time.Time
	bytes   int64
	own     bool
	merged  []string // directories of other projects whose sessions are in it
}

func (a *App) runWorkspaces(cmd *cobra.Command, _ []string) error {
	dirs, err := workspace.Workspaces()
	if err != nil {
		return err
	}
	list := make([]listedWorkspace, 0, len(dirs))
	for _, dir := range dirs {
		w, err := a.describeWorkspace(cmd.Context(), dir)
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		if err != nil {
			a.Warn(err.Error()) // the others are still listed
		}
		list = append(list, w)
	}
	slices.SortStableFunc(list, func(x, y listedWorkspace) int { return y.updated.Compare(x.updated) })
	defer func() { // after the list
		for _, w := range list {
			for _, dir := range w.merged {
				a.StderrUnlessQuiet("%s has sessions of %s, which an earlier version took for the same project by its name; they move out with: tape workspaces split %s %s",
					display.Line(w.dir), display.Line(dir), shellWord(filepath.Base(w.dir)), shellWord(dir))
			}
		}
	}()
	return listing[listedWorkspace]{
		None: "there are no workspaces; tape init creates one", Paged: true,
		Head: []string{"~PROJECT", ">SESSIONS", "UPDATED", ">SIZE"},
		Object: func(w listedWorkspace) object {
			return object{{"workspace", w.dir}, {"project", orNull(w.project.Dir)}, {"gone", w.project.Gone()}, {"tapes", w.tapes},
				{"updated", dateOrNull(w.updated)}, {"bytes", w.bytes}, {"trusted", w.own}}.
				With("linked", workspace.Linked(w.dir)).With("merged", w.merged)
		},
		Row: func(w listedWorkspace, add func(cells ...any)) {
			name := agentside.ShortPath(&a.Streams, w.project.Dir, a.Width())
			switch {
			case name == "":
				name = filepath.Base(w.dir)
			case w.project.Gone():
				name += " (gone)"
			}
			if !w.own {
				name += " (not trusted)"
			}
			add(name, w.tapes-w.empty, a.briefly(w.updated), display.Bytes(w.bytes))
		},
	}.Show(&a.Streams, list, nil)
}

// describeWorkspace reads only files, refs and the tape main: there may be many tapes.
func (a *App) describeWorkspace(ctx context.Context, dir string) (listedWorkspace, error) {
	w := listedWorkspace{dir: dir, project: workspace.ProjectOf(dir), own: workspace.IsOwn(dir)}
	store, err := repo.Open(ctx, dir, a.storeOptions())
	if err != nil {
		return w, err
	}
	refs, err := (*workspace.Store)(store).Git().Refs(layout.BranchPrefix)
	if err != nil {
		return w, err
	}
	w.tapes = len(refs)
	if t, err := store.Tape(ctx, repo.DefaultTape); err == nil {
		if sum, err := t.Summary(ctx); err == nil && sum.Entries <= 1 {
			w.empty = 1
		}
	}
	w.merged = mergedByName(ctx, a, store)
	git := filepath.Join(dir, layout.GitDirName)
	return w, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return err
		}
		st, err := os.Lstat(path)
		if err != nil {
			return nil // it was removed meanwhile
		}
		w.bytes += st.Size()
		// Entries are in files of working trees, or in git, where refs name them.
		inTree := !strings.HasPrefix(path, git) && strings.Contains(path, layout.AnchorsDir)
		if inTree || strings.HasPrefix(path, filepath.Join(git, "refs", "heads")) || path == filepath.Join(git, "packed-refs") {
			if at := st.ModTime().UTC().Truncate(time.Microsecond); at.After(w.updated) {
				w.updated = at
			}
		}
		return nil
	})
}

func (a *App) linkWorkspace(cmd *cobra.Command, args []string) error {
	dir := cmp.Or(first(args[1:]), ".")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return layout.NotFound("", "there is no directory %s", quoted(dir))
	}
	from, err := findWorkspace(args[0])
	if err != nil {
		return err
	}
	p := workspace.ProjectOf(from)
	aside, err := a.emptyWorkspace(cmd.Context(), from, dir)
	if err != nil {
		return err
	}
	if p.Dir == "" || p.Gone() || workspace.ResolvePath(dir) == p.Dir {
		to, err := workspace.Link(from, dir, aside)
		if err != nil {
			return err
		}
		return a.Result(object{{"workspace", to}, {"project", workspace.ProjectOf(to).Dir}}, "the workspace of %s is now %s",
			display.Line(workspace.ProjectOf(to).Dir), display.Line(to))
	}
	if err := workspace.SetAside(dir, aside); err != nil {
		return err
	}
	if err := workspace.LinkClone(from, workspace.ProjectDir(dir)); err != nil {
		return err
	}
	return a.Result(object{{"workspace", from}, {"project", p.Dir}, {"linked", workspace.ProjectDir(dir)}}, "%s belongs to the workspace of %s: %s",
		display.Line(workspace.ProjectDir(dir)), display.Line(p.Dir), display.Line(from))
}

// emptyWorkspace moves the sessions of a directory's own workspace to another one, from, to which the directory is about
// to belong. It returns where to move what is left; "" if the directory has no workspace of its own. One with remotes or
// settings is refused.
func (a *App) emptyWorkspace(ctx context.Context, from, dir string) (aside string, err error) {
	own, err := repo.WorkspaceFor(dir)
	if err != nil || own == from || !workspace.IsWorkspace(own) {
		return "", err
	}
	store, err := repo.Open(ctx, own, a.storeOptions())
	if err != nil {
		return "", err
	}
	remotes, err := store.Remotes(ctx)
	if err != nil {
		return "", err
	}
	if len(remotes) > 0 || workspace.HasSettings(own) {
		return "", layout.Conflict("move it away, or use it", "%s has a workspace with remotes or settings of its own: %s", display.Line(workspace.ResolvePath(dir)), own)
	}
	tapes, err := store.Tapes(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, t := range tapes {
		sum, err := t.Summary(ctx)
		if err != nil {
			return "", err
		}
		if sum.Entries > 1 {
			names = append(names, t.Name())
		}
	}
	if len(names) > 0 {
		into, err := repo.Open(ctx, from, a.storeOptions())
		if err == nil {
			err = moveTapes(ctx, store, into, names)
		}
		if err != nil {
			return "", fmt.Errorf("%s has a workspace with sessions, %s, which cannot be moved to the other one: %w", display.Line(workspace.ResolvePath(dir)), own, err)
		}
	}
	return filepath.Join(from, layout.GitDirName, layout.PrivateDir, layout.TornDirName, filepath.Base(own)+"."+strconv.FormatInt(a.Now().UnixNano(), 36)), nil
}

func (a *App) unlinkWorkspace(_ *cobra.Command, args []string) error {
	dir := workspace.ProjectDir(cmp.Or(first(args), "."))
	found, err := workspace.Unlink(dir)
	if err == nil && !found {
		err = layout.NotFound("tape workspaces lists the directories that are linked", "%s is not linked to the workspace of another one", display.Line(dir))
	}
	if err != nil {
		return err
	}
	return a.Result(object{{"unlinked", dir}}, "%s is not linked to another directory's workspace any more; the sessions stay where they are", display.Line(dir))
}

// findWorkspace finds a workspace by its folder, that folder's name, or its project's present or former folder.
func findWorkspace(name string) (string, error) {
	all, err := workspace.Workspaces()
	if err != nil {
		return "", err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	project, err := repo.WorkspaceFor(name)
	if err != nil {
		return "", err
	}
	for _, dir := range all {
		if dir == abs || dir == project || filepath.Base(dir) == name || workspace.ProjectOf(dir).Dir == abs {
			return dir, nil
		}
	}
	return "", layout.NotFound("tape workspaces lists them", "there is no workspace %s", quoted(name))
}

// takeAlong finds a workspace for a directory that has none: that of a project that was moved here, or that of another
// clone, if the user says so on a terminal, or its sessions are in that workspace already. If there is none, it returns
// cause, with the command that links one.
func (a *App) takeAlong(ctx context.Context, cause error) (string, error) {
	here, err := filepath.Abs(".")
	if err != nil {
		return "", cause
	}
	var moved []string
	for at := here; ; at = filepath.Dir(at) {
		found, sure, err := workspace.MovedHere(at)
		if err != nil {
			return "", cause
		}
		if sure {
			was := workspace.ProjectOf(found[0]).Dir
			dir, err := workspace.Link(found[0], at, "")
			if err == nil {
				a.Warn("the project was in " + was + " before, and its git remote is the same: its workspace is now " + dir)
			}
			return dir, err
		}
		if at == here {
			moved = found
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if in := projects.CloneOf(here); in != "" {
		return a.askClone(ctx, cause, in, workspace.ProjectDir(here))
	}
	if len(moved) > 0 {
		const most = 3
		hint := ""
		for _, in := range moved[:min(most, len(moved))] {
			hint += "if the project was moved here: " + linkCommand(in, ".") + "\n"
		}
		cause = &cliError{class: repo.ErrNotFound, cause: cause, msg: cause.Error(), hint: hint + hints.Of(cause)}
	}
	return "", cause
}

// linkCommand returns the command that links a workspace to a directory.
func linkCommand(in, dir string) string {
	return "tape workspaces link " + shellWord(cmp.Or(workspace.ProjectOf(in).Dir, in)) + " " + shellWord(dir)
}

// askClone asks once whether a directory, whose git remote is that of a workspace's project, is a clone of the user's. It
// does not ask if sessions of the directory were recorded into the workspace, as former versions did.
func (a *App) askClone(ctx context.Context, cause error, in, clone string) (string, error) {
	of := workspace.ProjectOf(in).Dir
	known := recorder.KnownClone(ctx, in, clone)
	if !known && !a.CanAsk() {
		return "", &cliError{class: repo.ErrNotFound, cause: cause, msg: cause.Error(),
			hint: "it has the git remote of " + of + ", which proves nothing; if it is a clone of yours: " + linkCommand(in, clone) + "\n" + hints.Of(cause)}
	}
	if !known {
		var err error
		if known, err = a.isClone(ctx, in, clone); err != nil || !known {
			return "", cmp.Or(err, workspace.LinkClone("", clone), cause)
		}
	}
	if err := workspace.LinkClone(in, clone); err != nil {
		return "", err
	}
	a.StderrUnlessQuiet("%s is linked to the workspace of %s; tape workspaces unlink undoes that", display.Line(clone), display.Line(of))
	return in, nil
}

// isClone asks whether a directory is a clone of a workspace's project.
func (a *App) isClone(ctx context.Context, in, clone string) (bool, error) {
	answer, err := a.Ask(ctx, "%s has the same git remote as your project %s. Is it yours, and are its sessions of the same project? [y/N] ",
		display.Line(clone), display.Line(workspace.ProjectOf(in).Dir))
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)), err
}

// noteProject records the project of the current directory as the workspace's, if the workspace belongs to it.
func (a *App) noteProject(store *repo.Store) {
	if err := (*workspace.Store)(store).NoteProject("."); err != nil {
		a.Warn("could not record the project of the workspace: " + err.Error())
	}
}
