package sharing

import (
	"context"
	"errors"

	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/repo"
)

// WithoutEmpty returns the names of all tapes except an empty main and the tapes of tape serve, which are pushed only if
// somebody names them. It returns nil if main is missing or has entries, or if no other tape is left: then the push
// takes all tapes but those of tape serve.
func WithoutEmpty(ctx context.Context, store *repo.Store) (names []string, err error) {
	first, err := store.Tape(ctx, repo.DefaultTape)
	if errors.Is(err, repo.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, err := range first.Entries(ctx, repo.Query{FirstID: 2, Limit: repo.N(1)}) {
		_ = err // if main cannot be read, the push says why
		return nil, nil
	}
	all, err := store.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		ofHost, err := IsHostTape(ctx, store, t.Name())
		if err != nil {
			return nil, err
		}
		if t.Name() != repo.DefaultTape && !ofHost {
			names = append(names, t.Name())
		}
	}
	return names, nil
}

// IsHostTape reports whether a tape belongs to tape serve.
func IsHostTape(ctx context.Context, store *repo.Store, name string) (bool, error) {
	t, err := store.Tape(ctx, name)
	if err != nil {
		return false, err
	}
	return query.IsHostTape(ctx, (*workspace.Tape)(t))
}
