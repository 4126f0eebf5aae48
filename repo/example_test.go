package repo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tape/repo"
)

// A session is recorded in two phases and read back.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	store, _, err := repo.Init(ctx, filepath.Join(dir, "shop"), nil)
	if err != nil {
		panic(err)
	}
	t, err := store.Tape(ctx, "") // the current one
	if err != nil {
		panic(err)
	}
	_, err = t.Append(ctx, nil,
		repo.System("You are a careful engineer."),
		repo.Message("user", "Cache the price list."),
		repo.Message("assistant", "Redis or SQLite?"))
	if err != nil {
		panic(err)
	}
	h, err := t.Handoff(ctx, repo.Anchor{Name: "implement", Summary: "SQLite it is"})
	if err != nil {
		panic(err)
	}
	fmt.Println("tag:", h.Tag)
	if _, err := t.Append(ctx, nil, repo.Message("user", "Go ahead.")); err != nil {
		panic(err)
	}

	for e, err := range t.Entries(ctx, repo.Query{}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.ID, e.Kind, string(e.Payload))
	}
	// Output:
	// tag: anchor/main/002_implement
	// 1 anchor {"name":"session/start","state":{"owner":"human"}}
	// 2 system {"content":"You are a careful engineer."}
	// 3 message {"role":"user","content":"Cache the price list."}
	// 4 message {"role":"assistant","content":"Redis or SQLite?"}
	// 5 anchor {"name":"implement","state":{"summary":"SQLite it is"}}
	// 6 message {"role":"user","content":"Go ahead."}
}

// A fresh agent rebuilds its context from what came after the last handoff.
func ExampleTape_Entries() {
	ctx := context.Background()
	t, done := exampleTape(ctx)
	defer done()

	q := repo.Query{After: repo.Latest, Kinds: []string{repo.KindMessage}, Tail: repo.N(2)}
	for e, err := range t.Entries(ctx, q) {
		if err != nil {
			panic(err)
		}
		fmt.Println(e.ID, string(e.Payload))
	}
	for _, err := range t.Show(ctx, "no-such-phase") {
		fmt.Println(errors.Is(err, repo.ErrNotFound))
	}
	// Output:
	// 5 {"role":"assistant","content":"b"}
	// 6 {"role":"user","content":"c"}
	// true
}

// Several steps happen completely or not at all.
func ExampleTape_Update() {
	ctx := context.Background()
	t, done := exampleTape(ctx)
	defer done()

	result, err := t.Update(ctx, func(tx *repo.Tx) error {
		if _, err := tx.AppendEntry(ctx, repo.Event("run", json.RawMessage(`{"tokens":512}`))); err != nil {
			return err
		}
		_, err := tx.Handoff(ctx, repo.Anchor{Name: "review"})
		return err
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Appended, "entries,", result.FirstID, "to", result.LastID)

	_, err = t.Update(ctx, func(tx *repo.Tx) error {
		if _, err := tx.AppendEntry(ctx, repo.Message("user", "never mind")); err != nil {
			return err
		}
		return errors.New("changed my mind")
	})
	info, _ := t.Info(ctx)
	fmt.Println(info.Entries, "entries after:", err)
	// Output:
	// 2 entries, 7 to 8
	// 8 entries after: write tape "main": changed my mind
}

func exampleTape(ctx context.Context) (t *repo.Tape, done func()) {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	store, _, err := repo.Init(ctx, filepath.Join(dir, "ws"), nil)
	if err != nil {
		panic(err)
	}
	if t, err = store.Tape(ctx, ""); err != nil {
		panic(err)
	}
	if _, err = t.Append(ctx, nil, repo.Message("user", "before")); err != nil {
		panic(err)
	}
	if _, err = t.Handoff(ctx, repo.Anchor{Name: "work"}); err != nil {
		panic(err)
	}
	if _, err = t.Append(ctx, nil, repo.Message("user", "a"), repo.Message("assistant", "b"), repo.Message("user", "c")); err != nil {
		panic(err)
	}
	return t, func() { _ = os.RemoveAll(dir) }
}
