package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tape/hooks"
)

// diary records what happens in parallel turns.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, ", ")
}

// slow is a model that needs a second for each turn.
func slow(d *diary) *hooks.Plugin {
	return &hooks.Plugin{Name: "slow", RunModel: func(ctx context.Context, p hooks.Prompt, session string, _ hooks.State) (*string, error) {
		d.note("%s%s begins", session, p.Text)
		select {
		case <-time.After(time.Second):
			d.note("%s%s ends", session, p.Text)
			return &p.Text, nil
		case <-ctx.Done():
			d.note("%s%s is cancelled", session, p.Text)
			return nil, ctx.Err()
		}
	}}
}

func TestTurnsOfASessionFollowOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := &diary{}, quiet()
		register(t, r, slow(d))
		for _, text := range []string{"1", "2", "3"} {
			go func() {
				if _, err := r.Process(t.Context(), hooks.Envelope{"session_id": "s", "content": text}, hooks.Options{}); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // so that they come in this order
		}
		start := time.Now()
		if _, err := r.Process(t.Context(), hooks.Envelope{"session_id": "s", "content": "4"}, hooks.Options{}); err != nil {
			t.Error(err)
		}
		if want := "s1 begins, s1 ends, s2 begins, s2 ends, s3 begins, s3 ends, s4 begins, s4 ends"; d.String() != want || time.Since(start) != 4*time.Second {
			t.Errorf("after %v: %s\nwant after 4s: %s", time.Since(start), d, want)
		}
	})
}

func TestSessionsRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := &diary{}, quiet()
		register(t, r, slow(d))
		start := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			for range 2 {
				all.Go(func() {
					if _, err := r.Process(t.Context(), hooks.Envelope{"session_id": fmt.Sprint("s", i), "content": "."}, hooks.Options{}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if took := time.Since(start); took != 2*time.Second || strings.Count(d.String(), "ends") != 100 {
			t.Errorf("two turns of a second in each of 50 sessions took %v, want 2s and 100 ends:\n%s", took, d)
		}
	})
}

func TestCancellingATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := &diary{}, quiet()
		register(t, r, hooks.ErrorMessages(r), slow(d), &hooks.Plugin{
			Name: "witness",
			SaveState: func(ctx context.Context, _ string, _ hooks.State, _ hooks.Envelope, output string) error {
				d.note("saved %q, %v, %v", output, errors.Is(hooks.ModelError(ctx), context.Canceled), ctx.Err())
				return nil
			},
			RenderOutbound: func(context.Context, hooks.Envelope, string, hooks.State, string) ([]hooks.Envelope, error) {
				d.note("rendered")
				return nil, nil
			},
			DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
				d.note("sent %s", m.Text("content"))
				return true, nil
			},
			OnError: func(ctx context.Context, stage string, _ error, _ hooks.Envelope) error {
				d.note("%s, %v", stage, ctx.Err())
				return nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			_, err := r.Process(ctx, hooks.Envelope{"session_id": "s", "content": "1"}, hooks.Options{})
			failed <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("the turn ended with %v, want context canceled", err)
		}
		if want := `s1 begins, s1 is cancelled, saved "", true, <nil>, turn, <nil>`; d.String() != want {
			t.Errorf("seen: %s\nwant: %s", d, want)
		}
		for _, h := range r.Report() {
			if h.Hook == "run_model" && h.Plugins[0].Failures != 0 {
				t.Errorf("a cancelled call is counted as a failure: %+v", h.Plugins[0])
			}
		}
	})
}

// The answer of a plugin that stopped because of a cancellation, without an error, is not used.
func TestCancelledWithoutAnError(t *testing.T) {
	d, r := &diary{}, quiet()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	register(t, r, &hooks.Plugin{
		Name: "ai",
		RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) {
			cancel()
			return new("half"), nil
		},
		SaveState: func(ctx context.Context, _ string, _ hooks.State, _ hooks.Envelope, output string) error {
			d.note("saved %q %v", output, hooks.ModelError(ctx))
			return nil
		},
	})
	_, err := r.Process(ctx, content("hi"), hooks.Options{})
	if !errors.Is(err, context.Canceled) || d.String() != `saved "" context canceled` {
		t.Errorf("got %v, %s; want context canceled, and the same as the model's error", err, d)
	}
}

// A cancelled turn that waits ends at once; those after it still wait for the running one.
func TestCancellingATurnThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := &diary{}, quiet()
		register(t, r, slow(d))
		process := func(ctx context.Context, text string, done func(error)) {
			go func() {
				_, err := r.Process(ctx, hooks.Envelope{"session_id": "s", "content": text}, hooks.Options{})
				done(err)
			}()
			synctest.Wait()
		}
		start := time.Now()
		ended := make(chan error, 2)
		ctx, cancel := context.WithCancel(t.Context())
		process(t.Context(), "1", func(err error) { ended <- err })
		process(ctx, "2", func(err error) { d.note("2: %v after %v", err, time.Since(start)) })
		process(t.Context(), "3", func(err error) { ended <- err })
		cancel()
		synctest.Wait()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Error(err)
		}
		if want := "s1 begins, 2: context canceled after 0s, s1 ends, s3 begins, s3 ends"; d.String() != want {
			t.Errorf("seen: %s\nwant: %s", d, want)
		}
	})
}

func TestTurnWithinATurnIsRefused(t *testing.T) {
	r := quiet()
	register(t, r, &hooks.Plugin{Name: "ai", RunModel: func(ctx context.Context, p hooks.Prompt, session string, _ hooks.State) (*string, error) {
		if p.Text != "outer" {
			return &p.Text, nil
		}
		if _, err := r.Process(ctx, hooks.Envelope{"session_id": session, "content": "inner"}, hooks.Options{}); err == nil {
			t.Error("a turn waited for itself")
		}
		result, err := r.Process(ctx, hooks.Envelope{"session_id": "child", "content": "of a fork"}, hooks.Options{})
		return &result.Output, err
	}})
	result, err := r.Process(t.Context(), content("outer"), hooks.Options{})
	if err != nil || result.Output != "of a fork" {
		t.Errorf("got %+v, %v, want the output \"of a fork\"", result, err)
	}
}
