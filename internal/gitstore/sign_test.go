package gitstore

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func sshKey(j *judge) (private, public string) {
	j.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		j.Skip("ssh-keygen is not installed")
	}
	private = filepath.Join(j.TempDir(), "id_ed25519")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", private).CombinedOutput(); err != nil {
		j.Fatalf("ssh-keygen: %v %s", err, out)
	}
	pub, err := os.ReadFile(private + ".pub")
	j.ok(err)
	return private, strings.TrimSpace(string(pub))
}

func TestSignWithSSH(t *testing.T) {
	j := newJudge(t)
	ctx := context.Background()
	if s, err := j.open(nil).Signer(); s != nil || err != nil || s.Commits() || s.Tags() {
		t.Fatal(s, err)
	}
	private, public := sshKey(j)
	allowed := filepath.Join(j.TempDir(), "allowed")
	j.ok(os.WriteFile(allowed, []byte("ann@example.org "+public+"\n"), 0o600))
	for k, v := range map[string]string{"commit.gpgSign": "true", "tag.gpgSign": "yes", "gpg.format": "ssh", "gpg.ssh.allowedSignersFile": allowed} {
		j.git("config", k, v)
	}
	if _, err := j.open(nil).Signer(); err == nil || !strings.Contains(err.Error(), "user.signingKey") {
		t.Fatal(err)
	}
	j.git("config", "user.signingKey", private)
	signAndVerify(j)

	j.git("config", "user.signingKey", private+"-missing")
	s, err := j.open(nil).Signer()
	j.ok(err)
	if _, err := s.Sign(ctx, []byte("x")); err == nil || !strings.Contains(err.Error(), "ssh-keygen") || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a failure says: %v", err)
	}
	j.git("config", "gpg.ssh.program", "/nonexistent/program")
	s, err = j.open(nil).Signer()
	j.ok(err)
	if _, err := s.Sign(ctx, []byte("x")); err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("a failure says: %v", err)
	}
	j.git("config", "--unset", "gpg.ssh.program")
	withAgent(j, private)
	for _, literal := range []string{public, "key::" + public} {
		j.git("config", "user.signingKey", literal)
		signAndVerify(j)
	}
}

// withAgent starts an agent that has the key, and takes the key's file away.
func withAgent(j *judge, private string) {
	j.Helper()
	// A socket's path must be short.
	dir, err := os.MkdirTemp("", "agent")
	j.ok(err)
	sock := filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", sock)
	if err := cmd.Start(); err != nil {
		j.Skip("ssh-agent does not start:", err)
	}
	j.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = os.RemoveAll(dir) })
	j.TB.(setenver).Setenv("SSH_AUTH_SOCK", sock)
	for range 100 {
		if out, err := exec.Command("ssh-add", "-q", private).CombinedOutput(); err == nil {
			break
		} else if _, serr := os.Stat(sock); serr == nil {
			j.Skipf("ssh-add: %v %s", err, out)
		}
	}
	j.ok(os.Remove(private))
}

// signAndVerify makes a signed commit and tag of ours, and lets git verify them.
func signAndVerify(j *judge) {
	j.Helper()
	s, err := j.open(nil).Signer()
	j.ok(err)
	if !s.Commits() || !s.Tags() {
		j.Fatal("signing is off")
	}
	tree := j.hash(j.git("hash-object", "-t", "tree", "-w", os.DevNull))
	raw := EncodeCommit(Commit{Tree: tree, Author: ann, Committer: ann, Message: "start: main\n\nTape-Name: main\n"})
	sig, err := s.Sign(context.Background(), raw)
	j.ok(err)
	signed := InsertCommitSignature(raw, sig)
	commit, err := runStdin(j, string(signed), "hash-object", "-t", "commit", "-w", "--stdin")
	j.ok(err)
	commit = strings.TrimSpace(commit)
	j.git("verify-commit", commit)
	if got := j.git("log", "-1", "--format=%G? %B", commit); !strings.HasPrefix(got, "G start: main\n") {
		j.Errorf("git log: %s", got)
	}
	if c, err := DecodeCommit(signed); err != nil || c.Subject() != "start: main" || c.Tree != tree {
		j.Errorf("read back: %+v %v", c, err)
	}
	raw = EncodeTag(Tag{Object: j.hash(commit), Name: "anchor/main/001_x", Tagger: ann, Message: "x\n"})
	sig, err = s.Sign(context.Background(), raw)
	j.ok(err)
	tag, err := runStdin(j, string(AppendTagSignature(raw, sig)), "hash-object", "-t", "tag", "-w", "--stdin")
	j.ok(err)
	j.git("verify-tag", strings.TrimSpace(tag))
	j.fsck()
}

func TestSignWithGPG(t *testing.T) {
	j := newJudge(t)
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	dir, err := os.MkdirTemp("", "gpg")
	j.ok(err)
	t.Setenv("GNUPGHOME", dir)
	t.Cleanup(func() {
		_ = exec.Command("gpgconf", "--kill", "gpg-agent").Run() // the one of this folder
		_ = os.RemoveAll(dir)
	})
	out, err := exec.Command("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "Ann <ann@example.org>", "ed25519", "sign").CombinedOutput()
	if err != nil {
		t.Skipf("gpg makes no key here: %s", out)
	}
	j.git("config", "commit.gpgSign", "true")
	j.git("config", "tag.forceSignAnnotated", "true")
	signAndVerify(j)
	j.git("config", "user.signingKey", "nobody@example.org")
	s, err := j.open(nil).Signer()
	j.ok(err)
	if _, err := s.Sign(context.Background(), []byte("x")); err == nil || !strings.Contains(err.Error(), "gpg") {
		t.Errorf("a failure says: %v", err)
	}
}
