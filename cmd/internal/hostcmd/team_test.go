package hostcmd_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/index"
	"tape/internal/store/layout"
	"tape/repo"
)

// asked is what a command asked a host to do.
type asked struct {
	hostcmd.TeamHost
	entries hostcmd.TeamEntries
	search  hostcmd.TeamSearch
}

func (a *asked) TeamLog(_ context.Context, _ hostcmd.TeamOptions, e hostcmd.TeamEntries) error {
	a.entries = e
	return nil
}

func (a *asked) TeamSearch(_ context.Context, _ hostcmd.TeamOptions, s hostcmd.TeamSearch) error {
	a.search = s
	return nil
}

func (a *asked) run() hostcmd.TeamRun {
	return func(f func(context.Context, hostcmd.TeamHost, hostcmd.TeamOptions) error) func(*cobra.Command, []string) error {
		return func(*cobra.Command, []string) error { return f(context.Background(), a, hostcmd.TeamOptions{}) }
	}
}

// TestTeamShow: an entry is named as searches print it. A tape's name may have slashes and @.
func TestTeamShow(t *testing.T) {
	for target, want := range map[string]hostcmd.TeamEntries{
		"shop/main@17":     {Tape: "shop/main", ID: 17},
		"shop/a@b/agent@3": {Tape: "shop/a@b/agent", ID: 3},
		"shop/main":        {}, "@17": {}, "shop/main@": {}, "shop/main@0": {}, "shop/main@-1": {}, "shop/main@x": {},
	} {
		a := &asked{}
		err := a.run().Show(nil, target, false)
		if bad := want.Tape == ""; bad != errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s: %v", target, err)
		}
		if a.entries.Tape != want.Tape || a.entries.ID != want.ID {
			t.Errorf("%s: asked for %+v", target, a.entries)
		}
	}
}

// TestTeamSearch: the team is searched for words, in all sessions or in one. What only a workspace can do is refused.
func TestTeamSearch(t *testing.T) {
	a := &asked{}
	if err := a.run().Search(nil, hostcmd.TeamSearch{Search: index.Search{Text: "timeout", Tapes: []string{"here"}}}, "", false); err != nil || a.search.Tapes != nil {
		t.Errorf("%v, asked for %+v", err, a.search)
	}
	if err := a.run().Search(nil, hostcmd.TeamSearch{Search: index.Search{Text: "timeout"}}, "shop/main", false); err != nil || !reflect.DeepEqual(a.search.Tapes, []string{"shop/main"}) {
		t.Errorf("%v, asked for %+v", err, a.search)
	}
	for name, s := range map[string]index.Search{"regex": {How: index.Regexp}, "context": {Context: 2}, "count": {Count: true}, "phase": {Query: repo.Query{Phase: "review"}}} {
		if err := a.run().Search(nil, hostcmd.TeamSearch{Search: s}, "", false); !errors.Is(err, layout.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.run().Search(nil, hostcmd.TeamSearch{Search: index.Search{}}, "", true); !errors.Is(err, layout.ErrInvalid) {
		t.Errorf("other flags: %v", err)
	}
}

// TestTeamHas: the team's server is asked for a missing entry only if a server is known and the name can be one of the
// team's.
func TestTeamHas(t *testing.T) {
	t.Setenv("TAPE_HOME", t.TempDir())
	known := func(string) string { return "https://tape.example.org" }
	none := func(string) string { return "" }
	missing := layout.NotFound("", "no such entry")
	for _, c := range []struct {
		target string
		err    error
		getenv func(string) string
		want   bool
	}{
		{"shop/main@17", missing, known, true}, {"shop/main@17", missing, none, false}, {"shop/main@17", nil, known, false},
		{"main@17", missing, known, false}, {"shop/main", missing, known, false},
	} {
		if got := hostcmd.TeamHas(c.target, c.err, c.getenv); got != c.want {
			t.Errorf("%s, %v: %v, want %v", c.target, c.err, got, c.want)
		}
	}
}
