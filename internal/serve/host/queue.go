package host

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
	metaRun     = "run_id"
	metaSeq     = "sequence"
	metaThread  = "thread_id"
	metaKey     = "idempotency_key"
	metaRequest = "request_sha256"
	metaExpires = "expires_at"
)

// keysKept is how many of a tape's last requests with a key, at least, are recognised when they are repeated.
const keysKept = 10_000

// tapeQueue is the queue of writes to one tape. It follows the tape: its keyed requests, its state, and
// what belongs to whom.
type tapeQueue struct {
	mu    sync.Mutex
	queue []*writeJob
	busy  bool

	users   int   // calls that use it now; Queues.mu guards this field and the next two
	lastUse int64 // the value of Queues.calls when it was called last
	counted int64 // its part of Queues.total

	memory atomic.Int64 // in bytes, estimated

	follow sync.Mutex            // guards the fields below
	stamp  string                // of the tape when the queue was up to date
	last   int64                 // the last applied entry; 0: all have to be read
	raw    string                // the hash of that entry, to notice that the tape was rewritten
	keys   map[string]writtenJob // by their hashes
	order  []string              // these hashes, the oldest first
	state  state
	facts  facts
	file   checkpoint
}

// writtenJob says what a request has written.
type writtenJob struct {
	First, Last int64  // ids of entries
	Request     string // the requestHash of the request
}

// writeJob is one request's entries.
type writeJob struct {
	Drafts  []repo.Draft
	Key     string                   // from keyOf; "" if the request has none
	Request string                   // its requestHash
	Ready   func(l *tapeQueue) error // if set, called before the job is written; an error refuses the job
	Alone   bool                     // the answer of Ready depends on what other jobs write
	done    chan struct{}
	Out     writtenJob
	Again   bool // an earlier request with the same key has written the entries
	err     error
}

// Lookup returns what an earlier request with the key has written; the queue is held.
func (l *tapeQueue) Lookup(key string) (w writtenJob, ok bool) {
	if key != "" {
		w, ok = l.keys[requestHash([]byte(key))]
	}
	return w, ok
}

// Append writes a job's entries, all or none, and returns when they are durable. The results are in the job. It
// does not end with ctx.
func (s *tapeQueues) Append(ctx context.Context, t *repo.Tape, j *writeJob) error {
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
func (l *tapeQueue) drain(ctx context.Context, t *repo.Tape) {
	for {
		l.mu.Lock()
		jobs := l.queue
		l.queue, l.busy = nil, len(jobs) > 0
		l.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		alone := len(jobs) == 1 || slices.ContainsFunc(jobs, func(j *writeJob) bool { return j.Alone })
		if alone || l.write(ctx, t, jobs) != nil {
			for _, j := range jobs { // one of them may be the cause of the error
				j.Out, j.Again = writtenJob{}, false
				if err := l.write(ctx, t, []*writeJob{j}); err != nil {
					j.err = err
				}
			}
		}
		for _, j := range jobs {
			close(j.done)
		}
	}
}

func (j *writeJob) hasState() bool {
	return slices.ContainsFunc(j.Drafts, func(d repo.Draft) bool { return d.Kind == kindState })
}

// write writes jobs in one transaction. The returned error concerns all jobs; an error of one job is stored
// in the job.
func (l *tapeQueue) write(ctx context.Context, t *repo.Tape, jobs []*writeJob) error {
	l.follow.Lock()
	defer l.unlock()
	needsState := slices.ContainsFunc(jobs, func(j *writeJob) bool { return j.Ready != nil || j.Key != "" || j.hasState() })
	if needsState {
		if err := l.catchUp(ctx, t); err != nil {
			return err
		}
	}
	fresh, room := jobs[:0:0], room{&l.state, map[stateKey]int{}, map[stateKey]total{}}
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
func (l *tapeQueue) writeFresh(ctx context.Context, t *repo.Tape, jobs []*writeJob) (entries []repo.Entry, err error) {
	now := map[string]writtenJob{}
	repeated := func(j *writeJob) bool {
		before, ok := l.Lookup(j.Key)
		if !ok {
			before, ok = now[j.Key]
		}
		if !ok || j.Key == "" {
			return false
		}
		j.Out, j.Again = before, true
		j.err = sameRequest(before.Request, j.Request)
		return true
	}
	if len(jobs) == 1 && len(jobs[0].Drafts) == 1 {
		j := jobs[0]
		if repeated(j) {
			return nil, nil
		}
		if entries, err = t.Append(ctx, nil, j.Drafts...); err == nil {
			j.Out = writtenJob{First: entries[0].ID, Last: entries[0].ID, Request: j.Request}
		}
		return entries, err
	}
	_, err = t.Update(ctx, func(tx *repo.Tx) error {
		for _, j := range jobs {
			if repeated(j) {
				continue
			}
			j.Out = writtenJob{First: tx.LastID() + 1, Request: j.Request}
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

// stampMeta sets the server's members in an entry's meta, and those of more. They replace the client's.
func stampMeta(meta json.RawMessage, runID, thread, key, request string, more map[string]any) (json.RawMessage, error) {
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
	for _, k := range []string{metaRun, metaSeq, metaKey, metaRequest, metaExpires} {
		delete(m, k)
	}
	if runID != "" {
		delete(m, metaThread) // a run writes to its own thread only
		m[metaRun] = runID
	}
	if thread != "" {
		m[metaThread] = thread
	}
	if key != "" {
		m[metaKey], m[metaRequest] = key, request
	}
	maps.Copy(m, more)
	return json.Marshal(m)
}

// requestHash returns a hash of a request's parts. It tells different requests with the same key apart.
func requestHash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// sameRequest refuses a request whose key another one has used. Both are given by their requestHash.
func sameRequest(before, now string) error {
	if before == now {
		return nil
	}
	return api.Conflict("the Idempotency-Key was used for another request")
}

// keyOf returns a request's key for a queue, "" if it has none. For requests of the admin, runID is "".
func keyOf(runID, key string) string {
	if key == "" {
		return ""
	}
	return runID + "\x00" + key
}
