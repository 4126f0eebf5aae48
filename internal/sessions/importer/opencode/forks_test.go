package opencode_test

import (
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
)

// TestForks: programs that were made from opencode keep a database of their own, which is not opencode's.
func TestForks(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	for _, f := range []*record.Format{&opencode.Kilo, &opencode.MiMoCode} {
		path := filepath.Join(home, ".local", "share", f.Name, f.Name+".db")
		database(t, path)
		found, err := importer.Discover(t.Context(), f, "/w", getenv)
		if want := []string{filepath.Join(path, "ses_1"), filepath.Join(path, "ses_2")}; err != nil || !slices.Equal(found, want) {
			t.Fatalf("found %q, %v; want %q", found, err, want)
		}
		info, err := importer.Identify(t.Context(), found[0])
		if err != nil || info.Format != f.Name || info.Session != "ses_1" {
			t.Errorf("%+v, %v", info, err)
		}
		src, closer, err := importer.OpenSource(found[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = importer.Read(t.Context(), f, src, func(string, string) bool { return false }, func(record.Item) error { n++; return nil })
		closer.Close()
		if err != nil || n != 6 {
			t.Errorf("%d entries, %v", n, err)
		}
	}
	if found, err := importer.Discover(t.Context(), &opencode.Format, "/w", getenv); err != nil || len(found) != 0 {
		t.Errorf("opencode's: %q, %v", found, err)
	}
}
