package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// findTape returns the tape or fork that a person names: by its name, its number in the list of
// tapes, the beginning of its name (of each part between slashes), or - for the previous tape. A
// whole name wins, even if git has renamed its branch. A command that changes something says on the
// terminal which tape it found; without a terminal it takes only the whole name, or -.
func (a *App) findTape(ctx context.Context, store *repo.Store, name string) (*repo.Tape, error) {
	t, err := store.Tape(ctx, name)
	if !errors.Is(err, repo.ErrNotFound) {
		return t, err
	}
	full := store.PreviousTape()
	if name != "-" {
		otherErr := (*workspace.Store)(store).CheckRenamed(ctx, name)
		if otherErr == nil {
			full, otherErr = a.fullName(ctx, store, name)
		}
		if otherErr != nil || full == "" {
			return nil, cmp.Or(otherErr, err)
		}
		if !a.reads && !stdio.IsTerminal(a.Stderr) {
			return nil, layout.NotFound(didYouMean([]string{full}), "there is no tape %s: without a terminal, this command takes whole names only", quoted(name))
		}
	} else if full == "" {
		return nil, layout.NotFound("tape tapes lists the tapes", "no other tape was current before")
	}
	if t, err = store.Tape(ctx, full); err == nil {
		say := a.StderrUnlessQuiet
		if a.reads {
			say = a.StderrIfVerbose
		}
		say("%s is tape %s", quoted(name), quoted(full))
	}
	return t, err
}

// listOfTapes is the name under which the numbers of the list of tapes are kept.
const listOfTapes = "tapes"

// numberShown returns what a name stands for that is a number of the list that the terminal has shown last.
func (a *App) numberShown(name string) (shown stdio.Numbered, ok bool) {
	number, _, _ := strings.Cut(name, "/")
	if n, err := strconv.Atoi(number); err == nil && n > 0 && strconv.Itoa(n) == number {
		shown, ok = a.NumberOf(listOfTapes, n)
	}
	return shown, ok
}

// storeShown opens the workspace of a name that the terminal has shown in a list of all workspaces: by its number, also
// from a directory without a workspace. It returns nil if the name is none of these, or is in the selected workspace.
func (a *App) storeShown(ctx context.Context, name string) (*repo.Store, error) {
	shown, ok := a.numberShown(name)
	if !ok || !shown.Anywhere || a.workspaceDir() != "" {
		return nil, nil
	}
	if here, err := a.openStore(ctx); err == nil && here.Dir() == shown.Workspace {
		return nil, nil
	}
	store, err := repo.Open(ctx, shown.Workspace, a.storeOptions())
	if err == nil {
		a.store, a.numbered = store, true
	}
	return store, err
}

// inWorkspaceFlag selects the workspace in a command that is shown; "" if the current directory does.
func (a *App) inWorkspaceFlag() string {
	if !a.numbered {
		return ""
	}
	return " --workspace " + shellWord(a.store.Dir())
}

// openShown opens the tape of such a name, or returns nil.
func (a *App) openShown(ctx context.Context, name string) (*repo.Tape, error) {
	store, err := a.storeShown(ctx, name)
	if store == nil || err != nil {
		return nil, err
	}
	t, err := a.findTape(ctx, store, name)
	if err == nil {
		a.tapeName = t.Name()
	}
	return t, err
}

// openOther finds a session that is not in the current directory's workspace in the user's other ones, so that what a
// list of all of them shows can be read. missing is returned if it is in none, or if that is no question.
func (a *App) openOther(ctx context.Context, missing error) (*repo.Tape, error) {
	if !a.reads || a.tapeName == "" || a.workspaceDir() != "" || !errors.Is(missing, repo.ErrNotFound) {
		return nil, missing
	}
	const longestNumber = 4 // digits; ids of sessions may have digits only
	if _, err := strconv.Atoi(a.tapeName); err == nil && len(a.tapeName) <= longestNumber {
		return nil, missing
	}
	if a.store != nil && !workspace.IsOwn(a.store.Dir()) {
		return nil, missing
	}
	was, name := a.store, a.tapeName
	a.everywhere = true
	t, err := a.openEverywhere(ctx)
	a.everywhere = false
	if errors.Is(err, repo.ErrInvalid) {
		return nil, err
	}
	if err != nil {
		a.store, a.tapeName = was, name
		return nil, missing
	}
	a.StderrUnlessQuiet("%s is in the workspace of %s", quoted(name), display.Line(cmp.Or(workspace.ProjectOf(a.store.Dir()).Dir, a.store.Dir())))
	return t, nil
}

// onlyReads reports whether a command neither changes nor sends tapes.
func onlyReads(cmd *cobra.Command) bool {
	path := strings.Fields(cmd.CommandPath())
	return len(path) > 1 && slices.Contains([]string{"anchors", "archives", "artifact", "between", "blame", "context", "diff", "digest", "export", "files", "forks", "info", "log",
		"resume", "search", "show", "stats", cobra.ShellCompRequestCmd}, path[1])
}

// fullName returns the name for a number or the beginning of a name; "" if there is none.
func (a *App) fullName(ctx context.Context, store *repo.Store, short string) (string, error) {
	parts := strings.Split(short, "/")
	if n, err := strconv.Atoi(parts[0]); err == nil && n > 0 && strconv.Itoa(n) == parts[0] {
		shown, ok := a.numberShown(short)
		if ok && shown.Anywhere && shown.Workspace != store.Dir() && a.workspaceDir() == "" {
			return "", a.ofOther(short)
		}
		if ok && shown.Workspace == store.Dir() {
			parts = append(strings.Split(shown.Tape, "/"), parts[1:]...)
		} else {
			list, err := a.listTapes(ctx)
			if err != nil {
				return "", err
			}
			if n <= len(list) {
				parts = append(strings.Split(list[n-1].Name, "/"), parts[1:]...)
			}
		}
	}
	tapes, err := catalog.All(ctx, store)
	if err != nil {
		return "", err
	}
	return catalog.FullName(namesOf(tapes, (*repo.Tape).Name), parts)
}

// ofOther returns an error about a number of a list of all workspaces, with the command that works.
func (a *App) ofOther(number string) error {
	shown, _ := a.numberShown(number)
	return layout.Invalid(a.command+" "+shellWord(shown.Tape)+" --workspace "+shellWord(shown.Workspace)+" does it there",
		"number %s of the last list is a session of another workspace", number)
}

// withSuggestion adds similar names to an error about a missing name.
func (a *App) withSuggestion(ctx context.Context, err error) error {
	if a.store == nil || !errors.Is(err, repo.ErrNotFound) {
		return err
	}
	for _, h := range repo.Hints(err) {
		if len(h.Args) == 0 {
			continue
		}
		if h.Kind == layout.ListTapes || h.Kind == layout.ListForks {
			if renamed := (*workspace.Store)(a.store).CheckRenamed(ctx, h.Args[0]); renamed != nil {
				return renamed
			}
		}
		if t := a.tapeOrFork(ctx, h.Args[0]); h.Kind == layout.NamePhase && t != nil {
			return &cliError{class: repo.ErrNotFound, cause: err, msg: err.Error(),
				hint: "that is a tape: tape log --tape " + shellWord(t.Name()) + " shows it\n" + hints.Of(err)}
		}
		names := a.namesFor(ctx, h.Kind)
		meant := forksCalled(h.Args[0], names)
		if len(meant) == 0 {
			meant = catalog.Nearest(h.Args[0], names)
		}
		if len(meant) > 0 {
			return &cliError{class: repo.ErrNotFound, cause: err, msg: err.Error(),
				hint: didYouMean(meant) + "\n" + hints.Of(err)}
		}
	}
	return err
}

// tapeOrFork returns the tape of a name, or the selected tape's fork of that name, or nil.
func (a *App) tapeOrFork(ctx context.Context, name string) *repo.Tape {
	for _, full := range []string{name, a.selectedName(ctx, a.store) + "/" + name} {
		if t, err := a.store.Tape(ctx, full); err == nil {
			return t
		}
	}
	return nil
}

// forksCalled returns the full names that end in /name, at most three.
func forksCalled(name string, names []string) (full []string) {
	for _, other := range names {
		if strings.HasSuffix(other, "/"+name) && len(full) < 3 {
			full = append(full, other)
		}
	}
	return full
}

func didYouMean(names []string) string {
	return "did you mean " + strings.Join(namesOf(names, quoted), " or ") + "?"
}

// namesFor returns the existing names for the kind of hint that an error has.
func (a *App) namesFor(ctx context.Context, kind layout.HintKind) (names []string) {
	anchors := kind == layout.ListAnchors || kind == layout.ListAnchorsInOrder || kind == layout.NamePhase || kind == layout.NameRevision
	if t, err := a.openTape(ctx); anchors && err == nil {
		phases, _ := t.Phases(ctx)
		names = namesOf(phases, func(p repo.Phase) string { return p.Name })
	}
	if kind == layout.ListTapes || kind == layout.ListForks || kind == layout.NameRevision {
		tapes, _ := catalog.All(ctx, a.store)
		if kind == layout.ListForks {
			tapes = slices.DeleteFunc(tapes, func(t *repo.Tape) bool { return !t.IsFork() })
		}
		names = append(names, namesOf(tapes, (*repo.Tape).Name)...)
	}
	return names
}
