package procplugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// pluginRequest is a request of the plugin on which the host works.
type pluginRequest struct {
	once      sync.Once
	cancelled chan struct{}
}

// handleRequest starts to serve a request of the plugin. within says that the request names a call: then it is
// served within that call, with its context. c is that call, or nil if it does not run. handleRequest returns
// false for a message without an id, which cannot be answered.
func (in *instance) handleRequest(ctx context.Context, m *received, c *call, within bool) bool {
	id := string(m.ID)
	in.mu.Lock()
	_, twice := in.requests[id]
	many := len(in.requests) >= maxRequests
	s := &pluginRequest{cancelled: make(chan struct{})}
	if id != "" && !twice && !many {
		in.requests[id] = s
	}
	in.mu.Unlock()
	switch {
	case id == "":
		return false // a request needs an id: only its answer says whether it was done
	case twice:
		in.answer(m.ID, nil, errors.New("a request of this id runs"), false)
	case many:
		in.answer(m.ID, nil, fmt.Errorf("%d requests run: wait for answers", maxRequests), false)
	case within && c == nil:
		in.finish(m.ID, nil, errors.New("params.call_id names no running call"), false)
	case c != nil:
		m.request = s
		if !c.queue.push(m, in.limits.queue) {
			in.finish(m.ID, nil, errCancelled, false)
		}
	default:
		go in.serveRequest(ctx, nil, m, s)
	}
	return true
}

// serveRequest serves a request and answers it.
func (in *instance) serveRequest(ctx context.Context, c *call, m *received, s *pluginRequest) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.cancelled:
			cancel()
		case <-in.dead:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		if x := recover(); x != nil {
			in.log.Error("a plugin's request panicked", "method", m.Method, "panic", x)
			in.finish(m.ID, nil, fmt.Errorf("panic: %v", x), true)
		}
	}()
	result, err := in.serve(ctx, c, m.Method, m.Params)
	if ctx.Err() != nil {
		err = errCancelled
	}
	in.finish(m.ID, result, err, true)
}

// handleCancel cancels a request of the plugin.
func (in *instance) handleCancel(m *received) {
	var params struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(m.Params, &params) // otherwise it names no request
	in.mu.Lock()
	s := in.requests[string(params.ID)]
	in.mu.Unlock()
	if s != nil {
		s.once.Do(func() { close(s.cancelled) })
	}
}

var errCancelled = &rpcError{Code: codeCancelled, Message: "cancelled"}

// finish answers a request and forgets it. wait is that of answer.
func (in *instance) finish(id json.RawMessage, result any, err error, wait bool) {
	in.answer(id, result, err, wait)
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.requests, string(id))
}

// answer sends an answer. Without wait it does not block, and kills a process that does not read.
func (in *instance) answer(id json.RawMessage, result any, err error, wait bool) {
	m := message{ID: id, Result: result}
	if err == nil {
		var line []byte
		if line, err = encode(m, in.limits.line); err == nil {
			in.reply(line, wait)
			return
		}
	}
	var rpcErr *rpcError
	if !errors.As(err, &rpcErr) {
		rpcErr = &rpcError{Code: codeFailed, Message: err.Error()}
	}
	line, err := encode(message{ID: id, Error: rpcErr}, in.limits.line)
	if err != nil {
		in.fail(fmt.Errorf("answer a request: %w", err), false)
		return
	}
	in.reply(line, wait)
}

func (in *instance) reply(line []byte, wait bool) {
	if wait {
		_ = in.send(context.Background(), line) // fails only if the process has ended
		return
	}
	select {
	case in.out <- line:
	case <-in.exited:
	default:
		in.fail(errors.New("it does not read its answers"), false)
	}
}
