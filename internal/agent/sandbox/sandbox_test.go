//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tape/internal/testkit"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Arg {
		os.Exit(Child(os.Args[2:]))
	}
	testkit.Parallel(8) // starting and ending a sandbox is mostly waiting
	os.Exit(m.Run())
}

// kinds returns a sandbox for each way to confine commands that works on this machine.
func kinds(t *testing.T, o Options) (out []*Sandbox) {
	t.Helper()
	o.Self, _ = os.Executable()
	s := New(o)
	if s.Kind() == "bubblewrap" {
		out = append(out, s)
	}
	if landlockWorks() == nil {
		l := New(o)
		l.kind = func() kind { return kind{name: "Landlock"} }
		out = append(out, l)
	}
	if len(out) == 0 {
		t.Skip(s.Off())
	}
	return out
}

// confined runs a line of the shell in the sandbox and in a folder, with further variables of the environment.
func confined(t *testing.T, s *Sandbox, dir, line string, env ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: path, Args: []string{"sh", "-c", line}, Dir: dir, Env: append(os.Environ(), env...)}
	if err := s.Confine(cmd); err != nil {
		t.Fatal(err)
	}
	// As the agent's shell does: the command leads a group, which is killed when it has ended.
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = file, file, &syscall.SysProcAttr{Setsid: true}
	err = cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	out, readErr := os.ReadFile(file.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	if undone := s.Settle(true); undone != nil {
		out = append(out, "\n[undone: "+undone.Error()+"]\n"...)
	}
	return string(out), err
}

// each returns a script that runs commands one after another. Starting a sandbox for each of them would be slow. The format
// gets the command in a shell of its own, then its text for use in double quotes.
func each(format string, lines ...string) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`)
	var script strings.Builder
	for _, line := range lines {
		fmt.Fprintf(&script, format+"\n", "(\n"+line+"\n)", quote.Replace(line))
	}
	return script.String() + "true"
}

func runGit(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// If TMPDIR is another folder, /tmp is hidden too: agents and terminals have their sockets there.
func TestTmp(t *testing.T) {
	project, socket := resolved(t.TempDir()), filepath.Join("/tmp", filepath.Base(t.TempDir())+"-tape-test")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(project, "cache"))
	t.Setenv("TMPDIR", project)
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(socket)
	for _, s := range kinds(t, Options{Project: project}) {
		if s.Kind() != "bubblewrap" {
			continue
		}
		defer s.Close()
		if out, err := confined(t, s, project, "test ! -e "+socket+" && f=$(mktemp) && echo x >$f"); err != nil {
			t.Errorf("%s is seen, or a temporary file cannot be written: %v\n%s", socket, err, out)
		}
	}
}

// If there is no place for temporary files, no command runs until there is one.
func TestNoTmp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	t.Setenv("TMPDIR", dir)
	s := New(Options{Project: t.TempDir()})
	t.Cleanup(s.Close)
	for range 2 {
		if tmp, err := s.temporary(); err == nil {
			t.Errorf("without %s, the folder for temporary files is %q", dir, tmp)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if tmp, err := s.temporary(); err != nil || !isIn(tmp, resolved(dir)) {
		t.Errorf("the folder for temporary files is %q, want one in %s; %v", tmp, dir, err)
	}
}

// A confined command writes in the project and to its own temporary files, and reads the disk without keys. Commands of
// the first list are allowed; each of the second list tries a way around the limits.
func TestConfined(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "tape-test-") // /tmp is hidden
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "home", "src", "project")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp")) // a confined command has its own
	for name, text := range map[string]string{"home/.ssh/id": "KEY", "home/.config/gh/hosts.yml": "KEY", "home/.config/other": "other", "home/.netrc": "KEY",
		"home/.bashrc": "rc", "home/src/project/a": "a", "home/src/other/b": "b", "home/tape/credentials.json": "KEY", "tmp/x": "x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, ".ssh"), filepath.Join(home, "link")); err != nil {
		t.Fatal(err)
	}
	for _, s := range kinds(t, Options{Project: project, Home: home, Hidden: []string{filepath.Join(home, "tape", "credentials.json")}}) {
		t.Run(s.Kind(), func(t *testing.T) {
			defer s.Close()
			run := func(line string) (string, error) {
				t.Helper()
				return confined(t, s, project, line, "SSH_AUTH_SOCK=/x", "HOME="+home, fmt.Sprintf("HOST=%d", os.Getpid()))
			}
			if out, err := run(each(`%s || echo "an allowed command fails: %s"`,
				"echo new >new && mkdir -p sub/deep && mv new sub/deep/ && rm -r sub", "cat a && cat ../other/b && cat ~/.config/other && cat /etc/passwd >/dev/null",
				"f=$(mktemp) && echo x >$f && mv $f here && rm here", "echo x >/dev/null", "mkdir -p $XDG_CACHE_HOME/x $GOCACHE && echo x >$XDG_CACHE_HOME/x/y",
				"test -z \"$SSH_AUTH_SOCK\"", "exit 0", "ls / >/dev/null", "test \"$(pwd -P)\" = "+project)); err != nil || strings.Contains(out, "an allowed command fails") {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err := run(each(`%s 2>&1 && echo "a forbidden command works: %s"`,
				"echo x >../other/b", "echo x >>~/.bashrc", "rm ../other/b", "mv ../other/b .", "touch ../new", "mkdir ../new", "ln -s /x ../new", "truncate -s 0 ../other/b", ": >../other/b",
				"cat ~/.ssh/id", "cat ~/link/id", "ln -s ~/.ssh/id stolen; cat stolen", "ln ~/.ssh/id hard && cat hard", "cd ~/.ssh && cat id", "cat ~/.config/gh/hosts.yml", "cat ~/.netrc",
				"cat ~/tape/credentials.json", "cp -r ~/.ssh stolen && cat stolen/id", "mv ~/.ssh stolen && cat stolen/id", "echo x >~/.ssh/authorized_keys && cat ~/.bashrc && exit 1",
				"cat /proc/$HOST/environ", "cat /proc/$HOST/root"+home+"/.ssh/id", "umount ~/.ssh && cat ~/.ssh/id", "mount --bind / / && cat ~/.ssh/id",
				"cp /proc/sys/vm/swappiness s && cat s >/proc/sys/vm/swappiness", "echo 1 >/proc/sysrq-trigger", "for f in /proc/irq/*/smp_affinity; do cat $f >$f && exit 0; done; exit 1",
				"unshare -Urm sh -c 'umount -l ~/.ssh; cat ~/.ssh/id'", "cat /proc/1/root$HOME/.ssh/id", "cat /proc/$PPID/root$HOME/.ssh/id", "mknod n c 1 1 && cat n", "echo x >/dev/pts/0")); err != nil || strings.Contains(out, "KEY") || strings.Contains(out, "a forbidden command works") {
				t.Errorf("%v\n%s", err, out)
			}
			for _, line := range []string{"exit 3", "setsid sh -c 'sleep 0.5; echo x >late' >/dev/null 2>&1 & exit 4"} {
				if out, err := run(line); err == nil {
					t.Errorf("%s: it succeeds: %s", line, out)
				}
			}
			if out, err := run("kill -0 $HOST"); err == nil && (s.Kind() == "bubblewrap" || signalsRestricted()) {
				t.Errorf("the host can be signalled: %s", out)
			}
			if out, err := run("sleep 1"); err != nil { // longer than the program would take that might go on
				t.Error(err, out)
			}
			if _, err := os.Stat(filepath.Join(project, "late")); err == nil {
				t.Error("what a command had left running went on after it")
			}
			for name, want := range map[string]string{"home/.bashrc": "rc", "home/src/other/b": "b", "home/.ssh/id": "KEY"} {
				if raw, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(raw) != want {
					t.Errorf("%s is %q, %v, want %q", name, raw, err, want)
				}
			}
			if _, err := os.Stat(filepath.Join(home, ".ssh", "authorized_keys")); err == nil {
				t.Error("a key was added")
			}
		})
	}
}

// In a linked worktree, git can commit. A .git file that names a repository which does not know the project opens no
// other folder.
func TestWorktree(t *testing.T) {
	dir := resolved(t.TempDir())
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	if err := os.Mkdir(filepath.Join(dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	runGit(t, "init", "-q", main)
	runGit(t, "-C", main, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x")
	runGit(t, "-C", main, "worktree", "add", "-q", tree)
	for _, s := range kinds(t, Options{Project: tree, Home: filepath.Join(dir, "home")}) {
		if out, err := confined(t, s, tree, "git -c user.name=x -c user.email=x commit -q --allow-empty -m y"); err != nil {
			t.Errorf("%s: git commit fails: %v\n%s", s.Kind(), err, out)
		}
		s.Close()
	}
	liar := filepath.Join(dir, "liar")
	if err := os.Mkdir(liar, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(liar, ".git"), []byte("gitdir: "+main+"/.git/worktrees/tree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := commonGitDir(liar); got != "" {
		t.Errorf("a folder that is not a worktree may write to %s", got)
	}
}

// A command cannot change what git would run at the user's next commit, and git still commits.
func TestGitIsProtected(t *testing.T) {
	dir := resolved(t.TempDir())
	main, tree := filepath.Join(dir, "main"), filepath.Join(dir, "tree")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	runGit(t, "init", "-q", "--template=", main)
	runGit(t, "-C", main, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x")
	runGit(t, "-C", main, "worktree", "add", "-q", tree)
	config, err := os.ReadFile(filepath.Join(main, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"modules/lib/HEAD": "ref: refs/heads/main\n", "modules/lib/config": "[core]\n", "modules/lib/modules/deep/HEAD": "x", "modules/lib/modules/deep/config": "[core]\n"} {
		path := filepath.Join(main, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, project := range []string{main, tree} {
		s := kinds(t, Options{Project: project, Home: filepath.Join(dir, "home")})[0]
		if s.Kind() != "bubblewrap" {
			t.Skip("Landlock cannot protect a part of a writable folder")
		}
		defer s.Close()
		run := func(line string) (string, error) {
			t.Helper()
			return confined(t, s, project, line)
		}
		// Each of these changes is refused.
		refused := each(`%s 2>/dev/null && echo "done: %s"`, "echo x >$d/hooks/pre-commit", "mkdir -p $d/hooks && cp /bin/true $d/hooks/pre-commit", "git config core.fsmonitor /bin/true", "echo x >>$d/config",
			"rm $d/config", "mv new $d/config", "mv $d/hooks moved", "mv .git moved", "rm .git", "rm -r $d/hooks",
			"echo x >>$d/modules/lib/config", "echo x >$d/modules/lib/hooks/post-checkout", "mv -T $d/modules/lib $d/modules/other", "mv -T $d/modules $d/all",
			"rm $d/modules/lib/modules/deep/config", "mv -T $d/modules/lib/modules $d/deeper", "echo ../../evil >$d/worktrees/tree/commondir", "rm $d/worktrees/tree/commondir",
			"mv -T $d/worktrees/tree $d/worktrees/other", "mv -T $d/worktrees $d/trees", "echo /x >$d/worktrees/tree/gitdir")
		if out, err := run("d=$(git rev-parse --git-common-dir) || exit 1\n" + refused); err != nil || out != "" {
			t.Errorf("%s: a forbidden change was made: %v, %s", project, err, out)
		}
		if out, err := run("echo x >new && git add new && git -c user.name=x -c user.email=x commit -q -m y && git switch -q -c of-" + filepath.Base(project)); err != nil {
			t.Errorf("%s: git commit fails: %v\n%s", project, err, out)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(main, ".git", "modules", "lib", "config")); err != nil || string(raw) != "[core]\n" {
		t.Errorf("the configuration of a submodule was changed to %q, %v", raw, err)
	}
	if raw, err := os.ReadFile(filepath.Join(main, ".git", "config")); err != nil || string(raw) != string(config) {
		t.Errorf("the configuration was changed to %q, %v", raw, err)
	}
	if list, err := os.ReadDir(filepath.Join(main, ".git", "hooks")); err != nil || len(list) > 0 {
		t.Errorf("hooks %v, %v, want none", list, err)
	}
}

// Without a way to confine commands, Off and Confine return errors, and the command is not changed.
func TestOff(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := New(Options{Project: t.TempDir()})
	if runtime.GOOS == "linux" && landlockWorks() == nil {
		s.o.Self = ""
	}
	cmd := &exec.Cmd{Path: "/bin/true", Args: []string{"true"}}
	if err := s.Off(); err == nil || !strings.Contains(err.Error(), "bwrap") || s.Confine(cmd) == nil || cmd.Path != "/bin/true" {
		t.Errorf("Off: %v, want an error with bwrap; the command runs %s", err, cmd.Path)
	}
}
