package gitconfig

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitobject"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

// TestConfigAsGitReadsIt asks git and us for the same keys of the same files.
func TestConfigAsGitReadsIt(t *testing.T) {
	j := gitjudge.New(t)
	home := os.Getenv("HOME")
	files := map[string]string{
		".config/git/config": "[user]\n name = Xdg\n email = xdg@example.org\n[a]\n only-xdg = 1\n",
		".gitconfig": "\ufeff; comment\nstray = 1\n[user]\n\tname = \"Home\" # x\n[include]\n path = more\n path = missing\n" +
			"[includeIf \"gitdir:" + j.Dir + "/\"]\n path = here\n[includeIf \"gitdir:elsewhere/\"]\n path = wrong\n" +
			"[includeIf \"gitdir/i:**/WS/.git\"]\n path = fold\n[includeIf \"onbranch:nosuch\"]\n path = wrong\n" +
			"[a]\n\tafter = home\n  v1 = a  b ; c\n  v2 = \"a  # b\" c\\\n  d\\t\\\"e\\\\ \n v3 =\n v4\r\n V-5 = ü # x\n v6 = \"x\"y\" z \" \n" +
			"[A \"Sub.Sec \\\"x\\\\\"]\n k = sub\n[b.Old] k = old\n[c]k=same line\n",
		"more": "[a]\n\tafter = more\n\tmore = yes\n[include]\n path = ~/tilde\n", "tilde": "[a]\n tilde = 1\n",
		"here": "[a]\n\there = yes\n[user]\n\temail = here@example.org\n", "fold": "[a]\n\tfold = yes\n", "wrong": "[a]\n\twrong = yes\n",
	}
	for name, content := range files {
		path := filepath.Join(home, name)
		j.OK(os.MkdirAll(filepath.Dir(path), 0o700))
		j.OK(os.WriteFile(path, []byte(content), 0o600))
	}
	j.Git("config", "a.local", "repo")
	j.Git("config", "extensions.worktreeConfig", "true")
	j.Git("config", "--worktree", "a.wt", "worktree")
	t.Setenv("GIT_CONFIG_COUNT", "2")
	t.Setenv("GIT_CONFIG_KEY_0", "a.Env")
	t.Setenv("GIT_CONFIG_VALUE_0", "env")
	t.Setenv("GIT_CONFIG_KEY_1", "a.S.p.K")
	t.Setenv("GIT_CONFIG_VALUE_1", "dots")
	r := configOf(j, nil)
	for _, key := range []string{
		"user..name", "user..email", "a..only-xdg", "a..after", "a..more", "a..tilde", "a..here", "a..wrong", "a..fold", "a..v1", "a..v2", "a..v3",
		"A..v-5", "a..v6", "a.Sub.Sec \"x\\.k", "b.old.k", "c..k", "a..local", "a..wt", "a..env", "a.S.p.k", "a..none",
	} {
		section, rest, _ := strings.Cut(key, ".")
		i := strings.LastIndexByte(rest, '.')
		want, err := j.TryGit(j.Dir, "config", "--get", strings.Replace(key, "..", ".", 1))
		got, ok := r.Value(section, rest[:max(i, 0)], rest[i+1:])
		if ok != (err == nil) || got != want {
			t.Errorf("%s: %q %v, git says %q %v", key, got, ok, want, err)
		}
	}
	if v, ok := r.Value("a", "", "v4"); v != "true" || !ok {
		t.Errorf("a key without a value is %q, %v; want true", v, ok)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "here"))
	if v, _ := configOf(j, nil).Value("user", "", "name"); v != "" {
		t.Errorf("GIT_CONFIG_GLOBAL names a file without user.name, which is %q", v)
	}
}

// Files that are missing do not count as included.
func TestMissingIncludes(t *testing.T) {
	j := gitjudge.New(t)
	j.OK(os.WriteFile(filepath.Join(j.GitDir, "there"), []byte("[a]\n\tb = yes\n"), 0o600))
	f, err := os.OpenFile(filepath.Join(j.GitDir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	j.OK(err)
	_, err = f.WriteString("[include]\n" + strings.Repeat("\tpath = missing\n", maxFiles) + "\tpath = there\n")
	j.OK(errors.Join(err, f.Close()))
	r := configOf(j, nil)
	if got, _ := r.Value("a", "", "b"); got != j.Git("config", "a.b") {
		t.Errorf("a.b is %q after includes of missing files, not as git has it", got)
	}
	_, err = r.Load()
	j.OK(err)
}

func TestConfigDamaged(t *testing.T) {
	j := gitjudge.New(t)
	good, err := os.ReadFile(filepath.Join(j.GitDir, "config"))
	j.OK(err)
	for _, bad := range []string{"[", "[]", "[a", "[a \"b]\n", "[a]\n1 = 2\n", "[a]\nb = \"c\n", "[a]\nb = \\q\n", "[a]\nb c\n"} {
		j.OK(os.WriteFile(filepath.Join(j.GitDir, "config"), append(bytes.Clone(good), bad...), 0o600))
		_, gitErr := j.TryGit(j.Dir, "config", "--local", "-l")
		_, _, err := configOf(j, nil).Identity(time.Now())
		if gitErr == nil || err == nil {
			t.Errorf("%q: git says %v, we say %v; want errors", bad, gitErr, err)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add("[a \"b\"]\n\tc = \"d\" \\\n e # f\n")
	f.Fuzz(func(t *testing.T, s string) {
		_ = parse([]byte(s), func(e Entry) {
			if e.Section == "" || e.Key == "" {
				t.Errorf("%q: %+v", s, e)
			}
		})
	})
}

func TestIdentityAsGitHasIt(t *testing.T) {
	cases := []struct {
		name   string
		config map[string]string
		env    map[string]string
	}{
		{name: "user", config: map[string]string{"user.name": "A", "user.email": "a@x"}},
		{name: "author beats user", config: map[string]string{"user.name": "A", "user.email": "a@x", "author.name": "B", "committer.email": "c@x"}},
		{name: "environment beats both", config: map[string]string{"author.name": "B"}, env: map[string]string{"GIT_AUTHOR_NAME": "E", "GIT_COMMITTER_EMAIL": "e@x"}},
		{name: "crud", config: map[string]string{"user.name": " ;<A \"b\" C>, ", "user.email": "<a@x>"}},
		{name: "EMAIL", config: map[string]string{"user.name": "A", "user.email": ""}, env: map[string]string{"EMAIL": "m@x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := gitjudge.New(t)
			if c.config["user.email"] == "" && c.env["EMAIL"] != "" {
				j.OK(os.Remove(filepath.Join(os.Getenv("HOME"), ".gitconfig")))
				delete(c.config, "user.email")
			}
			for k, v := range c.config {
				j.Git("config", k, v)
			}
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			author, committer, err := configOf(j, nil).Identity(now)
			j.OK(err)
			for variable, s := range map[string]gitobject.Signature{"GIT_AUTHOR_IDENT": author, "GIT_COMMITTER_IDENT": committer} {
				want := j.Git("var", variable)
				want = want[:strings.LastIndexByte(want, '>')+1]
				if got := s.Name + " <" + s.Email + ">"; got != want {
					t.Errorf("%s: %s, git says %s", variable, got, want)
				}
			}
		})
	}
}

func TestIdentityFromTapeAuthor(t *testing.T) {
	j := gitjudge.New(t)
	t.Setenv(AuthorEnv, "An Agent <agent@example.org>")
	t.Setenv("GIT_AUTHOR_NAME", "Beaten")
	author, committer, err := configOf(j, nil).Identity(now)
	j.OK(err)
	if author.Name != "An Agent" || author.Email != "agent@example.org" || !author.When.Equal(now) {
		t.Errorf("the author is %+v, not the one in %s", author, AuthorEnv)
	}
	if committer.Name != "Ann" {
		t.Errorf("the committer is %+v, not the configured one", committer)
	}
	j.OK(os.Remove(filepath.Join(os.Getenv("HOME"), ".gitconfig")))
	if _, committer, err = configOf(j, nil).Identity(now); err != nil || committer.Email != "agent@example.org" {
		t.Errorf("without configuration, the committer is %+v, %v; want the author", committer, err)
	}
	for _, bad := range []string{"x", "<a@b>", "A <>", "A <a@b> x", "A <a@b"} {
		t.Setenv(AuthorEnv, bad)
		if _, _, err := configOf(j, nil).Identity(now); err == nil || !strings.Contains(err.Error(), AuthorEnv) {
			t.Errorf("%s=%q: %v, want an error that names the variable", AuthorEnv, bad, err)
		}
	}
	t.Setenv(AuthorEnv, "")
	t.Setenv("GIT_AUTHOR_NAME", "")
	author, _, err = configOf(j, nil).Identity(now)
	if err != nil || author.Name == "" || !strings.Contains(author.Email, "@") {
		t.Errorf("nothing is configured, and the author is %+v, %v", author, err)
	}
	j.Git("config", "user.useConfigOnly", "true")
	if _, _, err := configOf(j, nil).Identity(now); !errors.Is(err, ErrNoIdentity) {
		t.Errorf("with user.useConfigOnly: %v, want ErrNoIdentity", err)
	}
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func configOf(j *gitjudge.Judge, fsys *disk.FS) *Config {
	return New(j.GitDir, gitlock.Locks{FS: fsys, Wait: 20 * time.Second}, func(string) bool { return true }, nil)
}
