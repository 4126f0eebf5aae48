package hooks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tape/hooks"
	"tape/repo"
)

// An agent of three plugins: a model, here a parrot; a record of what is said; and a way out.
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

	model := &hooks.Plugin{
		Name: "parrot",
		RunModel: func(_ context.Context, p hooks.Prompt, _ string, _ hooks.State) (*string, error) {
			return new(strings.ToUpper(p.Text)), nil
		},
	}
	record := &hooks.Plugin{
		Name: "record",
		SaveState: func(ctx context.Context, _ string, _ hooks.State, m hooks.Envelope, output string) error {
			t, err := store.Tape(ctx, "main")
			if err != nil {
				return err
			}
			_, err = t.Append(ctx, nil, repo.Message("user", m.Text(hooks.KeyContent)), repo.Message("assistant", output))
			return err
		},
	}
	out := &hooks.Plugin{
		Name: "print",
		DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
			fmt.Printf("to %s: %s\n", m.Text(hooks.KeyChat), m.Text(hooks.KeyContent))
			return true, nil
		},
	}

	r := hooks.New(nil)
	for _, p := range []*hooks.Plugin{model, record, out, hooks.ErrorMessages(r)} {
		if err := r.Register(p); err != nil {
			panic(err)
		}
	}
	result, err := r.Process(ctx, hooks.Envelope{
		hooks.KeyChannel: "harbour", hooks.KeyChat: "silver", hooks.KeyContent: "pieces of eight",
	}, hooks.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println("session:", result.Session)

	t, err := store.Tape(ctx, "main")
	if err != nil {
		panic(err)
	}
	for e, err := range t.Entries(ctx, repo.Query{Kinds: []string{"message"}}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(string(e.Payload))
	}
	// Output:
	// to silver: PIECES OF EIGHT
	// session: harbour:silver
	// {"role":"user","content":"pieces of eight"}
	// {"role":"assistant","content":"PIECES OF EIGHT"}
}

// A plugin can keep a tool from running, or answer instead of it.
func ExampleRuntime_BeforeToolCall() {
	r := hooks.New(nil)
	err := r.Register(&hooks.Plugin{
		Name: "careful",
		BeforeToolCall: func(_ context.Context, c hooks.ToolCall, _ hooks.State) (*hooks.ToolDecision, error) {
			if strings.Contains(string(c.Arguments), "rm -rf") {
				return &hooks.ToolDecision{Action: hooks.Deny, Message: "nothing is removed here"}, nil
			}
			return nil, nil
		},
	})
	if err != nil {
		panic(err)
	}
	_, decision := r.BeforeToolCall(context.Background(), hooks.ToolCall{Tool: "bash", Arguments: []byte(`{"cmd":"rm -rf /"}`)}, nil)
	fmt.Println(decision.Action, decision.Message)
	// Output: deny nothing is removed here
}
