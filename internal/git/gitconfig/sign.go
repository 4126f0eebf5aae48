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
	keyCommand    string // prints the keys of ssh if key is ""
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
	value := func(section, subsection, key string) string {
		v, _ := lookup(c.person(), section, subsection, key)
		return v
	}
	s := &Signer{
		commits: configTrue(value("commit", "", "gpgsign")),
		tags:    configTrue(value("tag", "", "gpgsign")) || configTrue(value("tag", "", "forcesignannotated")),
	}
	if !s.commits && !s.tags {
		return nil, nil
	}
	format := value("gpg", "", "format")
	s.format = cmp.Or(strings.ToLower(format), "openpgp")
	program := map[string]string{"openpgp": "gpg", "x509": "gpgsm", "ssh": "ssh-keygen"}[s.format]
	if program == "" {
		return nil, fmt.Errorf("git's gpg.format is %q: expected openpgp, x509 or ssh", format)
	}
	configured := value("gpg", s.format, "program")
	if configured == "" && s.format == "openpgp" {
		configured = value("gpg", "", "program")
	}
	s.program = ExpandHome(cmp.Or(configured, program), HomeDir())
	s.key = value("user", "", "signingkey")
	if s.key == "" {
		if s.format == "ssh" {
			if s.keyCommand = value("gpg", "ssh", "defaultkeycommand"); s.keyCommand == "" {
				return nil, errors.New("commits are to be signed with ssh, but git has neither user.signingKey nor gpg.ssh.defaultKeyCommand")
			}
			return s, nil
		}
		_, committer, err := c.Identity(time.Now())
		if err != nil {
			return nil, err
		}
		s.key = committer.Name + " <" + committer.Email + ">"
	}
	return s, nil
}

// Program is the program that makes signatures.
func (s *Signer) Program() string { return s.program }

// Commits reports whether commits are signed.
func (s *Signer) Commits() bool { return s != nil && s.commits }

// Tags reports whether tags are signed.
func (s *Signer) Tags() bool { return s != nil && s.tags }

// SignCommit returns a raw commit with a signature by s.
func (s *Signer) SignCommit(ctx context.Context, raw []byte) ([]byte, error) {
	return s.sign(ctx, raw, gitobject.SignCommit)
}

// SignTag returns a raw tag with a signature by s.
func (s *Signer) SignTag(ctx context.Context, raw []byte) ([]byte, error) {
	return s.sign(ctx, raw, gitobject.SignTag)
}

func (s *Signer) sign(ctx context.Context, raw []byte, add func(raw []byte, signature string) []byte) ([]byte, error) {
	signature, err := s.Sign(ctx, raw)
	if err != nil {
		return nil, err
	}
	return add(raw, signature), nil
}

// Sign returns an armored signature of payload, an unsigned commit or tag. An error has the
// program's message.
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
	key := s.key
	if key == "" {
		if key, err = s.defaultKey(ctx); err != nil {
			return "", err
		}
	}
	args := []string{"-Y", "sign", "-n", "git", "-f"}
	// What begins with "key::" or "ssh-" is a public key; anything else is the name of a key file.
	if literal, marked := strings.CutPrefix(key, "key::"); marked || strings.HasPrefix(key, "ssh-") {
		file := filepath.Join(dir, "key")
		if err := os.WriteFile(file, []byte(literal+"\n"), 0o600); err != nil {
			return "", err
		}
		args = append(args, file, "-U") // the private key is in ssh-agent
	} else {
		args = append(args, ExpandHome(key, HomeDir()))
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

// defaultKey runs gpg.ssh.defaultKeyCommand and returns the first key that it prints, see git-config(1).
func (s *Signer) defaultKey(ctx context.Context) (string, error) {
	words := shellWords(s.keyCommand)
	if len(words) == 0 {
		return "", errors.New("git's gpg.ssh.defaultKeyCommand cannot be read")
	}
	var out bytes.Buffer
	command := *s
	command.program = ExpandHome(words[0], HomeDir())
	if _, err := command.run(ctx, nil, &out, words[1:]...); err != nil {
		return "", fmt.Errorf("git's gpg.ssh.defaultKeyCommand, %s: %w", s.keyCommand, err)
	}
	key, _, _ := strings.Cut(strings.TrimLeft(out.String(), "\r\n"), "\n")
	key = strings.TrimSpace(key)
	if !strings.HasPrefix(key, "key::") && !strings.HasPrefix(key, "ssh-") {
		return "", fmt.Errorf("git's gpg.ssh.defaultKeyCommand, %s, prints no key", s.keyCommand)
	}
	return key, nil
}

// shellWords splits a command as git does where it runs one without a shell: at spaces outside of quotes.
func shellWords(s string) (out []string) {
	word, quote, in := []byte{}, byte(0), false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if in {
				out, word, in = append(out, string(word)), word[:0], false
			}
			continue
		case quote == 0 && (c == '\'' || c == '"'), quote != 0 && c == quote:
			quote ^= c
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			word = append(word, s[i])
		default:
			word = append(word, c)
		}
		in = true
	}
	if in && quote == 0 {
		out = append(out, string(word))
	}
	return out
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
