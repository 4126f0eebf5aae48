package gitconfig

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"tape/internal/git/gitobject"
)

// ErrNoIdentity says that a name or an address is not configured, and that user.useConfigOnly forbids
// guessing it.
var ErrNoIdentity = errors.New("git has no name and mail address for you")

// AuthorEnv is the environment variable, "Name <mail>", that overrides git's configuration for
// the author.
const AuthorEnv = "TAPE_AUTHOR"

// Identity returns the author and the committer of a commit made at now, as git would (environment,
// then configuration), with two differences. TAPE_AUTHOR overrides both for the author, and is
// the committer if git has nothing explicit. And where git would give up, because the machine's
// user has no real name, the login name is used: sessions must be recorded on machines where git
// was never set up, too. Errors: ErrNoIdentity, a malformed TAPE_AUTHOR, unreadable configuration.
func (c *Config) Identity(now time.Time) (author, committer gitobject.Signature, err error) {
	if _, err := c.Load(); err != nil {
		return author, committer, err
	}
	if author, err = c.Author(); err != nil {
		return author, committer, err
	}
	committer = c.explicitIdentity("committer")
	if os.Getenv(AuthorEnv) != "" {
		committer.Name, committer.Email = cmp.Or(committer.Name, author.Name), cmp.Or(committer.Email, author.Email)
	}
	for _, s := range []*gitobject.Signature{&author, &committer} {
		if err := c.completeIdentity(s); err != nil {
			return author, committer, err
		}
		s.When = now
	}
	return author, committer, nil
}

// Committer returns who stands in the reflog. Like git there, it needs no configured name.
func (c *Config) Committer(now time.Time) gitobject.Signature {
	s := c.explicitIdentity("committer")
	if author, err := c.Author(); err == nil && os.Getenv(AuthorEnv) != "" {
		s.Name, s.Email = cmp.Or(s.Name, author.Name), cmp.Or(s.Email, author.Email)
	}
	guess(&s)
	s.When = now
	return s
}

// Author returns the author according to environment and configuration. Nothing is guessed:
// parts may be missing.
func (c *Config) Author() (gitobject.Signature, error) {
	if v := os.Getenv(AuthorEnv); v != "" {
		return parseAuthor(v)
	}
	_, err := c.Load()
	return c.explicitIdentity("author"), err
}

// explicitIdentity returns what environment and configuration say; parts may be missing.
func (c *Config) explicitIdentity(role string) gitobject.Signature {
	pick := func(env, key string) string {
		if v := CleanIdentity(os.Getenv(env)); v != "" {
			return v
		}
		for _, section := range []string{role, "user"} {
			v, _ := lookup(c.person(), section, "", key)
			if v = CleanIdentity(v); v != "" {
				return v
			}
		}
		return ""
	}
	upper := strings.ToUpper(role)
	s := gitobject.Signature{Name: pick("GIT_"+upper+"_NAME", "name"), Email: pick("GIT_"+upper+"_EMAIL", "email")}
	if s.Email == "" {
		s.Email = CleanIdentity(os.Getenv("EMAIL"))
	}
	return s
}

// completeIdentity fills in what is missing from the operating system's user.
func (c *Config) completeIdentity(s *gitobject.Signature) error {
	if s.Name != "" && s.Email != "" {
		return nil
	}
	if v, _ := lookup(c.person(), "user", "", "useconfigonly"); configTrue(v) {
		return fmt.Errorf("%w: set user.name and user.email with git config, or %s", ErrNoIdentity, AuthorEnv)
	}
	guess(s)
	return nil
}

func guess(s *gitobject.Signature) {
	if s.Name != "" && s.Email != "" {
		return
	}
	login, full := systemUser()
	if s.Name == "" {
		s.Name = cmp.Or(CleanIdentity(full), login)
	}
	if s.Email == "" {
		host, err := os.Hostname()
		if err != nil || CleanIdentity(host) == "" {
			host = "localhost"
		}
		s.Email = login + "@" + CleanIdentity(host)
	}
}

// systemUser returns the login name and the real name, the latter perhaps empty.
func systemUser() (login, full string) {
	if u, err := user.Current(); err == nil {
		login = u.Username
		if i := strings.LastIndexByte(login, '\\'); i >= 0 {
			login = login[i+1:] // DOMAIN\name on Windows
		}
		full, _, _ = strings.Cut(u.Name, ",")
	}
	login = CleanIdentity(cmp.Or(login, os.Getenv("USER"), os.Getenv("USERNAME"), os.Getenv("LOGNAME")))
	return cmp.Or(login, "unknown"), full
}

// parseAuthor reads "Name <mail>".
func parseAuthor(v string) (gitobject.Signature, error) {
	name, rest, ok := strings.Cut(v, "<")
	mail, after, closed := strings.Cut(rest, ">")
	s := gitobject.Signature{Name: CleanIdentity(name), Email: CleanIdentity(mail)}
	if !ok || !closed || strings.TrimSpace(after) != "" || s.Name == "" || s.Email == "" {
		return gitobject.Signature{}, fmt.Errorf("%s is %.100q: it should look like Name <mail@example.org>", AuthorEnv, v)
	}
	return s, nil
}

// CleanIdentity removes characters that would break the line of a commit, as git does:
// spaces, control characters and some punctuation at the ends, and <, >, newline and NUL anywhere.
func CleanIdentity(s string) string {
	crud := func(c rune) bool { return c <= ' ' || strings.ContainsRune(",:;<>\"\\'", c) }
	return strings.Map(func(c rune) rune {
		if c == '<' || c == '>' || c == '\n' || c == 0 {
			return -1
		}
		return c
	}, strings.TrimFunc(strings.ToValidUTF8(s, "\uFFFD"), crud))
}
