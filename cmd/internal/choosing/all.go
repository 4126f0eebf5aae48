package choosing

import (
	"context"
	"errors"

	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/repo"
)

// WithoutEmpty returns the names of all tapes but the one that comes with a workspace, if nothing is on that and there are
// others. Otherwise it returns nil, which means all. Tapes of tape serve are pushed only if somebody names them.
func WithoutEmpty(ctx context.Context, store *repo.Store) (names []string, err error) {
	first, err := store.Tape(ctx, repo.DefaultTape)
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, err := range first.Entries(ctx, repo.Query{FirstID: 2, Limit: repo.N(1)}) {
		_ = err // the push says why it cannot be read
		return nil, nil
	}
	all, err := store.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		own, err := OfHost(ctx, store, t.Name())
		if err != nil {
			return nil, err
		}
		if t.Name() != repo.DefaultTape && !own {
			names = append(names, t.Name())
		}
	}
	return names, nil
}

// OfHost reports whether a tape belongs to tape serve.
func OfHost(ctx context.Context, store *repo.Store, name string) (bool, error) {
	t, err := store.Tape(ctx, name)
	if err != nil {
		return false, err
	}
	return query.OfHost(ctx, (*workspace.Tape)(t))
}
