//go:build unix

package sandbox

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The user's project in these tests: a repository of its own with a hook, an included file, a submodule, a worktree,
// and another repository in a folder. $EVIL is a program that leaves a file, as the hook of a command would.
const userProject = `set -e
git init -q -b main . && git config user.name U && git config user.email u@example.org
echo a >a && git add a && git commit -q -m one
printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit
git config include.path ../.gitconfig.local && printf '[alias]\n\tx = status\n' >.gitconfig.local
git init -q -b main vendor/lib && git -C vendor/lib config user.name U && git -C vendor/lib config core.pager less
git config --add include.path ../.gitconfig.missing
git worktree add -q trees/one -b one
git init -q --bare .git/modules/sub && mkdir -p sub && echo 'gitdir: ../.git/modules/sub' >sub/.git && git config -f .git/modules/sub/config core.worktree ../../../sub && git config -f .git/modules/sub/config core.bare false
`

// bare writes what git takes for a bare repository, with a program, into the folder $1.
const bare = `bare() { mkdir -p "$1/refs" "$1/objects" "$1/hooks"; echo 'ref: refs/heads/main' >"$1/HEAD"; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = %s\n' "$EVIL" >"$1/config"; }; `

// escapes are commands, each of which tries to let the user's git run $EVIL at the next "git status" (or commit) in the
// project or in the folder that follows "cd".
var escapes = []struct{ name, line, in string }{
	{"HEAD removed, repository in the root", bare + "rm .git/HEAD; bare .", ""},
	{"a false HEAD", bare + "echo nonsense >.git/HEAD; bare .", ""},
	{"HEAD is a folder", bare + "rm .git/HEAD; mkdir .git/HEAD; bare .", ""},
	{"HEAD is a pipe", bare + "rm .git/HEAD; mkfifo .git/HEAD; bare .", ""},
	{"HEAD leads nowhere", bare + "ln -sf /nonexistent .git/HEAD; bare .", ""},
	{"refs removed", bare + "rm -r .git/refs; bare .", ""},
	{"objects moved away", bare + "mv .git/objects .git/o; bare .", ""},
	{"objects replaced by a file", bare + "mv .git/objects .git/o; echo x >.git/objects; bare .", ""},
	{"no rights on .git", bare + "chmod 000 .git; bare .", ""},
	{".git removed", bare + "rm -rf .git; bare .", ""},
	{".git moved", bare + "mv .git other; bare .", ""},
	{".git replaced", bare + "mv .git other; bare .git", ""},
	{".git is a file", bare + "mv .git other; bare evil; echo 'gitdir: evil' >.git", ""},
	{"commondir", bare + "bare evil; echo ../evil >.git/commondir", ""},
	{"configuration", "git config core.fsmonitor $EVIL", ""},
	{"configuration renamed over", "cp .git/config new; git config -f new core.fsmonitor $EVIL; mv new .git/config", ""},
	{"configuration is a link", "cp .git/config new; git config -f new core.fsmonitor $EVIL; rm .git/config; ln -s ../new .git/config", ""},
	{"an included file", "git config -f .gitconfig.local core.fsmonitor $EVIL", ""},
	{"an included file that is a link", "rm .gitconfig.local; git config -f l core.fsmonitor $EVIL; ln -s l .gitconfig.local", ""},
	{"hook", "cp $EVIL .git/hooks/post-index-change", ""},
	{"hook changed", "cp $EVIL .git/hooks/pre-commit", ""},
	{"hooks is a link", "mv .git/hooks .git/h; mkdir h; cp $EVIL h/pre-commit; ln -s ../h .git/hooks", ""},
	{"a repository in a folder", "git init -q new/deep; git -C new/deep config core.fsmonitor $EVIL", "new/deep"},
	{"a bare repository in a folder", bare + "bare docs/x", "docs/x"},
	{"a bare repository with an absolute HEAD", bare + "bare docs/x; echo 0123456789012345678901234567890123456789 >docs/x/HEAD", "docs/x"},
	{"a bare repository whose HEAD is a link", bare + "bare docs/x; ln -sf refs/heads/main docs/x/HEAD", "docs/x"},
	{"a .git file in a folder", bare + "bare evil; mkdir docs; echo 'gitdir: ../evil' >docs/.git", "docs"},
	{"a .git file that leads to temporary files", bare + "bare $TMPDIR/evil; mkdir docs; echo gitdir: $TMPDIR/evil >docs/.git", "docs"},
	{"a .git link", bare + "bare evil; mkdir docs; ln -s ../evil docs/.git", "docs"},
	{"a .git link to the cache", bare + "bare $XDG_CACHE_HOME/evil; mkdir docs; ln -s $XDG_CACHE_HOME/evil docs/.git", "docs"},
	{"a folder that is a link to temporary files", bare + "bare $TMPDIR/evil; ln -s $TMPDIR/evil docs", "docs"},
	{"a folder that is a link to a link", bare + "bare $TMPDIR/evil/.git; ln -s $TMPDIR/evil l; ln -s l docs", "docs"},
	{"a repository of the user in a folder", "git -C vendor/lib config core.fsmonitor $EVIL", "vendor/lib"},
	{"a hook of a repository in a folder", "cp $EVIL vendor/lib/.git/hooks/post-index-change", "vendor/lib"},
	{"HEAD of a repository in a folder", bare + "rm vendor/lib/.git/HEAD; bare vendor/lib", "vendor/lib"},
	{"a repository in a folder leads elsewhere", bare + "rm -rf vendor/lib/.git; bare evil; echo 'gitdir: ../../evil' >vendor/lib/.git", "vendor/lib"},
	{"a submodule's configuration", "git config -f .git/modules/sub/config core.fsmonitor $EVIL", "sub"},
	{"a submodule's .git", bare + "bare evil; echo gitdir: ../evil >sub/.git", "sub"},
	{"a new submodule", bare + "bare .git/modules/new; mkdir new; echo 'gitdir: ../.git/modules/new' >new/.git; git config -f .git/modules/new/config core.worktree ../../../new", "new"},
	{"a worktree's commondir", bare + "bare evil; echo ../../../evil >.git/worktrees/one/commondir", "trees/one"},
	{"a new worktree's commondir", bare + "bare evil; mkdir -p .git/worktrees/two docs; cp .git/HEAD .git/worktrees/two; echo ../../../evil >.git/worktrees/two/commondir; echo 'gitdir: ../.git/worktrees/two' >docs/.git; echo ../../../docs/.git >.git/worktrees/two/gitdir", "docs"},
	{"a worktree's configuration", "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $EVIL; git -C trees/one config --worktree core.fsmonitor $EVIL", "trees/one"},
	{"a copy of the repository, included from elsewhere", "cp -r .git docs.git; mkdir -p docs; cp -r .git docs/.git; git config -f docs/.gitconfig.local core.fsmonitor $EVIL", "docs"},
	{"a daemon that waits", "setsid sh -c 'trap \"\" TERM HUP; sleep 0.5; git config core.fsmonitor $EVIL; cp $EVIL .git/hooks/pre-commit' >/dev/null 2>&1 & sleep 0.1", ""},
	{"a daemon of a daemon", "(setsid sh -c '(setsid sh -c \"sleep 0.5; cp $EVIL .git/hooks/pre-commit\" &) ' &) >/dev/null 2>&1; sleep 0.1", ""},
	{"names with capital letters and spaces", bare + "bare 'x y'; mkdir docs; printf 'gitdir: ../x y\\n' >docs/.git", "docs"},
	{"a configuration that ends in the middle", "mkdir n; cd n; git init -q .; printf '\\n[CORE]FSMonitor=%s\\\\\\n' $EVIL >>.git/config", "n"},
	{"HEAD with more than is read", bare + "bare docs/x; head -c 5000000 /dev/zero | tr '\\0' ' ' >>docs/x/HEAD", "docs/x"},
	{"commondir with more than is read", bare + "bare o; rm o/HEAD; git config -f o/config --unset core.worktree; mkdir -p docs/.git; echo 'ref: refs/heads/main' >docs/.git/HEAD; { echo ../../o; head -c 5000000 /dev/zero | tr '\\0' '\n'; } >docs/.git/commondir", "docs"},
	{"refs leads to the folder of the reader", bare + "bare docs/x; mv docs/x/refs docs/x/r; ln -s /proc/self/cwd/r docs/x/refs", "docs/x"},
	{"a .git link to the folder of the reader", bare + "bare $XDG_CACHE_HOME/evil; mkdir docs; ln -s /proc/self/cwd/$(realpath -m --relative-to=$PWD/docs $XDG_CACHE_HOME/evil) docs/.git", "docs"},
	{"a .git file that names the folder of the reader", bare + "bare $XDG_CACHE_HOME/evil; mkdir docs; echo gitdir: /proc/self/cwd/$(realpath -m --relative-to=$PWD/docs $XDG_CACHE_HOME/evil) >docs/.git", "docs"},
	{"a .git file that leads through a link and up", bare + "bare $XDG_CACHE_HOME/a/evil; mkdir $XDG_CACHE_HOME/a/b docs; ln -s $XDG_CACHE_HOME/a/b docs/l; echo gitdir: l/../evil >docs/.git", "docs"},
	{"a commondir that leads through a link and up", bare + "mkdir -p deep/in docs/.git; bare deep/o; rm deep/o/HEAD; git config -f deep/o/config --unset core.worktree; ln -s ../../deep/in docs/.git/l; echo 'ref: refs/heads/main' >docs/.git/HEAD; echo l/../o >docs/.git/commondir", "docs"},
	{"a commondir in the folder of the reader", bare + "mkdir -p docs/.git; bare docs/o; rm docs/o/HEAD; git config -f docs/o/config --unset core.worktree; echo 'ref: refs/heads/main' >docs/.git/HEAD; echo /proc/self/cwd/o >docs/.git/commondir", "docs"},
	{"a push to a repository in the cache", "git init -q --bare $XDG_CACHE_HOME/r; cp $EVIL $XDG_CACHE_HOME/r/hooks/post-receive; git remote add origin $XDG_CACHE_HOME/r; git init -q n; git -C n remote add origin $XDG_CACHE_HOME/r", "n"},
	{"a rebase with a program", "mkdir .git/rebase-merge; cd .git/rebase-merge; echo exec $EVIL >git-rebase-todo; : >done; echo refs/heads/main >head-name; git rev-parse HEAD | tee onto >orig-head; : >interactive; echo 1 >msgnum; echo 1 >end", ""},
	{"a mark of the order of bytes", "git init -q n; printf '\\357\\273\\277[core]repositoryformatversion=0\\n\\tfsmonitor=%s\\n' $EVIL >n/.git/config", "n"},
	{"an included file that was not there", "git config -f .gitconfig.missing core.fsmonitor $EVIL", ""},
	{"remote that is a program", "git init -q n; git -C n config remote.origin.url 'ext::sh -c '$EVIL; git -C n config protocol.ext.allow always", "n"},
}

// No command gets the git that the user calls next to run a program, and the user's repositories work as before.
func TestEscapesThroughGit(t *testing.T) {
	t.Parallel()
	template := filepath.Join(t.TempDir(), "template")
	mustRun(t, ".", "mkdir -p "+template+" && cd "+template+" && "+userProject)
	for _, which := range []string{"bubblewrap", "Landlock"} {
		t.Run(which, func(t *testing.T) {
			for _, e := range escapes {
				t.Run(e.name, func(t *testing.T) {
					t.Parallel()
					dir := resolved(t.TempDir())
					project, evil, proof := filepath.Join(dir, "project"), filepath.Join(dir, "evil.sh"), filepath.Join(dir, "proof")
					mustRun(t, dir, "cp -a "+template+" project && cd project && git worktree repair trees/one >/dev/null 2>&1")
					if err := os.WriteFile(evil, []byte("#!/bin/sh\necho x >"+proof+"\n"), 0o700); err != nil {
						t.Fatal(err)
					}
					var s *Sandbox
					for _, k := range kinds(t, Options{Project: project, Home: filepath.Join(dir, "home")}) {
						if k.Kind() == which {
							s = k
						}
					}
					if s == nil {
						t.Skip("there is no " + which)
					}
					defer s.Close()
					out, _ := confined(t, s, project, e.line, "EVIL="+evil, "GIT_CONFIG_GLOBAL=/dev/null")
					for _, in := range slices.Compact([]string{"", e.in}) {
						status(t, filepath.Join(project, in))
						_ = exec.Command("git", "-C", filepath.Join(project, in), "-c", "user.name=U", "-c", "user.email=u", "commit", "-q", "--allow-empty", "-m", "x").Run()
						if strings.HasPrefix(e.name, "remote") {
							_ = exec.Command("git", "-C", filepath.Join(project, in), "fetch", "-q").Run()
						}
						_ = exec.Command("git", "-C", filepath.Join(project, in), "push", "-q", "origin", "HEAD:x").Run()
						_ = exec.Command("git", "-C", filepath.Join(project, in), "rebase", "--continue").Run()
					}
					if _, err := os.Stat(proof); err == nil {
						t.Errorf("git ran the command's program; the command said:\n%s", out)
					}
					if got := status(t, project); e.name != ".git removed" && got != "## main" {
						t.Errorf("git status is\n%s\nwant\n## main; the command said:\n%s", got, out)
					}
				})
			}
		})
	}
}

func mustRun(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// status returns the first line of git status.
func status(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("git", "-C", dir, "status", "--short", "--branch")
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(string(out), "\n")
	if err != nil {
		line += " " + err.Error()
	}
	return line
}

// A project without a .git, below somebody else's repository, is protected as well: a command can make one there
// (https://github.com/Gitlawb/zero/pull/808).
func TestFolderOfARepository(t *testing.T) {
	dir := resolved(t.TempDir())
	mustRun(t, dir, "git init -q repo && mkdir -p repo/sub/deep")
	project, evil, proof := filepath.Join(dir, "repo", "sub"), filepath.Join(dir, "evil.sh"), filepath.Join(dir, "proof")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho x >"+proof+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range kinds(t, Options{Project: project, Home: filepath.Join(dir, "home")}) {
		defer s.Close()
		for _, line := range []string{bare + "bare .git", bare + "bare .", bare + "bare deep", "git init -q deep; git -C deep config core.fsmonitor $EVIL", "git -C .. config core.fsmonitor $EVIL"} {
			out, _ := confined(t, s, project, line, "EVIL="+evil)
			for _, in := range []string{project, filepath.Join(project, "deep")} {
				status(t, in)
			}
			if _, err := os.Stat(proof); err == nil {
				t.Fatalf("%s: %s: git ran the command's program; the command said:\n%s", s.Kind(), line, out)
			}
		}
	}
}

// What people do with git in a sandbox works, and is not undone.
func TestGitWorks(t *testing.T) {
	dir := resolved(t.TempDir())
	project := filepath.Join(dir, "project")
	mustRun(t, dir, "mkdir project && cd project && "+userProject)
	for _, s := range kinds(t, Options{Project: project, Home: filepath.Join(dir, "home")}) {
		defer s.Close()
		name := strings.ToLower(s.Kind())
		for _, line := range []string{
			"echo b >b-" + name + " && git add b-" + name + " && git commit -q -m two -n && git switch -q -c of-" + name + " && git switch -q - && git switch -q --detach && git switch -q of-" + name,
			"git init -q " + name + " && cd " + name + " && git config user.name X && git config user.email x@example.org && git commit -q --allow-empty -m x && git remote add origin ../vendor/lib && git branch next",
			"git clone -q --bare " + name + " " + name + ".git && git clone -q " + name + ".git again-" + name + " && mv again-" + name + " moved-" + name,
			"git worktree add -q trees/" + name + " && git -C trees/" + name + " status && rm -rf trees/" + name,
			"git -C vendor/lib config remote.origin.url https://example.org/x.git; cp -r vendor/lib vendor/" + name + " && rm -rf vendor/" + name,
			"git stash -q 2>/dev/null; git gc -q; git rebase -q HEAD",
		} {
			if out, err := confined(t, s, project, line); err != nil || strings.Contains(out, "undone") {
				t.Errorf("%s: %s: %v\n%s", s.Kind(), line, err, out)
			}
		}
	}
}

// A command that runs for long is looked at before something of it is shown, and nothing that it left is lost.
func TestSettleMeanwhile(t *testing.T) {
	dir := resolved(t.TempDir())
	project := filepath.Join(dir, "project")
	mustRun(t, dir, "mkdir project && cd project && "+userProject)
	for _, s := range kinds(t, Options{Project: project, Home: filepath.Join(dir, "home")}) {
		defer s.Close()
		s.watch.begin(nil, "")
		mustRun(t, project, "rm .git/HEAD && cp /bin/true vendor/lib/.git/hooks/pre-commit")
		if err := s.Settle(false); err == nil || !strings.Contains(err.Error(), "hook pre-commit") || !strings.Contains(err.Error(), project+"/.git") {
			t.Errorf("%s: %v, want the hook and the repository named", s.Kind(), err)
		}
		if err := s.Settle(true); err != nil {
			t.Errorf("%s: there is nothing to undo, but: %v", s.Kind(), err)
		}
		if _, err := os.Stat(filepath.Join(project, "vendor/lib/.git/hooks/pre-commit"+aside)); err != nil {
			t.Error(err)
		}
		mustRun(t, project, "rm vendor/lib/.git/hooks/pre-commit"+aside)
		// What the user changes between commands stays.
		mustRun(t, project, "git config core.editor ed")
		if out, err := confined(t, s, project, "true"); err != nil || out != "" {
			t.Errorf("%s: %v\n%s", s.Kind(), err, out)
		}
	}
}

// The sockets of the user's programs do not answer, wherever they are: for Landlock only those without a file.
func TestSockets(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	dir, err := os.MkdirTemp("/var/tmp", "tape-test-") // /tmp is hidden
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "project")
	for _, d := range []string{home, project} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{filepath.Join(dir, "agent.sock"), filepath.Join(home, "agent.sock"), filepath.Join(project, "agent.sock"), "@tape-test-" + filepath.Base(dir)}
	for _, name := range names {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	for _, s := range kinds(t, Options{Project: project, Home: home}) {
		defer s.Close()
		for _, name := range names {
			abstract := strings.HasPrefix(name, "@")
			if s.Kind() == "Landlock" && !abstract || abstract && !signalsRestricted() {
				continue
			}
			line := python + ` -c "import socket; s = socket.socket(socket.AF_UNIX); s.connect('` + strings.Replace(name, "@", `\0`, 1) + `')"`
			if out, err := confined(t, s, project, line); err == nil || strings.Contains(out, "SyntaxError") {
				t.Errorf("%s: %s answers: %s", s.Kind(), name, out)
			}
		}
		// Commands reach their own.
		line := python + ` -c "import socket; l = socket.socket(socket.AF_UNIX); l.bind('own.sock'); l.listen(); c = socket.socket(socket.AF_UNIX); c.connect('own.sock'); b = socket.socket(socket.AF_UNIX); b.bind('\0own-abstract'); b.listen(); c = socket.socket(socket.AF_UNIX); c.connect('\0own-abstract')"; s=$?; rm -f own.sock; exit $s`
		if out, err := confined(t, s, project, line); err != nil {
			t.Errorf("%s: a command's own socket: %v\n%s", s.Kind(), err, out)
		}
	}
}
