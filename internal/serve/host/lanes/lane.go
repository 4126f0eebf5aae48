// Package lanes writes to tapes for many clients at once. What arrives during a write is written together
// by the next one, and a request with an idempotency key is done once.
package lanes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"tape/internal/serve/host/api"
	"tape/repo"
)

// Members of an entry's meta that only the server writes.
const (
	MetaRun     = "run_id"
	MetaSeq     = "sequence"
	MetaThread  = "thread_id"
	metaKey     = "idempotency_key"
	metaRequest = "request_sha256"
	MetaExpires = "expires_at"
)

// keysKept is how many of a tape's last requests with a key are recognised when they are repeated.
const keysKept = 10_000

// Lane is the queue of writes to one tape. It follows the tape: its keyed requests, its state, and
// what belongs to whom.
type Lane struct {
	mu    sync.Mutex
	queue []*Job
	busy  bool

	users   int   // who call it; with those below guarded by Lanes.mu
	lastUse int64 // when it was called last, as a number of calls
	counted int64 // of memory, in Lanes.total

	memory atomic.Int64 // in bytes, about

	follow sync.Mutex // guards the rest
	stamp  string     // of the tape when the lane was up to date
	last   int64
	raw    string             // the hash of the last entry, which differs if the tape was rewritten
	keys   map[string]Written // by their hashes
	order  []string
	state  state
	facts  facts
	file   checkpoint
}

// Written says what a request has written.
type Written struct {
	First, Last int64
	Request     string
}

// Job is one request's entries.
type Job struct {
	Drafts  []repo.Draft
	Key     string // with the run's id; "" if the request has none
	Request string
	Ready   func(l *Lane) error // if set, called before the job is written
	Alone   bool                // the answer of Ready depends on what other jobs write
	done    chan struct{}
	Out     Written
	Again   bool // an earlier request has written it
	err     error
}

// Lookup returns what an earlier request with the key has written; the lane is held.
func (l *Lane) Lookup(key string) (w Written, ok bool) {
	if key != "" {
		w, ok = l.keys[RequestHash([]byte(key))]
	}
	return w, ok
}

// Append writes a job's entries, all or none, and returns when they are durable.
func (s *Lanes) Append(ctx context.Context, t *repo.Tape, j *Job) error {
	if len(j.Drafts) == 0 {
		return nil
	}
	for _, d := range j.Drafts {
		if err := d.Check(); err != nil {
			return err
		}
	}
	l := s.enter(t)
	defer s.leave(l)
	j.done = make(chan struct{})
	l.mu.Lock()
	l.queue = append(l.queue, j)
	leads := !l.busy
	l.busy = true
	l.mu.Unlock()
	if leads {
		go l.drain(context.WithoutCancel(ctx), t)
	}
	<-j.done // even if the client has gone
	return j.err
}

func (l *Lane) drain(ctx context.Context, t *repo.Tape) {
	for {
		l.mu.Lock()
		jobs := l.queue
		l.queue, l.busy = nil, len(jobs) > 0
		l.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		alone := len(jobs) == 1 || slices.ContainsFunc(jobs, func(j *Job) bool { return j.Alone })
		if alone || l.write(ctx, t, jobs) != nil {
			for _, j := range jobs { // one of them may be the cause of the error
				j.Out, j.Again = Written{}, false
				if err := l.write(ctx, t, []*Job{j}); err != nil {
					j.err = err
				}
			}
		}
		for _, j := range jobs {
			close(j.done)
		}
	}
}

func (j *Job) hasState() bool {
	return slices.ContainsFunc(j.Drafts, func(d repo.Draft) bool { return d.Kind == KindState })
}

// write writes jobs in one transaction. The error concerns all; errors of single jobs are in the jobs.
func (l *Lane) write(ctx context.Context, t *repo.Tape, jobs []*Job) error {
	l.follow.Lock()
	defer l.unlock()
	stamp := slices.ContainsFunc(jobs, func(j *Job) bool { return j.Ready != nil || j.Key != "" || j.hasState() })
	if stamp {
		if err := l.catchUp(ctx, t); err != nil {
			return err
		}
	}
	fresh := jobs[:0:0]
	for _, j := range jobs {
		j.err = nil
		if j.Ready != nil {
			j.err = j.Ready(l)
		}
		if j.err == nil {
			j.err = l.checkRoom(j.Drafts)
		}
		if j.err == nil {
			fresh = append(fresh, j)
		}
	}
	entries, err := l.writeFresh(ctx, t, fresh)
	if err == nil {
		l.applyOwn(t, entries, stamp)
	}
	return err
}

// writeFresh writes the jobs that are not repetitions. One entry takes one sync, several take three.
func (l *Lane) writeFresh(ctx context.Context, t *repo.Tape, jobs []*Job) (entries []repo.Entry, err error) {
	now := map[string]Written{}
	repeated := func(j *Job) bool {
		before, ok := l.Lookup(j.Key)
		if !ok {
			before, ok = now[j.Key]
		}
		if !ok || j.Key == "" {
			return false
		}
		j.Out, j.Again = before, true
		if before.Request != j.Request {
			j.err = api.Conflict("the Idempotency-Key was used for another request")
		}
		return true
	}
	if len(jobs) == 1 && len(jobs[0].Drafts) == 1 {
		j := jobs[0]
		if repeated(j) {
			return nil, nil
		}
		if entries, err = t.Append(ctx, nil, j.Drafts...); err == nil {
			j.Out = Written{First: entries[0].ID, Last: entries[0].ID, Request: j.Request}
		}
		return entries, err
	}
	_, err = t.Update(ctx, func(tx *repo.Tx) error {
		for _, j := range jobs {
			if repeated(j) {
				continue
			}
			j.Out = Written{First: tx.LastID() + 1, Request: j.Request}
			for _, d := range j.Drafts {
				e, err := tx.AppendEntry(ctx, d)
				if err != nil {
					return err
				}
				entries = append(entries, e)
			}
			j.Out.Last = tx.LastID()
			now[j.Key] = j.Out
		}
		return nil
	})
	return entries, err
}

// Stamp sets the server's members in an entry's meta, and replaces those that the client has sent.
func Stamp(meta json.RawMessage, runID, thread, key, request string, more map[string]any) (json.RawMessage, error) {
	m := map[string]any{}
	if len(meta) > 0 {
		var own map[string]json.RawMessage
		if err := json.Unmarshal(meta, &own); err != nil {
			return nil, api.Invalid("meta is not a JSON object")
		}
		for k, v := range own {
			m[k] = v
		}
	}
	for _, k := range []string{MetaRun, MetaSeq, metaKey, metaRequest, MetaExpires} {
		delete(m, k)
	}
	if runID != "" {
		delete(m, MetaThread) // a run writes to its own thread only
		m[MetaRun] = runID
	}
	if thread != "" {
		m[MetaThread] = thread
	}
	if key != "" {
		m[metaKey], m[metaRequest] = key, request
	}
	maps.Copy(m, more)
	return json.Marshal(m)
}

// RequestHash tells different requests with the same key apart.
func RequestHash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// KeyOf returns a request's key for a lane; the admin's requests have no run.
func KeyOf(runID, key string) string {
	if key == "" {
		return ""
	}
	return runID + "\x00" + key
}
