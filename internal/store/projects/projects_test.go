package projects_test

import (
	"os"
	"path/filepath"
	"testing"

	"tape/internal/store/projects"
	"tape/internal/store/workspace"
)

// TestHomeThroughLink: neither a repository nor a workspace of the home directory counts for the folders below it, also
// if HOME is a link.
func TestHomeThroughLink(t *testing.T) {
	top := workspace.ResolvePath(t.TempDir())
	home, shop, link := filepath.Join(top, "home"), filepath.Join(top, "home", "shop"), filepath.Join(top, "link")
	t.Setenv(workspace.EnvHome, filepath.Join(top, "workspaces"))
	t.Setenv("HOME", link)
	ofHome, err := workspace.WorkspaceFor(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(home, ".git"), shop, filepath.Join(ofHome, ".git", "tape")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	want, err := workspace.WorkspaceFor(shop)
	if err != nil {
		t.Fatal(err)
	}
	in, project, err := projects.ForSession(filepath.Join(link, "shop"), "")
	if err != nil || in != want || project != shop {
		t.Errorf("a session in %s goes to %s, of the project %s (%v), want %s and the folder itself", shop, in, project, err, want)
	}
}
