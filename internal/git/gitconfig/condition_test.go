package gitconfig

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tape/internal/testkit/gitjudge"
)

// Work and private identities are set with includeIf. Tools that read git's configuration by themselves miss conditions:
// libgit2/libgit2#6641, go-git/go-git#388, git-town/git-town#4107.
func TestIdentityByConditions(t *testing.T) {
	j := gitjudge.New(t)
	home := os.Getenv("HOME")
	write := func(name, content string) { j.OK(os.WriteFile(filepath.Join(home, name), []byte(content), 0o600)) }
	write(".gitconfig", `[user]
 name = Private
 email = private@example.org
[includeIf "onbranch:tape/"]
 path = branch
[includeIf "onbranch:other"]
 path = wrong
[includeIf "hasconfig:remote.*.url:git@corp.example:*/**"]
 path = ssh
[includeIf "hasconfig:remote.*.url:https://corp.example/**"]
 path = https
[includeIf "hasconfig:remote.*.pushurl:**"]
 path = wrong
`)
	write("branch", "[a]\n branch = yes\n")
	write("ssh", "[user]\n email = ssh@corp.example\n")
	write("https", "[user]\n email = https@corp.example\n")
	write("wrong", "[user]\n email = wrong@example.org\n")
	check := func(what string) {
		t.Helper()
		_, who, err := configOf(j, nil).Identity(time.Now())
		j.OK(err)
		if want := j.Git("var", "GIT_COMMITTER_IDENT"); len(want) < len(who.Name) || who.Name+" <"+who.Email+">" != want[:len(who.Name)+len(who.Email)+3] {
			t.Errorf("%s: %s <%s>, git says %s", what, who.Name, who.Email, want)
		}
	}
	check("no remote")
	if v, _ := configOf(j, nil).Value("a", "", "branch"); v != "yes" {
		t.Error("the condition onbranch:tape/ is not met on tape/main")
	}
	j.Git("remote", "add", "one", "git@corp.example:team/x.git")
	check("ssh")
	j.Git("remote", "add", "two", "https://corp.example/x.git")
	check("https")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "user.email")
	t.Setenv("GIT_CONFIG_VALUE_0", "count@example.org")
	check("GIT_CONFIG_COUNT")
	for _, parameters := range []string{
		`'user.name=Once' 'user.email=once@example.org'`, `'user.name'='It'\''s me' 'user.email'='new@example.org'`,
		`'user.name'='A'\!'B'`, `'a.flag' 'user.name'='X'`, `'user.name=X`, `user.name=X`,
	} {
		t.Setenv("GIT_CONFIG_PARAMETERS", parameters)
		if _, err := j.TryGit(j.Dir, "config", "--list"); err == nil {
			check(parameters)
		} else {
			_, _, err := configOf(j, nil).Identity(time.Now())
			j.OK(err)
		}
	}
}

// What is recorded about a project is committed by whoever works there.
func TestIdentityOfTheProject(t *testing.T) {
	j := gitjudge.New(t)
	home := os.Getenv("HOME")
	project := filepath.Join(home, "work", "shop")
	j.OK(os.MkdirAll(project, 0o700))
	_, err := j.TryGit(project, "init", "-q")
	j.OK(err)
	j.OK(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n name = Private\n email = private@example.org\n"+
		"[includeIf \"gitdir:~/work/\"]\n path = work\n"), 0o600))
	j.OK(os.WriteFile(filepath.Join(home, "work", "cfg"), []byte("[user]\n email = work@example.org\n[core]\n pager = work\n"), 0o600))
	j.Git("config", "--global", "includeIf.gitdir:~/work/.path", filepath.Join(home, "work", "cfg"))
	want := func(what, name, email string) {
		t.Helper()
		c := configOf(j, nil)
		c.ForProject(func() string { return filepath.Join(project, ".git") })
		author, who, err := c.Identity(time.Now())
		j.OK(err)
		if who.Name != name || who.Email != email || author.Email != email {
			t.Errorf("%s: %s <%s>, want %s <%s>", what, who.Name, who.Email, name, email)
		}
		if _, ok := c.Value("core", "", "pager"); ok {
			t.Error("a setting of the project that is not about persons counts")
		}
	}
	want("the user's condition", "Private", "work@example.org")
	_, err = j.TryGit(project, "config", "user.name", "At Work")
	j.OK(err)
	want("set in the project", "At Work", "work@example.org")
	j.Git("config", "user.email", "here@example.org")
	want("set here", "At Work", "here@example.org")
}
