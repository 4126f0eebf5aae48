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
		w.begin(nil, "")
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

// In shared memory, a command makes no repository, not even of files beside those of other programs, and what these make
// meanwhile stays as it is.
func TestSharedMemory(t *testing.T) {
	project, shared := resolved(t.TempDir()), resolved(t.TempDir())
	mustRun(t, project, "git init -q . && echo 'echo x >"+project+"/proof' >evil.sh && chmod +x evil.sh")
	for _, s := range kinds(t, Options{Project: project, Home: filepath.Join(project, "home")}) {
		if s.Kind() != "Landlock" {
			continue
		}
		s.memory = shared
		out, _ := confined(t, s, project, "echo 1 >"+shared+"/memory && ln -s /proc/self/cwd around; mkdir "+shared+"/x; git init -q --bare evil; git -C evil config core.fsmonitor $PWD/evil.sh; mv evil/HEAD .; mkdir docs link;"+
			" cp HEAD "+shared+"; echo $PWD/evil >"+shared+"/commondir; echo gitdir: "+shared+" >docs/.git; ln -s "+shared+" link/.git; ln -s "+shared+" to")
		mustRun(t, project, "for d in docs link to; do git -C $d status; done >/dev/null 2>&1; true")
		if _, err := os.Stat(filepath.Join(project, "proof")); err == nil {
			t.Errorf("git ran the command's program; the command said:\n%s", out)
		}
		if _, err := os.Stat(filepath.Join(shared, "memory")); err != nil {
			t.Errorf("a command cannot share memory: %v; it said:\n%s", err, out)
		}
		if _, err := os.Stat(filepath.Join(shared, "x")); err == nil {
			t.Error("a command made a folder in shared memory")
		}
		others := filepath.Join(shared, "others")
		mustRun(t, shared, "rm -f HEAD commondir memory; git init -q others && git -C others config core.fsmonitor /bin/false")
		out, _ = confined(t, s, project, "echo 1 >"+shared+"/memory; git -C "+others+" config core.fsmonitor $PWD/evil.sh")
		if _, err := os.Stat(filepath.Join(shared, "memory")); err == nil {
			t.Errorf("a command writes where another program has a repository; it said:\n%s", out)
		}
		mustRun(t, others, `[ "$(git config core.fsmonitor)" = /bin/false ] && [ -f .git/HEAD ]`)
	}
}
