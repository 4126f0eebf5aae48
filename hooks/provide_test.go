package hooks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tape/hooks"
	"tape/repo"
)

// The hooks outside a turn: their results if these plugins are registered in this order.
func TestProvided(t *testing.T) {
	named := func(name string) hooks.Channel { return channel(name) }
	for _, c := range []struct {
		name    string
		plugins []*hooks.Plugin
		ask     func(context.Context, *hooks.Runtime) (any, error)
		want    string
	}{
		{
			"system_prompt: joined with blank lines, the plugin asked first comes last; nil and empty texts are left out",
			[]*hooks.Plugin{system(new("low")), system(new("")), system(nil), system(new("high"))},
			askSystem, "low\n\nhigh",
		}, {
			"system_prompt: by priority",
			[]*hooks.Plugin{{Name: "prior", Priority: 1, SystemPrompt: system(new("prior")).SystemPrompt}, system(new("late"))},
			askSystem, "late\n\nprior",
		}, {
			"system_prompt: nobody", nil, askSystem, "",
		}, {
			"continue_prompt: the first answer is used, even if it is empty",
			[]*hooks.Plugin{further(&hooks.Prompt{Text: "low"}), further(&hooks.Prompt{}), further(nil)},
			askFurther, "&{ []}",
		}, {
			"continue_prompt: nobody", []*hooks.Plugin{further(nil)}, askFurther, "<nil>",
		}, {
			"admit_message: nobody decides, so the message is processed", []*hooks.Plugin{admission(hooks.Undecided)}, askAdmission, "process",
		}, {
			"admit_message: the first decision is used",
			[]*hooks.Plugin{admission(hooks.Drop), admission(hooks.Steer), admission(hooks.Undecided)}, askAdmission, "steer",
		}, {
			"provide_channels: of two with the same name, the first",
			[]*hooks.Plugin{channels(named("a"), named("b")), channels(named("b"), named("c")), channels()},
			func(ctx context.Context, r *hooks.Runtime) (any, error) { return r.Channels(ctx, nil) }, "[b c a]",
		}, {
			"tools: of two with the same name, the first",
			[]*hooks.Plugin{
				{Tools: []hooks.Tool{{Name: "bash", Description: "low"}, {Name: "fs"}}},
				{Tools: []hooks.Tool{{Name: "bash", Description: "high"}}},
			},
			func(_ context.Context, r *hooks.Runtime) (any, error) {
				var names []string
				for _, tool := range r.Tools(t.Context()) {
					names = append(names, tool.Name+tool.Description)
				}
				return names, nil
			}, "[bashhigh fs]",
		}, {
			"register_cli_commands: of two with the same name, the first",
			[]*hooks.Plugin{
				{RegisterCommands: func() []hooks.Command { return []hooks.Command{{Name: "x", Short: "low"}} }},
				{RegisterCommands: func() []hooks.Command { return []hooks.Command{{Name: "x", Short: "high"}, {Name: "y"}} }},
			},
			func(ctx context.Context, r *hooks.Runtime) (any, error) {
				all, err := r.Commands(ctx)
				var names []string
				for _, c := range all {
					names = append(names, c.Name+c.Short)
				}
				return names, err
			}, "[xhigh y]",
		}, {
			"provide_model_options: all, in order; of two with the same id, the first",
			[]*hooks.Plugin{options("a", "b"), options("b", "c")},
			func(ctx context.Context, r *hooks.Runtime) (any, error) { return r.ModelOptions(ctx, "s") }, "[{b  0} {c  0} {a  0}]",
		}, {
			"onboard_config: the plugin that is otherwise asked first is called last, sees the settings so far, and wins",
			[]*hooks.Plugin{
				onboard(map[string]any{"model": "low", "base_urls": map[string]any{"a": "1"}}),
				onboard(nil),
				onboard(map[string]any{"model": "high", "base_urls": map[string]any{"b": "2"}}),
			},
			func(ctx context.Context, r *hooks.Runtime) (any, error) {
				return r.Onboard(ctx, map[string]any{"base_urls": map[string]any{"z": "0"}})
			}, "map[base_urls:map[a:1 b:2 z:0] model:high saw:map[base_urls:map[a:1 z:0] model:low saw:map[base_urls:map[z:0]]]]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := quiet()
			register(t, r, c.plugins...)
			got, err := c.ask(t.Context(), r)
			if err != nil || fmt.Sprint(got) != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestRegisterRefusesMissingAndTakenNames(t *testing.T) {
	r := quiet()
	register(t, r, &hooks.Plugin{Name: "a"})
	for _, name := range []string{"", "a"} {
		if err := r.Register(&hooks.Plugin{Name: name}); err == nil {
			t.Errorf("a plugin with the name %q was registered, want an error", name)
		}
	}
	register(t, r, &hooks.Plugin{Name: "b"}, &hooks.Plugin{Name: "first", Priority: 1}, &hooks.Plugin{Name: "last", Priority: -1}, &hooks.Plugin{Name: "c"})
	var order []string
	for _, p := range r.Plugins() {
		order = append(order, p.Name)
	}
	if got := strings.Join(order, " "); got != "first c b a last" {
		t.Errorf("plugins are asked in the order %q, want \"first c b a last\"", got)
	}
}

func TestSteeringInbox(t *testing.T) {
	ctx, r := t.Context(), quiet()
	inbox, err := r.SteeringInbox(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := inbox.Put(ctx, "s", content(text)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := r.SteeringInbox(ctx)
	if err != nil || again.Len("s") != 2 || again.Len("other") != 0 {
		t.Errorf("%d messages wait for s, %d for another session (%v), want 2 and 0", again.Len("s"), again.Len("other"), err)
	}
	got, err := again.Drain(ctx, "s")
	if err != nil || len(got) != 2 || got[0].Text("content") != "one" || again.Len("s") != 0 {
		t.Errorf("drained %v, %v, want the 2 messages in order, and none left", got, err)
	}

	mine := inbox
	r = quiet()
	register(t, r, &hooks.Plugin{ProvideSteeringInbox: func(context.Context) (hooks.SteeringInbox, error) { return mine, nil }})
	if given, err := r.SteeringInbox(ctx); given != mine || err != nil {
		t.Errorf("a plugin's inbox is not used: %v, %v", given, err)
	}
}

func TestTapeStoreAndContext(t *testing.T) {
	ctx, r := t.Context(), quiet()
	r.Workspace = filepath.Join(t.TempDir(), "shop")
	if _, err := r.TapeStore(ctx); err == nil {
		t.Error("opening a missing folder succeeded, want an error")
	}
	if _, _, err := repo.Init(ctx, r.Workspace, nil); err != nil {
		t.Fatal(err)
	}
	store, err := r.TapeStore(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(r.Workspace)
	if err != nil || store.Dir() != dir && store.Dir() != r.Workspace {
		t.Errorf("the store is in %s, wanted %s, %v", store.Dir(), dir, err)
	}
	tape, err := store.Tape(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Append(ctx, nil, repo.Message("system", "Be kind."), repo.Message("user", "old")); err != nil {
		t.Fatal(err)
	}
	build, err := r.BuildTapeContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(messages(t, build, tape, "anthropic"), "\n")
	if !strings.Contains(got, "Be kind.") || !strings.Contains(got, "old") {
		t.Errorf("want both messages in the context, got\n%s", got)
	}
	if _, err := tape.Handoff(ctx, repo.Anchor{Name: "next"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Append(ctx, nil, repo.Message("user", "new")); err != nil {
		t.Fatal(err)
	}
	got = strings.Join(messages(t, build, tape, "openai"), "\n")
	if strings.Contains(got, "old") || !strings.Contains(got, "[Anchor created: next]") || !strings.HasSuffix(got, `{"role":"user","content":"new"}`) {
		t.Errorf("want the context from the last anchor, got\n%s", got)
	}

	other := quiet()
	other.Workspace = os.DevNull
	register(t, other,
		&hooks.Plugin{ProvideTapeStore: func(context.Context) (*repo.Store, error) { return store, nil }},
		&hooks.Plugin{BuildTapeContext: func(context.Context) (hooks.TapeContext, error) {
			return func(context.Context, *repo.Tape, string) ([]json.RawMessage, error) {
				return []json.RawMessage{[]byte("1")}, nil
			}, nil
		}})
	if given, err := other.TapeStore(ctx); given != store || err != nil {
		t.Errorf("a plugin's store is not used: %v", err)
	}
	if build, err = other.BuildTapeContext(ctx); err != nil || !reflect.DeepEqual(messages(t, build, tape, ""), []string{"1"}) {
		t.Errorf("a plugin's context is not used: %v", err)
	}
}

func messages(t *testing.T, build hooks.TapeContext, tape *repo.Tape, form string) []string {
	t.Helper()
	all, err := build(t.Context(), tape, form)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, string(m))
	}
	return texts
}
