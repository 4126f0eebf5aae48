package mcpserver_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/serve/mcpserver"
	"tape/internal/store/workspace"
	"tape/repo"
)

// projectStore makes a workspace for a project of this name, with a session that says something.
func projectStore(t *testing.T, home, name, said string) *repo.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	o := repo.Options{Project: dir}
	store, _, err := repo.Init(t.Context(), filepath.Join(home, name), &repo.InitOptions{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	tape, err := store.Tape(t.Context(), "")
	if err == nil {
		_, err = tape.Append(t.Context(), nil, repo.Message("user", said))
	}
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestOtherProjects: with project, sessions of the user's other projects are searched and read; not from a workspace that is
// somebody else's.
func TestOtherProjects(t *testing.T) {
	home := t.TempDir()
	t.Setenv(repo.EnvHome, home)
	shop := projectStore(t, home, "shop", "why is the upload slow?")
	projectStore(t, home, "blog", "a post about slow giraffes")
	p := connect(t, shop, mcpserver.Options{})
	if got := p.ok("tape_search", args{"query": "giraffes", "include_current": true}); !strings.HasPrefix(got, "no hits") {
		t.Errorf("without project, another one is searched: %s", got)
	}
	for _, project := range []string{"*", "blog", "BLOG"} {
		got := p.ok("tape_search", args{"query": "giraffes", "project": project})
		if !strings.Contains(got, "project: blog\n") || !strings.Contains(got, "[main] @2 user: a post about slow giraffes") {
			t.Errorf("project %s: %s", project, got)
		}
	}
	if got := p.ok("tape_search", args{"query": "slow", "project": "*", "include_current": true}); !strings.Contains(got, "upload") || !strings.Contains(got, "giraffes") {
		t.Errorf("not both are found: %s", got)
	}
	if got := p.ok("tape_read", args{"project": "blog", "tape": "main", "around": "@2"}); !strings.Contains(got, "giraffes") {
		t.Errorf("it reads %s", got)
	}
	if got := p.ok("tape_list", args{"project": "blog"}); !strings.HasPrefix(got, "1 tape in project blog;") || !strings.Contains(got, "giraffes") {
		t.Errorf("it lists %s", got)
	}
	if got := p.ok("tape_list", args{"project": "blog", "tape": "main"}); !strings.Contains(got, "001 session/start") {
		t.Errorf("it lists %s", got)
	}
	p.fails("tape_list", args{"project": "*"}, "a list is of one project", "tape_search takes *")
	p.ok("tape_context", args{"project": "blog", "tape": "main"})
	p.ok("tape_info", args{"project": "blog", "tape": "main"})
	p.fails("tape_read", args{"project": "cellar", "tape": "main"}, `none of the user's projects is called "cellar"`, "the projects are: blog, shop")
	p.fails("tape_read", args{"project": "*", "tape": "main"}, "name the project")
	p.fails("tape_read", args{"project": "blog"}, "project needs tape")

	dir := filepath.Join(t.TempDir(), "strange")
	if err := os.CopyFS(dir, os.DirFS(shop.Dir())); err != nil {
		t.Fatal(err)
	}
	if workspace.IsOwn(dir) {
		t.Skip("a copy counts as one's own here")
	}
	q := connect(t, shop, mcpserver.Options{Open: func(ctx context.Context) (*repo.Store, error) { return repo.Open(ctx, dir, nil) }})
	q.fails("tape_search", args{"query": "giraffes", "project": "*"}, "somebody else's")
	q.fails("tape_read", args{"project": "blog", "tape": "main"}, "somebody else's")
	q.fails("tape_list", args{"project": "blog"}, "somebody else's")
}

// TestReadTeam: a hit of the team can be read where it was found.
func TestReadTeam(t *testing.T) {
	entries := func(_ context.Context, tape string, from, to int64, most int, newest bool) ([]repo.Entry, error) {
		if tape != "shop/main" || newest {
			t.Errorf("asked for %s, newest %v", tape, newest)
		}
		var out []repo.Entry
		for id := from; id <= min(to, 20) && len(out) < most; id++ {
			e := repo.Entry{Tape: "main", ID: id, Kind: repo.KindMessage, Date: "2026-11-20T10:00:00Z", Payload: []byte(`{"role":"user","content":"retry"}`)}
			out = append(out, e)
		}
		return out, nil
	}
	p := connect(t, newStore(t), mcpserver.Options{TeamEntries: entries})
	got := p.ok("tape_read", args{"scope": "team", "tape": "shop/main", "around": "@17", "before": 1, "after": 1})
	if !strings.Contains(got, "@16 ") || !strings.Contains(got, "@17 2026-11-20T10:00Z user: retry") || !strings.Contains(got, "@18 ") || strings.Contains(got, "@19") {
		t.Errorf("it reads %s", got)
	}
	p.fails("tape_read", args{"scope": "team", "tape": "shop/main", "around": "@99"}, "has no entry @99")
	p.fails("tape_read", args{"scope": "team", "tape": "main", "around": "@1"}, "REMOTE/TAPE")
}

// TestQuiet: what only an agent's program needs is in no answer, and a prompt without its argument is an error.
func TestQuiet(t *testing.T) {
	store := newStore(t)
	tape, err := store.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	const id = "0b5e1c1e-4c1f-4c57-9d0a-5f2d3c4b5a69"
	state := `{"summary":"short","replacement_history":[{"role":"user","content":"again and again"}],"kept":["` + id + `","` + id + `"],"open":["tests"]}`
	if _, err := tape.Handoff(t.Context(), repo.Anchor{Name: "compaction", State: []byte(state)}); err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Append(t.Context(), nil, repo.Event("queue", []byte(`{"ids":["`+id+`"],"n":1}`)), repo.Message("user", "go on")); err != nil {
		t.Fatal(err)
	}
	p := connect(t, store, mcpserver.Options{})
	for _, tool := range []string{"tape_read", "tape_context", "tape_info"} {
		got := p.ok(tool, args{})
		if strings.Contains(got, "again and again") || strings.Contains(got, "replacement_history") || strings.Contains(got, id) || tool != "tape_read" && !strings.Contains(got, `"open":["tests"]`) && !strings.Contains(got, `\"open\":[\"tests\"]`) {
			t.Errorf("%s answers %s", tool, got)
		}
	}
	for _, given := range []map[string]string{nil, {"topic": " "}} {
		if _, err := p.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "recall", Arguments: given}); err == nil || !strings.Contains(err.Error(), "topic is missing") {
			t.Errorf("recall with %v: %v", given, err)
		}
	}
}
