package index

import (
	"context"
	"slices"

	"tape/index/internal/store"
)

// A history that was copied may be in several workspaces. What it says counts in one of them: see Elsewhere.

// Facts returns numbers for all that counts in the sessions of a workspace, sorted: the same number for each copy. It
// first brings the index up to date.
func (x *Index) Facts(ctx context.Context) ([]int64, error) {
	return asked(ctx, x, func() ([]int64, error) { return x.db.Facts() })
}

// CountElsewhere leaves facts out of the sums, digests and uses of files that the index returns from now on: they count
// in another workspace.
func (x *Index) CountElsewhere(facts map[int64]bool) { x.elsewhere = facts }

// Owner is the session in which a fact counts.
type Owner = store.Owner

// Owners returns the session in which each of the facts counts, if it is in this workspace.
func (x *Index) Owners(ctx context.Context, facts map[int64]bool) (map[int64]Owner, error) {
	return asked(ctx, x, func() (map[int64]Owner, error) { return x.db.Owners(facts) })
}

// Shared returns the facts that are in more than one of the lists, which are sorted.
func Shared(lists [][]int64) map[int64]bool {
	shared := map[int64]bool{}
	all := slices.Concat(lists...)
	slices.Sort(all)
	for i := 1; i < len(all); i++ {
		if all[i] == all[i-1] {
			shared[all[i]] = true
		}
	}
	return shared
}

// Elsewhere returns, for each workspace, the facts that count in another one, for CountElsewhere.
func Elsewhere(owners []map[int64]Owner) []map[int64]bool {
	best := map[int64]int{} // the workspace of each fact
	for i, list := range owners {
		for f, o := range list {
			if at, ok := best[f]; !ok || o.Before(owners[at][f]) {
				best[f] = i
			}
		}
	}
	out := make([]map[int64]bool, len(owners))
	for i, list := range owners {
		out[i] = map[int64]bool{}
		for f := range list {
			if best[f] != i {
				out[i][f] = true
			}
		}
	}
	return out
}
