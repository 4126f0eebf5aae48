package snapshot

import (
	"context"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Archive is a former history of a tape that a ref keeps.
type Archive struct {
	Stamp   string // UTC, 20261120T093000Z
	Ref     string
	Commit  string
	Entries int64
	Anchors int
}

// Archives returns the tape's archives, oldest first.
func Archives(ctx context.Context, t *workspace.Tape) ([]Archive, error) {
	prefix := layout.ArchivePrefix + t.Slug() + "/"
	refs, err := t.Store().Git().Refs(prefix)
	if err != nil {
		return nil, layout.Classify(err)
	}
	out := make([]Archive, 0, len(refs))
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		v, err := AtCommit(t.Store(), ref.Hash)
		if err != nil {
			return nil, err
		}
		a := Archive{Stamp: strings.TrimPrefix(ref.Name, prefix), Ref: ref.Name, Commit: ref.Hash.String(), Anchors: len(v.List)}
		if a.Entries, err = LastID(v, v.List[len(v.List)-1]); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	// A stamp with a fraction of a second comes after the one without.
	slices.SortStableFunc(out, func(a, b Archive) int {
		return strings.Compare(strings.TrimSuffix(a.Stamp, "Z"), strings.TrimSuffix(b.Stamp, "Z"))
	})
	return out, nil
}

// FindArchive returns an archive by its ref, its stamp or a unique prefix of the stamp, or Latest. Errors:
// ErrNotFound, ErrInvalid if the prefix is not unique.
func FindArchive(ctx context.Context, t *workspace.Tape, stamp string) (Archive, error) {
	all, err := Archives(ctx, t)
	if err != nil {
		return Archive{}, err
	}
	if stamp == Latest && len(all) > 0 {
		return all[len(all)-1], nil
	}
	matches := slices.DeleteFunc(slices.Clone(all), func(a Archive) bool {
		return stamp == "" || !strings.HasPrefix(a.Stamp, stamp) && a.Ref != stamp
	})
	if len(matches) > 1 {
		return Archive{}, layout.Invalid("", "%q could be any of %d archives", stamp, len(matches)).Try(layout.NameArchive)
	}
	if len(matches) == 0 {
		return Archive{}, layout.NotFound("", "tape %q has no archive %q", t.Name(), stamp).Try(layout.ListArchives)
	}
	return matches[0], nil
}
