package transport

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit"
)

// sshPeer runs OpenSSH's sshd on a local address with keys of its own, for the user who runs
// the test. It returns the address of the folder root there, and variables for the environment
// of a client. Without OpenSSH the test is skipped.
func sshPeer(t testing.TB, root string) (address string, env []string) {
	t.Helper()
	sshd := findSSHD()
	client, err := exec.LookPath("ssh")
	if sshd == "" || err != nil {
		t.Skip("openssh's server and client are needed (Debian: openssh-server)")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	key := func(name string) string {
		path := filepath.Join(dir, name)
		run(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
		return path
	}
	host, mine := key("host"), key("user")
	public, err := os.ReadFile(mine + ".pub")
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	config := write("sshd_config", strings.Join([]string{
		"ListenAddress 127.0.0.1:" + port, "HostKey " + host, "AuthorizedKeysFile " + write("authorized", string(public)),
		"PidFile none", "StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password", "MaxStartups 100", "LogLevel ERROR",
	}, "\n")+"\n")
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // sshd's own start script makes it
	}
	var said strings.Builder
	server := exec.Command(sshd, "-D", "-e", "-f", config)
	server.Stderr = &said
	if err := server.Start(); err != nil {
		t.Skipf("sshd cannot be started here: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() { _ = server.Process.Kill() })
	waitFor(t, "127.0.0.1:"+port, ended, &said)
	command := fmt.Sprintf("%s -F %s -i %s -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=%s -o LogLevel=ERROR",
		client, os.DevNull, mine, filepath.Join(dir, "known"))
	// All share one connection, because the key exchange of each takes a third of a second.
	control, err := os.MkdirTemp("", "ssh") // the socket's path may have 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(control) })
	socket := filepath.Join(control, "s")
	args := append(strings.Fields(command)[1:], "-M", "-N", "-S", socket, "-p", port, me.Username+"@127.0.0.1")
	master := exec.Command(client, args...)
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = master.Process.Kill()
		_ = master.Wait()
	})
	for range 200 {
		if _, err := os.Stat(socket); err == nil {
			command += " -S " + socket
			break
		}
		testkit.Pause(10 * time.Millisecond)
	}
	return "ssh://" + me.Username + "@127.0.0.1:" + port + root, []string{"GIT_SSH_COMMAND=" + command}
}

func findSSHD() string {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func waitFor(t testing.TB, address string, ended chan error, said *strings.Builder) {
	t.Helper()
	for range 200 {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case err := <-ended:
			t.Skipf("sshd does not run here: %v: %s", err, said)
		case <-time.After(25 * time.Millisecond):
		}
	}
	t.Fatal("sshd does not answer")
}
