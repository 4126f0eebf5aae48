package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"tape/index"
	"tape/internal/serve/mcpserver"
	"tape/internal/serve/team/find"
	"tape/repo"
)

// TestScope: with a team's server, tape_search accepts scope=team; without one, it has no such parameter.
func TestScope(t *testing.T) {
	t.Parallel()
	var asked index.Search
	team := func(_ context.Context, s index.Search) ([]find.Hit, bool, error) {
		asked = s
		e := repo.Entry{Tape: "main", Workspace: "shop", ID: 17, Kind: repo.KindMessage, Date: "2026-11-20T10:00:00Z", Payload: json.RawMessage(`{"role":"user","content":"retry"}`)}
		return []find.Hit{{Hit: index.Hit{Entry: e, Snippet: "retry three times"}, Title: "Timeouts"}}, true, nil
	}
	with := connect(t, newStore(t), mcpserver.Options{Team: team})
	got := with.ok("tape_search", args{"query": "retry", "scope": "team", "tape": "shop/main", "limit": 3, "roles": []string{"user"}})
	for _, want := range []string{`"Timeouts" [shop/main] @17 user: retry three times`, "tape show REMOTE/TAPE@id", "more entries match"} {
		if !strings.Contains(got, want) {
			t.Errorf("the hits of the team lack %q: %s", want, got)
		}
	}
	if asked.Text != "retry" || strings.Join(asked.Tapes, " ") != "shop/main" || *asked.Query.Limit != 3 || len(asked.Query.Roles) != 1 {
		t.Errorf("the team is asked for %+v, want retry by users in shop/main, 3 hits", asked)
	}
	with.fails("tape_search", args{"query": "retry", "scope": "world"}, `scope is "world"`)
	without := connect(t, newStore(t), mcpserver.Options{})
	for p, want := range map[*peer]bool{with: true, without: false} {
		list, err := p.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := json.Marshal(list.Tools)
		if err != nil || strings.Contains(string(schema), `"scope"`) != want {
			t.Errorf("scope is offered: %v (%v), want %v", !want, err, want)
		}
	}
}
