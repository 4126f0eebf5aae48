// Package catalog lists a workspace's tapes and forks, says what they are about, and resolves short
// names.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"tape/index"
	"tape/internal/store/about"
	"tape/internal/store/projects"
	"tape/internal/store/query"
	"tape/internal/store/workspace"
	"tape/repo"
)

// All returns the tapes, then the open forks.
func All(ctx context.Context, store *repo.Store) ([]*repo.Tape, error) {
	tapes, err := store.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	forks, err := store.Forks(ctx)
	return append(tapes, forks...), err
}

// OfSession returns the names of a session's tape, its forks and subagents.
func OfSession(ctx context.Context, t *repo.Tape) ([]string, error) {
	below, err := belowSession(ctx, t)
	return append([]string{t.Name()}, Names(below)...), err
}

// Subagents counts the subagents of a session that are sessions of their own, not forks.
func Subagents(ctx context.Context, t *repo.Tape) (int, error) {
	below, err := belowSession(ctx, t)
	return len(slices.DeleteFunc(below, (*repo.Tape).IsFork)), err
}

func belowSession(ctx context.Context, t *repo.Tape) ([]*repo.Tape, error) {
	all, err := All(ctx, t.Store())
	return slices.DeleteFunc(all, func(other *repo.Tape) bool { return !strings.HasPrefix(other.Name(), t.Name()+"/") }), err
}

// About returns what tapes are about, by branch, from the index; tapes == nil means all. Tapes with equal
// titles are told apart. A damaged tape does not hide the others: it gets only its name, and its error is in
// damaged.
func About(ctx context.Context, x *index.Index, store *repo.Store, tapes []*repo.Tape) (facts map[string]about.Tape, damaged []error, err error) {
	if facts, damaged, err = aboutEach(ctx, x, store, tapes); err == nil {
		apart(facts)
		markOfHost(ctx, store, facts)
	}
	return facts, damaged, err
}

// markOfHost sets IsHostTape of the tapes that tape serve keeps for itself. If a tape cannot be read, it is not set.
func markOfHost(ctx context.Context, store *repo.Store, facts map[string]about.Tape) {
	for branch, t := range facts {
		if !strings.HasPrefix(branch, "tape/") {
			continue
		}
		if is, err := query.IsHostTape(ctx, (*workspace.Store)(store).Handle(t.Name)); err == nil && is {
			t.IsHostTape = true
			facts[branch] = t
		}
	}
}

func aboutEach(ctx context.Context, x *index.Index, store *repo.Store, tapes []*repo.Tape) (facts map[string]about.Tape, damaged []error, err error) {
	if facts, err = x.About(ctx, tapes); !errors.Is(err, repo.ErrCorrupt) {
		nameProjects(store, facts)
		return facts, nil, err
	}
	if tapes == nil {
		if tapes, err = All(ctx, store); err != nil {
			return nil, nil, err
		}
	}
	facts = map[string]about.Tape{}
	named := (*workspace.Store)(store).LeftOut()
	for _, t := range tapes {
		if slices.Contains(named, t.Branch()) {
			continue
		}
		one, err := x.About(ctx, []*repo.Tape{t})
		if err != nil && !errors.Is(err, repo.ErrCorrupt) {
			return nil, nil, err
		}
		if facts[t.Branch()] = one[t.Branch()]; err != nil {
			facts[t.Branch()] = about.Tape{Name: t.Name()}
			damaged = append(damaged, err)
		}
	}
	nameProjects(store, facts)
	return facts, damaged, nil
}

// nameProjects sets the names of the tapes' projects. A tape without a directory is of the workspace's project.
func nameProjects(store *repo.Store, facts map[string]about.Tape) {
	name := projects.Names(store.Dir())
	for branch, t := range facts {
		t.ProjectLabel = name(t.Project)
		facts[branch] = t
	}
}

// InOrder returns the tapes of a workspace, without forks, in the order of their numbers in lists: the newest
// first, empty ones last. The facts are by branch.
func InOrder(facts map[string]about.Tape) []about.Tape {
	var list []about.Tape
	for branch, t := range facts {
		if strings.HasPrefix(branch, "tape/") && Listed(t) {
			list = append(list, t)
		}
	}
	empty := func(t about.Tape) int {
		if t.Entries <= 1 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b about.Tape) int {
		return cmp.Or(cmp.Compare(empty(a), empty(b)), b.Updated.Compare(a.Updated), strings.Compare(a.Name, b.Name))
	})
	return list
}
