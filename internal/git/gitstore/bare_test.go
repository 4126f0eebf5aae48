package gitstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
)

const hookEnv = "TAPE_TEST_HOOK"

// TestOpenBareInHook also runs as a pre-receive hook of git receive-pack: there it reads the pushed
// commit, and one that the server has, and refuses the branch "bad".
func TestOpenBareInHook(t *testing.T) {
	if os.Getenv(hookEnv) != "" {
		stdin, err := io.ReadAll(os.Stdin)
		if err != nil {
			t.Fatal(err)
		}
		preReceive(t, strings.Fields(string(stdin)))
		return
	}
	j := gitjudge.New(t)
	server := filepath.Join(t.TempDir(), `a "b":c.git`)
	j.Git("init", "-q", "--bare", server)
	hook := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' -test.run='^TestOpenBareInHook$'\n", hookEnv, os.Args[0])
	j.OK(os.WriteFile(filepath.Join(server, "hooks", "pre-receive"), []byte(hook), 0o700))
	j.Write("a", "1\n")
	j.Git("add", ".")
	j.Git("commit", "-qm", "one")
	for i := range 3 {
		j.Write("a", strings.Repeat("more\n", i+2))
		j.Git("commit", "-qam", "next")
		if out, err := j.TryGit(j.Dir, "push", server, "HEAD:refs/heads/good"); err != nil {
			t.Fatalf("the hook should accept the branch good: %v, %s", err, out)
		}
		j.GitIn(server, "config", "receive.unpackLimit", fmt.Sprint(i)) // as loose objects, then as a pack
	}
	j.Git("commit", "-q", "--allow-empty", "-m", "last")
	last := j.Hash(j.Git("rev-parse", "HEAD"))
	if out, err := j.TryGit(j.Dir, "push", server, "HEAD:refs/heads/bad"); err == nil || !strings.Contains(out, "hook declined") {
		t.Fatalf("the hook should refuse the branch bad: %v, %s", err, out)
	}
	r, err := OpenBare(server, nil)
	j.OK(err)
	if h, err := r.Ref("refs/heads/good"); err != nil || h == last {
		t.Errorf("the branch good holds %s, %v; want the commit that was pushed to it", h, err)
	}
	if _, err := r.Commit(last); !errors.Is(err, ErrNotFound) {
		t.Errorf("the refused commit: %v, want ErrNotFound", err)
	}
	if w, err := r.Worktrees(); err != nil || len(w) != 0 {
		t.Errorf("a bare repository has the worktrees %v, %v", w, err)
	}
	if _, err := OpenBare(t.TempDir(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder: %v, want os.ErrNotExist", err)
	}
}

func preReceive(t *testing.T, args []string) {
	if os.Getenv("GIT_QUARANTINE_PATH") == "" {
		t.Fatal("git does not quarantine what is pushed")
	}
	r, err := OpenBare(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range args[:2] {
		h, err := ParseHash(arg)
		if err != nil {
			t.Fatal(err)
		}
		if h.IsZero() {
			continue
		}
		c, err := r.Commit(h)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := r.Tree(c.Tree)
		if err != nil {
			t.Fatal(err)
		}
		want, err := exec.Command("git", "cat-file", "blob", tree[0].Hash.String()).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Blob(tree[0].Hash); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q %v, git reads %q", got, err, want)
		}
	}
	if args[2] == "refs/heads/bad" {
		t.Fatal("refused")
	}
}

func TestSplitPaths(t *testing.T) {
	if os.PathListSeparator != ':' {
		t.Skip("written for colons")
	}
	for list, want := range map[string][]string{
		"": nil, "/a": {"/a"}, "/a:/b": {"/a", "/b"}, `"/a:\"\303\274\\":/b`: {`/a:"ü\`, "/b"},
		`/a"b:/c`: {`/a"b`, "/c"}, `"/a:/b`: {`"/a`, "/b"}, `"/a\tb"`: {"/a\tb"},
	} {
		if got := splitPaths(list); !slices.Equal(got, want) {
			t.Errorf("%s is split into %q, not %q", list, got, want)
		}
	}
}
