package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"tape/index/internal/store"
	"tape/internal/store/activity"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/repo"
)

type (
	// By says how sums of work are grouped.
	By = store.By
	// WorkFilter chooses what is summed.
	WorkFilter = store.WorkFilter
	// Work is a sum of what was done: sessions, turns, active time, tokens, calls.
	Work = store.Work
	// FileFilter chooses files that sessions read and wrote.
	FileFilter = store.FileFilter
	// FileUse says how a tape used a file; in a Digest, how a session did.
	FileUse = store.FileUse
	// Touch is an entry that read or wrote a file.
	Touch = store.Touch
	// Digest is what was done in a session in a range of time.
	Digest = store.Digest
	// Step is what a person asked, or a commit that an agent made.
	Step = store.Step
	// Tokens counts tokens. Input does not include tokens read from the cache or written to it.
	Tokens = activity.Tokens
)

// The ways to group sums of work.
const (
	ByNothing = store.ByNothing
	ByDay     = store.ByDay
	ByProject = store.ByProject
	ByAgent   = store.ByAgent
	ByModel   = store.ByModel
	ByTool    = store.ByTool
	ByPerson  = store.ByPerson
	ByTape    = store.ByTape
)

// RenameKey replaces each part of a [Work]'s key. part is its place: 0, or 1 for the second of two.
func RenameKey(key string, rename func(part int, key string) string) string {
	return store.Rename(key, rename)
}

// Work sums what was done in the sessions of a workspace, with their forks. It first brings the index up to date.
func (x *Index) Work(ctx context.Context, by By, f WorkFilter) (out []*Work, err error) {
	out, err = asked(ctx, x, func() ([]*Work, error) { return x.db.Work(by, f) })
	if slices.Contains(by.Parts(), ByPerson) && err == nil {
		out, err = x.byOwner(ctx, out)
	}
	return out, err
}

// byOwner replaces keys that name a tape by the tape's owner, and joins sums with the same key.
func (x *Index) byOwner(ctx context.Context, list []*Work) (out []*Work, err error) {
	byKey := map[string]*Work{}
	for _, w := range list {
		gone := false
		w.Key = store.Rename(w.Key, func(_ int, key string) string {
			name, ok := strings.CutPrefix(key, store.OwnerOf)
			if !ok {
				return key
			}
			owner, err2 := x.owner(ctx, name)
			if gone = errors.Is(err2, repo.ErrNotFound); !gone { // else it is gone since the index was read
				err = cmp.Or(err, err2)
			}
			return owner
		})
		switch {
		case gone:
		case byKey[w.Key] == nil:
			byKey[w.Key], out = w, append(out, w)
		default:
			byKey[w.Key].Add(w)
		}
	}
	return out, err
}

// owner returns the owner of a tape.
func (x *Index) owner(ctx context.Context, name string) (string, error) {
	t, err := x.store.Tape(ctx, name)
	if err != nil {
		return "", err
	}
	head, err := (*workspace.Tape)(t).Head()
	if err != nil {
		return "", err
	}
	return snapshot.Owner((*workspace.Tape)(t), head), nil
}

// Files returns which tapes read and wrote files: one FileUse for each tape and path. It first brings the index up
// to date.
func (x *Index) Files(ctx context.Context, f FileFilter) ([]FileUse, error) {
	return asked(ctx, x, func() ([]FileUse, error) { return x.db.FileUses(f) })
}

// Touches returns the entries that read or wrote files: the calls of tools, and events that say what a program
// changed. It first brings the index up to date.
func (x *Index) Touches(ctx context.Context, f FileFilter) ([]Touch, error) {
	return asked(ctx, x, func() ([]Touch, error) { return x.db.Touches(f) })
}

// Digests returns what was done in sessions in a range of time, in no particular order. It first brings the index up
// to date.
func (x *Index) Digests(ctx context.Context, f WorkFilter) ([]*Digest, error) {
	return asked(ctx, x, func() ([]*Digest, error) { return x.db.Digests(f) })
}

// asked brings the index up to date with all tapes and open forks, and returns what f returns.
func asked[T any](ctx context.Context, x *Index, f func() (T, error)) (out T, err error) {
	err = x.retryGone(ctx, nil, func(tapes []*repo.Tape) error {
		return x.inIndex(ctx, tapes, func([]*store.Target, store.Has) error {
			query := func() error {
				out, err = f()
				return err
			}
			if len(x.elsewhere) > 0 {
				return x.db.Without(ctx, x.store, x.elsewhere, query)
			}
			return query()
		})
	})
	return out, err
}
