package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/store/layout"
	"tape/repo"
)

// openFork finds an open fork: by its name on the selected tape, else by its full name.
func (a *App) openFork(ctx context.Context, store *repo.Store, name string) (*repo.Tape, error) {
	at := a.selectedName(ctx, store)
	f, err := a.findTape(ctx, store, at+"/"+name)
	if err == nil && f.IsFork() {
		return f, nil
	}
	if err != nil && !errors.Is(err, repo.ErrNotFound) {
		return nil, err
	}
	f, fullErr := a.findTape(ctx, store, name)
	switch {
	case fullErr == nil && f.IsFork():
		return f, nil
	case fullErr == nil:
		return nil, layout.Invalid("tape forks lists the forks", "%s is a tape, not a fork", quoted(name))
	case !errors.Is(fullErr, repo.ErrNotFound):
		return nil, fullErr
	}
	if _, err := store.Tape(ctx, at); err != nil && !strings.Contains(name, "/") {
		return nil, err // the tape itself is missing
	}
	hint := forkHint(ctx, store, at, name)
	missing := layout.NotFound(hint, "there is no open fork %s of %s", quoted(name), quoted(at))
	if hint == "" {
		return nil, missing.Try(layout.ListForks, at+"/"+name)
	}
	return nil, missing
}

func isFork(ctx context.Context, store *repo.Store, name string) bool {
	t, err := store.Tape(ctx, name)
	return err == nil && t.IsFork()
}

// selectedName returns the name of the selected tape or fork, even if it does not exist.
func (a *App) selectedName(ctx context.Context, store *repo.Store) string {
	if t, err := a.openTape(ctx); err == nil {
		return t.Name()
	}
	return cmp.Or(a.wantedTape(), store.CurrentTape())
}

// forkHint returns a hint if an ancestor of the selected tape has a fork of that name, else "".
func forkHint(ctx context.Context, store *repo.Store, at, name string) string {
	for i := strings.LastIndexByte(at, '/'); i >= 0; i = strings.LastIndexByte(at, '/') {
		at = at[:i]
		if full := at + "/" + name; isFork(ctx, store, full) {
			return "there is a fork " + shellWord(full)
		}
	}
	return ""
}

// closedFork finds the fork of that name that was closed last.
func (a *App) closedFork(ctx context.Context, store *repo.Store, name string) (repo.ForkInfo, bool) {
	for _, full := range []string{a.selectedName(ctx, store) + "/" + name, name} {
		parentName, _, _ := layout.CutFork(full)
		parent, err := store.Tape(ctx, parentName)
		if parentName == "" || err != nil {
			continue
		}
		closed, err := parent.ClosedForks(ctx)
		if err != nil {
			return repo.ForkInfo{}, false
		}
		if i := slices.IndexFunc(closed, func(f repo.ForkInfo) bool { return f.Name == full }); i >= 0 {
			return closed[i], true
		}
	}
	return repo.ForkInfo{}, false
}

// completeForks offers open forks; those of the selected tape by their short names.
func (a *App) completeForks(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return completeNames(func(ctx context.Context) ([]string, error) {
		store, err := a.openStore(ctx)
		if err != nil {
			return nil, err
		}
		forks, err := store.Forks(ctx)
		at := a.selectedName(ctx, store) + "/"
		return namesOf(forks, func(f *repo.Tape) string {
			if name := strings.TrimPrefix(f.Name(), at); offers(name, prefix) {
				return name
			}
			return f.Name()
		}), err
	})(cmd, nil, prefix)
}
