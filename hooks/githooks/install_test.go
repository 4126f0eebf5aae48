package githooks

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tape/internal/git/disk"
	"tape/repo"
)

// Installing again writes nothing; uninstalling leaves nothing.
func TestInstallTwice(t *testing.T) {
	store := newStore(t)
	put(t, filepath.Join(hooksOf(store), "pre-commit.sample"), "#!/bin/sh\n", 0o755)
	before := folder(t, hooksOf(store))
	first := mustInstall(t, store)
	if len(first.Installed) != 6 || len(first.Changed) != 6 || len(first.Own) != 0 || first.Dir != hooksOf(store) {
		t.Errorf("the first installation: got %+v, want 6 hooks installed and changed in %s", first, hooksOf(store))
	}
	st, err := os.Stat(filepath.Join(hooksOf(store), "pre-commit"))
	if err != nil || st.Mode().Perm() != hookPerm && os.PathSeparator == '/' {
		t.Errorf("pre-commit has the mode %v (%v), want %v", st.Mode(), err, hookPerm)
	}
	installed := folder(t, hooksOf(store))
	again := mustInstall(t, store)
	if len(again.Changed) != 0 || !maps.Equal(folder(t, hooksOf(store)), installed) {
		t.Errorf("the second installation changed %v, want no change", again.Changed)
	}
	now, err := inWorkspace(context.Background(), store, func(i *installer, _ context.Context) (Report, error) { return i.report(nil, nil) })
	if !reflect.DeepEqual(now.Installed, first.Installed) || err != nil {
		t.Errorf("the report says %+v (%v), want the hooks %v", now, err, first.Installed)
	}
	if gone := mustUninstall(t, store); len(gone.Changed) != 6 || len(gone.Installed) != 0 {
		t.Errorf("uninstalling: got %+v, want 6 hooks changed and none installed", gone)
	}
	if got := folder(t, hooksOf(store)); !maps.Equal(got, before) {
		t.Errorf("after uninstalling, the folder has %v, want %v", got, before)
	}
	if none := mustUninstall(t, store); len(none.Changed) != 0 {
		t.Errorf("uninstalling again: got %+v, want no change", none)
	}
}

// ownHooks writes a user's own hooks: a script, a script that is not executable, and a link. It also writes
// a file whose name Install would choose.
func ownHooks(t *testing.T, dir string) map[string]string {
	t.Helper()
	put(t, filepath.Join(dir, "pre-commit"), "#!/bin/sh\n# mine\nexit 0", 0o755)
	put(t, filepath.Join(dir, "post-merge"), "#!/bin/sh\nexit 1\n", 0o640)
	put(t, filepath.Join(dir, "pre-push.own"), "somebody's notes\n", 0o600)
	if err := os.Symlink("../tool", filepath.Join(dir, "pre-push")); err != nil {
		t.Fatal(err)
	}
	return folder(t, dir)
}

// A user's own hook is kept under another name, and restored byte for byte.
func TestOwnHooksComeBack(t *testing.T) {
	needsShell(t)
	store := newStore(t)
	before := ownHooks(t, hooksOf(store))
	r := mustInstall(t, store)
	if want := []string{"pre-commit.own", "pre-push.own-2", "post-merge.own"}; !reflect.DeepEqual(r.Own, want) {
		t.Errorf("own hooks: got %v, want %v", r.Own, want)
	}
	there := folder(t, hooksOf(store))
	if there["pre-commit.own"] != before["pre-commit"] || there["pre-push.own-2"] != "-> ../tool" || there["pre-push.own"] != before["pre-push.own"] {
		t.Errorf("the folder has %v, want the own hooks as they were: %v", there, before)
	}
	if r := mustInstall(t, store); len(r.Changed) != 0 || len(r.Own) != 3 {
		t.Errorf("installing again: got %+v, want no change and 3 own hooks", r)
	}
	mustUninstall(t, store)
	if got := folder(t, hooksOf(store)); !maps.Equal(got, before) {
		t.Errorf("got  %v\nwant %v", got, before)
	}
}

// An older version's script is replaced, and still calls the user's own hook.
func TestInstallUpgrades(t *testing.T) {
	store := newStore(t)
	put(t, filepath.Join(hooksOf(store), "pre-commit.own"), "#!/bin/sh\n", 0o755)
	put(t, filepath.Join(hooksOf(store), "pre-commit"), "#!/bin/sh\n"+mark+"\nown=pre-commit.own\n", 0o700)
	r := mustInstall(t, store)
	if !reflect.DeepEqual(r.Own, []string{"pre-commit.own"}) || len(r.Changed) != 6 {
		t.Errorf("got %+v, want 6 changed hooks, and pre-commit.own as the own hook", r)
	}
	// Install never chooses a name in another folder, so such a name is ignored.
	put(t, filepath.Join(hooksOf(store), "pre-push"), "#!/bin/sh\n"+mark+"\nown=../../x\n", 0o700)
	put(t, filepath.Join(store.Dir(), "x"), "#!/bin/sh\n", 0o755)
	mustUninstall(t, store)
	if _, err := os.Stat(filepath.Join(store.Dir(), "x")); err != nil {
		t.Errorf("a file outside the hooks folder: %v", err)
	}
}

// Wherever an installation fails, git finds the user's hook, or one of ours that calls it. The
// installation can then be completed or undone.
func TestInstallFails(t *testing.T) {
	needsShell(t)
	store := newStore(t)
	dir := hooksOf(store)
	before := ownHooks(t, dir)
	ctx := context.Background()
	for n := 1; ; n++ {
		i, err := newInstaller(filepath.Join(store.Dir(), ".git"), workspaceHooks())
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		i.fs = &disk.FS{Fault: func(disk.Op, string) error {
			if at++; at == n {
				return errors.New("no")
			}
			return nil
		}}
		_, err = i.install(ctx)
		there := folder(t, dir)
		if _, _, own, _ := i.read("pre-commit"); there["pre-commit"] != before["pre-commit"] && (own == "" || there[own] != before["pre-commit"]) {
			t.Fatalf("step %d: the own hook is lost: %v", n, there)
		}
		mustInstall(t, store)
		mustUninstall(t, store)
		if got := folder(t, dir); !maps.Equal(got, before) {
			t.Fatalf("step %d: got %v\nwant %v", n, got, before)
		}
		if err == nil {
			if at < 20 {
				t.Fatalf("an installation has only %d disk operations, want at least 20", at)
			}
			return
		}
	}
}

// A hook manager that was installed later calls ours under another name. Installing again must not
// make the two call each other.
func TestHookChainedByAManagerStays(t *testing.T) {
	store := newStore(t)
	mustInstall(t, store)
	path := filepath.Join(hooksOf(store), "pre-commit")
	if err := os.Rename(path, path+".legacy"); err != nil {
		t.Fatal(err)
	}
	put(t, path, "#!/bin/sh\nexec \"$0.legacy\" \"$@\"\n", 0o755)
	before := folder(t, hooksOf(store))
	r := mustInstall(t, store)
	if len(r.Changed) != 0 || len(r.Installed) != 6 || !maps.Equal(folder(t, hooksOf(store)), before) {
		t.Errorf("got %+v, want 6 installed hooks and no change", r)
	}
}

// A folder named by core.hooksPath is written to only if it is inside the repository.
func TestHooksPath(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, c := range []struct {
		set     string
		outside bool
	}{
		{".git/my-hooks", false},
		{".githooks", true},
		{filepath.ToSlash(filepath.Join(t.TempDir(), "all")), true},
		{"~/hooks", true},
		{"", true},
	} {
		store := newStore(t)
		mustInstall(t, store)
		git(t, store.Dir(), "config", "core.hooksPath", c.set)
		if r := mustUninstall(t, store); len(r.Changed) != 6 {
			t.Errorf("%s: uninstalling after core.hooksPath was set: got %+v, want 6 changed hooks", c.set, r)
		}
		r := mustInstall(t, store)
		wrote := map[string]string{}
		if r.Dir != "" {
			wrote = folder(t, r.Dir)
		}
		if r.Outside != c.outside || len(wrote) > 0 == c.outside || len(r.Lines) > 0 != c.outside {
			t.Errorf("%s: got %+v, wrote %v; want outside %v, with lines and nothing written if outside", c.set, r, wrote, c.outside)
		}
		if len(folder(t, hooksOf(store))) > 0 {
			t.Errorf("%s: .git/hooks has files, but git does not look there", c.set)
		}
		mustUninstall(t, store)
		if r.Dir != "" && len(folder(t, r.Dir)) > 0 {
			t.Errorf("%s: after uninstalling, %s has %v, want no files", c.set, r.Dir, folder(t, r.Dir))
		}
	}
}

func TestServer(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	if _, err := InstallServer(ctx, dir); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("installing into a folder that is not a repository: got %v, want ErrNotFound", err)
	}
	git(t, dir, "init", "-q", "--bare", "--shared=group", "a.git")
	git(t, dir, "init", "-q", "b")
	for name, want := range map[string]string{"a.git": "a.git/hooks/pre-receive", "b": "b/.git/hooks/pre-receive"} {
		r, err := InstallServer(ctx, filepath.Join(dir, name))
		if err != nil || !reflect.DeepEqual(r.Installed, []string{"pre-receive"}) {
			t.Errorf("%s: installed %+v (%v), want pre-receive", name, r, err)
		}
		st, err := os.Stat(filepath.Join(dir, filepath.FromSlash(want)))
		if err != nil {
			t.Fatal(err)
		}
		if name == "a.git" && st.Mode().Perm()&0o050 != 0o050 && os.PathSeparator == '/' {
			t.Errorf("%s has the mode %v: git does not run it for others in the group who push", want, st.Mode())
		}
		if r, err = UninstallServer(ctx, filepath.Join(dir, name)); err != nil || len(r.Installed) > 0 || len(r.Changed) != 1 {
			t.Errorf("%s: uninstalled %+v (%v), want one changed hook and none installed", name, r, err)
		}
	}
}
