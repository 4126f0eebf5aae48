package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"tape/internal/jsonl"
	"tape/repo"
)

// The members of an entry's meta that this server writes, and nobody else through it.
const (
	metaRun     = "run_id"
	metaSeq     = "sequence"
	metaThread  = "thread_id"
	metaKey     = "idempotency_key"
	metaRequest = "request_sha256"
	metaExpires = "expires_at"
)

// keysKept is among how many of a tape's last keyed requests a repeated one is known.
const keysKept = 10_000

// lane is the writing to one tape. What comes while a write is synced is written by the next
// one together. It follows the tape: the requests that it has, and its state.
type lane struct {
	mu    sync.Mutex
	queue []*job
	busy  bool

	follow sync.Mutex
	last   int64
	raw    [sha256.Size]byte // of the last entry: it is another one where the tape was rewritten
	keys   map[string]written
	order  []string
	state  map[stateKey]stateValue
}

// written is what a request has written.
type written struct {
	First, Last int64
	Request     string
}

// job is one request's entries.
type job struct {
	drafts  []repo.Draft
	key     string // with the run's id before it; "" if the request has none
	request string
	ready   func() error // is asked when it is the job's turn, if it is not nil
	alone   bool         // what ready says depends on what other jobs write
	done    chan struct{}
	out     written
	again   bool // it was written before
	err     error
}

// lanes are those of all tapes.
type lanes struct {
	mu     sync.Mutex
	byName map[string]*lane // by branch
}

// of is the lane of a tape.
func (s *lanes) of(t *repo.Tape) *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byName[t.Branch()]
	if l == nil {
		l = &lane{}
		if s.byName == nil {
			s.byName = map[string]*lane{}
		}
		s.byName[t.Branch()] = l
	}
	return l
}

// hold calls fn while nobody writes, with all that the tape has.
func (l *lane) hold(ctx context.Context, t *repo.Tape, fn func() error) error {
	l.follow.Lock()
	defer l.follow.Unlock()
	if err := l.catchUp(ctx, t); err != nil {
		return err
	}
	return fn()
}

// stateNow is all the state of the tape.
func (l *lane) stateNow(ctx context.Context, t *repo.Tape) (out map[stateKey]stateValue, err error) {
	err = l.hold(ctx, t, func() error {
		out = maps.Clone(l.state)
		return nil
	})
	return out, err
}

// value is the state that the tape has now; the lane is held.
func (l *lane) value(k stateKey) (v stateValue, ok bool) {
	v, ok = l.state[k]
	return v, ok
}

// known is what an earlier request with the key has written; the lane is held.
func (l *lane) known(key string) (w written, ok bool) {
	if key != "" {
		w, ok = l.keys[key]
	}
	return w, ok
}

// append writes a job's entries, all or none, and returns when they survive a power cut.
func (s *lanes) append(ctx context.Context, t *repo.Tape, j *job) error {
	if len(j.drafts) == 0 {
		return nil
	}
	for _, d := range j.drafts {
		if err := d.Check(); err != nil {
			return err
		}
	}
	l := s.of(t)
	j.done = make(chan struct{})
	l.mu.Lock()
	l.queue = append(l.queue, j)
	leads := !l.busy
	l.busy = true
	l.mu.Unlock()
	if leads {
		go l.drain(context.WithoutCancel(ctx), t)
	}
	<-j.done // also if the client has gone: what was begun with is done
	return j.err
}

func (l *lane) drain(ctx context.Context, t *repo.Tape) {
	for {
		l.mu.Lock()
		jobs := l.queue
		l.queue, l.busy = nil, len(jobs) > 0
		l.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		if slices.ContainsFunc(jobs, func(j *job) bool { return j.alone }) || l.write(ctx, t, jobs) != nil {
			for _, j := range jobs { // one of them may be the cause
				j.out, j.again = written{}, false
				if err := l.write(ctx, t, []*job{j}); err != nil {
					j.err = err
				}
			}
		}
		for _, j := range jobs {
			close(j.done)
		}
	}
}

// write writes jobs as one change. An error is that of all; those of single ones are in the jobs.
func (l *lane) write(ctx context.Context, t *repo.Tape, jobs []*job) error {
	l.follow.Lock()
	defer l.follow.Unlock()
	if err := l.catchUp(ctx, t); err != nil {
		return err
	}
	now := map[string]written{}
	fresh := jobs[:0:0]
	for _, j := range jobs {
		j.err = nil
		if j.ready != nil {
			j.err = j.ready()
		}
		if j.err == nil {
			fresh = append(fresh, j)
		}
	}
	_, err := t.Update(ctx, func(tx *repo.Tx) error {
		for _, j := range fresh {
			before, ok := l.keys[j.key]
			if !ok {
				before, ok = now[j.key]
			}
			if ok && j.key != "" {
				j.out, j.again = before, true
				if before.Request != j.request {
					j.err = conflict("the Idempotency-Key was used for another request")
				}
				continue
			}
			j.out = written{First: tx.LastID() + 1, Request: j.request}
			for _, d := range j.drafts {
				if _, err := tx.AppendEntry(ctx, d); err != nil {
					return err
				}
			}
			j.out.Last = tx.LastID()
			now[j.key] = j.out
		}
		return nil
	})
	if err == nil {
		err = l.catchUp(ctx, t)
	}
	return err
}

// catchUp reads what has come since; all of it where the tape is not what it was.
func (l *lane) catchUp(ctx context.Context, t *repo.Tape) error {
	rev, err := t.Store().Revision(ctx, t, "")
	if err != nil {
		return err
	}
	if l.last > 0 {
		same := false
		for e, err := range rev.Entries(ctx, l.last) {
			if err != nil {
				return err
			}
			if !same && (e.ID != l.last || sha256.Sum256(e.Raw) != l.raw) {
				break
			}
			if same {
				l.take(e)
			}
			same = true
		}
		if same {
			return nil
		}
	}
	l.last, l.keys, l.order, l.state = 0, map[string]written{}, nil, map[stateKey]stateValue{}
	for e, err := range rev.Entries(ctx, 1) {
		if err != nil {
			return err
		}
		l.take(e)
	}
	return nil
}

func (l *lane) take(e repo.Entry) {
	l.last, l.raw = e.ID, sha256.Sum256(e.Raw)
	if e.Kind == kindState {
		l.takeState(e)
	}
	if len(e.Meta) <= 2 {
		return
	}
	key := jsonl.GetString(e.Meta, metaKey)
	if key == "" {
		return
	}
	key = jsonl.GetString(e.Meta, metaRun) + "\x00" + key
	w, ok := l.keys[key]
	if !ok {
		w = written{First: e.ID, Request: jsonl.GetString(e.Meta, metaRequest)}
		l.order = append(l.order, key)
	}
	w.Last = e.ID
	l.keys[key] = w
	if len(l.order) > 2*keysKept {
		for _, old := range l.order[:keysKept] {
			delete(l.keys, old)
		}
		l.order = append([]string(nil), l.order[keysKept:]...)
	}
}

// stamp puts what the server says of an entry into its meta, in the place of what the client says.
func stamp(meta json.RawMessage, runID, thread, key, request string, more map[string]any) (json.RawMessage, error) {
	m := map[string]any{}
	if len(meta) > 0 {
		var own map[string]json.RawMessage
		if err := json.Unmarshal(meta, &own); err != nil {
			return nil, invalid("meta is not a JSON object")
		}
		for k, v := range own {
			m[k] = v
		}
	}
	for _, k := range []string{metaRun, metaSeq, metaKey, metaRequest, metaExpires} {
		delete(m, k)
	}
	if runID != "" {
		m[metaRun] = runID
	}
	if thread != "" {
		m[metaThread] = thread
	}
	if key != "" {
		m[metaKey], m[metaRequest] = key, request
	}
	for k, v := range more {
		m[k] = v
	}
	return json.Marshal(m)
}

// requestHash tells requests with the same key apart.
func requestHash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// keyOf is a request's key as a lane has it; the admin's requests have no run.
func keyOf(runID, key string) string {
	if key == "" {
		return ""
	}
	return runID + "\x00" + key
}
