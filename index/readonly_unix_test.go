//go:build unix

package index

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tape/index/internal/store"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// asUser runs a process as a user who may not write to root's files.
func asUser(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// TestReadOnlyWorkspace searches where nothing can be written: with the existing index while it is
// fresh, otherwise with one in memory and a warning.
func TestReadOnlyWorkspace(t *testing.T) {
	t.Parallel()
	base, err := os.MkdirTemp("", "tape-readonly-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dir := filepath.Join(base, "ws")
	s, _, err := repo.Init(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	tp := openTape(t, s, "")
	mustAppend(t, tp, repo.Message("user", "one needle"))
	mode := func(folder, file os.FileMode) {
		t.Helper()
		if err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, folder)
			}
			return os.Chmod(path, file)
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { mode(0o700, 0o600); storetest.Healthy(t, dir) })
	// The test binary has to be where the user nobody can run it.
	program := copyOfSelf(t, base)
	ask := func(what string, wantMemory bool, want int) {
		t.Helper()
		mode(0o555, 0o555)
		defer mode(0o700, 0o700)
		before := snapshotOf(t, dir)
		lines := start(t, dir, "search", 1, func(cmd *exec.Cmd) { cmd.Path = program; cmd.Dir = base; asUser(cmd) }).end(t)
		if !slices.Contains(lines, fmt.Sprintf("found %d in memory %v", want, wantMemory)) {
			t.Errorf("%s: the search printed %q, want found %d in memory %v", what, lines, want, wantMemory)
		}
		said := slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "warning:") && strings.Contains(l, "in memory")
		})
		if said != wantMemory {
			t.Errorf("%s: the search printed %q, want a warning about memory: %v", what, lines, wantMemory)
		}
		if after := snapshotOf(t, dir); after != before {
			t.Errorf("%s: the files changed: got\n%s\nwant\n%s", what, after, before)
		}
	}
	ask("no index", true, 1)
	mustSync(t, testIndex(t, s))
	ask("a fresh index", false, 1)
	mustAppend(t, tp, repo.Message("user", "another needle"))
	ask("a stale index", true, 2)
	mustSync(t, testIndex(t, s))
	end := writingElsewhere(t, s.IndexFile())
	half, journal := readFile(t, s.IndexFile()), readFile(t, s.IndexFile()+"-journal")
	end()
	writeFile(t, s.IndexFile(), half)
	writeFile(t, s.IndexFile()+"-journal", journal)
	ask("a journal that cannot be rolled back", true, 2)
	mustSync(t, testIndex(t, s))
	spoilWords(t, s.IndexFile())
	ask("an index without words", true, 2)
	writeFile(t, s.IndexFile(), []byte("no database, but longer than the header of one would be: "+strings.Repeat("x", 100)))
	ask("a foreign file", true, 2)
	writeFile(t, s.IndexFile(), nil)
	ask("an empty file", true, 2)
}

// spoilWords damages the pages of words, but not the pages that are read before them.
func spoilWords(t testing.TB, path string) {
	t.Helper()
	d, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Script("UPDATE entries_fts_data SET block = zeroblob(length(block)) WHERE id > 10"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func copyOfSelf(t testing.TB, dir string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "program")
	// Another process copies the file: if this one did, a child could inherit the file while it is open
	// for writing, and it could not be run.
	if out, err := exec.Command("cp", self, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// snapshotOf lists the files of a folder with their sizes.
func snapshotOf(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintln(&b, path, info.Size())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
