package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A plain git clone of a workspace can be opened.
func TestClone(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "one"))
	storetest.Handoff(t, tp, "build")
	storetest.Append(t, tp, repo.Message("user", "two"))
	storetest.Checkpoint(t, tp)
	dir := filepath.Join(t.TempDir(), "clone")
	storetest.Git(t, s.Dir(), "clone", "--quiet", s.Dir(), dir)
	storetest.HealthyAtEnd(t, dir)

	c := storetest.Reopen(t, dir)
	if got := c.CurrentTape(); got != "main" {
		t.Errorf("the current tape of the clone is %q, want main", got)
	}
	there := storetest.Tape(t, c, "")
	if got, want := storetest.Lines(storetest.Entries(t, there, repo.Query{})), storetest.Lines(storetest.Entries(t, tp, repo.Query{})); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the clone reads\n%q\nwant\n%q", got, want)
	}
	if e := storetest.Append(t, there, repo.Message("user", "three")); e[0].ID != 5 {
		t.Errorf("the next id is %d, want 5", e[0].ID)
	}
	storetest.Handoff(t, there, "next")
	storetest.WantClean(t, dir)
	if _, err := os.Stat(filepath.Join(s.Dir(), "anchors", "003_next")); err == nil {
		t.Error("the clone wrote into the original")
	}

	again, created, err := repo.Init(t.Context(), dir, nil)
	if err != nil || created {
		t.Errorf("Init in a clone: created=%v, %v; want false", created, err)
	} else if got := again.CurrentTape(); got != "main" {
		t.Errorf("after Init the current tape is %q, want main", got)
	}
}

// Repositories that would be misread are refused.
func TestUnsupported(t *testing.T) {
	source := storetest.New(t, nil)
	storetest.Handoff(t, storetest.Tape(t, source, ""), "second")
	for name, create := range map[string]func(dir string) *exec.Cmd{
		"shallow": func(dir string) *exec.Cmd {
			return exec.Command("git", "clone", "--quiet", "--depth=1", "file://"+source.Dir(), dir)
		},
		"sha256": func(dir string) *exec.Cmd {
			return exec.Command("git", "init", "--quiet", "--object-format=sha256", dir)
		},
		"reftable": func(dir string) *exec.Cmd {
			return exec.Command("git", "init", "--quiet", "--ref-format=reftable", dir)
		},
		"reftable, by its settings": func(dir string) *exec.Cmd { return exec.Command("git", "init", "--quiet", dir) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ws")
			if out, err := create(dir).CombinedOutput(); err != nil {
				t.Skipf("this git cannot make one: %v\n%s", err, out)
			}
			storetest.Mkdir(t, dir, ".git", "tape") // so that it looks like a workspace
			if name == "reftable, by its settings" {
				path := filepath.Join(dir, ".git", "config")
				storetest.WriteFile(t, path, append(storetest.ReadFile(t, path), "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\trefStorage = reftable\n"...))
			}
			before := listAll(t, dir)
			_, openErr := repo.Open(t.Context(), dir, nil)
			_, _, initErr := repo.Init(t.Context(), dir, nil)
			for what, err := range map[string]error{"Open": openErr, "Init": initErr} {
				var unsupported *gitstore.UnsupportedError
				if !errors.As(err, &unsupported) {
					t.Errorf("%s returned %v, want an UnsupportedError", what, err)
				} else if len(repo.Hints(err)) == 0 {
					t.Errorf("%s gives no hint: %v", what, err)
				}
			}
			if after := listAll(t, dir); after != before {
				t.Errorf("the refused repository was changed to\n%s\nfrom\n%s", after, before)
			}
		})
	}
}

// listAll lists all files below a folder.
func listAll(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Other folders are refused, and not changed.
func TestNotAWorkspace(t *testing.T) {
	empty := t.TempDir()
	_, err := repo.Open(t.Context(), empty, nil)
	storetest.WantIs(t, err, repo.ErrNotFound)
	_, err = repo.Open(t.Context(), filepath.Join(empty, "missing"), nil)
	storetest.WantIs(t, err, repo.ErrNotFound)
	file := filepath.Join(empty, "file")
	storetest.WriteFile(t, file, []byte("mine"))
	for _, open := range []func(string) error{
		func(dir string) error { _, err := repo.Open(t.Context(), dir, nil); return err },
		func(dir string) error { _, _, err := repo.Init(t.Context(), dir, nil); return err },
	} {
		storetest.WantIs(t, open(file), repo.ErrInvalid)
	}
	project := filepath.Join(empty, "project")
	storetest.Git(t, empty, "init", "--quiet", project)
	before := listAll(t, project)
	_, _, err = repo.Init(t.Context(), project, nil)
	storetest.WantIs(t, err, repo.ErrInvalid)
	if after := listAll(t, project); after != before {
		t.Errorf("a foreign repository was written to:\n%s", after)
	}
	if string(storetest.ReadFile(t, file)) != "mine" {
		t.Error("a foreign file was written to")
	}
}
