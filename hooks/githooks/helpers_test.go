package githooks

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

func TestMain(m *testing.M) {
	testkit.Main(m, map[string]string{
		"GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.org",
		"GIT_COMMITTER_NAME": "Test", "GIT_COMMITTER_EMAIL": "test@example.org",
	}, driver)
}

// driver is the program that git runs to merge a file. It records whether git runs it for a merge, and
// leaves a conflict.
func driver(string) {
	r, err := Locate()
	if err != nil {
		panic(err)
	}
	merging, err := r.IsMerge()
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(os.Getenv("TAPE_TEST_LOG"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, merging); err != nil {
		panic(err)
	}
	os.Exit(1)
}

// runGit is for commands that may fail.
func runGit(dir string, args ...string) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	_ = cmd.Run()
}

func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("git for Windows brings the shell that runs hooks; it need not be on the PATH")
	}
}

func newStore(t *testing.T) *repo.Store {
	t.Helper()
	store, _, err := repo.Init(context.Background(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func hooksOf(store *repo.Store) string { return filepath.Join(store.Dir(), ".git", "hooks") }

func mustInstall(t *testing.T, store *repo.Store) Report {
	t.Helper()
	r, err := Install(context.Background(), store)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustUninstall(t *testing.T, store *repo.Store) Report {
	t.Helper()
	r, err := Uninstall(context.Background(), store)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func put(t *testing.T, path, content string, perm os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), perm); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}

// folder describes a folder: names with modes, and contents or targets of links.
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	names, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, n := range names {
		path := filepath.Join(dir, n.Name())
		st, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.Mode()&os.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			out[n.Name()] = "-> " + target
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[n.Name()] = st.Mode().String() + " " + string(content)
	}
	return out
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
