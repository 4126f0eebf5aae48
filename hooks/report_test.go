package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tape/hooks"
)

func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, calls := quiet(), 0
		register(t, r, &hooks.Plugin{Name: "unasked", BuildPrompt: prompt(nil).BuildPrompt}, &hooks.Plugin{
			Name: "ai",
			RunModelStream: func(context.Context, hooks.Prompt, string, hooks.State) (hooks.Stream, error) {
				calls++
				return func(yield func(hooks.Event, error) bool) {
					time.Sleep(time.Duration(calls) * time.Second)
					if calls == 2 {
						yield(hooks.Event{}, errBroken)
					}
				}, nil
			},
			BuildPrompt: prompt(&hooks.Prompt{Text: "p"}).BuildPrompt,
		})
		for range 2 {
			if _, err := r.Process(t.Context(), content("hi"), hooks.Options{}); err != nil && !errors.Is(err, errBroken) {
				t.Error(err)
			}
		}
		got, err := json.Marshal(r.Report())
		want := `[{"hook":"build_prompt","plugins":[{"name":"ai","calls":2,"failures":0,"mean_ns":0},{"name":"unasked","calls":0,"failures":0,"mean_ns":0}]},` +
			`{"hook":"run_model_stream","plugins":[{"name":"ai","calls":2,"failures":1,"last_error":"broken","mean_ns":1500000000}]}]`
		if err != nil || string(got) != want {
			t.Errorf("%s, %v\nwanted\n%s", got, err, want)
		}
	})
}

// Every function of a plugin except Status and MoreTools is a named hook, and the runtime asks it.
func TestEachHookIsAsked(t *testing.T) {
	ctx, r := t.Context(), quiet()
	p := &hooks.Plugin{Name: "all"}
	fields, count := reflect.ValueOf(p).Elem(), 0
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.Func && fields.Type().Field(i).Name != "Status" && fields.Type().Field(i).Name != "MoreTools" {
			count++
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				var none []reflect.Value
				for j := range f.Type().NumOut() {
					none = append(none, reflect.Zero(f.Type().Out(j)))
				}
				return none
			}))
		}
	}
	register(t, r, p)
	if len(p.Hooks()) != count {
		t.Errorf("%d functions, but the hooks are %v", count, p.Hooks())
	}
	r.Workspace = t.TempDir()
	_, turn := r.Process(ctx, content("hi"), hooks.Options{})
	_, further := r.ContinuePrompt(ctx, hooks.Prompt{}, nil, nil)
	_, tapeContext := r.BuildTapeContext(ctx)
	_, store := r.TapeStore(ctx)
	_, admission := r.Admit(ctx, "s", nil, hooks.Turn{})
	_, inbox := r.SteeringInbox(ctx)
	_, systemPrompt := r.SystemPrompt(ctx, hooks.Prompt{}, nil)
	_, channels := r.Channels(ctx, nil)
	_, commands := r.Commands(ctx)
	_, config := r.Onboard(ctx, nil)
	_, models := r.ModelOptions(ctx, "s")
	if err := errors.Join(turn, further, tapeContext, admission, inbox, systemPrompt, channels, commands, config, models); err != nil || store == nil {
		t.Errorf("got %v, want nil; opening a store in a folder without one: got %v, want an error", err, store)
	}
	_, _, before := r.BeforeModelCall(ctx, hooks.ModelCall{}, nil)
	after := r.AfterModelCall(ctx, hooks.ModelCall{}, hooks.ModelResult{}, nil)
	if err := errors.Join(before, after); err != nil {
		t.Error(err)
	}
	r.BeforeToolCall(ctx, hooks.ToolCall{}, nil)
	r.AfterToolCall(ctx, hooks.ToolCall{}, hooks.ToolResult{}, nil)
	for _, h := range r.Report() {
		calls := map[string]int{"on_error": 2}[h.Hook] // no model has run, and nobody has sent the answer
		if h.Plugins[0].Calls != max(1, calls) || h.Plugins[0].Failures != 0 {
			t.Errorf("%s: got %+v, want %d calls and no failure", h.Hook, h.Plugins[0], max(1, calls))
		}
	}
}

func TestErrorMessages(t *testing.T) {
	for _, c := range []struct {
		name  string
		stage string
		err   error
		want  string
	}{
		{"an error that ended a turn", hooks.StageTurn, errBroken, "Error: broken channel=tg chat_id=7 output_channel=log kind=error"},
		{"an error after which the turn went on", hooks.StageModel, hooks.ErrNoModel, "Error: run_model: no plugin has run the model channel=tg chat_id=7 output_channel=log kind=error"},
		{"a cancelled turn sends nothing", hooks.StageTurn, fmt.Errorf("model: %w", context.Canceled), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, sent := quiet(), []string{}
			register(t, r, hooks.ErrorMessages(r), &hooks.Plugin{Name: "out", DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
				sent = append(sent, describe(m))
				return true, errBroken // nobody is told: that would never end
			}})
			r.NotifyError(t.Context(), c.stage, c.err, hooks.Envelope{"channel": "tg", "chat_id": 7, "output_channel": "log", "kind": "normal"})
			r.NotifyError(t.Context(), c.stage, c.err, nil)
			if got := strings.Join(sent, "; "); got != c.want {
				t.Errorf("sent %q, wanted %q", got, c.want)
			}
		})
	}
}
