package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/merge"
	"tape/repo"
)

type closeArgs struct {
	Fork string `json:"fork"`
}

// merge merges a fork into its tape.
func (s *server) merge(ctx context.Context, _ call, a closeArgs) (string, error) {
	f, done, err := s.openFork(ctx, a.Fork, repo.ForkMerged, repo.ForkSummarized)
	if err != nil || done != "" {
		return done, err
	}
	r, err := merge.Back(ctx, f)
	if err != nil {
		return "", err
	}
	if r.Merged == 0 {
		return fmt.Sprintf("fork %s had nothing new, and is closed", line(f.Name(), 200)), nil
	}
	return fmt.Sprintf("merged %s into %s: @%d to @%d; fork %s is closed", display.Entries(r.Merged), line(r.Into, 100), r.FirstID, r.LastID,
		line(f.Name(), 200)), nil
}

// discard discards a fork.
func (s *server) discard(ctx context.Context, _ call, a closeArgs) (string, error) {
	f, done, err := s.openFork(ctx, a.Fork, repo.ForkDiscarded)
	if err != nil || done != "" {
		return done, err
	}
	// Commit first, so that the commit in the answer has everything.
	if _, _, err := f.Checkpoint(ctx); err != nil {
		return "", err
	}
	info, err := f.ForkInfo(ctx)
	if err == nil {
		err = f.Discard(ctx)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("discarded %s with %s; git keeps commit %.12s for a while", line(f.Name(), 200), display.Entries(info.Entries), info.Commit), nil
}

// openFork opens a fork by its full name, or by its name on the default tape. If the fork is already
// closed in one of the given ways, f is nil, and done says so.
func (s *server) openFork(ctx context.Context, name string, closed ...string) (f *repo.Tape, done string, err error) {
	if !strings.Contains(name, "/") {
		_, t, err := s.open(ctx, "")
		if err != nil {
			return nil, "", err
		}
		name = t.Name() + "/" + name
	}
	store, f, err := s.openToWrite(ctx, name)
	if err == nil && !f.IsFork() {
		return nil, "", layout.Invalid("", "%q is a tape, not a fork", f.Name()).Try(layout.ListForks)
	}
	if !errors.Is(err, repo.ErrNotFound) || store == nil {
		return f, "", err
	}
	parentName, _, _ := layout.CutFork(name)
	parent, parentErr := store.Tape(ctx, parentName)
	if parentErr != nil {
		return nil, "", err
	}
	forks, closedErr := parent.ClosedForks(ctx)
	if closedErr != nil {
		return nil, "", closedErr
	}
	i := slices.IndexFunc(forks, func(f repo.ForkInfo) bool { return f.Name == name })
	if i < 0 {
		return nil, "", err
	}
	done = fmt.Sprintf("the fork %s is %s already", line(name, 200), forks[i].Status)
	if !slices.Contains(closed, forks[i].Status) {
		return nil, "", layout.Conflict("", "%s", done)
	}
	return nil, done, nil
}
