package trace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=a@b")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFile: a file is the same in all worktrees of its project, here and elsewhere, and under its former name, but
// not the file of that name in another project.
func TestFile(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shop, tree, blog := filepath.Join(top, "shop"), filepath.Join(top, "wt", "1"), filepath.Join(top, "blog")
	put(t, filepath.Join(shop, "cmd", "old.go"), "package main\n\nfunc main() {\n\tprintln(1)\n}\n")
	put(t, filepath.Join(blog, "cmd", "new.go"), "")
	put(t, filepath.Join(shop, "lib", "shop", "a.go"), "")
	git(t, shop, "init", "-q")
	git(t, shop, "add", ".")
	git(t, shop, "commit", "-qm", "one")
	git(t, shop, "mv", "cmd/old.go", "cmd/new.go")
	git(t, shop, "commit", "-qm", "two")
	git(t, shop, "worktree", "add", "-q", tree)
	if err := os.Symlink(shop, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(shop, "cmd/new.go"), filepath.Join(top, "link/cmd/new.go"), filepath.Join(tree, "cmd/new.go")} {
		f, err := FileNamed(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"cmd/new.go", "cmd/old.go"}; !slices.Equal(f.Names, want) || !slices.Equal(f.Bases(), []string{"new.go", "old.go"}) {
			t.Errorf("the names of %s are %q, their ends %q, not %q", name, f.Names, f.Bases(), want)
		}
		for path, want := range map[string]bool{
			filepath.Join(shop, "cmd/new.go"):     true,
			filepath.Join(tree, "cmd/old.go"):     true,
			filepath.Join(top, "link/cmd/new.go"): true,
			"/elsewhere/shop/cmd/new.go":          true,
			"/elsewhere/shop/.trees/x/cmd/new.go": true,
			"/shop/old/shop/cmd/new.go":           true, // a folder above it has its name, too
			"/shop/old/blog/cmd/new.go":           false,
			"/elsewhere/shop/lib/shop/cmd/new.go": false,
			"cmd/new.go":                          true, // of a session whose directory is not known
			filepath.Join(blog, "cmd/new.go"):     false,
			filepath.Join(shop, "a/cmd/new.go"):   false,
			"/elsewhere/blog/cmd/new.go":          false,
			filepath.Join(shop, "new.go"):         false,
		} {
			if got := f.Is(path); got != want {
				t.Errorf("%s is taken for %s: %v, not %v", path, name, got, want)
			}
		}
	}
	clone := filepath.Join(top, "my-shop")
	git(t, top, "clone", "-q", shop, clone)
	git(t, clone, "remote", "set-url", "origin", "ada@example.org:team/shop.git")
	cloned, err := FileNamed(t.Context(), filepath.Join(clone, "cmd/new.go"))
	if err != nil || !cloned.Is("/elsewhere/my-shop/cmd/new.go") || !cloned.Is("/elsewhere/shop/cmd/new.go") || cloned.Is("/elsewhere/blog/cmd/new.go") || cloned.Is(filepath.Join(shop, "cmd/new.go")) {
		t.Errorf("in a clone with a name of its own, the file is that of the wrong folders (%v): %+v", err, cloned)
	}
	folder, err := FileNamed(t.Context(), filepath.Join(shop, "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := FileNamed(t.Context(), filepath.Join(shop, "lib", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	gone, err := FileNamed(t.Context(), filepath.Join(shop, "gone", "a.go"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := FileNamed(t.Context(), filepath.Join(blog, "cmd", "new.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !folder.Is(filepath.Join(tree, "cmd/sub/x.go")) || !inner.Is("/elsewhere/shop/lib/shop/a.go") || folder.Is(filepath.Join(shop, "x.go")) || folder.Bases() != nil ||
		!gone.Is(filepath.Join(shop, "gone/a.go")) || gone.Is(filepath.Join(shop, "gone/b.go")) ||
		!plain.Is(filepath.Join(blog, "cmd/new.go")) || plain.Is(filepath.Join(shop, "cmd/new.go")) {
		t.Errorf("a folder, a deleted file or a file outside a repository matches wrong paths:\n%+v\n%+v\n%+v\n%+v", folder, inner, gone, plain)
	}
}
