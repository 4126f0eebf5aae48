package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tape/internal/testkit/gitjudge"
)

// sharer is one of the users of the page docs/sharing.md, on a machine of their own.
type sharer struct {
	t    *testing.T
	home string
	env  []string
}

func newSharer(t *testing.T, name, remote string) *sharer {
	t.Helper()
	u := &sharer{t: t, home: filepath.Join(t.TempDir(), name)}
	u.env = append(os.Environ(), "HOME="+u.home, "TAPE_HOME="+filepath.Join(u.home, ".tape"), "GIT_CONFIG_NOSYSTEM=1",
		"TAPE_WORKSPACE=", "TAPE_NAME=", "LC_ALL=C.UTF-8", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL="+filepath.Join(u.home, ".gitconfig"))
	for _, dir := range []string{"work/shop", "src/shop"} {
		if err := os.MkdirAll(filepath.Join(u.home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// The address in docs/sharing.md leads to the test's own server.
	config := fmt.Sprintf("[user]\n\tname = %s\n\temail = %s@example.org\n[url %q]\n\tinsteadOf = git@example.org:team/\n", name, name, remote+"/")
	if err := os.WriteFile(filepath.Join(u.home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return u
}

// run runs commands in a shell, which stops at the first command that fails, and returns their output.
func (u *sharer) run(commands string) string {
	u.t.Helper()
	cmd := exec.Command("sh", "-e", "-c", commands)
	cmd.Dir, cmd.Env = u.home, u.env
	out, err := cmd.CombinedOutput()
	u.t.Logf("%s\n%s", strings.TrimSpace(commands), out)
	if err != nil {
		u.t.Fatal(err)
	}
	return string(out)
}

// sharingCommands returns the blocks of commands of the page docs/sharing.md.
func sharingCommands(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "sharing.md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)\n```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		out = append(out, m[1])
	}
	return out
}

// Two users, and a third who has only git, follow docs/sharing.md word for word, through a server that asks for a
// password. In the end, the two have the same tape.
func TestSharing(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no shell")
	}
	root := t.TempDir()
	gitjudge.BareIn(t, filepath.Join(root, "sessions.git"))
	remote := gitjudge.HTTP(t, root, "team", "key")
	users := map[string]*sharer{}
	for _, name := range []string{"Ada", "Bob", "Carol"} {
		users[name] = newSharer(t, name, remote)
	}
	users["Ada"].run(`cd ~/work/shop; tape init
tape append --role user --text 'add a health check'
tape handoff review --summary 'endpoint added'
tape append --role assistant --text 'ready for review'`)
	said := map[string]string{}
	blocks := sharingCommands(t)
	for _, block := range blocks {
		m := regexp.MustCompile(`# (Ada|Bob|Carol)\n`).FindStringSubmatch(block)
		if m == nil {
			t.Fatalf("docs/sharing.md does not say who runs these commands:\n%s", block)
		}
		said[m[1]] += users[m[1]].run(block)
	}
	for name, wants := range map[string][]string{
		"Ada":   {"pushed, new there", "git clone -b tape/main ", "run tape pull", "merged with local entries", "main/try-grpc", "closed there"},
		"Bob":   {"cloned 1 tape into", "main/try-grpc  1 entry  pushed, new there", "closed, because it was merged", "MESSAGES  ORIGIN", "message/user take it"},
		"Carol": {"merge: try-grpc", "handoff: review", "origin/tape/main", "ready for review"},
	} {
		for _, want := range wants {
			if !strings.Contains(said[name], want) {
				t.Errorf("want %q in what %s sees, got\n%s", want, name, said[name])
			}
		}
	}
	ada, bob := users["Ada"].run("cd ~/work/shop; tape export; tape verify >&2"), users["Bob"].run("cd ~/src/shop; tape export; tape verify >&2")
	if ada != bob || !strings.Contains(ada, "take it") {
		t.Errorf("want the same tapes with \"take it\": Ada has\n%s\nBob has\n%s", ada, bob)
	}
	if strings.Contains(said["Ada"]+said["Bob"], "key@") {
		t.Error("the password of the server is shown")
	}
}
