package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// Another module can build the program in docs/go.md as that page describes, and the program reads a tape.
func TestOutside(t *testing.T) {
	root, err := filepath.Abs("..")
	storetest.Must(t, err)
	page := string(storetest.ReadFile(t, filepath.Join(root, "docs", "go.md")))
	_, program, ok := strings.Cut(page, "```go\npackage main\n")
	program, _, _ = strings.Cut(program, "```")
	if !ok {
		t.Fatal("docs/go.md has no program")
	}
	dir := t.TempDir()
	// These packages can be imported, too.
	for _, name := range []string{"merge", "hooks", "hooks/githooks", "index", "repo/view"} {
		program = strings.Replace(program, "import (\n", "import (\n\t_ \"tape/"+name+"\"\n", 1)
	}
	storetest.WriteFile(t, filepath.Join(dir, "main.go"), []byte("package main\n"+program))
	storetest.WriteFile(t, filepath.Join(dir, "go.sum"), storetest.ReadFile(t, filepath.Join(root, "go.sum")))
	ours := string(storetest.ReadFile(t, filepath.Join(root, "go.mod")))
	ours = strings.Replace(ours, "module tape\n", "module example.org/outside\n", 1)
	storetest.WriteFile(t, filepath.Join(dir, "go.mod"), []byte(ours+"\nrequire tape v0.0.0\n\nreplace tape => "+root+"\n"))

	build := exec.Command("go", "build", "-mod=mod", "-o", "outside", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := storetest.New(t, nil)
	storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "hello"))
	run := exec.Command(filepath.Join(dir, "outside"))
	run.Dir = s.Dir()
	if out, err := run.CombinedOutput(); err != nil || string(out) != "1 anchor\n2 message\n" {
		t.Errorf("the program prints (%v)\n%s\nwant an anchor and a message", err, out)
	}
}
