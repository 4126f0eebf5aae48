package importer

import (
	"context"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
)

// forkedFrom returns the id of the session that the session in a file was forked from, or "". Both begin with the
// same line.
func forkedFrom(ctx context.Context, f *record.Format, name, first string) string {
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(name), f.FirstIn))
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
		if has {
			found = record.Source{Name: strings.TrimSuffix(path, f.Files.Ext)}.Stem()
		}
		if has && own {
			break
		}
	}
	return found
}
