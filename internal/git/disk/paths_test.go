package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// A folder's name is no pattern, and need not be UTF-8; what is behind a link is found by the link's name.
func TestGlob(t *testing.T) {
	names := []string{"a[b]c"}
	if runtime.GOOS != "windows" {
		names = append(names, "a*?", `a\b`, "[")
	}
	odd := "t[w]o"
	if runtime.GOOS == "linux" {
		odd = "t[w]\xf6"
	}
	for _, name := range names {
		dir := filepath.Join(t.TempDir(), name)
		for _, file := range []string{"x/one/f", "x/" + odd + "/f", "x/f", "y"} {
			file = filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(file), DirPerm); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, FilePerm); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{filepath.Join(dir, "x", "one", "f"), filepath.Join(dir, "x", odd, "f")}
		if runtime.GOOS != "windows" { // links need rights there
			if err := os.Symlink(filepath.Join(dir, "x", "one"), filepath.Join(dir, "x", "z")); err != nil {
				t.Fatal(err)
			}
			want = append(want, filepath.Join(dir, "x", "z", "f"))
		}
		for _, c := range []struct{ dir, pattern string }{{dir, "x/*/f"}, {filepath.Join(dir, "x"), "*/f"}, {filepath.Join(dir, "x", "one"), "../*/f"}} {
			if got := Glob(c.dir, c.pattern); !slices.Equal(got, want) {
				t.Errorf("Glob(%q, %q) = %q, want %q", c.dir, c.pattern, got, want)
			}
		}
		if got := Glob(filepath.Join(dir, "none"), "*"); got != nil {
			t.Errorf("a folder that does not exist has %q", got)
		}
	}
}
