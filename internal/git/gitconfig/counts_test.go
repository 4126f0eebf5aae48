//go:build unix

package gitconfig

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/testkit/gitjudge"
)

// In a repository that is not the user's own, its harmless settings count, and the user's settings.
func TestStrangersSettings(t *testing.T) {
	j := gitjudge.New(t)
	j.OK(os.WriteFile(filepath.Join(os.Getenv("HOME"), ".gitconfig"), []byte("[gpg]\n program = users\n[credential \"https://x\"]\n helper = mine\n"), 0o600))
	for key, value := range map[string]string{"gpg.program": "evil", "core.sshCommand": "evil", "commit.gpgSign": "true", "tag.gpgSign": "false",
		"url.a.insteadOf": "b", "remote.origin.url": "c", "credential.helper": "evil", "user.name": "Bob", "include.path": "more"} {
		j.Git("config", key, value)
	}
	j.Write(".git/more", "[user]\n email = evil@example.org\n")
	var told []string
	c := New(j.GitDir, gitlock.Locks{}, nil, func(names []string) { told = append(told, names...) })
	for _, want := range [][4]string{{"gpg", "", "program", "users"}, {"core", "", "sshCommand", ""}, {"commit", "", "gpgSign", ""}, {"tag", "", "gpgSign", "false"},
		{"url", "a", "insteadOf", ""}, {"remote", "origin", "url", "c"}, {"user", "", "name", "Bob"}, {"user", "", "email", ""}} {
		if got, _ := c.Value(want[0], want[1], want[2]); got != want[3] {
			t.Errorf("%s.%s.%s is %q, not %q", want[0], want[1], want[2], got, want[3])
		}
	}
	slices.Sort(told)
	if got := strings.Join(told, " "); got != "commit.gpgsign core.sshcommand credential.helper gpg.program" {
		t.Errorf("reported as passed over: %s", got)
	}
	got := strings.Join(c.Overrides([]Entry{EntryOf("credential.helper", "evil"), EntryOf("core.sshcommand", "evil")}), "|")
	if want := "core.hooksPath=" + os.DevNull + "|core.fsmonitor=|core.sshCommand=ssh|credential.helper=|credential.https://x.helper=mine"; got != want {
		t.Errorf("overrides are %s, not %s", got, want)
	}
	own := New(j.GitDir, gitlock.Locks{}, func(string) bool { return true }, nil)
	if v, _ := own.Value("user", "", "email"); v != "evil@example.org" {
		t.Errorf("in the user's own repository, user.email is %q, not that of the included file", v)
	}
}

// Files that are not configuration give an error, and do not block or take long.
func TestStrangeFiles(t *testing.T) {
	j := gitjudge.New(t)
	path := filepath.Join(j.GitDir, "config")
	refused := func(what string) {
		t.Helper()
		started := time.Now()
		if _, err := New(j.GitDir, gitlock.Locks{}, nil, nil).Load(); err == nil {
			t.Errorf("%s: no error", what)
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("%s: it took %s", what, took)
		}
	}
	j.OK(os.WriteFile(path, []byte("# \x00\n[core]\n fsmonitor = evil\n"), 0o600)) // git reads on after it
	refused("a NUL byte")
	j.OK(os.WriteFile(path, []byte("[a]\nb = c"+strings.Repeat(" ", 3<<20)+"\\q\n"), 0o600))
	refused("three million spaces")
	j.OK(os.WriteFile(path, nil, 0o600))
	j.OK(os.Truncate(path, 1<<40))
	refused("a huge file")
	j.OK(os.Remove(path))
	j.OK(syscall.Mkfifo(path, 0o600))
	refused("a pipe")
}
