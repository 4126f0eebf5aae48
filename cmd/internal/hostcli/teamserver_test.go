package hostcli

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/stdio"
	"tape/internal/serve/team/config"
	"tape/internal/serve/team/sync"
	"tape/internal/store/layout"
	"tape/internal/testkit/teamtest"
)

func teamOptions(t *testing.T, asJSON bool) (hostcmd.TeamOptions, func() string) {
	t.Helper()
	out := &bytes.Buffer{}
	s := &stdio.Streams{Stdout: out, Stderr: out, Out: bufio.NewWriter(out), JSON: asJSON, Now: time.Now, Getenv: func(string) string { return "" }}
	return hostcmd.TeamOptions{Streams: s, Config: filepath.Join(t.TempDir(), "team.toml")}, func() string {
		defer out.Reset()
		_ = s.Flush()
		return out.String()
	}
}

// TestTeamSync: a sync shows what it did with each remote; while watching, it shows only changes and errors.
func TestTeamSync(t *testing.T) {
	done := sync.Result{Remote: "shop", Tapes: 2, Entries: 31, Removed: 4, Took: 1500 * time.Millisecond}
	failed := sync.Result{Remote: "bank", Err: errors.New("it does not answer")}
	for _, c := range []struct {
		json, watching bool
		result         sync.Result
		want           string
	}{
		{false, false, done, "shop: 2 tapes changed, 31 entries added, 4 removed\n"},
		{true, false, done, `{"remote":"shop","tapes":2,"entries":31,"removed":4,"seconds":1.5,"error":null}` + "\n"},
		{true, true, failed, `{"remote":"bank","tapes":0,"entries":0,"removed":0,"seconds":0,"error":"it does not answer"}` + "\n"},
		{false, true, failed, "tape: warning: bank: it does not answer\n"},
		{false, false, failed, ""}, // the error of the command says it
		{false, true, sync.Result{Remote: "shop"}, ""},
		{false, false, sync.Result{Remote: "shop", Busy: true}, ""},
	} {
		o, text := teamOptions(t, c.json)
		showSync(o.Streams, c.result, c.watching)
		if got := text(); got != c.want {
			t.Errorf("%+v\ngot  %q\nwant %q", c.result, got, c.want)
		}
	}
}

// TestTeamListen: an address that other machines can reach is refused unless a proxy is named.
func TestTeamListen(t *testing.T) {
	for _, c := range []struct {
		listen  string
		proxies []string
		want    string
	}{{"127.0.0.1:0", nil, ""}, {"0.0.0.0:0", []string{"10.0.0.1"}, ""}, {"0.0.0.0:0", nil, "unencrypted"}, {"nowhere", nil, "cannot listen"}} {
		l, err := listenForTeam(t.Context(), &config.Config{Listen: c.listen, TrustedProxies: c.proxies})
		if err == nil {
			err = l.Close()
		}
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("listen on %s with the proxies %v: got %v, want an error with %q", c.listen, c.proxies, err, c.want)
		}
	}
}

// TestTeamWithoutDatabase: mistakes in the arguments are found without the database, and an error names a database that
// does not answer.
func TestTeamWithoutDatabase(t *testing.T) {
	o, text := teamOptions(t, false)
	text()
	if err := (Host{}).TeamStatus(t.Context(), o); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("without team.toml: got %v, want ErrNotFound", err)
	}
	settings := `database = "postgres:///tape?host=` + filepath.Dir(o.Config) + `"
url = "http://localhost:1"
listen = "127.0.0.1:0"
[[remote]]
name = "shop"
url = "/nowhere/shop.git"
groups = ["shop"]
[auth]
kind = "tokens"
`
	if err := os.WriteFile(o.Config, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"a group":    Host{}.TeamTokenAdd(t.Context(), o, "ada", []string{"bank"}, "90d"),
		"no group":   Host{}.TeamTokenAdd(t.Context(), o, "ada", nil, "90d"),
		"a name":     Host{}.TeamTokenAdd(t.Context(), o, "../ada", []string{"shop"}, "90d"),
		"a duration": Host{}.TeamTokenAdd(t.Context(), o, "ada", []string{"shop"}, "soon"),
	} {
		if !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s that is wrong: got %v, want ErrInvalid", what, err)
		}
	}
	if err := (Host{}).TeamSync(t.Context(), o, []string{"bank"}, 0); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("a remote that is not in team.toml: got %v, want ErrNotFound", err)
	}
	if err := (Host{}).TeamStatus(t.Context(), o); err == nil || !strings.Contains(err.Error(), "database") {
		t.Errorf("without a database: got %v, want an error that names it", err)
	}
	if err := (Host{}).TeamCheck(t.Context(), o); err == nil {
		t.Error("tape team check succeeded without a database")
	}
	if got := text(); !strings.Contains(got, "failed  database:") || !strings.Contains(got, "failed  remote shop:") {
		t.Errorf("tape team check says\n%s\nwant that database and remote shop failed", got)
	}
}

// TestTeamToken: the token is all that is printed on standard output, so that a program can take it; check says what there
// is.
func TestTeamToken(t *testing.T) {
	address := teamtest.Address(t)
	var out, said bytes.Buffer
	s := &stdio.Streams{Stdout: &out, Stderr: &said, Out: bufio.NewWriter(&out), Now: time.Now, Getenv: func(string) string { return "" }}
	o := hostcmd.TeamOptions{Streams: s, Config: filepath.Join(t.TempDir(), "team.toml")}
	text := "database = \"" + address + "\"\nurl = \"http://127.0.0.1:8700\"\nlisten = \"127.0.0.1:0\"\n[[remote]]\nname = \"shop\"\nurl = \"/nowhere.git\"\ngroups = [\"shop\"]\n[auth]\nkind = \"tokens\"\n"
	if err := os.WriteFile(o.Config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Host{}).TeamTokenAdd(t.Context(), o, "ada", []string{"shop"}, "90d"); err != nil {
		t.Fatal(err)
	}
	_ = s.Flush()
	token, rest, _ := strings.Cut(out.String(), "\n")
	if !strings.HasPrefix(token, "tape_team_") || rest != "" || !strings.Contains(said.String(), "tape login http://127.0.0.1:8700 --token-stdin") {
		t.Errorf("printed %q, said %q", out.String(), said.String())
	}
	out.Reset()
	if err := (Host{}).TeamCheck(t.Context(), o); err == nil {
		t.Error("a remote that is nowhere is found")
	}
	_ = s.Flush()
	for _, want := range []string{"ok      database\n        PostgreSQL ", "ok      tables\n        0 tapes with 0 entries of 0 remotes; 1 valid token\n", "failed  remote shop: ", "ok      listen\n        127.0.0.1:0, which people call http://127.0.0.1:8700; they log in with tokens\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("check prints\n%s\nwithout %q", out.String(), want)
		}
	}
}
