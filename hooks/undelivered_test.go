package hooks_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"tape/hooks"
)

// Internal plugins are asked to send a message after all others, whatever the priorities.
func TestInternalIsLast(t *testing.T) {
	r := quiet()
	var asked []string
	plugin := func(name string, priority int, internal bool) *hooks.Plugin {
		return &hooks.Plugin{Name: name, Priority: priority, Internal: internal,
			DispatchOutbound: func(context.Context, hooks.Envelope) (bool, error) {
				asked = append(asked, name)
				return false, nil
			}}
	}
	register(t, r, plugin("low", -1000, false))
	register(t, r, plugin("builtin", 0, true))
	register(t, r, plugin("channels", 0, true))
	register(t, r, plugin("high", 10, false))
	if _, err := r.Dispatch(t.Context(), hooks.Envelope{}); err != nil || !slices.Equal(asked, []string{"high", "low", "channels", "builtin"}) {
		t.Errorf("asked in the order %v (%v), want [high low channels builtin]", asked, err)
	}
}

// If no plugin sends an answer, on_error gets one error, and the turn still returns its result. The error itself can be
// sent to the chat that the message came from.
func TestUndelivered(t *testing.T) {
	r := quiet()
	var heard, sent []string
	register(t, r, &hooks.Plugin{Name: "here",
		RunModel: func(context.Context, hooks.Prompt, string, hooks.State) (*string, error) { s := "yes"; return &s, nil },
		DispatchOutbound: func(_ context.Context, m hooks.Envelope) (bool, error) {
			if m.Text(hooks.KeyOutputChannel) != "" {
				return false, nil
			}
			sent = append(sent, m.Text(hooks.KeyContent))
			return true, nil
		},
		OnError: func(_ context.Context, stage string, err error, _ hooks.Envelope) error {
			heard = append(heard, stage+": "+err.Error())
			return errors.New("an observer that fails stops nothing")
		}})
	register(t, r, hooks.ErrorMessages(r))
	res, err := r.Process(t.Context(), hooks.Envelope{hooks.KeyContent: "hi", hooks.KeyChannel: "here", hooks.KeyOutputChannel: "gone"}, hooks.Options{})
	if err != nil || res.Output != "yes" {
		t.Errorf("got %+v, %v, want the output \"yes\"", res, err)
	}
	if !slices.Equal(heard, []string{`dispatch_outbound: an answer was not sent: there is no channel "gone"`}) ||
		!slices.Equal(sent, []string{`Error: dispatch_outbound: an answer was not sent: there is no channel "gone"`}) {
		t.Errorf("heard %q, sent %q, want one error about channel gone in each", heard, sent)
	}
	heard, sent = nil, nil
	if _, err := r.Process(t.Context(), hooks.Envelope{hooks.KeyContent: "hi", hooks.KeyChannel: "here"}, hooks.Options{}); err != nil || len(heard) > 0 || len(sent) != 1 {
		t.Errorf("heard %q, sent %q, %v, want no error and one sent message", heard, sent, err)
	}
}
