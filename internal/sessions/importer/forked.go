package importer

import (
	"context"
	"path/filepath"

	"tape/internal/sessions/importer/record"
)

// forkedFrom returns the session that another one was forked from, or "": a file beside it that has the
// same first line.
func forkedFrom(ctx context.Context, f *record.Format, name, first string) string {
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "*.jsonl"))
	found := ""
	for _, path := range beside {
		if ctx.Err() != nil {
			return ""
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
		if has && own {
			return record.Source{Name: path}.Stem()
		}
		if has {
			found = record.Source{Name: path}.Stem()
		}
	}
	return found
}
