package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"tape/hooks"
)

// callParams describe a call of the plugin.
type callParams struct {
	method  string
	params  map[string]any
	timeout time.Duration // without an answer, or an event of a stream
	session string        // the session whose tape the plugin's requests use by default
	state   hooks.State   // what state/set changes; nil: the call has none
	events  bool          // the answer is a stream
}

// call is a call of the plugin. The goroutine that calls next also serves the requests within it.
type call struct {
	callParams
	in      *instance
	id      int
	queue   *queue
	seq     int          // of the latest event
	serving atomic.Int32 // requests of the plugin within this call on which the host works
}

// begin sends a call. If the process has ended, that is the error of next.
func (in *instance) begin(ctx context.Context, a callParams) (*call, error) {
	if a.params == nil {
		a.params = args{}
	}
	in.mu.Lock()
	in.last++
	c := &call{callParams: a, in: in, id: in.last, queue: newQueue()}
	in.calls[c.id] = c
	in.mu.Unlock()
	line, err := encode(message{ID: json.RawMessage(strconv.Itoa(c.id)), Method: a.method, Params: a.params}, in.limits.line)
	if err == nil {
		wait, cancel := context.WithTimeoutCause(ctx, a.timeout, errors.New("it does not read its standard input"))
		defer cancel()
		if err = in.send(wait, line); err != nil && ctx.Err() == nil && wait.Err() != nil {
			err = context.Cause(wait)
			in.fail(err, false)
		}
	}
	if errors.Is(err, errDown) {
		return c, nil
	}
	if err != nil {
		c.abandon(false)
		return nil, err
	}
	return c, nil
}

// call calls the plugin and returns the result.
func (in *instance) call(ctx context.Context, a callParams) (json.RawMessage, error) {
	c, err := in.begin(ctx, a)
	if err != nil {
		return nil, err
	}
	_, result, err := c.next(ctx)
	return result, err
}

// next returns the next event or, if that is nil, the result.
func (c *call) next(ctx context.Context) (*hooks.Event, json.RawMessage, error) {
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	for {
		m, full := c.queue.pop()
		if full {
			c.abandon(true)
			return nil, nil, fmt.Errorf("more than %d bytes of events wait", c.in.limits.queue)
		}
		if m != nil {
			if e, result, done, err := c.handle(ctx, m); done {
				return e, result, err
			}
			continue
		}
		select {
		case <-c.queue.ready:
		case <-ctx.Done():
			c.abandon(true)
			return nil, nil, ctx.Err()
		case <-timer.C:
			if c.serving.Load() > 0 {
				timer.Reset(c.timeout) // the plugin waits for the host
				continue
			}
			c.abandon(true)
			c.killIfUnanswered()
			return nil, nil, fmt.Errorf("no answer within %s", c.timeout)
		case <-c.in.dead:
			if m, _ := c.queue.pop(); m != nil {
				if e, result, done, err := c.handle(ctx, m); done {
					return e, result, err
				}
				continue
			}
			_, err := c.in.failure()
			return nil, nil, err
		}
	}
}

// handle handles a message within the call. done says that next returns the other results.
func (c *call) handle(ctx context.Context, m *received) (e *hooks.Event, result json.RawMessage, done bool, err error) {
	switch {
	case m.Method == "model/event":
		e, err = c.event(m)
		if err != nil {
			c.abandon(true)
		}
		return e, nil, true, err
	case m.Method == "state/set":
		c.in.finish(m.ID, struct{}{}, c.setState(m.Params), false)
	case m.Method != "":
		c.serving.Add(1)
		go func() {
			defer c.serving.Add(-1)
			c.in.serveRequest(ctx, c, m, m.request)
		}()
	case m.Error != nil:
		return nil, nil, true, m.Error
	default:
		return nil, m.Result, true, nil
	}
	return nil, nil, false, nil
}

// event reads an event of a model's stream.
func (c *call) event(m *received) (*hooks.Event, error) {
	var e struct {
		Seq int `json:"seq"`
		hooks.Event
	}
	if err := json.Unmarshal(m.Params, &e); err != nil {
		return nil, fmt.Errorf("model/event: %w", err)
	}
	if c.seq++; e.Seq != c.seq {
		return nil, fmt.Errorf("model/event: seq is %d after %d; it counts from 1", e.Seq, c.seq-1)
	}
	if e.Kind == "" {
		return nil, errors.New("model/event: no kind")
	}
	if _, text := e.Data["delta"].(string); !text && (e.Kind == hooks.EventText || e.Kind == hooks.EventReasoning) {
		return nil, fmt.Errorf("model/event: the delta of a %s is a text", e.Kind)
	}
	return &e.Event, nil
}

// setState changes the turn's state, in the hook's goroutine.
func (c *call) setState(raw json.RawMessage) error {
	var params struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	}
	if err := json.Unmarshal(raw, &params); err != nil || params.Key == "" {
		return &rpcError{Code: codeParams, Message: "state/set wants call_id, key and value"}
	}
	if c.state == nil {
		return fmt.Errorf("%s has no state that could be set", c.method)
	}
	c.state[params.Key] = params.Value
	return nil
}

// abandon ends the call without an answer. cancel says whether the plugin is told.
func (c *call) abandon(cancel bool) {
	c.in.mu.Lock()
	_, waits := c.in.calls[c.id]
	delete(c.in.calls, c.id)
	if waits && cancel {
		c.in.late[c.id] = true
	}
	c.in.mu.Unlock()
	if waits && cancel {
		c.in.notify("$/cancel", map[string]any{"id": c.id})
	}
	for _, m := range c.queue.close() {
		if m.request != nil {
			c.in.finish(m.ID, nil, errCancelled, false)
		}
	}
}

// killIfUnanswered ends the process if it does not answer the cancelled call in time: it hangs.
func (c *call) killIfUnanswered() {
	time.AfterFunc(c.in.limits.cancel, func() {
		c.in.mu.Lock()
		hangs := c.in.late[c.id]
		c.in.mu.Unlock()
		if hangs {
			c.in.fail(fmt.Errorf("it hangs: %s was not answered, even after it was cancelled", c.method), false)
		}
	})
}
