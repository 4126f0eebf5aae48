package importer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
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

// nameOfFile returns the tape's name for a session that only its file names, so that two chats in files of one name do
// not end in one tape. It is stem, or, if the tape of that name is another file's, the name with the file's folder, and
// then with a number.
func (b *Batch) nameOfFile(ctx context.Context, f *record.Format, src record.Source, stem string) (string, error) {
	path, err := filepath.Abs(src.Name)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(b.marks.paths)) { // the file may have been moved
		from := b.marks.paths[name]
		if _, err := os.Stat(from); err == nil || filepath.Base(from) != filepath.Base(path) {
			continue
		}
		tape, err := b.store.Tape(ctx, name)
		if errors.Is(err, repo.ErrNotFound) {
			continue
		}
		same := false
		if err == nil {
			same, err = b.isOf(ctx, f, src, tape, path)
		}
		if same || err != nil {
			return name, err
		}
	}
	name := stem
	for n := 1; ; n++ {
		if err := b.flushFor(ctx, name); err != nil {
			return "", err
		}
		tape, err := b.store.Tape(ctx, name)
		if errors.Is(err, repo.ErrNotFound) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		if same, err := b.isOf(ctx, f, src, tape, path); same || err != nil {
			return name, err
		}
		name = filepath.Base(filepath.Dir(path)) + "-" + stem
		if n > 1 {
			name += fmt.Sprintf(".%d", n)
		}
	}
}

// isOf reports whether a tape has the session in a file: it was imported from there or, if its own file is another one or
// gone, the one begins as the other does. If that other file still exists, both must say the same.
func (b *Batch) isOf(ctx context.Context, f *record.Format, src record.Source, tape *repo.Tape, path string) (bool, error) {
	from := b.marks.paths[tape.Name()]
	if from == path {
		return true, nil
	}
	here, err1 := os.Stat(path)
	there, err2 := os.Stat(from)
	exists := from != "" && err1 == nil && err2 == nil
	if exists && os.SameFile(here, there) {
		return true, nil
	}
	in, err := firstKeys(ctx, f, src, math.MaxInt)
	if err != nil {
		return false, err
	}
	on, keys := []string(nil), keysOf(f)
	for e, err := range tape.Entries(ctx, repo.Query{}) {
		if err != nil {
			return false, err
		}
		has, err := keys(e)
		if err != nil {
			return false, err
		}
		if f.Keys != nil && e.ID == 1 && (len(in) == 0 || !slices.Contains(has, in[0])) {
			continue // the anchor that the import has made
		}
		on = append(on, has...)
	}
	n := min(len(in), len(on))
	return slices.Equal(in[:n], on[:n]) && (!exists || len(in) == len(on)), nil
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
