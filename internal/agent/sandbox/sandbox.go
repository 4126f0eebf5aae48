// Package sandbox runs the agent's commands so that they can write only in the project, its repository and
// folders for temporary files and caches, and read the rest of the disk without the user's keys: with
// bubblewrap where that works, else with Landlock.
//
// Bubblewrap also hides other processes and the sockets of the user, and keeps the hooks and the configuration of the
// project's repository, its submodules and worktrees as they are. Landlock hides the contents of files, but a program
// can list their names, change modes and dates of the user's files, and use sockets that are files. Before version 6
// (Linux 6.12), it can also send signals to other processes, and in both use sockets without a file. Neither restricts
// the network.
//
// With both, what a command did so that the user's git would run something is undone when it ends: see watch.
package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Options of a sandbox.
type Options struct {
	Project string   // may be written
	Home    string   // the user's home, with folders of keys
	Hidden  []string // further files and folders that cannot be read
	// Self is the path of a program that calls [Child] for [Arg]. Landlock needs it, also for the abstract sockets of
	// commands in bubblewrap; "": Landlock is not used.
	Self string
}

// Sandbox confines commands. Its methods may be called from several goroutines.
type Sandbox struct {
	o      Options
	kind   func() kind
	watch  watch
	memory string // sharedMemory, or what stands for it in tests

	mu  sync.Mutex
	tmp string // the folder for temporary files; "" before the first command and after Close
}

// kind is how commands are confined.
type kind struct {
	name  string // "": they cannot be confined
	bwrap string // the path of bubblewrap; "": it is not used
	why   string // why they cannot be confined
}

// New returns a sandbox. It looks for a way to confine commands when it first needs one.
func New(o Options) *Sandbox {
	project := resolved(o.Project)
	s := &Sandbox{o: o, memory: sharedMemory, watch: watch{home: o.Home, project: project, projects: []string{project}}}
	if common := commonGitDir(o.Project); common != "" {
		s.watch.projects = append(s.watch.projects, common)
	}
	s.kind = sync.OnceValue(s.find)
	return s
}

// Off says why commands cannot be confined here; nil if they can.
func (s *Sandbox) Off() error {
	if k := s.kind(); k.name == "" {
		return errors.New(k.why)
	}
	return nil
}

// Kind returns the name of what confines commands: bubblewrap, Landlock, or "".
func (s *Sandbox) Kind() string { return s.kind().name }

// find tries bubblewrap, then Landlock.
func (s *Sandbox) find() kind {
	why := "bubblewrap (bwrap) is not installed"
	if path, err := exec.LookPath("bwrap"); err == nil {
		out, err := exec.Command(path, "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--proc", "/proc", "true").CombinedOutput()
		if err == nil {
			return kind{name: "bubblewrap", bwrap: path}
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		why = fmt.Sprintf("bubblewrap does not work here (%s)", strings.ToValidUTF8(first, ""))
	}
	switch err := landlockWorks(); {
	case err != nil:
		return kind{why: why + ", and " + err.Error()}
	case s.o.Self == "":
		return kind{why: why}
	}
	return kind{name: "Landlock"}
}

// Confine changes a command, which has not started, so that it runs in the sandbox. When it has ended, or could not be
// started, Settle has to be called.
func (s *Sandbox) Confine(cmd *exec.Cmd) error {
	k := s.kind()
	if k.name == "" {
		return errors.New(k.why)
	}
	tmp, err := s.temporary()
	if err != nil {
		return err
	}
	cache, err := s.cache()
	if err != nil {
		return err
	}
	shared := ""
	if k.bwrap == "" {
		shared = withoutRepositories(s.memory)
	}
	s.watch.begin([]string{tmp, cache}, shared)
	writable := append(slices.Clone(s.watch.projects), cache)
	argv := append([]string{cmd.Path}, cmd.Args[1:]...)
	if k.bwrap != "" {
		cmd.Path, cmd.Args = k.bwrap, append(s.bubblewrap(tmp, writable, cmd.Dir), argv...)
		tmp = os.TempDir()
	} else {
		cmd.Path, cmd.Args = s.o.Self, append(s.landlock(append(writable, tmp), shared), argv...)
	}
	cmd.Env = environment(cmd.Env, tmp, cache)
	return nil
}

// Settle is called when a confined command has ended, and before something of one is shown that still runs. It undoes
// what commands did so that git would run something, and returns an error that says what that was.
func (s *Sandbox) Settle(ended bool) error { return s.watch.check(ended) }

// bubblewrap returns the arguments that come before the command. dir is the folder in which it runs.
func (s *Sandbox) bubblewrap(tmp string, writable []string, dir string) []string {
	args := []string{"bwrap", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", tmp, os.TempDir()}
	args = append(args, kernelSettings()...)
	hidden := append(s.hidden(), s.watch.sockets()...)
	hide := func(inside bool) {
		for _, path := range hidden {
			if slices.ContainsFunc(writable, func(w string) bool { return isIn(path, w) }) != inside {
				continue
			}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				args = append(args, "--tmpfs", path)
			} else if err == nil {
				args = append(args, "--ro-bind", "/dev/null", path)
			}
		}
	}
	hide(false)
	for _, path := range writable {
		args = append(args, "--bind", path, path)
	}
	args = append(args, s.protectGit()...)
	hide(true)
	if s.o.Self == "" || !signalsRestricted() {
		return append(args, "--chdir", dir, "--")
	}
	self := resolved(s.o.Self)
	return append(args, "--ro-bind", self, self, "--chdir", dir, "--", self, Arg, scoped, "--")
}

// kernelSettings returns the arguments that make the kernel's settings read-only. Its root may change them even without
// capabilities: core_pattern names a program. Bubblewrap protects these folders only if the folders themselves are writable.
func kernelSettings() (args []string) {
	if os.Getuid() != 0 {
		return nil // the files belong to root
	}
	for _, name := range []string{"sys", "irq", "bus", "fs", "scsi", "acpi", "sysrq-trigger", "mtrr"} {
		args = mount(args, "--ro-bind", "/proc/"+name)
	}
	return args
}

// landlock returns the arguments that come before the command: those of [Child].
func (s *Sandbox) landlock(writable []string, shared string) []string {
	args := []string{s.o.Self, Arg, whole}
	if shared != "" {
		args = append(args, "s"+shared)
	}
	for _, path := range writable {
		args = append(args, "w"+path)
	}
	for _, path := range s.hidden() {
		args = append(args, "h"+path)
	}
	return append(args, "--")
}

// Arg is the first argument with which a program calls [Child].
const Arg = "sandboxed-command"

// environment returns an environment for the sandbox: with places for temporary files and caches, and without the
// sockets of the user's session.
func environment(env []string, tmp, cache string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains([]string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "TMUX", "DOCKER_HOST"}, name)
	})
	return append(env, "TMPDIR="+tmp, "XDG_CACHE_HOME="+cache, "GOCACHE="+filepath.Join(cache, "go-build"), "npm_config_cache="+filepath.Join(cache, "npm"))
}

// temporary returns a folder for temporary files.
func (s *Sandbox) temporary() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tmp != "" {
		return s.tmp, nil
	}
	dir, err := os.MkdirTemp("", "tape-sandbox-")
	if err != nil {
		return "", err
	}
	s.tmp = resolved(dir)
	return s.tmp, nil
}

// cache returns the folder for caches of the project's commands. Programs outside of the sandbox do not use it.
func (s *Sandbox) cache() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(resolved(s.o.Project)))
	dir := filepath.Join(base, "tape", "sandbox", hex.EncodeToString(sum[:8]))
	return dir, os.MkdirAll(dir, 0o700)
}

// Close removes the temporary files.
func (s *Sandbox) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tmp != "" {
		_ = os.RemoveAll(s.tmp) // otherwise the system removes it
		s.tmp = ""
	}
}

// sharedMemory is a folder that programs need for memory which they share. Bubblewrap gives commands one of their own.
// With Landlock, they may make files in that of all programs.
const sharedMemory = "/dev/shm"

// withoutRepositories returns a folder for shared memory; "" if commands must not make files there, for they could write
// the configuration of another program's repository. Memory is shared by files, so there are few folders.
func withoutRepositories(memory string) string {
	const most = 10_000
	seen := 0
	err := filepath.WalkDir(memory, func(_ string, e fs.DirEntry, _ error) error {
		if seen++; seen > most || e != nil && (e.Name() == dotGit || e.Name() == headFile) {
			return fs.ErrExist
		}
		return nil // what cannot be read, the user's commands cannot change either
	})
	if err != nil {
		return ""
	}
	return memory
}

// hidden returns the existing files and folders that commands must not read, with links resolved.
func (s *Sandbox) hidden() (out []string) {
	for _, path := range slices.Concat(s.o.Hidden, sessionSockets(), keysIn(s.o.Home)) {
		if real, err := filepath.EvalSymlinks(path); path != "" && err == nil && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// keysIn returns the files and folders below a user's home in which programs keep keys, and profiles of browsers.
func keysIn(home string) (out []string) {
	if home == "" {
		return nil
	}
	for _, name := range []string{".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".oci", ".netrc", "_netrc", ".git-credentials", ".npmrc", ".yarnrc.yml", ".pypirc",
		".pgpass", ".my.cnf", ".vault-token", ".1password", ".password-store", ".boto", ".s3cfg", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".terraform.d/credentials.tfrc.json",
		".config/gcloud", ".config/hcloud", ".config/heroku", ".config/stripe", ".config/sops/age", ".config/age", ".config/netlify", ".fly/config.yml", ".databrickscfg", ".pulumi/credentials.json",
		".composer/auth.json", ".config/composer/auth.json", ".cache/huggingface/token", ".huggingface/token", ".config/gh", ".config/glab-cli", ".config/hub", ".config/doctl", ".config/op", ".config/rclone", ".config/git/credentials", ".config/configstore", ".config/containers/auth.json",
		".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json", ".qwen/oauth_creds.json", ".local/share/opencode/auth.json", ".pi/agent/auth.json", ".copilot/config.json", ".config/github-copilot",
		".Xauthority", ".ICEauthority", ".local/share/keyrings", ".local/share/kwalletd", ".mozilla", ".config/google-chrome", ".config/chromium", ".config/microsoft-edge", ".config/BraveSoftware", ".thunderbird", ".config/Signal"} {
		out = append(out, filepath.Join(home, filepath.FromSlash(name)))
	}
	return out
}

// sessionSockets returns the sockets, and folders of sockets, of services that would run something for a command:
// those of the user's session and of containers.
func sessionSockets() []string {
	return []string{os.Getenv("SSH_AUTH_SOCK"), fmt.Sprintf("/run/user/%d", os.Getuid()), "/run/docker.sock", "/run/dbus", "/run/pcscd", "/run/snapd.socket", "/run/crio", "/run/podman", "/run/containerd", "/run/buildkit", "/run/screen", "/run/libvirt",
		"/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket", "/var/lib/incus/unix.socket"}
}

// commonGitDir returns the .git folder of the repository to which a project belongs as a linked worktree; "" if it is
// not one.
func commonGitDir(project string) string {
	raw, err := os.ReadFile(filepath.Join(project, ".git"))
	text, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(text) {
		text = filepath.Join(project, text)
	}
	common := filepath.Dir(filepath.Dir(text))
	back, err := os.ReadFile(filepath.Join(text, "gitdir"))
	// The repository has to know the worktree: otherwise a file in the project could name any folder.
	if err != nil || filepath.Base(common) != ".git" || resolved(filepath.Dir(strings.TrimSpace(string(back)))) != resolved(project) {
		return ""
	}
	return resolved(common)
}

// resolved returns a path with links resolved; the path itself if that fails.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// isIn reports whether a path is the folder itself, or in it.
func isIn(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
