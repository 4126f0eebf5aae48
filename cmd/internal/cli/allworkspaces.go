package cli

import (
	"cmp"
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// addAllWorkspaces adds -A to a command that reads its workspaces with [inStores]. If the command also
// takes the name of a tape, openTape finds it in any of them.
func (a *App) addAllWorkspaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.everywhere, "all-workspaces", "A", false, "read the sessions of all your workspaces")
}

// inStores calls f with the selected workspace, or, with -A, with each of the user's own, several at once.
func inStores[T any](ctx context.Context, a *App, f func(context.Context, *repo.Store) (T, error)) ([]T, error) {
	if !a.everywhere {
		store, err := a.openStore(ctx)
		if err != nil {
			return nil, err
		}
		one, err := f(ctx, store)
		return []T{one}, err
	}
	if a.workspace != "" {
		return nil, usagef("--workspace and --all-workspaces exclude each other")
	}
	return inEachWorkspace(ctx, a.storeOptions(), a.Warn, f)
}

// nameTape selects the tape that an argument names, as --tape does. "" changes nothing. It refuses a second name.
func (a *App) nameTape(name string) error {
	if name != "" && a.tapeName != "" && a.tapeName != name {
		return usagef("name one tape: %s, or --tape %s", quoted(name), shellWord(a.tapeName))
	}
	a.tapeName = cmp.Or(name, a.tapeName)
	return nil
}

// nameEntries selects the tape of targets such as TAPE@17, and shortens these to @17.
func (a *App) nameEntries(targets ...*string) error {
	for _, target := range targets {
		tape, rest := catalog.Entry(*target)
		if err := a.nameTape(tape); err != nil {
			return err
		}
		*target = rest
	}
	return nil
}

// workspaceOf returns the member "workspace" of the JSON about a tape: "" if only one workspace is read.
func (a *App) workspaceOf(store *repo.Store) string {
	if !a.everywhere {
		return ""
	}
	return store.Dir()
}

// allTapes returns the tapes and forks of the selected workspace, or, with -A, of all.
func (a *App) allTapes(ctx context.Context) ([]*repo.Tape, error) {
	lists, err := inStores(ctx, a, catalog.All)
	return slices.Concat(lists...), err
}

// openEverywhere opens the tape that --tape names, in whichever of the user's workspaces it is, and selects
// that workspace. The name may be short, or the tape's number in tape tapes -A.
func (a *App) openEverywhere(ctx context.Context) (*repo.Tape, error) {
	if a.tapeName == "" {
		return nil, usagef("with --all-workspaces, name the session: --tape NAME, or NAME@ID")
	}
	found, err := inStores(ctx, a, func(ctx context.Context, store *repo.Store) ([]*repo.Tape, error) {
		t, err := store.Tape(ctx, a.tapeName)
		return []*repo.Tape{t}, err
	})
	parts := strings.Split(a.tapeName, "/")
	n, notNumber := strconv.Atoi(parts[0])
	var workspace string
	if shown, ok := a.numberShown(a.tapeName); err != nil && ok && shown.Workspace != "" {
		workspace, parts = shown.Workspace, append(strings.Split(shown.Tape, "/"), parts[1:]...)
	} else if err != nil && notNumber == nil {
		list, err := a.listTapes(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 && n <= len(list) {
			workspace, parts = list[n-1].Workspace, append(strings.Split(list[n-1].Name, "/"), parts[1:]...)
		}
	}
	if err != nil {
		all, listErr := a.allTapes(ctx)
		if listErr != nil {
			return nil, listErr
		}
		meant := catalog.MatchNames(catalog.Names(all), parts)
		found = [][]*repo.Tape{slices.DeleteFunc(all, func(t *repo.Tape) bool {
			return !slices.Contains(meant, t.Name()) || workspace != "" && t.Store().Dir() != workspace
		})}
	}
	switch tapes := slices.Concat(found...); len(tapes) {
	case 0:
		return nil, layout.NotFound("tape tapes -A lists them", "no session in your workspaces is named %s", quoted(a.tapeName))
	case 1:
		a.store, a.tapeName = tapes[0].Store(), tapes[0].Name()
		return tapes[0], nil
	default:
		names := namesOf(tapes, func(t *repo.Tape) string {
			return "--workspace " + shellWord(t.Store().Dir()) + " --tape " + shellWord(t.Name())
		})
		const most = 20
		if len(names) > most {
			names = append(names[:most], "and "+strconv.Itoa(len(tapes)-most)+" more")
		}
		return nil, layout.Invalid("in place of -A, say which:\n"+strings.Join(names, "\n"), "%d sessions are named %s", len(tapes), quoted(a.tapeName))
	}
}

// openNewest opens the workspace that was used last, if the current directory has none. If the user has
// none at all, it returns cause.
func (a *App) openNewest(ctx context.Context, cause error) (*repo.Store, error) {
	dirs, _, err := workspace.OwnWorkspaces()
	if err != nil || len(dirs) == 0 {
		return nil, cause
	}
	used := func(dir string) time.Time {
		st, err := os.Stat(filepath.Join(dir, layout.GitDirName, layout.PrivateDir))
		if err != nil {
			return time.Time{}
		}
		return st.ModTime()
	}
	dir := slices.MaxFunc(dirs, func(x, y string) int { return used(x).Compare(used(y)) })
	a.StderrUnlessQuiet("the current directory has no workspace; the API serves %s", display.Line(dir))
	return repo.Open(ctx, dir, a.storeOptions())
}

// storeOf returns the workspace of an entry.
func (a *App) storeOf(ctx context.Context, e repo.Entry) (*repo.Store, error) {
	if e.Workspace == "" || a.store != nil && a.store.Dir() == e.Workspace {
		return a.openStore(ctx)
	}
	return repo.Open(ctx, e.Workspace, a.storeOptions())
}

// inWorkspace sets the workspace of entries.
func inWorkspace(dir string, entries iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range entries {
			if e.Workspace = dir; !yield(e, err) {
				return
			}
		}
	}
}

func sessionOf(e repo.Entry) string { return rows.SessionKey(e) }
