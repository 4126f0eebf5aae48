package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tape/internal/host/api"
	"tape/repo"
)

// auditEvery is how long a record of a call may wait; auditMost how many may, and auditHeld
// where the tape cannot be written.
const (
	auditEvery = time.Second
	auditMost  = 5_000
	auditHeld  = 50_000
)

// room refuses calls of runs when no more records can be held.
func (a *auditor) room() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) < auditHeld {
		return nil
	}
	p := api.NewProblem(http.StatusServiceUnavailable, "busy", "the tape %s cannot be written: what runs do cannot be recorded", auditTape)
	p.Retryable, p.After = true, 10*time.Second
	return p
}

// auditor gathers the records of what runs did.
type auditor struct {
	mu      sync.Mutex
	waiting []repo.Draft
	writing sync.Mutex
	full    chan struct{} // asks for a flush
}

// add records a call of a run.
func (a *auditor) add(c *call) {
	if c.run == nil {
		return
	}
	payload, err := json.Marshal(map[string]any{"run_id": c.run.ID, "runner": c.run.Runner, "action": c.route.Method + " " + c.route.Path,
		"resource": cmp.Or(c.resource, fmt.Sprintf("%.200s", c.r.URL.Path)), "scope": c.route.Scope, "result": c.result, "bytes": c.bytes})
	if err != nil {
		panic(err) // strings and numbers
	}
	a.mu.Lock()
	if len(a.waiting) < 2*auditHeld { // beyond auditHeld all are refused
		a.waiting = append(a.waiting, repo.Draft{Kind: "audit", Payload: payload, Date: repo.FormatDate(c.s.Now())})
	}
	full := len(a.waiting) >= auditMost
	a.mu.Unlock()
	if full {
		select {
		case a.full <- struct{}{}:
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
		case <-a.full:
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
