package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// inEachWorkspace calls f with each of the user's own workspaces, with several at once, and returns the results in the
// order of the workspaces' folders. A workspace that is not the user's own, is gone, or cannot be read is
// left out, and warn says so. One in which f finds nothing (ErrNotFound) is left out silently. The error is
// that of the first workspace if all fail, or ErrInvalid if one returns that: then the user's input is wrong.
func inEachWorkspace[T any](ctx context.Context, o *repo.Options, warn func(text string), f func(context.Context, *repo.Store) (T, error)) ([]T, error) {
	dirs, others, err := workspace.OwnWorkspaces()
	if err != nil {
		return nil, err
	}
	tell(others, warn)
	if len(dirs) == 0 {
		return nil, layout.NotFound("tape import --all imports the sessions that your agents have; tape init creates an empty workspace", "you have no workspaces")
	}
	results, errs := make([]T, len(dirs)), make([]error, len(dirs))
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, dir := range dirs {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			store, err := repo.Open(ctx, dir, o)
			if err == nil {
				results[i], err = f(ctx, store)
			}
			errs[i] = err
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var done []T
	var first error
	for i, err := range errs {
		switch {
		case err == nil:
			done = append(done, results[i])
			continue
		case errors.Is(err, repo.ErrInvalid):
			return nil, err
		case !errors.Is(err, repo.ErrNotFound):
			text := fmt.Sprintf("the workspace %s is left out: %v", display.Line(dirs[i]), err)
			if errors.Is(err, repo.ErrCorrupt) {
				text += "; tape --workspace " + layout.ShellWord(dirs[i]) + " verify --repair mends what can be mended"
			}
			warn(text)
		}
		if first == nil {
			first = err
		}
	}
	if len(done) == 0 {
		return nil, first
	}
	return done, nil
}

// tell warns of the workspaces that are left out: of each that is not the user's own, and, in one line and only once,
// of those that are gone.
func tell(others []workspace.LeftOut, warn func(string)) {
	var gone []string
	for _, w := range others {
		dir := display.Line(w.Dir)
		if w.Gone {
			gone = append(gone, dir)
			w.Told()
			continue
		}
		warn("the workspace " + dir + " is left out, because it did not come from your own tape; if it is yours: tape workspaces trust " + layout.ShellWord(w.Dir))
	}
	switch n := len(gone); {
	case n == 1:
		warn("the workspace " + gone[0] + " is gone; if you have moved it, trust it in its new place: tape workspaces trust DIR")
	case n > 1:
		warn(fmt.Sprintf("%d workspaces are gone, such as %s; trust those that you have moved in their new places: tape workspaces trust DIR", n, gone[0]))
	}
}
