package gitconfig

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/git/gitobject"
	"time"
)

// Signer signs commits and tags the way git's configuration asks for.
type Signer struct {
	format        string // gpg.format: openpgp, x509 or ssh
	program, key  string
	commits, tags bool
}

// Signer returns how commits and tags are to be signed: commit.gpgSign, tag.gpgSign
// (or tag.forceSignAnnotated), gpg.format, user.signingKey and the program configured for
// the format. It is nil when nothing is to be signed. Without a key, gpg gets the committer's
// name and address; with ssh, that is an error.
func (c *Config) Signer() (*Signer, error) {
	if _, err := c.Load(); err != nil {
		return nil, err
	}
	s := &Signer{
		commits: c.Bool("commit", "", "gpgSign"),
		tags:    c.Bool("tag", "", "gpgSign") || c.Bool("tag", "", "forceSignAnnotated"),
	}
	if !s.commits && !s.tags {
		return nil, nil
	}
	format, _ := c.Value("gpg", "", "format")
	s.format = cmp.Or(strings.ToLower(format), "openpgp")
	program := map[string]string{"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}[s.format]
	if program == "" {
		return nil, fmt.Errorf("git's gpg.format is %q: expected openpgp, x509 or ssh", format)
	}
	configured, _ := c.Value("gpg", s.format, "program")
	if configured == "" && s.format == "openpgp" {
		configured, _ = c.Value("gpg", "", "program")
	}
	s.program = ExpandHome(cmp.Or(configured, program), HomeDir())
	s.key, _ = c.Value("user", "", "signingKey")
	if s.key == "" {
		if s.format == "ssh" {
			return nil, errors.New("commits are to be signed with ssh, but git's user.signingKey names no key")
		}
		_, committer, err := c.Identity(time.Now())
		if err != nil {
			return nil, err
		}
		s.key = committer.Name + " <" + committer.Email + ">"
	}
	return s, nil
}

// Commits reports whether commits are signed.
func (s *Signer) Commits() bool { return s != nil && s.commits }

// Tags reports whether tags are signed.
func (s *Signer) Tags() bool { return s != nil && s.tags }

// SignCommit returns a raw commit, signed if git's configuration says so.
func (c *Config) SignCommit(ctx context.Context, raw []byte) ([]byte, error) {
	return c.sign(ctx, raw, (*Signer).Commits, gitobject.SignCommit)
}

// SignTag returns a raw tag, signed if git's configuration says so.
func (c *Config) SignTag(ctx context.Context, raw []byte) ([]byte, error) {
	return c.sign(ctx, raw, (*Signer).Tags, gitobject.SignTag)
}

func (c *Config) sign(ctx context.Context, raw []byte, wanted func(*Signer) bool, add func(raw []byte, signature string) []byte) ([]byte, error) {
	s, err := c.Signer()
	if err != nil || !wanted(s) {
		return raw, err
	}
	signature, err := s.Sign(ctx, raw)
	if err != nil {
		return nil, err
	}
	return add(raw, signature), nil
}

// Sign returns an armored signature of payload, an unsigned commit or tag. An error has the
// program's message; as in git, nothing is committed then.
func (s *Signer) Sign(ctx context.Context, payload []byte) (string, error) {
	sign := s.signGPG
	if s.format == "ssh" {
		sign = s.signSSH
	}
	armored, err := sign(ctx, payload)
	if err != nil {
		return "", fmt.Errorf("sign with %s: %w", s.program, err)
	}
	return strings.ReplaceAll(armored, "\r\n", "\n"), nil
}

// signGPG runs gpg or gpgsm as git does. It fails unless the exit code is 0 and a status line says that a signature was
// created.
func (s *Signer) signGPG(ctx context.Context, payload []byte) (string, error) {
	var out bytes.Buffer
	status, err := s.run(ctx, bytes.NewReader(payload), &out, "--status-fd=2", "-bsau", s.key)
	if err != nil {
		return "", err
	}
	if !strings.Contains("\n"+status, "\n[GNUPG:] SIG_CREATED ") || out.Len() == 0 {
		return "", fmt.Errorf("no signature was made: %s", brief(status))
	}
	return out.String(), nil
}

// signSSH runs ssh-keygen, or the configured program, with exactly the arguments that git
// gives: the programs of password managers accept no others. They sign a file and write the
// signature beside it.
func (s *Signer) signSSH(ctx context.Context, payload []byte) (_ string, err error) {
	// Scratch files outside of the repository: nothing here has to last.
	dir, err := os.MkdirTemp("", "sign-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	args := []string{"-Y", "sign", "-n", "git", "-f"}
	// What begins with "key::" or "ssh-" is a public key; anything else is the name of a key file.
	if literal, marked := strings.CutPrefix(s.key, "key::"); marked || strings.HasPrefix(s.key, "ssh-") {
		file := filepath.Join(dir, "key")
		if err := os.WriteFile(file, []byte(literal+"\n"), 0o600); err != nil {
			return "", err
		}
		args = append(args, file, "-U") // the private key is in ssh-agent
	} else {
		args = append(args, ExpandHome(s.key, HomeDir()))
	}
	buffer := filepath.Join(dir, "payload")
	if err := os.WriteFile(buffer, payload, 0o600); err != nil {
		return "", err
	}
	said, err := s.run(ctx, nil, nil, append(args, buffer)...)
	if err != nil {
		return "", err
	}
	signature, err := os.ReadFile(buffer + ".sig")
	if err != nil {
		return "", fmt.Errorf("no signature was made: %s", brief(said))
	}
	return string(signature), nil
}

func (s *Signer) run(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) (stderr string, err error) {
	if filepath.Base(s.program) != s.program && !filepath.IsAbs(s.program) {
		return "", fmt.Errorf("%q is a relative path, and would be another program in each folder", s.program)
	}
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%w: %s", err, brief(said.String()))
	}
	return said.String(), nil
}

// brief shortens a program's output to fit an error message.
func brief(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 2000 {
		s = strings.ToValidUTF8(s[:2000], "") + "…"
	}
	return cmp.Or(s, "no output")
}
