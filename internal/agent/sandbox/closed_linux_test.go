package sandbox

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A repository in a folder that cannot be listed is found, and the user's folders stay as closed as they were.
func TestClosedFolder(t *testing.T) {
	project := resolved(t.TempDir())
	mustRun(t, project, "mkdir mine && chmod 0311 mine")
	w := &watch{project: project, projects: []string{project}}
	said := make(chan error)
	go func() {
		// The thread ends with the goroutine. Without these rights, modes count for root, too.
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
		}
		w.begin(nil)
		mustRun(t, project, "git init -q docs/x && git -C docs/x config core.fsmonitor /bin/false && chmod 0111 docs/x docs")
		said <- w.check(true)
	}()
	if err := <-said; err == nil || !strings.Contains(err.Error(), filepath.Join(project, "docs", "x", ".git")) {
		t.Errorf("said %v, want the repository named", err)
	}
	if _, err := os.Stat(filepath.Join(project, "docs", "x", ".git", headFile)); err == nil {
		t.Error("git still takes the folder for a repository")
	}
	if info, err := os.Stat(filepath.Join(project, "mine")); err != nil || info.Mode().Perm() != 0o311 {
		t.Errorf("the user's folder is %v, %v", info.Mode(), err)
	}
	mustRun(t, project, "chmod 0700 mine")
}
