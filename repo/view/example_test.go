package view_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tape/repo"
	"tape/repo/view"
)

// An agent continues after a handoff with what it needs, and no more.
func ExampleBuild() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, _, err := repo.Init(ctx, filepath.Join(dir, "ws"), nil)
	if err != nil {
		panic(err)
	}
	t, err := store.Tape(ctx, "")
	if err != nil {
		panic(err)
	}
	if _, err = t.Append(ctx, nil, repo.Message("user", "plan the cache")); err != nil {
		panic(err)
	}
	if _, err = t.Handoff(ctx, repo.Anchor{Name: "implement", Summary: "SQLite it is"}); err != nil {
		panic(err)
	}
	if _, err = t.Append(ctx, nil, repo.Message("user", "go ahead")); err != nil {
		panic(err)
	}

	for _, format := range view.Formats() {
		c, err := view.Build(ctx, t, view.Options{Format: format})
		if err != nil {
			panic(err)
		}
		fmt.Println(string(c.JSON()))
	}
	// Output:
	// [{"role":"assistant","content":"[Anchor created: implement]: {\"summary\":\"SQLite it is\"}"},{"role":"user","content":"go ahead"}]
	// [{"role":"user","content":[{"type":"text","text":"[Anchor created: implement]: {\"summary\":\"SQLite it is\"}"},{"type":"text","text":"go ahead"}]}]
}
