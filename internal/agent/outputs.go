package agent

import (
	"sync"

	"tape/hooks"
)

// outputs keeps the newest output of each running tool until the turn shows it.
type outputs struct {
	more chan struct{} // has a value if there is output to show

	mu     sync.Mutex
	newest map[string]hooks.Event // by the call's id
}

func newOutputs() *outputs {
	return &outputs{more: make(chan struct{}, 1), newest: map[string]hooks.Event{}}
}

// forCall returns the function Output for a call's [hooks.ToolContext].
func (o *outputs) forCall(id, name string) func(end string, bytes int64) {
	return func(end string, bytes int64) {
		o.mu.Lock()
		o.newest[id] = hooks.Event{Kind: hooks.EventToolOutput, Data: map[string]any{"id": id, "name": name, "text": end, "bytes": bytes}}
		o.mu.Unlock()
		select {
		case o.more <- struct{}{}:
		default:
		}
	}
}

// take returns what was not shown yet.
func (o *outputs) take() map[string]hooks.Event {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.newest
	o.newest = map[string]hooks.Event{}
	return out
}

// next waits until a call ends and returns it. Meanwhile it shows what the running tools write.
func (r *turn) next(done <-chan finishedCall, o *outputs) finishedCall {
	for {
		select {
		case f := <-done:
			return f
		case <-o.more:
			for _, e := range o.take() {
				r.emit(e)
			}
		}
	}
}
