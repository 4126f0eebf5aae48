package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/serve/team/config"
	"tape/internal/store/layout"
)

const example = `
database = "postgres:///tape?host=/run/postgresql"
url      = "https://tape.example.org/sessions/"
trusted_proxies = ["127.0.0.1", "10.0.0.0/8"]

[[remote]]
name   = "shop"
url    = "/srv/git/shop.git"
groups = ["shop", "leads"]
exclude = ["private-*"]

[[remote]]
name   = "bank"
url    = "./bank.git"
groups = ["bank", "leads"]
include = ["pay-*"]

[auth]
kind = "tokens"
`

func none(string) string { return "" }

func load(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "team.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(file, none)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	c, err := load(t, example)
	if err != nil {
		t.Fatal(err)
	}
	if c.URL != "https://tape.example.org/sessions" || c.Listen != "127.0.0.1:8700" || c.AuditDays != 90 || c.Cache == "" {
		t.Errorf("the URL should have no slash at the end, and the rest its default: %+v", c)
	}
	if !filepath.IsAbs(c.Remotes[1].URL) {
		t.Errorf("a relative path stays relative: %s", c.Remotes[1].URL)
	}
	for groups, want := range map[string]string{"shop": "shop", "bank": "bank", "leads": "shop bank", "x": "", "x,shop": "shop"} {
		if got := strings.Join(c.Seen(strings.Split(groups, ",")), " "); got != want {
			t.Errorf("the groups %s see %q, want %q", groups, got, want)
		}
	}
	if got := c.Groups(); !slices.Equal(got, []string{"bank", "leads", "shop"}) {
		t.Errorf("the groups are %v, want bank, leads and shop", got)
	}
	shop, bank := c.Remote("shop"), c.Remote("bank")
	for name, want := range map[string][2]bool{"main": {true, false}, "private-x": {false, false}, "private-x/fork": {false, false}, "pay-1/try": {true, true}} {
		if got := [2]bool{shop.Takes(name), bank.Takes(name)}; got != want {
			t.Errorf("%s is read by shop and bank: %v, want %v", name, got, want)
		}
	}
}

// TestRefused: the error for each mistake names the setting.
func TestRefused(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"database = \"postgres:///tape?host=/run/postgresql\"=>": "database is missing",
		"database =>databse ":                                               "line 2: there is no setting databse",
		"url      = \"https://=>url      = \"ftp://":                        "url is \"ftp://",
		"\"10.0.0.0/8\"=>\"proxy\"":                                         "url and trusted_proxies: \"proxy\" is not the address of a proxy",
		"name   = \"bank\"=>name   = \"Shop\"":                              "two remotes are called Shop",
		"name   = \"bank\"=>name   = \"../x\"":                              "the name of a remote is \"../x\"",
		"groups = [\"bank\", \"leads\"]=>":                                  "remote bank: groups is empty",
		"\"pay-*\"=>\"[\"":                                                  "\"[\" is not a pattern",
		"kind = \"tokens\"=>kind = \"ldap\"":                                "auth.kind is \"ldap\"",
		"kind = \"tokens\"=>kind = \"oidc\"":                                "auth.issuer is \"\"",
		"[[remote]]=>[[remote":                                              "line 6",
		"trusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]=>audit_days = 0": "audit_days is 0",
	} {
		old, next, _ := strings.Cut(change, "=>")
		text := strings.Replace(example, old, next, 1)
		if text == example {
			t.Fatalf("%s changes nothing", old)
		}
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
	if _, err := config.Load(filepath.Join(t.TempDir(), "team.toml"), none); err == nil || len(layout.Hints(err)) == 0 {
		t.Errorf("without a file: %v, want an error with a hint", err)
	}
	proxy := strings.Replace(strings.Replace(example, `"tokens"`, `"proxy"`, 1), `trusted_proxies = ["127.0.0.1", "10.0.0.0/8"]`, "", 1)
	if _, err := load(t, proxy); err == nil || !strings.Contains(err.Error(), "trusted_proxies is empty") {
		t.Errorf("kind proxy without a proxy: %v, want that trusted_proxies is empty", err)
	}
}

// TestSecrets: the database's address may come from a file or the environment.
func TestSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "team.toml")
	text := strings.Replace(example, `database = "postgres:///tape?host=/run/postgresql"`, `database_file = "secret"`, 1)
	for name, content := range map[string]string{"team.toml": text, "secret": "postgres://u:p@h/d\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := config.Load(file, none); err != nil || c.Database != "postgres://u:p@h/d" {
		t.Errorf("the settings are %+v (%v), want the address in the file", c, err)
	}
	env := func(name string) string {
		return map[string]string{"TAPE_TEAM_DATABASE": "postgres:///other", "TAPE_TEAM_CONFIG": "elsewhere.toml"}[name]
	}
	if c, err := config.Load(file, env); err != nil || c.Database != "postgres:///other" {
		t.Errorf("the settings are %+v (%v), want the address in the environment", c, err)
	}
	if config.FileName("", env) != "elsewhere.toml" || config.FileName("x", env) != "x" || config.FileName("", none) != "team.toml" {
		t.Errorf("the files are %q, %q and %q; want elsewhere.toml, x and team.toml", config.FileName("", env), config.FileName("x", env), config.FileName("", none))
	}
}
