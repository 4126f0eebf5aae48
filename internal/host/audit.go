package host

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"tape/repo"
)

// auditEvery is how long a record of a call may wait; auditMost how many may.
const (
	auditEvery = time.Second
	auditMost  = 5_000
)

// auditor gathers the records of what runs did.
type auditor struct {
	mu      sync.Mutex
	waiting []repo.Draft
	writing sync.Mutex
	full    chan struct{} // asks for a flush
	once    sync.Once
}

func (a *auditor) wake() chan struct{} {
	a.once.Do(func() { a.full = make(chan struct{}, 1) })
	return a.full
}

// add records a call of a run.
func (a *auditor) add(c *call) {
	if c.run == nil {
		return
	}
	payload, err := json.Marshal(map[string]any{"run_id": c.run.ID, "runner": c.run.Runner, "action": c.route.Method + " " + c.route.Path,
		"resource": c.resource, "scope": c.route.Scope, "result": c.result, "bytes": c.bytes})
	if err != nil {
		panic(err) // strings and numbers
	}
	a.mu.Lock()
	a.waiting = append(a.waiting, repo.Draft{Kind: "audit", Payload: payload, Date: repo.FormatDate(c.s.Now())})
	full := len(a.waiting) >= auditMost
	a.mu.Unlock()
	if full {
		select {
		case a.wake() <- struct{}{}:
		default:
		}
	}
}

// run writes what waits, until the context ends.
func (a *auditor) run(ctx context.Context, s *Server) {
	tick := time.NewTicker(auditEvery / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake():
		case <-tick.C:
		}
		if err := a.flush(ctx, s); err != nil && ctx.Err() == nil {
			s.Log.Error("audit", "error", err)
		}
	}
}

// flush writes what waits; when it returns, that survives a power cut.
func (a *auditor) flush(ctx context.Context, s *Server) error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	drafts := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	if len(drafts) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	t, err := s.ensureTape(ctx, auditTape)
	if err == nil {
		_, err = t.Append(ctx, nil, drafts...)
	}
	if err != nil { // they wait for the next time
		a.mu.Lock()
		a.waiting = append(drafts, a.waiting...)
		a.mu.Unlock()
	}
	return err
}
