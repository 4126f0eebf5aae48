package gitconfig

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/git/gitobject"
	"tape/internal/testkit/gitjudge"
)

func sshKey(j *gitjudge.Judge) (private, public string) {
	j.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		j.Skip("ssh-keygen is not installed")
	}
	private = filepath.Join(j.TempDir(), "id_ed25519")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", private).CombinedOutput(); err != nil {
		j.Fatalf("ssh-keygen: %v %s", err, out)
	}
	pub, err := os.ReadFile(private + ".pub")
	j.OK(err)
	return private, strings.TrimSpace(string(pub))
}

func TestSignWithSSH(t *testing.T) {
	j := gitjudge.New(t)
	ctx := context.Background()
	if s, err := configOf(j, nil).Signer(); s != nil || err != nil || s.Commits() || s.Tags() {
		t.Fatalf("nothing is to be signed, and the signer is %+v, %v", s, err)
	}
	private, public := sshKey(j)
	allowed := filepath.Join(j.TempDir(), "allowed")
	j.OK(os.WriteFile(allowed, []byte("ann@example.org "+public+"\n"), 0o600))
	for k, v := range map[string]string{"commit.gpgSign": "true", "tag.gpgSign": "yes", "gpg.format": "ssh", "gpg.ssh.allowedSignersFile": allowed} {
		j.Git("config", k, v)
	}
	if _, err := configOf(j, nil).Signer(); err == nil || !strings.Contains(err.Error(), "user.signingKey") {
		t.Fatalf("without a key: %v, want an error that names user.signingKey", err)
	}
	j.Git("config", "user.signingKey", private)
	signAndVerify(j)

	j.Git("config", "user.signingKey", private+"-missing")
	s, err := configOf(j, nil).Signer()
	j.OK(err)
	if _, err := s.Sign(ctx, []byte("x")); err == nil || !strings.Contains(err.Error(), "ssh-keygen") || !strings.Contains(err.Error(), "missing") {
		t.Errorf("with a missing key: %v, want an error with the program and the key", err)
	}
	j.Git("config", "gpg.ssh.program", "/nonexistent/program")
	s, err = configOf(j, nil).Signer()
	j.OK(err)
	if _, err := s.Sign(ctx, []byte("x")); err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("with a missing program: %v, want an error with its path", err)
	}
	j.Git("config", "--unset", "gpg.ssh.program")
	withAgent(j, private)
	for _, literal := range []string{public, "key::" + public} {
		j.Git("config", "user.signingKey", literal)
		signAndVerify(j)
	}
}

// withAgent starts an ssh-agent that has the key, and removes the key's file.
func withAgent(j *gitjudge.Judge, private string) {
	j.Helper()
	// A socket's path must be short.
	dir, err := os.MkdirTemp("", "agent")
	j.OK(err)
	sock := filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", sock)
	if err := cmd.Start(); err != nil {
		j.Skip("ssh-agent does not start:", err)
	}
	j.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = os.RemoveAll(dir) })
	j.Setenv("SSH_AUTH_SOCK", sock)
	for range 100 {
		if out, err := exec.Command("ssh-add", "-q", private).CombinedOutput(); err == nil {
			break
		} else if _, serr := os.Stat(sock); serr == nil {
			j.Skipf("ssh-add: %v %s", err, out)
		}
	}
	j.OK(os.Remove(private))
}

// signAndVerify makes a signed commit and tag of ours, and lets git verify them.
func signAndVerify(j *gitjudge.Judge) {
	j.Helper()
	s, err := configOf(j, nil).Signer()
	j.OK(err)
	if !s.Commits() || !s.Tags() {
		j.Fatal("signing is off")
	}
	tree := j.Hash(j.Git("hash-object", "-t", "tree", "-w", os.DevNull))
	raw := gitobject.EncodeCommit(gitobject.Commit{Tree: tree, Author: gitjudge.Ann, Committer: gitjudge.Ann, Message: "start: main\n\nTape-Name: main\n"})
	sig, err := s.Sign(context.Background(), raw)
	j.OK(err)
	signed := gitobject.SignCommit(raw, sig)
	commit, err := gitjudge.GitStdin(j, string(signed), "hash-object", "-t", "commit", "-w", "--stdin")
	j.OK(err)
	commit = strings.TrimSpace(commit)
	j.Git("verify-commit", commit)
	if got := j.Git("log", "-1", "--format=%G? %B", commit); !strings.HasPrefix(got, "G start: main\n") {
		j.Errorf("git log: %s", got)
	}
	if c, err := gitobject.DecodeCommit(signed); err != nil || c.Subject() != "start: main" || c.Tree != tree {
		j.Errorf("read back: %+v %v", c, err)
	}
	raw = gitobject.EncodeTag(gitobject.Tag{Object: j.Hash(commit), Name: "anchor/main/001_x", Tagger: gitjudge.Ann, Message: "x\n"})
	sig, err = s.Sign(context.Background(), raw)
	j.OK(err)
	tag, err := gitjudge.GitStdin(j, string(gitobject.SignTag(raw, sig)), "hash-object", "-t", "tag", "-w", "--stdin")
	j.OK(err)
	j.Git("verify-tag", strings.TrimSpace(tag))
	j.Fsck()
}

func TestSignWithGPG(t *testing.T) {
	j := gitjudge.New(t)
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	dir, err := os.MkdirTemp("", "gpg")
	j.OK(err)
	t.Setenv("GNUPGHOME", dir)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--kill", "gpg-agent").Run() // the one of this folder
		_ = os.RemoveAll(dir)
	})
	out, err := exec.Command("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "Ann <ann@example.org>", "ed25519", "sign").CombinedOutput()
	if err != nil {
		t.Skipf("gpg makes no key here: %s", out)
	}
	j.Git("config", "commit.gpgSign", "true")
	j.Git("config", "tag.forceSignAnnotated", "true")
	signAndVerify(j)
	j.Git("config", "user.signingKey", "nobody@example.org")
	s, err := configOf(j, nil).Signer()
	j.OK(err)
	if _, err := s.Sign(context.Background(), []byte("x")); err == nil || !strings.Contains(err.Error(), "gpg") {
		t.Errorf("with an unknown key: %v, want an error that names gpg", err)
	}
}
