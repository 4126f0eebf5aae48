package projects_test

import (
	"os"
	"path/filepath"
	"testing"

	"tape/internal/store/projects"
	"tape/internal/store/workspace"
)

// TestElsewhere: a path of Windows is in no folder of this system, as on WSL or a server. Its sessions are of a project of
// their own, not of the workspace in which they are imported.
func TestElsewhere(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("paths of Windows are its own")
	}
	top := workspace.ResolvePath(t.TempDir())
	here := filepath.Join(top, "here")
	t.Setenv(workspace.EnvHome, filepath.Join(top, "workspaces"))
	t.Setenv("HOME", filepath.Join(top, "home"))
	if err := os.Mkdir(here, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	in, err := workspace.WorkspaceFor(here)
	if err != nil {
		t.Fatal(err)
	}
	store, err := workspace.Create(in, workspace.DefaultTape, &workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.NoteProject(here); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		`D:\work\oh-my-posh`: "oh-my-posh", `c:/Games/Douluo`: "Douluo", `\\server\share\health`: "health",
		`C:\w\shop\.worktrees\fix`: "shop", here: "here",
	} {
		if name := projects.NameIn(in, dir); name != want {
			t.Errorf("%s is of %q, want %q", dir, name, want)
		}
		if projects.Holds(in, dir) != (dir == here) {
			t.Errorf("%s is of the workspace here: %t", dir, dir != here)
		}
	}
	if in, project, err := projects.ForSession(`D:\work\shop`, ""); err != nil || project != `D:\work\shop` || filepath.Base(in)[:5] != "shop-" {
		t.Errorf("its sessions go to %s of %s, %v", in, project, err)
	}
	if err := os.Mkdir(`D:\there`, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := workspace.ResolvePath(`D:\there`); !filepath.IsAbs(got) {
		t.Errorf("a folder of that name is %s", got)
	}
}
