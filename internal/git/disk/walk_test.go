package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWalk: files and folders behind links are visited, each folder once, and loops end.
func TestWalk(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "a", "skipped"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "a", "skipped", "no"), nil, 0o600))
	must(os.WriteFile(filepath.Join(dir, "a", "one"), nil, 0o600))
	must(os.WriteFile(filepath.Join(other, "two"), nil, 0o600))
	for name, to := range map[string]string{"a/loop": dir, "gone": filepath.Join(dir, "nothing"), "self": filepath.Join(dir, "self"),
		"linked": other, "again": other, "file": filepath.Join(other, "two")} {
		must(os.Symlink(to, filepath.Join(dir, name)))
	}
	root := filepath.Join(t.TempDir(), "root")
	must(os.Symlink(dir, root))
	var got []string
	must(Walk(root, func(path string, st fs.FileInfo, err error) error {
		switch rel, _ := filepath.Rel(root, path); {
		case err != nil:
			t.Error(err)
		case filepath.Base(path) == "skipped":
			return fs.SkipDir
		case !st.IsDir():
			got = append(got, filepath.ToSlash(rel))
		}
		return nil
	}))
	if want := []string{"a/one", "again/two", "file"}; !slices.Equal(got, want) {
		t.Errorf("visited %q, want %q", got, want)
	}
	must(Walk(filepath.Join(dir, "absent"), func(string, fs.FileInfo, error) error { t.Error("visited what is absent"); return nil }))
}
