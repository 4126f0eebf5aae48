package remotes_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A clone appears completely, also in an existing folder; a failed one leaves nothing.
func TestCloneInto(t *testing.T) {
	s := storetest.New(t, nil)
	remote := storetest.Published(t, s, false)
	dir := t.TempDir()
	for _, into := range []string{"new", "deep/er/new", "empty"} {
		if into == "empty" {
			storetest.Must(t, os.Mkdir(filepath.Join(dir, into), 0o700))
		}
		c, out, err := repo.Clone(t.Context(), remote, filepath.Join(dir, into), nil)
		storetest.Must(t, err)
		if got := storetest.Said(t, storetest.Tape(t, c, "main")); out.Tapes != 1 || !slices.Contains(got, "theirs") || c.Dir() != filepath.Join(dir, into) {
			t.Errorf("%s: cloned %+v into %s, and main has %q; want one tape with \"theirs\"", into, out, c.Dir(), got)
		}
		if out := storetest.Git(t, c.Dir(), "status", "--porcelain"); out != "" {
			t.Errorf("%s: git status says\n%s", into, out)
		}
		storetest.Healthy(t, c.Dir())
	}
	storetest.Must(t, os.Mkdir(filepath.Join(dir, "kept"), 0o700))
	for _, into := range []string{"bad/one", "kept"} {
		if _, _, err := repo.Clone(t.Context(), filepath.Join(dir, "nowhere"), filepath.Join(dir, into), nil); err == nil {
			t.Errorf("cloning a missing repository into %s succeeded, want an error", into)
		}
	}
	if _, _, err := repo.Clone(t.Context(), remote, filepath.Join(dir, "new"), nil); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("cloning into a workspace: %v, want ErrConflict", err)
	}
	var names []string
	storetest.Must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d.Name() == layout.GitDirName || d.Name() == layout.AnchorsDir {
			return filepath.SkipDir
		}
		if d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir))
		}
		return err
	}))
	if want := []string{"", "/deep", "/deep/er", "/deep/er/new", "/empty", "/kept", "/new"}; !slices.Equal(names, want) {
		t.Errorf("the folders are %q, want %q", names, want)
	}
}
