package importer

import (
	"context"
	"errors"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/repo"
)

// nameOf returns the tape's name for a session whose short name, info.Session, may not be unique. It is the full name
// if a tape has that name already, or if the tape with the short name does not begin as the file does.
func (b *Batch) nameOf(ctx context.Context, f *record.Format, src record.Source, info record.Info) (string, error) {
	for _, name := range []string{info.Session, info.Full} {
		if err := b.flushFor(ctx, name); err != nil {
			return "", err
		}
	}
	if _, err := b.store.Tape(ctx, info.Full); !errors.Is(err, repo.ErrNotFound) {
		return info.Full, err
	}
	tape, err := b.store.Tape(ctx, info.Session)
	if errors.Is(err, repo.ErrNotFound) {
		return info.Session, nil
	}
	if err != nil {
		return "", err
	}
	first, err := firstKeys(ctx, f, src, 1)
	if err != nil {
		return "", err
	}
	same, err := beginsWith(ctx, f, tape, first)
	if same || err != nil {
		return info.Session, err
	}
	return info.Full, nil
}

// firstKeys returns the keys of a file's first entries: at least as many as wanted, if it has them.
func firstKeys(ctx context.Context, f *record.Format, src record.Source, wanted int) (keys []string, err error) {
	enough := errors.New("enough")
	_, err = Read(ctx, f, src, func(string, string) bool { return false }, func(item record.Item) error {
		if keys = append(keys, item.Keys...); len(keys) >= wanted {
			return enough
		}
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return keys, err
}

// beginsWith reports whether a tape begins with the entry that has the first of the keys, perhaps after an
// anchor of its own. Any tape does if there are no keys.
func beginsWith(ctx context.Context, f *record.Format, tape *repo.Tape, first []string) (bool, error) {
	keys := keysOf(f)
	for e, err := range tape.Entries(ctx, repo.Query{Limit: repo.N(2)}) {
		if err != nil {
			return false, err
		}
		has, err := keys(e)
		if err != nil {
			return false, err
		}
		if len(first) == 0 || slices.Contains(has, first[0]) {
			return true, nil
		}
	}
	return false, nil
}
