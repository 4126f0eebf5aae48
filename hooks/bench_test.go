package hooks_test

//tape:race: plugins are asked side by side

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"tape/hooks"
)

// crowd is a runtime with five plugins, which implement every hook of a turn except those that run the model.
func crowd(b *testing.B, more ...*hooks.Plugin) *hooks.Runtime {
	r := quiet()
	for i := range 5 {
		register(b, r, &hooks.Plugin{
			Name:           fmt.Sprint("plugin", i),
			ResolveSession: session(nil).ResolveSession,
			LoadState:      state(hooks.State{"k": i}).LoadState,
			BuildPrompt:    prompt(nil).BuildPrompt,
			SaveState:      func(context.Context, string, hooks.State, hooks.Envelope, string) error { return nil },
			RenderOutbound: render(content("out")).RenderOutbound,
			DispatchOutbound: func(context.Context, hooks.Envelope) (bool, error) {
				return false, nil
			},
		})
	}
	register(b, r, more...)
	return r
}

// A turn without a model.
func BenchmarkTurn(b *testing.B) {
	r := crowd(b)
	for b.Loop() {
		if _, err := r.Process(b.Context(), content("hi"), hooks.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// A turn whose model streams 1,000 events, which are watched.
func BenchmarkStream(b *testing.B) {
	var events []hooks.Event
	for range 1000 {
		events = append(events, hooks.Text("word "))
	}
	r, seen := crowd(b, streaming(nil, events...)), 0
	for b.Loop() {
		_, err := r.Process(b.Context(), content("hi"), hooks.Options{OnEvent: func(context.Context, hooks.Envelope, hooks.Event) { seen++ }})
		if err != nil {
			b.Fatal(err)
		}
	}
	if seen != 1000*b.N {
		b.Errorf("%d events were seen, want %d", seen, 1000*b.N)
	}
}

// 50 sessions in parallel, with 20 turns each.
func BenchmarkSessions50(b *testing.B) {
	r := crowd(b)
	for b.Loop() {
		var all sync.WaitGroup
		for i := range 50 {
			for range 20 {
				all.Go(func() {
					m := hooks.Envelope{"session_id": fmt.Sprint(i), "content": "hi"}
					if _, err := r.Process(b.Context(), m, hooks.Options{}); err != nil {
						b.Error(err)
					}
				})
			}
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/turn")
}
