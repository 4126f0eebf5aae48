package host

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"tape/internal/serve/host/api"
	"tape/repo"
)

// Records of requests are collected, and written in batches. Refused requests must not fill the disk, so requests of
// one kind that come shortly after each other share a record.

const (
	maxWait    = time.Second // how long a record may wait
	maxWaiting = 5_000       // records that may wait before they are written
	maxHeld    = 50_000      // records that may wait if the tape cannot be written
	burstEvery = time.Minute // how often a continuing burst is recorded
	maxBursts  = 1_000       // bursts in memory; at this number, all are recorded at once
)

// auditKind is the kind of an audit entry.
const auditKind = "audit"

// auditRecord is one request, or several of one kind.
type auditRecord struct {
	RunID    string `json:"run_id"`
	Runner   string `json:"runner"`
	By       string `json:"by,omitempty"` // who asked, if not a run: admin, browser or unknown
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Scope    string `json:"scope"`
	Result   string `json:"result"`
	Bytes    int64  `json:"bytes"`
	Count    int    `json:"count,omitempty"` // how many requests this record stands for, if more than one
}

// auditOK is the result of a request that succeeded.
const auditOK = "ok"

// kind is what the requests that share a record have in common.
type kind struct{ run, by, result, action, resource string }

func (r auditRecord) kind() kind {
	k := kind{run: r.RunID, by: r.By, result: r.Result}
	if r.Result == auditOK {
		k.action, k.resource = r.Action, r.Resource
	}
	return k
}

// burst is a series of requests of one kind.
type burst struct {
	first auditRecord // of the first request since the last record; Bytes and Count are those of all since then
	order int         // the place of its first request among the first requests of all bursts
	next  time.Time   // when the next record may be written; zero: at once
	last  time.Time   // when the last request came
}

// auditLog collects records.
type auditLog struct {
	Now   func() time.Time
	Write func(ctx context.Context, drafts []repo.Draft) error // durable when it returns
	Log   *slog.Logger

	mu      sync.Mutex
	waiting []repo.Draft
	bursts  map[kind]*burst
	begun   int // how many bursts have begun, for burst.order
	writing sync.Mutex
	full    chan struct{} // asks for a flush
}

// newAuditLog returns a log. Nothing is written before Run or Flush is called.
func newAuditLog(now func() time.Time, log *slog.Logger, write func(context.Context, []repo.Draft) error) *auditLog {
	return &auditLog{Now: now, Log: log, Write: write, bursts: map[kind]*burst{}, full: make(chan struct{}, 1)}
}

// CheckRoom refuses requests when too many records wait.
func (l *auditLog) CheckRoom() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) < maxHeld {
		return nil
	}
	p := api.NewProblem(http.StatusServiceUnavailable, "busy", "the audit cannot be written: what runs do cannot be recorded")
	p.Retryable, p.After = true, 10*time.Second
	return p
}

// Add records a request. Each successful request of a run has a record of its own. Refused requests of
// one sender with the same result share a record, and so do equal requests of senders that are not runs.
func (l *auditLog) Add(r auditRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.RunID != "" && r.Result == auditOK {
		l.append(r)
		return
	}
	k, now := r.kind(), l.Now()
	b := l.bursts[k]
	if b == nil {
		if len(l.bursts) >= maxBursts {
			l.collect(true)
		}
		b = &burst{}
		l.bursts[k] = b
	}
	b.last = now
	if b.first.Count == 0 {
		b.first = r
		b.first.Bytes = 0
		l.begun++
		b.order = l.begun
	}
	b.first.Count++
	b.first.Bytes += r.Bytes
}

// append adds a record to those that wait; l.mu is held.
func (l *auditLog) append(r auditRecord) {
	if r.Count == 1 {
		r.Count = 0
	}
	payload, err := json.Marshal(r)
	if err != nil {
		panic(err) // cannot happen: strings and numbers
	}
	if len(l.waiting) < 2*maxHeld { // CheckRoom refuses requests long before
		l.waiting = append(l.waiting, repo.Draft{Kind: auditKind, Payload: payload, Date: repo.FormatDate(l.Now())})
	}
	if len(l.waiting) >= maxWaiting {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
}

// collect makes records of the bursts that are due, or of all, in the order of their first requests;
// l.mu is held.
func (l *auditLog) collect(all bool) {
	now := l.Now()
	var due []*burst
	for k, b := range l.bursts {
		write := b.first.Count > 0 && (all || !now.Before(b.next))
		if write {
			due = append(due, b)
		}
		if (write || b.first.Count == 0) && (now.Sub(b.last) > burstEvery || len(l.bursts) >= maxBursts) {
			delete(l.bursts, k)
		}
	}
	slices.SortFunc(due, func(a, b *burst) int { return cmp.Compare(a.order, b.order) })
	for _, b := range due {
		l.append(b.first)
		b.first, b.next = auditRecord{}, now.Add(burstEvery)
	}
}

// Run writes the waiting records, until ctx ends.
func (l *auditLog) Run(ctx context.Context) {
	tick := time.NewTicker(maxWait / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.full:
		case <-tick.C:
		}
		if err := l.flush(ctx, false); err != nil && ctx.Err() == nil {
			l.Log.Error("audit", "error", err)
		}
	}
}

// Flush writes all records. When it returns nil, they are durable.
func (l *auditLog) Flush(ctx context.Context) error { return l.flush(ctx, true) }

func (l *auditLog) flush(ctx context.Context, all bool) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.collect(all)
	drafts := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	if len(drafts) == 0 {
		return nil
	}
	err := l.Write(context.WithoutCancel(ctx), drafts)
	if err != nil { // try again the next time
		l.mu.Lock()
		l.waiting = append(drafts, l.waiting...)
		l.mu.Unlock()
	}
	return err
}
