package cli

import (
	"context"

	"tape/index"
	"tape/repo"
)

// findShared finds out, with -A, which histories are in several workspaces, so that each counts in one of them.
func (a *App) findShared(ctx context.Context) error {
	if !a.everywhere || a.tapeName != "" {
		return nil
	}
	type found[T any] struct {
		dir  string
		what T
	}
	lists, err := inStores(ctx, a, func(ctx context.Context, store *repo.Store) (found[[]int64], error) {
		facts, err := withIndex(a, store, func(x *index.Index) ([]int64, error) { return x.Facts(ctx) })
		return found[[]int64]{store.Dir(), facts}, err
	})
	if err != nil {
		return err
	}
	var all [][]int64
	for _, l := range lists {
		all = append(all, l.what)
	}
	shared := index.Shared(all)
	if len(shared) == 0 {
		return nil
	}
	owners, err := inStores(ctx, a, func(ctx context.Context, store *repo.Store) (found[map[int64]index.Owner], error) {
		list, err := withIndex(a, store, func(x *index.Index) (map[int64]index.Owner, error) { return x.Owners(ctx, shared) })
		return found[map[int64]index.Owner]{store.Dir(), list}, err
	})
	if err != nil {
		return err
	}
	var each []map[int64]index.Owner
	for _, o := range owners {
		each = append(each, o.what)
	}
	a.elsewhere = map[string]map[int64]bool{}
	for i, facts := range index.Elsewhere(each) {
		a.elsewhere[owners[i].dir] = facts
	}
	return nil
}
