package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tape/cmd/internal/cli"
	"tape/cmd/internal/stdio"
)

// hostileArgs has, for each command, the arguments with which TestHostile runs it. If there are several lines,
// the command runs once for each line. The test fails for a command that is missing here.
var hostileArgs = map[string]string{
	"login": "http://127.0.0.1:1", "publish": "{T}/site --all\n-o {T}/one.html\n--branch pages", "team": "check", "team check": "", "team serve": "", "team status": "",
	"team sync": "", "team token": "list", "team token add": "x --groups a", "team token list": "", "team token revoke": "x",
	"acp": "-- true", "anchors": "", "append": "--text x", "archives": "", "artifact list": "", "artifact show": "x", "artifact cat": "x",
	"artifact": "list", "between": "1 2", "blame": "README", "chat": "", "clone": ". {T}/clone", "commit": "", "completion bash": "", "completion fish": "",
	"completion zsh": "", "completion powershell": "", "completion": "", "config": "\nplugins\ncommit turn", "context": "\n--brief", "diff": "@1 @2", "digest": "\n--since 2000-01-01", "stats": "\n--by person",
	"discard": "f --yes", "export": "", "fetch": "", "files": "README", "fork": "g", "forks": "", "gateway": "", "gc": "", "git": "install", "git install": "", "git link": "HEAD\n--remove", "git uninstall": "",
	"handoff": "h", "help": "", "hook": "pre-commit\npost-merge\npost-commit", "hooks": "", "import": "", "index": "sync", "index sync": "", "index rebuild": "",
	"index status": "", "index drop": "", "info": "", "init": "\n.", "log": "", "mcp": "", "merge": "f", "merge-driver": "README README README anchors/x", "new": "n",
	"onboard": "", "pull": "", "purge": "@2 --yes", "push": "", "record": "status", "record install": "claude-code --user", "record uninstall": "claude-code --user",
	"record plugin": "{T}/plugin", "record status": "", "record sync": "", "remote": "", "remote list": "", "remote add": "more {T}/more",
	"remote remove": "origin", "rename": "--title t", "reset": "--archive --yes", "restore": "1", "resume": "\n--print", "rm": "main --yes", "run": "hello\n,help", "run-fork": "r -- true",
	"search": "one", "serve": "--socket {T}/s", "serve link": "", "serve link add": "main", "serve link list": "", "serve link revoke": "1", "share": "main", "star": "main", "tag": "main x", "show": "2", "switch": "main", "tapes": "", "textconv": "README", "verify": "",
	"version": "", "watch": "--once {T}", "workspaces": "", "workspaces list": "", "workspaces link": ". {T}", "workspaces split": ". {T}", "workspaces unlink": ".", "review": "HEAD\nHEAD --markdown", "workspaces trust": ".",
}

// untilStopped are commands that run until somebody stops them.
var untilStopped = map[string]bool{"gateway": true, "serve": true, "chat": true, "mcp": true, "watch": true, "record sync": true}

// hostile makes repositories as a malicious stranger would. Every program that they name makes a file in the folder
// ran. Every address in them leads to a server that fails the test if it is asked.
type hostile struct {
	t                 *testing.T
	top, ran, address string
}

func (h *hostile) env() []string {
	return append(os.Environ(), "HOME="+h.top, "TAPE_HOME="+filepath.Join(h.top, "tapes"), "TAPE_WORKSPACE=", "TAPE_NAME=", "GIT_CONFIG_NOSYSTEM=1",
		"OPENAI_API_KEY=sk-test-0123456789abcdef", "OPENAI_BASE_URL=http://127.0.0.1:9/v1", "TAPE_MODEL=openai:scripted", "TAPE_AUTHOR=Ada <ada@example.org>",
		"no_proxy=", "NO_PROXY=", "PATH="+filepath.Join(h.top, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func (h *hostile) must(dir, name string, args ...string) {
	h.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, h.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func (h *hostile) write(path, content string, perm os.FileMode) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), perm); err != nil {
		h.t.Fatal(err)
	}
}

// program makes a program that leaves a file in h.ran when it runs, and returns its path.
func (h *hostile) program(name string) string {
	path := filepath.Join(h.top, "evil", strings.ReplaceAll(name, "/", "-"))
	h.write(path, "#!/bin/sh\ntouch '"+filepath.Join(h.ran, filepath.Base(path))+"'\nexit 1\n", 0o700)
	return path
}

// files writes the files that a stranger's branch may have.
func (h *hostile) files(dir string) {
	evil := h.program("config")
	h.write(filepath.Join(dir, "config.json"), fmt.Sprintf(`{"tape":"main","commit":"handoff","max_line":16777216,"model":"openai:x",
		"base_urls":{"openai":%q},"plugins":[{"name":"e","command":[%q]}],"mcp_servers":{"e":{"command":%q}},
		"telegram":{"token":"1:x","api":%q},"web_private":true}`, h.address, evil, evil, h.address), 0o600)
	h.write(filepath.Join(dir, ".gitattributes"), "* filter=e diff=e merge=e\n", 0o600)
	h.write(filepath.Join(dir, ".gitmodules"), "[submodule \"e\"]\n\tpath = e\n\turl = "+h.address+"\n\tupdate = !"+evil+"\n", 0o600)
	h.write(filepath.Join(dir, ".lfsconfig"), "[lfs]\n\turl = "+h.address+"\n", 0o600)
	h.write(filepath.Join(dir, "README"), "read me\n", 0o600)
}

// settings writes hostile settings and hooks into a .git folder that was handed over. With more, it also writes
// settings with which tape refuses to run git.
func (h *hostile) settings(dir string, more bool) {
	keys := []string{"core.fsmonitor", "core.sshCommand", "core.askPass", "core.alternateRefsCommand", "core.editor", "core.pager", "gpg.program",
		"gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "credential.helper", "credential." + h.address + ".helper", "filter.e.clean", "filter.e.smudge",
		"filter.e.process", "diff.e.command", "diff.e.textconv", "merge.e.driver", "diff.external", "sequence.editor"}
	if more {
		keys = append(keys, "core.gitProxy", "gc.recentObjectsHook", "remote.origin.uploadpack", "remote.origin.receivepack",
			"uploadpack.packObjectsHook", "alias.fsck", "pager.gc")
	}
	set := func(key, value string) { h.must(dir, "git", "config", "--add", key, value) }
	for _, key := range keys {
		program := h.program(key)
		if strings.HasPrefix(key, "credential") || strings.HasPrefix(key, "alias") {
			program = "!" + program
		}
		set(key, program)
	}
	for _, key := range []string{"commit.gpgSign", "tag.gpgSign", "push.gpgSign"} {
		set(key, "true")
	}
	if more {
		set("url."+h.address+".insteadOf", filepath.Join(h.top, "origin.git"))
		set("http.proxy", h.address)
		set("remote.origin.vcs", "evil")
		set("remote.origin.promisor", "true")
		set("protocol.ext.allow", "always")
		set("remote.e.url", "ext::"+h.program("ext"))
		h.write(filepath.Join(h.top, "evil", "included"), "[core]\n\tfsmonitor = "+h.program("included")+"\n", 0o600)
		set("include.path", filepath.Join(h.top, "evil", "included"))
	}
	for _, hook := range []string{"pre-commit", "post-commit", "pre-push", "reference-transaction", "post-index-change", "post-checkout", "post-merge", "pre-auto-gc", "fsmonitor-watchman"} {
		h.write(filepath.Join(dir, ".git", "hooks", hook), "#!/bin/sh\ntouch '"+filepath.Join(h.ran, "hook-"+hook)+"'\n", 0o700)
	}
	h.write(filepath.Join(dir, ".git", "info", "attributes"), "* filter=e diff=e merge=e\n", 0o600)
}

// kinds makes one repository of each kind, in folders that tape has not seen, and returns their names.
func (h *hostile) kinds() []string {
	at := func(name string) string { return filepath.Join(h.top, "kinds", name) }
	copied := func(from, to string) string { h.must(h.top, "cp", "-r", at(from), to); return to }
	h.must(h.top, "tape", "init", at("made"))
	h.must(at("made"), "tape", "append", "--text", "one")
	h.must(at("made"), "tape", "fork", "f")
	h.must(h.top, "git", "init", "-q", "--bare", "origin.git")
	h.must(at("made"), "tape", "remote", "add", "origin", filepath.Join(h.top, "origin.git"))
	h.must(at("made"), "tape", "push")
	h.must(at("made"), "tape", "append", "--text", "two")

	h.must(h.top, "git", "init", "-q", at("project-of"))
	h.files(at("project-of"))
	h.must(at("project-of"), "git", "add", "-A")
	h.must(at("project-of"), "git", "commit", "-qm", "evil")
	h.must(h.top, "git", "clone", "-q", at("project-of"), at("project"))
	h.must(h.top, "git", "clone", "-q", "-b", "tape/main", filepath.Join(h.top, "origin.git"), at("clone"))
	h.files(at("clone"))
	h.must(at("clone"), "git", "add", "-fA")
	h.must(at("clone"), "git", "commit", "-qm", "evil")

	archive := copied("made", at("archive"))
	for _, name := range []string{"gateway", "chat-cli-local-d1d5c822"} {
		message := `{"message_id":"m","session_id":"cli:local","channel":"cli","chat_id":"local","content":",touch ` + filepath.Join(h.ran, "message") + `"}`
		h.write(filepath.Join(archive, ".git", "tape", "messages", name, "spool", "1-1"), fmt.Sprintf("{\"agent\":\"cli\",\"bytes\":%d}\n%s", len(message), message), 0o600)
	}
	h.files(archive)
	evil := h.program("private")
	h.write(filepath.Join(archive, ".git", "tape", "config.json"), fmt.Sprintf(`{"tape":"main","plugins":[{"name":"e","command":[%q]}],"base_urls":{"openai":%q}}`, evil, h.address), 0o600)
	former := copied("archive", at("former"))
	if err := os.Remove(filepath.Join(former, ".git", "tape", "config.json")); err != nil {
		h.t.Fatal(err)
	}
	for name, more := range map[string]bool{"handed": false, "handed-more": true} {
		h.settings(copied("made", at(name)), more)
	}
	// Making the repositories may have run the stranger's programs.
	if err := os.RemoveAll(h.ran); err != nil {
		h.t.Fatal(err)
	}
	if err := os.MkdirAll(h.ran, 0o700); err != nil {
		h.t.Fatal(err)
	}
	return []string{"project", "clone", "archive", "former", "handed", "handed-more"}
}

// TestHostile runs every command in a stranger's repositories. None of the stranger's programs runs, and nothing is
// sent to the stranger's addresses.
func TestHostile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	var mu sync.Mutex
	var asked []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.String())
		mu.Unlock()
		w.WriteHeader(http.StatusUnauthorized)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if state == http.StateNew { // even if no request comes
			asked = append(asked, "a connection")
		}
	}
	server.Start()
	defer server.Close()
	top := t.TempDir()
	h := &hostile{t: t, top: top, ran: filepath.Join(top, "ran"), address: server.URL}
	h.write(filepath.Join(top, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n", 0o600)
	kinds := h.kinds()
	// Programs that settings name without a path, or that git or tape runs by default.
	for _, name := range []string{"git-remote-evil", "ssh", "ssh-keygen", "gpg", "gpgsm", "less", "vi", "editor", "git-lfs", "curl", "xdg-open"} {
		h.write(filepath.Join(top, "bin", name), "#!/bin/sh\ntouch '"+filepath.Join(h.ran, "path-"+name)+"'\nexit 1\n", 0o700)
	}

	var lines [][2]string
	app := &cli.App{Streams: stdio.Streams{Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now, Getenv: func(string) string { return "" }}}
	pending := cli.Root(app).Commands()
	for len(pending) > 0 {
		c := pending[0]
		pending = append(pending[1:], c.Commands()...)
		if !c.Runnable() {
			continue
		}
		name := strings.TrimPrefix(c.CommandPath(), "tape ")
		args, ok := hostileArgs[name]
		if !ok {
			t.Errorf("hostileArgs has no arguments for %q", name)
		}
		for line := range strings.SplitSeq(args, "\n") {
			lines = append(lines, [2]string{name, line})
		}
	}
	work := make(chan func())
	var group sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		group.Go(func() {
			for do := range work {
				do()
			}
		})
	}
	said := make([]string, len(kinds)*len(lines))
	for k, kind := range kinds {
		for i, line := range lines {
			work <- func() { said[k*len(lines)+i] = h.run(kind, fmt.Sprintf("%d-%d", k, i), line[0], line[1]) }
		}
	}
	close(work)
	group.Wait()
	ran, err := os.ReadDir(h.ran)
	if err != nil || len(ran) > 0 || len(asked) > 0 {
		t.Errorf("the stranger's programs that ran: %v (%v), the server was asked %q; want none\n%s", ran, err, asked, strings.Join(said, ""))
	}
	// The test shows something only if the commands did their work.
	all := strings.Join(said, "")
	for _, want := range []string{"handed$ tape verify : 0", "handed$ tape gc : 0", "handed$ tape handoff h: 0", "handed$ tape fetch : 0", "clone$ tape pull : 0", "handed-more$ tape gc : 1"} {
		if !strings.Contains(all, want) {
			t.Errorf("want %q in the commands' output, got\n%s", want, all)
		}
	}
}

// run runs a command in a copy of a repository, and returns a line with its exit code, and its output.
func (h *hostile) run(kind, id, name, line string) string {
	home := filepath.Join(h.top, "homes", id) // so that commands that look at all workspaces do not look at those of all runs
	dir := filepath.Join(h.top, "work", id)
	if kind == "former" { // it was unpacked among the user's own workspaces
		dir = filepath.Join(home, "stranger")
	}
	scratch := filepath.Join(h.top, "scratch", id)
	_ = os.MkdirAll(scratch, 0o700)
	_ = os.MkdirAll(filepath.Dir(dir), 0o700)
	if out, err := exec.Command("cp", "-r", filepath.Join(h.top, "kinds", kind), dir).CombinedOutput(); err != nil {
		return fmt.Sprintf("cp: %v %s\n", err, out)
	}
	limit := 60 * time.Second
	if untilStopped[name] {
		limit = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tape", append(strings.Fields(name), strings.Fields(strings.ReplaceAll(line, "{T}", scratch))...)...)
	cmd.Dir, cmd.Env = dir, append(h.env(), "TAPE_HOME="+home)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	out, _ := cmd.CombinedOutput()
	return fmt.Sprintf("%s$ tape %s %s: %d\n%.300s\n", kind, name, line, cmd.ProcessState.ExitCode(), out)
}
