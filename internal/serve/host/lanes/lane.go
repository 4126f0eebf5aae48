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

// Members of an entry's meta that the server writes. Of these, an admin may set thread_id.
const (
	MetaRun     = "run_id"
	MetaSeq     = "sequence"
	MetaThread  = "thread_id"
	metaKey     = "idempotency_key"
	metaRequest = "request_sha256"
	MetaExpires = "expires_at"
)

// keysKept is how many of a tape's last requests with a key, at least, are recognised when they are repeated.
const keysKept = 10_000

// Lane is the queue of writes to one tape. It follows the tape: its keyed requests, its state, and
// what belongs to whom.
type Lane struct {
	mu    sync.Mutex
	queue []*Job
	busy  bool

	users   int   // calls that use it now; Lanes.mu guards this field and the next two
	lastUse int64 // the value of Lanes.calls when it was called last
	counted int64 // its part of Lanes.total

	memory atomic.Int64 // in bytes, estimated

	follow sync.Mutex         // guards the fields below
	stamp  string             // of the tape when the lane was up to date
	last   int64              // the last applied entry; 0: all have to be read
	raw    string             // the hash of that entry, to notice that the tape was rewritten
	keys   map[string]Written // by their hashes
	order  []string           // these hashes, the oldest first
	state  state
	facts  facts
	file   checkpoint
}

// Written says what a request has written.
type Written struct {
	First, Last int64  // ids of entries
	Request     string // the RequestHash of the request
}

// Job is one request's entries.
type Job struct {
	Drafts  []repo.Draft
	Key     string              // from KeyOf; "" if the request has none
	Request string              // its RequestHash
	Ready   func(l *Lane) error // if set, called before the job is written; an error refuses the job
	Alone   bool                // the answer of Ready depends on what other jobs write
	done    chan struct{}
	Out     Written
	Again   bool // an earlier request with the same key has written the entries
	err     error
}

// Lookup returns what an earlier request with the key has written; the lane is held.
func (l *Lane) Lookup(key string) (w Written, ok bool) {
	if key != "" {
		w, ok = l.keys[RequestHash([]byte(key))]
	}
	return w, ok
}

// Append writes a job's entries, all or none, and returns when they are durable. The results are in the job. It
// does not end with ctx.
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

// drain writes the queued jobs until the queue is empty.
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

// write writes jobs in one transaction. The returned error concerns all jobs; an error of one job is stored
// in the job.
func (l *Lane) write(ctx context.Context, t *repo.Tape, jobs []*Job) error {
	l.follow.Lock()
	defer l.unlock()
	needsState := slices.ContainsFunc(jobs, func(j *Job) bool { return j.Ready != nil || j.Key != "" || j.hasState() })
	if needsState {
		if err := l.catchUp(ctx, t); err != nil {
			return err
		}
	}
	fresh, room := jobs[:0:0], room{&l.state, map[StateKey]int{}, map[StateKey]total{}}
	for _, j := range jobs {
		j.err = nil
		if j.Ready != nil {
			j.err = j.Ready(l)
		}
		if _, repeated := l.Lookup(j.Key); j.err == nil && !repeated { // a repetition writes nothing
			j.err = room.take(j.Drafts)
		}
		if j.err == nil {
			fresh = append(fresh, j)
		}
	}
	entries, err := l.writeFresh(ctx, t, fresh)
	if err == nil {
		l.applyOwn(t, entries, needsState)
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

// Stamp sets the server's members in an entry's meta, and those of more. They replace the client's.
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

// RequestHash returns a hash of a request's parts. It tells different requests with the same key apart.
func RequestHash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// KeyOf returns a request's key for a lane, "" if it has none. For requests of the admin, runID is "".
func KeyOf(runID, key string) string {
	if key == "" {
		return ""
	}
	return runID + "\x00" + key
}
