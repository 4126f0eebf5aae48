package importer

import (
	"context"
	"math"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
)

// forkedFrom returns the transcript of the session that the session in a file was forked from, and the session's id; ""
// if there is none. Both begin with the same line.
func forkedFrom(ctx context.Context, f *record.Format, name, first string) (parent, id string) {
	for _, path := range disk.Glob(filepath.Dir(name), f.FirstIn) {
		if ctx.Err() != nil {
			return "", ""
		}
		if filepath.Base(path) == filepath.Base(name) {
			continue
		}
		src, closer, err := OpenSource(path, nil)
		if err != nil {
			continue
		}
		has, own := f.HasFirst(ctx, src, first)
		_ = closer.Close()
		if has {
			parent, id = path, record.Source{Name: strings.TrimSuffix(path, f.Files.Ext)}.Stem()
		}
		if has && own {
			break
		}
	}
	return parent, id
}

// findCopies sets what is known of the session that this one begins with the history of: its id, and which entries are
// from it. Some agents mark each entry instead.
func (in *intake) findCopies(ctx context.Context, src record.Source) (isCopy func(key string) bool) {
	var parent string
	if in.info.First != "" && in.format.HasFirst != nil {
		parent, in.forkedFrom = forkedFrom(ctx, in.format, src.Name, in.info.First)
	}
	if parent == "" && in.format.Files.BeginsLike != nil && src.Name != "-" {
		parent = in.format.Files.BeginsLike(src.Name)
	}
	if parent == "" {
		return nil
	}
	whole, closer, err := OpenSource(parent, nil)
	if err != nil {
		return nil // it counts as this session's own
	}
	defer closer.Close()
	keys, err := firstKeys(ctx, in.format, whole, math.MaxInt)
	if err != nil {
		return nil
	}
	copied := make(map[[16]byte]struct{}, len(keys))
	for _, key := range keys {
		copied[keyHash(key)] = struct{}{}
	}
	return func(key string) bool {
		_, ok := copied[keyHash(key)]
		return ok
	}
}
